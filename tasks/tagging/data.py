"""Sentences of the user's own, with a tag for each token: spans in any usual scheme, or plain tags."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.progress import note
from elmo_bench.base.sources import TABLES
from elmo_bench.tasks.ner.data import BOUNDARY, RESERVED
from elmo_bench.text.columns import cells_of, escaped, read_columns
from elmo_bench.text.own_data import NO_GOLD, OwnData
from elmo_bench.text.tables import Row, ending_of, read_table
from elmo_bench.text.tags import TaggedSentence, scheme_of, spans, to_bio


class Data(OwnData):
    """Reads column files (token first, tag last, a blank line after each sentence), and tables with lists of both."""

    schema = "tagging-1"
    ending = ".conll"
    parts = ("tokens", "tags")
    unit = "sentences"
    endings = None

    def read_rows(self, path: Path) -> list[Row]:
        """A row for each sentence, with its tokens and tags."""
        if ending_of(path) in TABLES:
            return read_table(path)
        rows = []
        first = next((cells for _, line in read_lines(path) if (cells := cells_of(line)) and cells[0] != BOUNDARY), [])
        for lines in read_columns(path, columns=max(len(first), 1), boundary=BOUNDARY):
            cells = [cells for _, cells in lines]
            tags = [each[-1] if len(each) > 1 else NO_GOLD for each in cells]
            rows.append({"tokens": [each[0] for each in cells], "tags": tags})
        if not rows:
            raise UserError(f"{path}: no sentences. Each line must have a token and its tag.")
        return rows

    def example(self, row: Row, names: Mapping[str, str], where: str) -> TaggedSentence:
        tokens = self.text(row.get(names["tokens"]), where)
        cell = row.get(names.get("tags", ""))
        tags = cell.split() if isinstance(cell, str) else cell if cell is not None else [NO_GOLD] * len(tokens)
        if not isinstance(tags, list) or not all(isinstance(tag, str | int) for tag in tags):
            raise UserError(f"{where} has {cell!r:.60} where tags belong. Give a list with one for each token.")
        if len(tags) != len(tokens):
            raise UserError(f"{where} has {len(tokens)} tokens and {len(tags)} tags. Give one for each token.")
        return TaggedSentence(tokens, tuple(map(str, tags)))

    def examples_of(self, splits: Mapping[str, Sequence[Row]]) -> dict[str, list[TaggedSentence]]:
        """The sentences of each split; spans in BIO, whatever their scheme."""
        examples = super().examples_of(splits)
        sequences = [each.tags for own in examples.values() for each in own]
        scheme, tags = scheme_of(sequences), {tag for each in sequences for tag in each}
        if scheme is None and "O" in tags and any(tag.startswith("B-") for tag in tags):
            odd = min((tag for tag in tags if scheme_of([[tag]]) is None), default="E- or S- beside L- or U-")
            raise UserError(f"tags: {odd} is in no scheme (BIO, IOB1, BIOES, BILOU) that has B-TYPE and O. Fix it.")
        note(f"tags: {f'spans in {scheme}, read as BIO' if scheme else 'plain, a label for each token'}")
        if scheme is None:
            return examples
        return {
            split: [TaggedSentence(each.tokens, tuple(to_bio(each.tags, scheme))) for each in own]
            for split, own in examples.items()
        }

    def labels_of(self, example: TaggedSentence) -> Sequence[str]:
        return [tag.partition("-")[2] or tag for tag in example.tags]

    def stratum(self, example: TaggedSentence) -> str:
        """Whether a sentence has more than one tag: splits have the same share of sentences without a span."""
        return str(len({*example.tags}) > 1)

    def canonical(self, example: TaggedSentence) -> dict[str, Any]:
        """Tokens and tags."""
        return {"tokens": example.tokens, "tags": example.tags}

    def vocabulary(self, train: Sequence[TaggedSentence]) -> dict[str, list[str]]:
        """{"labels": the plain tags, or every BIOUL tag of every type of spans, O first}."""
        tags = {tag for sentence in train for tag in sentence.tags}
        if scheme_of([list(tags)]) is None:
            return {"labels": sorted(tags)}
        kinds = sorted({tag[2:] for tag in tags if tag != "O"})
        return {"labels": ["O", *(f"{letter}-{kind}" for kind in kinds for letter in "BIUL")]}

    def write(self, path: Path, examples: Sequence[TaggedSentence], predicted: Sequence[Sequence[str]]) -> None:
        """Write token, gold and predicted tag on a line each; JSON lines, CSV or Parquet if the path ends so."""
        if ending_of(path) in TABLES:
            rows = [{"tokens": [*each.tokens]} for each in examples]
            self.write_rows(path, rows, [[*each.tags] for each in examples], map(list, predicted))
            return
        with atomic_write(path, "w") as handle:
            for sentence, tags in zip(examples, predicted, strict=True):
                lines = zip(sentence.tokens, sentence.tags, tags, strict=True)
                spelt = ((escaped(token, reserved=RESERVED), escaped(gold), escaped(tag)) for token, gold, tag in lines)
                handle.write("".join(" ".join(line) + "\n" for line in spelt) + "\n")
