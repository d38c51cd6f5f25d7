"""The SRL data of the open suite: PropBank's skeletons of the English Web Treebank with the words of UD English EWT.

    python benchmarks/join_propbank.py PROPBANK UD OUT

PROPBANK is a checkout of propbank/propbank-release at 4abade0b53 (`data/google/ewt`, `docs/evaluation`), UD one of
UniversalDependencies/UD_English-EWT at 15d613d844; both CC BY-SA 4.0 (annotations). OUT gets train.conll, dev.conll and
test.conll: the columns of the skeletons, separated by tabs, with words in the place of `[WORD]`. The documents of a
split are in the order of their names.

The two corpora have the same sentences, but some tokens differ. A sentence whose numbers of tokens differ is left out:
26 of 16,579. PropBank has one sentence where UD has two in reviews-275919; their words are joined.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write

SPLITS = ("train", "dev", "test")


def main(arguments: list[str] | None = None) -> int:
    """Write the three files and print how many sentences join. Raises UserError if a file or document is missing."""
    parser = argparse.ArgumentParser(description="PropBank's annotation of EWT with UD's words.")
    parser.add_argument("propbank", type=Path, metavar="PROPBANK")
    parser.add_argument("ud", type=Path, metavar="UD")
    parser.add_argument("out", type=Path, metavar="OUT")
    options = parser.parse_args(arguments)
    words = documents(options.ud)
    for split in SPLITS:
        joined = total = 0
        with atomic_write(options.out / f"{split}.conll", "w") as file:
            for path, name in skeletons(options.propbank, split):
                if name not in words:
                    raise UserError(f"{options.ud}: no document {name}. Check the commits of both corpora.")
                rows = [[line.split() for line in block.splitlines()] for block in blocks(path)]
                total += len(rows)
                for sentence in join(rows, words[name]):
                    joined += 1
                    file.write("".join("\t".join(row) + "\n" for row in sentence) + "\n")
        print(f"{split}: {joined:,} of {total:,} sentences")
    return 0


def blocks(path: Path) -> list[str]:
    """The blocks of a file that blank lines separate. Raises UserError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}). Check out the corpus again.") from None
    return [block for block in text.split("\n\n") if block.strip()]


def documents(folder: Path) -> dict[str, list[list[str]]]:
    """The words of each sentence of UD, by document, in order. Raises UserError."""
    sentences: dict[str, list[list[str]]] = {}
    for split in SPLITS:
        for block in blocks(folder / f"en_ewt-ud-{split}.conllu"):
            name = re.search(r"^# sent_id = (.*)-\d+$", block, re.MULTILINE)
            if name is None:
                raise UserError(f"{folder}: a {split} sentence has no sent_id. Check out the corpus again.")
            rows = [line.split("\t") for line in block.splitlines() if line[0].isdigit()]
            sentences.setdefault(name[1], []).append([row[1] for row in rows if row[0].isdigit()])  # no ranges (3-4)
    return sentences


def skeletons(folder: Path, split: str) -> Iterator[tuple[Path, str]]:
    """(skeleton, UD's name of the document) of each annotated document of a split."""
    listed = " ".join(blocks(folder / "docs" / "evaluation" / f"ewt.{split}.txt")).split()
    for line in sorted(line.removesuffix(".conllu") for line in listed):
        path = folder / "data" / "google" / "ewt" / f"{line}.gold_skel"
        if path.is_file():  # 29 listed documents have no annotation
            genre, _, name = line.split("/")
            yield path, f"{genre}-{name.removesuffix('.xml')}"


def join(sentences: list[list[list[str]]], words: list[list[str]]) -> Iterator[list[list[str]]]:
    """The sentences of a document, as rows of cells, with words in the fourth column; without those that do not fit."""
    place = 0
    for rows in sentences:
        for taken in (1, 2):
            tokens = [token for sentence in words[place : place + taken] for token in sentence]
            if len(tokens) == len(rows):
                yield [[*row[:3], token, *row[4:]] for row, token in zip(rows, tokens, strict=True)]
                place += taken - 1
                break
        place += 1


if __name__ == "__main__":
    sys.exit(main())
