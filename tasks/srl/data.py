"""Semantic roles: the three suites as propositions, one for each predicate of each sentence."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.base.sources import data_file, hub_table
from elmo_bench.tasks.srl import mini
from elmo_bench.tasks.srl.columns import read_propositions
from elmo_bench.tasks.srl.proposition import Proposition, Sentence
from elmo_bench.tasks.srl.props import write_props

SPLITS = ("train", "dev", "test")


class SrlData:
    """Reads the suites that `conf/task/srl.yaml` names; each is a mapping whose `source` says how it is read.

    `generated`: `seed`. `files`: `folder`, for each split a name (or several: the first that is there) of a file, or of
    a folder whose files like `pattern` are read. `hub`: `hub` with `repo`, `revision`, a parquet file for each split.
    """

    ending = ".props"

    def __init__(self, **suites: Mapping[str, Any]):
        self.suites = suites

    def read(self, suite: str, root: Path | None) -> dict[str, list[Proposition]]:
        """{"train": [...], "dev": [...], "test": [...]}; `root` is the data folder. Raises UserError.

        Sentences without a predicate give no example; how many they are is printed.
        """
        if suite not in self.suites:
            raise UserError(f"suite={suite}: unknown suite; choose one of: {', '.join(self.suites)}")
        options = self.suites[suite]
        if options["source"] == "generated":
            return mini.generate(seed=options["seed"])
        readers: dict[str, Callable[..., list[Proposition]]] = {"files": _from_files, "hub": _from_hub}
        if options["source"] not in readers:
            raise UserError(f"task.data.{suite}.source={options['source']}: choose one of: {', '.join(readers)}")
        splits = {split: readers[options["source"]](options, split, root) for split in SPLITS}
        without = (f"{split} {_sentences_without(examples):,}" for split, examples in splits.items())
        note(f"sentences without a predicate, left out: {', '.join(without)}")
        return splits

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
    for path in _paths(root, options["folder"], options[split], options.get("pattern")):
        found = read_propositions(path)
        if found and found[0].tags is None:
            raise UserError(f"{path}: predicates, but no column of brackets; training and scoring need their roles")
        examples += found
    if not examples:
        raise UserError(f"{Path(root or '') / options['folder']}: no predicates in the {split} split; check its files")
    return examples


def _paths(root: Path | None, folder: str, names: str | Sequence[str], pattern: str | None) -> list[Path]:
    for name in [names] if isinstance(names, str) else names:
        inside = Path(folder, name)
        if root and pattern and not inside.is_absolute() and ".." not in inside.parts:
            found = sorted(path for path in (Path(root) / inside).rglob(pattern) if path.is_file())
            if found:
                return found
    return [data_file(root, folder, names)]


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
