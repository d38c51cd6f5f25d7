"""Sentences of the user's own, with a tag for each token: spans in any usual scheme, or plain tags."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.notes import note
from elmo_bench.base.sources import TABLES
from elmo_bench.tasks.ner.data import BOUNDARY, RESERVED
from elmo_bench.tasks.ner.data import Data as SpanData
from elmo_bench.text.columns import NO_GOLD, cells_of, escaped, read_columns, tokens_of
from elmo_bench.text.own_data import SHOWN, OwnData
from elmo_bench.text.tables import Row, check_file, ending_of, read_table, write_table
from elmo_bench.text.tags import TaggedSentence, misfits, scheme_of, to_bio
from elmo_bench.text.token_labels import UNKNOWN, read_conllu

CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
COMMENT = re.compile(r"# (id |newdoc|newpar|[\w.:]+ = )")  # of CoNLL-U, and of MultiCoNER
_LISTED = re.compile(r"""\[(['"]).*\1\]""", re.DOTALL)  # as pandas writes a list to CSV


@dataclass(frozen=True)
class Sentence(TaggedSentence):
    """Tokens and their tags, which are () where they are unknown."""

    row: Row = field(default_factory=dict, repr=False, compare=False)  # that it was read from


class Data(OwnData):
    """Reads column files (token first, tag last, a blank line after each sentence), and tables with lists of both."""

    schema = "tagging-1"
    ending = ".conll"
    parts = ("tokens", "tags")
    unit = "sentences"
    endings = None
    plain = False  # whether the tags that were read are no spans

    def read_file(self, path: Path) -> list[Sentence]:
        return in_bio(super().read_file(path))[1]

    def read_rows(self, path: Path) -> list[Row]:
        """A row for each sentence; without tags if a column file has a single column, or NO_GOLD as its tags."""
        check_file(path)
        if ending_of(path) in TABLES:
            return read_table(path)
        filled = (cells_of(line) for _, line in read_lines(path) if not COMMENT.match(line))
        first = next((cells for cells in filled if cells and cells[0] != BOUNDARY), [])
        rows: list[Row] = []
        if len(first) == len(CONLLU) and re.fullmatch(r"1(-\d+)?", first[0]):
            for lines in read_conllu(path):
                columns = map(list, zip(*(cells for _, cells in lines), strict=True))
                rows.append({name: own for name, own in zip(CONLLU, columns, strict=True) if {*own} - {*UNKNOWN}})
        else:
            for lines in read_columns(path, columns=max(len(first), 1), boundary=BOUNDARY, comment=COMMENT):
                tokens, tags = ([cells[place] for _, cells in lines] for place in (0, -1))
                known = len(first) > 1 and set(tags) != {NO_GOLD}
                rows.append({"tokens": tokens, "tags": tags if known else None})
        if not rows:
            raise UserError(f"{path}: no sentences. Each line must have a token and its tag.")
        return rows

    def example(self, row: Row, names: Mapping[str, str], where: str) -> Sentence:
        for part in names.values():
            if isinstance(cell := row.get(part), str) and _LISTED.fullmatch(cell):
                raise UserError(f"{where}: {part} is a list in one cell. Write words and spaces, or JSON lines.")
        tokens, cell = self.text(row.get(names["tokens"]), where), row.get(names.get("tags", ""))
        tags = tokens_of(cell) if isinstance(cell, str) else cell or []
        if not isinstance(tags, list) or not all(isinstance(tag, str | int) and tag != "" for tag in tags):
            raise UserError(f"{where} has {cell!r:.60} where tags belong. Give a list with one for each token.")
        if tags and len(tags) != len(tokens):
            raise UserError(f"{where} has {len(tokens)} tokens and {len(tags)} tags. Give one for each token.")
        return Sentence(tokens, tuple(map(str, tags)), row)

    def examples_of(self, splits: Mapping[str, Sequence[Row]]) -> dict[str, list[Sentence]]:
        """The sentences of each split; spans in BIO, whatever their scheme. Raises UserError for a tag in no scheme."""
        examples = super().examples_of(splits)
        scheme, sentences = in_bio(written := [*chain(*examples.values())])
        tags = {tag for each in sentences for tag in each.tags}
        if scheme is None and "O" in tags and (in_one := {tag for tag in tags if tag != "O" and scheme_of([[tag]])}):
            odd = min(tags - in_one - {"O"}, default="letters of two")
            raise UserError(f"tags: {odd}: not in one scheme (BIO, IOB1, BIOES, BILOU) with {min(in_one)}. Use one.")
        numbers = "" if any(not tag.isdecimal() for tag in tags) else "; numbers, of which no spans are known"
        note(f"tags: {f'spans in {scheme}, read as BIO' if scheme else f'plain, a label for each token{numbers}'}")
        wrong = [(each, place) for each in written for place in misfits(each.tags, scheme)] if scheme else []
        if wrong:
            named = "; ".join(f"{each.tags[k]} of “{' '.join(each.tokens[k : k + 4])}”" for each, k in wrong[:SHOWN])
            note(f"tags that do not fit {scheme}: {len(wrong):,}, read as conlleval does: {named}")
        self.plain = scheme is None
        rest = iter(sentences)
        return {split: [next(rest) for _ in own] for split, own in examples.items()}

    def labels_of(self, example: Sentence) -> Sequence[str]:
        return example.tags if self.plain else [tag[2:] for tag in example.tags if tag.startswith("B-")]

    def stratum(self, example: Sentence) -> str:
        """Whether a sentence has more than one tag: splits have the same share of sentences without a span."""
        return str(len({*example.tags}) > 1)

    def vocabulary(self, train: Sequence[Sentence]) -> dict[str, list[str]]:
        """{"labels": U-TAG for each plain tag, or every BIOUL tag of every type of spans, O first}."""
        tags = {tag for sentence in train for tag in sentence.tags}
        if scheme_of([list(tags)]) is None:
            return {"labels": [f"U-{tag}" for tag in sorted(tags)]}
        return SpanData().vocabulary(train)

    def within(
        self, example: Sentence, predicted: Sequence[str], keeps: Callable[[Sequence[str]], bool]
    ) -> tuple[list[str], list[str]] | None:
        """Gold and predicted tags of the spans whose words `keeps` accepts; of the words alone for plain tags.

        Plain tags are spans of one word here, so that those of a slice that has no tag but O count too.
        """
        if not self.plain:
            return SpanData().within(example, predicted, keeps)
        kept = [place for place, word in enumerate(example.tokens) if keeps((word,))]
        sides = [[f"B-{side[place]}" for place in kept] for side in (example.tags, predicted)]
        return (sides[0], sides[1]) if kept else None

    def write(self, path: Path, examples: Sequence[Sentence], predicted: Sequence[Sequence[str]]) -> None:
        """Write token, gold and predicted tag on a line each; a table as the other tasks do if the path ends so."""
        if ending_of(path) in TABLES:
            made = zip(examples, predicted, strict=True)
            rows = (each.row | {"gold": [*each.tags] or None, "predicted": [*tags]} for each, tags in made)
            return write_table(path, [*rows])
        with atomic_write(path, "w") as handle:
            for sentence, tags in zip(examples, predicted, strict=True):
                gold = sentence.tags or (NO_GOLD,) * len(tags)
                for token, *both in zip(sentence.tokens, gold, tags, strict=True):
                    handle.write(" ".join([escaped(token, reserved=RESERVED), *map(escaped, both)]) + "\n")
                handle.write("\n")


def in_bio(sentences: Sequence[Sentence]) -> tuple[str | None, list[Sentence]]:
    """(the scheme of their tags, the sentences in BIO); (None, the same) for plain tags."""
    scheme = scheme_of([each.tags for each in sentences])
    if scheme is None:
        return None, [*sentences]
    return scheme, [replace(each, tags=tuple(to_bio(each.tags, scheme))) for each in sentences]
