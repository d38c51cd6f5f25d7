"""Semantic roles: the suites as propositions, one for each predicate of each sentence."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SuiteData, hub_table
from elmo_bench.tasks.srl.columns import Frame, Proposition, propositions, read_propositions, read_sentences
from elmo_bench.tasks.srl.props import write_props


class Data(SuiteData):
    """Reads the suites that `conf/task/srl.yaml` names."""

    schema = "srl-1"
    ending = ".props"

    def read(self, suite: str, root: Path | None) -> dict[str, list[Proposition]]:
        """{"train": [...], "dev": [...], "test": [...]}; `root` is the data folder. Raises UserError.

        Sentences without a predicate give no example; a note says how many there are.
        """
        splits = super().read(suite, root)
        sentences = {split: dict.fromkeys(each.sentence for each in examples) for split, examples in splits.items()}
        without = (f"{split} {sum(len(s.gap) + len(s.rest) for s in own):,}" for split, own in sentences.items())
        note(f"sentences without a predicate, skipped: {', '.join(without)}")
        return splits

    def from_files(self, options: Mapping[str, Any], split: str, root: Path | None) -> list[Proposition]:
        sentences = []
        for path in self.paths(options, split, root):
            own = read_sentences(path)
            if any(frame.tags is None for _, frames in own for frame in frames):
                raise UserError(
                    f"{path}: predicates, but no column of brackets. Training and scoring need their roles."
                )
            sentences += own
        if not (examples := propositions(sentences)):
            folder = Path(root or "") / options["folder"]
            raise UserError(f"{folder}: no predicates in the {split} split. Check its files.")
        return examples

    def from_hub(self, options: Mapping[str, Any], split: str, root: Path | None) -> list[Proposition]:
        hub = options["hub"]
        table, where = hub_table(hub["repo"], hub[split], revision=hub["revision"]), f"{hub['repo']}/{hub[split]}"
        if "sentences" not in table.column_names:
            raise UserError(f"{where}: no column sentences. Check hub in conf/task/srl.yaml")
        found: list[tuple[tuple[str, ...], list[Frame]]] = []
        frames = 0
        for row, sentences in enumerate(table["sentences"]):
            try:
                frames += sum(len(sentence["srl_frames"]) for sentence in sentences)
                found += _document(sentences)
            except (KeyError, TypeError, ValueError) as error:
                why = f"row {row} is not as expected ({error!r})"
                raise UserError(f"{where}: {why}. Use your own files instead.") from None
        if len(examples := propositions(found)) < frames:
            note(f"{where}: {frames - len(examples)} predicates left out: their roles do not name the predicate (B-V)")
        return examples

    def canonical(self, example: Proposition) -> dict[str, Any]:
        return {
            "sentence": example.sentence.number,
            "tokens": example.sentence.tokens,
            "predicate": example.predicate,
            "lemma": example.lemma,
            "tags": example.tags,
        }

    def vocabulary(self, train: Sequence[Proposition]) -> dict[str, list[str]]:
        """{"labels": every BIO tag of every role in the training data, O first}."""
        roles = sorted({tag[2:] for example in train for tag in example.tags or () if tag != "O"})
        return {"labels": ["O", *(f"{letter}-{role}" for role in roles for letter in "BI")]}

    def read_file(self, path: Path) -> list[Proposition]:
        """The propositions of a file in CoNLL-2012 columns, or of a PropBank skeleton. Raises UserError."""
        return read_propositions(path)

    def write(self, path: Path, examples: Sequence[Proposition], predicted: Sequence[Sequence[str]]) -> None:
        """Write a props file of all sentences of the examples; `score` compares it with the gold file."""
        write_props(path, examples, predicted)


def _document(sentences: Sequence[Mapping[str, Any]]) -> list[tuple[tuple[str, ...], list[Frame]]]:
    """The sentences of one row: each with words, predicate_lemmas and srl_frames, whose frames are BIO tags.

    A frame without a B-V is left out, as its predicate is unknown.
    """
    found = []
    for place, told in enumerate(sentences):
        words, tags_of = tuple(told["words"]), [tuple(f["frames"]) for f in told["srl_frames"] if "B-V" in f["frames"]]
        if tags_of and not all(isinstance(word, str) for word in words):
            raise ValueError(f"sentence {place} has a word without text")
        if any(len(tags) != len(words) for tags in tags_of):
            raise ValueError(f"sentence {place} has frames of another length")
        frames = []
        for tags in sorted(tags_of, key=lambda tags: tags.index("B-V")):
            predicate = tags.index("B-V")
            lemma = (told["predicate_lemmas"] or words)[predicate] or words[predicate]
            frames.append(Frame(predicate, lemma, tags))
        found.append((words, frames))
    return found
