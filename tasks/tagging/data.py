"""The user's sentences, with a tag for each token.

Tags are spans in any usual scheme, or plain tags.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.notes import note
from elmo_bench.base.sources import TABLES
from elmo_bench.tasks.ner.data import RESERVED
from elmo_bench.tasks.ner.data import Data as SpanData
from elmo_bench.tasks.tagging.forms import (
    check_sentences,
    chosen_form,
    grouped,
    note_words,
    read_form,
)
from elmo_bench.text.columns import NO_GOLD, escaped, tokens_of
from elmo_bench.text.own_checks import GOLD, PREDICTED, SHOWN, folded, is_missing
from elmo_bench.text.own_data import MERGE, OwnData
from elmo_bench.text.own_texts import write_predicted
from elmo_bench.text.schemes import (
    ALIASES,
    NAMES,
    OUTSIDE,
    PLAIN,
    SINGLE,
    TYPES,
    Notation,
    notation_of,
    written,
)
from elmo_bench.text.tables import Row, ending_of
from elmo_bench.text.tags import TaggedSentence
from elmo_bench.text.token_labels import labels_within


@dataclass(frozen=True)
class Sentence(TaggedSentence):
    """Tokens and their tags.

    BIO, plain tags as they are written, or () where they are unknown.
    """

    # The row that it was read from.
    row: Row = field(default_factory=dict, repr=False, compare=False)
    # Whether each tag is a label.
    plain: bool = field(default=False, compare=False)

    @property
    def gold(self) -> tuple[str, ...]:
        """The tags, with SINGLE before plain ones, so that none looks like BIO."""
        if not self.plain:
            return self.tags
        return tuple(f"{SINGLE}{tag}" for tag in self.tags)


class Data(OwnData):
    """Reads column files and tables.

    A column file has the token first, the tag last, and a blank line after each
    sentence. A table has lists of tokens and of tags.
    """

    schema = "tagging-1"
    ending = ".conll"
    parts = ("tokens", "tags")
    unit = "sentences"
    endings = None
    merge = f"Each counts alone; data.alike={MERGE} makes them one"
    plain = False  # whether the tags that were read are no spans
    labels_tokens = True
    column_advice = ", or the columns of a token a line: data.columns=1:2"

    def __init__(
        self,
        *,
        scheme: str | None = None,
        columns: str | None = None,
        sentence: str | None = None,
        **options: Any,
    ):
        """Raises UserError for an unknown scheme and form.

        scheme: how spans are written, one of NAMES; None: it is guessed.
        columns: the form of the files, as `chosen_form` reads it; None: it is guessed.
        sentence: the column of a table that has one value in all rows of a sentence;
            None: a row is a sentence.
        """
        super().__init__(**options)
        self.scheme = _scheme(scheme)
        self.form = chosen_form(columns)
        self.sentence = sentence

    def read_file(self, path: Path) -> list[Sentence]:
        sentences: list[Sentence] = super().read_file(path)
        try:
            notation = self.notation(sentences)
        except UserError:
            if self.scheme is not None:
                raise
            notation = None
        if notation is None and self.form is None:
            note_words(path, sum(len(sentence.tokens) for sentence in sentences))
        return self.with_notation(sentences, notation)

    def notation(self, sentences: Sequence[Sentence]) -> Notation | None:
        """How the tags are written; None for plain tags.

        Raises UserError for tags of two kinds.
        """
        tags = [sentence.tags for sentence in sentences]
        try:
            notation = notation_of(tags, self.scheme)
            if notation is not None and self.merges:
                notation = replace(notation, folds=True)
                for tag in sorted({*chain.from_iterable(tags)}):
                    notation.parts(tag)
            return notation
        except ValueError as error:
            how = f"data.scheme={PLAIN} reads each tag as a label"
            raise UserError(f"tags: {error}, or decide: {how}.") from None

    def with_notation(
        self, sentences: Sequence[Sentence], notation: Notation | None
    ) -> list[Sentence]:
        """The sentences in BIO, or marked as plain if there is no notation."""
        read: list[Sentence] = []
        for sentence in sentences:
            tags = sentence.tags
            if notation is not None:
                tags = tuple(notation.to_bio(tags))
            elif self.merges:
                tags = tuple(map(folded, tags))
            plain = notation is None and bool(tags)
            read.append(replace(sentence, tags=tags, plain=plain))
        return read

    def read_rows(self, path: Path) -> list[Row]:
        """A row for each sentence.

        Without tags if a column file has a single column, or NO_GOLD as its tags.
        """
        named = [name for name in (*self.columns.values(), self.sentence) if name]
        are_text = self.marks_are_text
        rows = read_form(path, self.form, named=named, marks_are_text=are_text)
        return grouped(rows, self.sentence) if self.sentence else rows

    def columns_for(
        self, part: str, columns: Sequence[str], *, taken: Iterable[str] = ()
    ) -> list[str]:
        """As in OwnData; the column of `data.sentence` is no text and no tags."""
        fit = super().columns_for(part, columns, taken=taken)
        return [name for name in fit if name != self.sentence]

    def example(self, row: Row, names: Mapping[str, str], where: str) -> Sentence:
        tokens = self.text(row.get(names["tokens"]), where)
        cell = row.get(names["tags"]) if "tags" in names else None
        tags = tokens_of(cell) if isinstance(cell, str) else cell or []
        if isinstance(tags, list) and all(map(is_missing, tags)):
            tags = []
        if not isinstance(tags, list) or not all(map(_is_tag, tags)):
            what = f"has {cell!r:.60} where tags belong"
            raise UserError(f"{where} {what}. Give a list with one for each token.")
        if tags and len(tags) != len(tokens):
            what = f"has {len(tokens)} tokens and {len(tags)} tags"
            raise UserError(f"{where} {what}. Give one for each token.")
        return Sentence(tokens, tuple(map(str, tags)), row)

    def examples_of(
        self, splits: Mapping[str, Sequence[Row]]
    ) -> dict[str, list[Sentence]]:
        """The sentences of each split, spans in BIO.

        Raises UserError for tags of two kinds.
        """
        examples: dict[str, list[Sentence]] = super().examples_of(splits)
        written = [*chain(*examples.values())]
        check_sentences(written, self.sentence)
        notation = self.notation(written)
        self.plain = notation is None
        if notation is None:
            self.check_plain(written)
        else:
            note(f"tags: spans in {notation}, read as BIO")
            note_misfits(written, notation)
        return {
            split: self.with_notation(sentences, notation)
            for split, sentences in examples.items()
        }

    def check_plain(self, sentences: Sequence[Sentence]) -> None:
        """Note that tags are plain.

        Raises UserError if most are O, unless the user says that they are plain.
        """
        counts = Counter(chain.from_iterable(sentence.tags for sentence in sentences))
        names = sorted(tag for tag in counts if tag not in OUTSIDE)
        outside = sum(counts[tag] for tag in ("O", "o", "0"))
        numbers = all(tag.isdecimal() for tag in counts)
        are_spans = bool(names) and not numbers and 2 * outside > counts.total()
        if self.scheme is None and are_spans:
            what = f"most are O, and {names[0]:.40} has no letter of a scheme"
            spans = f"data.scheme={TYPES} reads neighbours of one type as a span"
            plain = f"data.scheme={PLAIN} each tag as a label"
            raise UserError(f"tags: {what}, such as B-. Decide: {spans}, {plain}.")
        numbered = "; numbers, of which no spans are known" if numbers else ""
        note(f"tags: plain, a label for each token{numbered}")

    def labels_of(self, example: Sentence) -> Sequence[str]:
        if example.plain:
            return example.tags
        return [tag[2:] for tag in example.tags if tag.startswith("B-")]

    def stratum(self, example: Sentence) -> str:
        """Whether a sentence has more than one tag.

        Splits have the same share of sentences without a span.
        """
        return str(len({*example.tags}) > 1)

    def vocabulary(self, train: Sequence[Sentence]) -> dict[str, list[str]]:
        """{"labels": list of labels}.

        U-TAG for each plain tag, or every BIOUL tag of every type of spans, O first.
        """
        if all(sentence.plain for sentence in train):
            tags = chain.from_iterable(sentence.gold for sentence in train)
            return {"labels": sorted({*tags})}
        return SpanData().vocabulary(train)

    def answers(self, labels: Sequence[str]) -> list[str]:
        """Plain tags as they were read, or BIO."""
        return list(dict.fromkeys(written(labels)))

    def within(
        self,
        example: Sentence,
        predicted: Sequence[str],
        keeps: Callable[[Sequence[str]], bool],
    ) -> tuple[list[str], list[str]] | None:
        """Gold and predicted tags of the spans whose words `keeps` accepts.

        Plain tags are spans of one word here, so that a slice whose tags are all O
        counts too.
        """
        if not example.plain:
            return SpanData().within(example, predicted, keeps)
        return labels_within(example, predicted, keeps)

    @staticmethod
    def check_output(path: Path) -> None:
        """Any name will do: a file that is not a table has columns as in CoNLL."""

    def write(
        self,
        path: Path,
        examples: Sequence[Sentence],
        predicted: Sequence[Sequence[str]],
    ) -> None:
        """Write token, gold and predicted tag on a line each.

        A table as the other tasks do if the path ends so.
        """
        # A sentence without text has no prediction.
        guesses = [
            [tag.removeprefix(SINGLE) for tag in tags or ()] for tags in predicted
        ]
        pairs = zip(examples, guesses, strict=True)
        if ending_of(path) in TABLES:
            rows: list[Row] = []
            for sentence, tags in pairs:
                gold = [*sentence.tags] or None
                rows.append(sentence.row | {GOLD: gold, PREDICTED: tags})
            write_predicted(path, examples, rows, like=self.read_last)
            return
        with atomic_write(path, "w") as handle:
            for sentence, tags in pairs:
                handle.writelines(_lines(sentence, tags))


def _lines(sentence: Sentence, predicted: Sequence[str]) -> Iterator[str]:
    """The lines of a sentence in a column file of predictions."""
    gold = sentence.tags or (NO_GOLD,) * len(predicted)
    for token, *tags in zip(sentence.tokens, gold, predicted, strict=True):
        cells = [escaped(token, reserved=RESERVED), *map(escaped, tags)]
        yield " ".join(cells) + "\n"
    yield "\n"


def _is_tag(value: Any) -> bool:
    return isinstance(value, str | int) and value != ""


def note_misfits(sentences: Sequence[Sentence], notation: Notation) -> None:
    """Note the tags that break their scheme, with the words that they begin at."""
    places: list[tuple[Sentence, int]] = []
    for sentence in sentences:
        places += [(sentence, place) for place in notation.misfits(sentence.tags)]
    if not places:
        return
    named = []
    for sentence, place in places[:SHOWN]:
        words = " ".join(sentence.tokens[place : place + 4])
        named.append(f"{sentence.tags[place]} of “{words}”")
    what = f"{len(places):,}, which are in no span, as in seqeval's strict mode"
    note(f"tags that do not fit {notation.scheme}: {what}: {'; '.join(named)}")


def _scheme(name: str | None) -> str | None:
    """The name of a scheme in NAMES, in any case and of its other names.

    Raises UserError.
    """
    if name is None:
        return None
    names = {scheme.lower(): scheme for scheme in NAMES}
    names |= {alias.lower(): scheme for alias, scheme in ALIASES.items()}
    if name.lower() not in names:
        choices = ", ".join(NAMES)
        raise UserError(f"data.scheme={name:.40}: unknown. Choose one of: {choices}.")
    return names[name.lower()]
