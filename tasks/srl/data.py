"""Semantic roles: the three suites as propositions, one for each predicate of each sentence."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SPLITS, data_files, hub_table, suite_files, suite_options
from elmo_bench.tasks.srl import mini
from elmo_bench.tasks.srl.columns import read_propositions
from elmo_bench.tasks.srl.proposition import Proposition, Sentence
from elmo_bench.tasks.srl.props import write_props

SOURCES = ("generated", "files", "hub")


class Data:
    """Reads the suites that `conf/task/srl.yaml` names; each is a mapping whose `source` says how it is read.

    `generated`: `seed`. `files`: `folder`, for each split a name (or several: the first that is there) of a file, or of
    a folder whose files like `pattern` are read. `hub`: `hub` with `repo`, `revision`, a parquet file for each split.
    """

    schema = "srl-1"
    ending = ".props"

    def __init__(self, **suites: Mapping[str, Any]):
        self.suites = suites

    def read(self, suite: str, root: Path | None) -> dict[str, list[Proposition]]:
        """{"train": [...], "dev": [...], "test": [...]}; `root` is the data folder. Raises UserError.

        Sentences without a predicate give no example; how many they are is printed.
        """
        options = suite_options(self.suites, suite, SOURCES)
        if options["source"] == "generated":
            return mini.generate(seed=options["seed"])
        read = _from_files if options["source"] == "files" else _from_hub
        splits = {split: read(options, split, root) for split in SPLITS}
        without = (f"{split} {_sentences_without(examples):,}" for split, examples in splits.items())
        note(f"sentences without a predicate, left out: {', '.join(without)}")
        return splits

    def files(self, suite: str, root: Path | None) -> list[Path]:
        """The files that `read` reads; none for generated data. Raises UserError."""
        options = suite_options(self.suites, suite, SOURCES)
        return suite_files(options, root, pattern=options.get("pattern"))

    def canonical(self, example: Proposition) -> dict[str, Any]:
        """The example as JSON in the schema `srl-1`."""
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
        """The propositions of a file in CoNLL-2012 columns, or those of a PropBank skeleton. Raises UserError."""
        return read_propositions(path)

    def write(self, path: Path, examples: Sequence[Proposition], predicted: Sequence[Sequence[str]]) -> None:
        """A props file of every sentence that the examples come from; `score` reads it beside the gold one."""
        write_props(path, examples, predicted)


def _sentences_without(examples: Sequence[Proposition]) -> int:
    return sum(len(s.gap) + len(s.rest) for s in dict.fromkeys(example.sentence for example in examples))


def _from_files(options: Mapping[str, Any], split: str, root: Path | None) -> list[Proposition]:
    examples = []
    for path in data_files(root, options["folder"], options[split], pattern=options.get("pattern")):
        found = read_propositions(path)
        if found and found[0].tags is None:
            raise UserError(f"{path}: predicates, but no column of brackets; training and scoring need their roles")
        examples += found
    if not examples:
        raise UserError(f"{Path(root or '') / options['folder']}: no predicates in the {split} split; check its files")
    return examples


def _from_hub(options: Mapping[str, Any], split: str, root: Path | None) -> list[Proposition]:
    hub = options["hub"]
    table, where = hub_table(hub["repo"], hub[split], revision=hub["revision"]), f"{hub['repo']}/{hub[split]}"
    if "sentences" not in table.column_names:
        raise UserError(f"{where}: no column sentences; check hub in conf/task/srl.yaml")
    examples: list[Proposition] = []
    for row, sentences in enumerate(table["sentences"]):
        try:
            examples += _document(sentences)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{where}: row {row} is not as expected ({error!r}); use your own files instead") from None
    return examples


def _document(sentences: Sequence[Mapping[str, Any]]) -> list[Proposition]:
    """Of one row: sentences with words, predicate_lemmas and srl_frames, whose frames are BIO tags."""
    examples: list[Proposition] = []
    gap: list[int] = []
    last = max((place for place, sentence in enumerate(sentences) if sentence["srl_frames"]), default=-1)
    for place, told in enumerate(sentences[: last + 1]):
        words, frames = tuple(told["words"]), [tuple(frame["frames"]) for frame in told["srl_frames"]]
        if not frames:
            gap.append(len(words))
            continue
        if any(len(tags) != len(words) for tags in frames):
            raise ValueError(f"sentence {place} has frames of another length")
        rest = tuple(len(sentence["words"]) for sentence in sentences[last + 1 :]) if place == last else ()
        sentence = Sentence(words, place, tuple(gap), rest)
        gap = []
        for tags in sorted(frames, key=lambda tags: tags.index("B-V")):
            predicate = tags.index("B-V")
            lemma = (told["predicate_lemmas"] or words)[predicate] or words[predicate]
            examples.append(Proposition(sentence, predicate, lemma, tags))
    return examples
