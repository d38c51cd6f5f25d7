"""Semantic roles: the suites as propositions, one for each predicate."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.hub import hub_file, hub_split
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SPLITS, SuiteData, check_texts
from elmo_bench.tasks.srl.columns import (
    Frame,
    Framed,
    Proposition,
    propositions,
    read_propositions,
    read_sentences,
)
from elmo_bench.tasks.srl.props import write_props

DOCUMENT = "document_id"  # a column of the Hub's tables


class Data(SuiteData):
    """Reads the suites that `conf/task/srl.yaml` names."""

    schema = "srl-1"
    ending = ".props"

    def read(self, suite: str, root: Path | None) -> dict[str, list[Proposition]]:
        """{"train": [...], "dev": [...], "test": [...]}; `root` is the data folder.

        Sentences without a predicate give no example; a note says how many there are.
        Raises UserError.
        """
        splits = super().read(suite, root)
        without = []
        for split, examples in splits.items():
            sentences = dict.fromkeys(example.sentence for example in examples)
            count = sum(len(s.gap) + len(s.rest) for s in sentences)
            without.append(f"{split} {count:,}")
        note(f"sentences without a predicate, skipped: {', '.join(without)}")
        return splits

    def files(self, suite: str, root: Path | None) -> list[Path]:
        """As of every suite, and the tables of documents of the Hub."""
        files = super().files(suite, root)
        options = self.options(suite)
        if options["source"] == "hub":
            hub = options["hub"]
            for split in SPLITS:
                listed = hub.get(f"{split}_documents")
                if listed is not None:
                    files.append(
                        hub_file(hub["repo"], listed, revision=hub["revision"])
                    )
        return files

    def paths(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[Path]:
        """The files of a split.

        Raises UserError for NAME.v4_gold_conll with NAME.gold_conll: one document.
        """
        paths = super().paths(options, split, root)
        by_name: dict[Path, Path] = {}
        for path in paths:
            other = by_name.setdefault(path.with_suffix(""), path)
            if other != path:
                raise UserError(
                    f"{path}: the same document as {other.name}. Keep one of the two."
                )
        return paths

    def from_files(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[Proposition]:
        sentences = []
        for path in self.paths(options, split, root):
            framed = read_sentences(path)
            frames = chain.from_iterable(frames for _, frames in framed)
            if any(frame.tags is None for frame in frames):
                raise UserError(
                    f"{path}: predicates, but no column of brackets. "
                    "Training and scoring need their roles."
                )
            sentences += framed
        examples = propositions(sentences)
        if not examples:
            folder = Path(root or "") / options["folder"]
            raise UserError(
                f"{folder}: no predicates in the {split} split. Check its files."
            )
        return examples

    def from_hub(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[Proposition]:
        """A row of a table is a document.

        With `test_documents` of `hub`, the test split is the documents of that table.
        """
        hub = options["hub"]
        where, table = hub_split(hub, split, columns=["sentences"])
        framed: list[Framed] = []
        frames = 0
        empty = 0
        is_wanted = _of_split(hub, split, table)
        for row, sentences in enumerate(table["sentences"]):
            if not is_wanted[row]:
                continue
            try:
                filled = [sentence for sentence in sentences if sentence["words"]]
                empty += len(sentences) - len(filled)
                frames += sum(len(sentence["srl_frames"]) for sentence in filled)
                framed += _document(filled)
            except (KeyError, TypeError, ValueError) as error:
                why = f"row {row} is not as expected ({error!r})"
                raise UserError(
                    f"{where}: {why}. Use your own files instead."
                ) from None
        if empty:
            note(f"{where}: {empty:,} sentences without words skipped")
        examples = propositions(framed)
        left_out = frames - len(examples)
        if left_out:
            note(
                f"{where}: {left_out} predicates left out: "
                "their roles do not name the predicate (B-V)"
            )
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
        tags: set[str] = set()
        for example in train:
            tags.update(example.tags or ())
        roles = {tag[2:] for tag in tags if tag != "O"}
        labels = ["O"]
        for role in sorted(roles):
            labels += [f"B-{role}", f"I-{role}"]
        return {"labels": labels}

    def read_file(self, path: Path) -> list[Proposition]:
        """The propositions of a file in CoNLL-2012 columns, or of a PropBank skeleton.

        Raises UserError.
        """
        return read_propositions(path)

    def write(
        self,
        path: Path,
        examples: Sequence[Proposition],
        predicted: Sequence[Sequence[str]],
    ) -> None:
        """Write a props file of all sentences of the examples.

        `score` compares it with the gold file.
        """
        write_props(path, examples, predicted)


def _of_split(hub: Mapping[str, Any], split: str, table: Any) -> list[bool]:
    """Whether each document of a table is of the split.

    All are, or those that the table `<split>_documents` of `hub` has, too. Raises
    UserError if one of these is missing.
    """
    everything = [True] * len(table["sentences"])
    listed = hub.get(f"{split}_documents")
    if listed is None:
        return everything
    where = f"{hub['repo']}/{hub[split]}"
    listed_where, others = hub_split(hub, f"{split}_documents")
    if DOCUMENT not in table.column_names or DOCUMENT not in others.column_names:
        note(f"{where}: no column {DOCUMENT}, so more is read than {listed} has")
        return everything
    names = table[DOCUMENT]
    listed_names = others[DOCUMENT]
    check_texts(names, where)
    check_texts(listed_names, listed_where)
    wanted = set(listed_names)
    missing = wanted.difference(names)
    if missing:
        raise UserError(
            f"{where}: lacks {len(missing)} documents of {listed}. "
            "Use your own files instead."
        )
    note(f"{where}: {len(wanted)} of {len(names)} documents, as in {listed}")
    return [name in wanted for name in names]


def _document(sentences: Sequence[Mapping[str, Any]]) -> list[Framed]:
    """The sentences of one row.

    Each has words, predicate_lemmas and srl_frames, whose frames are BIO tags. A frame
    without a B-V is left out, as its predicate is unknown.
    """
    framed = []
    for place, sentence in enumerate(sentences):
        words = tuple(sentence["words"])
        all_tags = [tuple(frame["frames"]) for frame in sentence["srl_frames"]]
        named = [tags for tags in all_tags if "B-V" in tags]
        if named and not all(isinstance(word, str) for word in words):
            raise ValueError(f"sentence {place} has a word without text")
        if any(len(tags) != len(words) for tags in named):
            raise ValueError(f"sentence {place} has frames of another length")
        frames = []
        for tags in sorted(named, key=lambda tags: tags.index("B-V")):
            lemmas = sentence["predicate_lemmas"] or words
            predicate = tags.index("B-V")
            lemma = lemmas[predicate] or words[predicate]
            frames.append(Frame(predicate, lemma, tags))
        framed.append((words, frames))
    return framed
