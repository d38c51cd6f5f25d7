"""Cuts small files out of the data that ship with the package: `python tests/data/cut.py`.

Short sentences, in the order of the files, and ten numbers of the vectors of their words. SST, OntoGUM and the test
data of word senses may not be shipped; README.md says what is here in their place.
"""

import json
import lzma
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from elmo_bench.encoders.static import load_static
from elmo_bench.encoders.vector_files import write_compact

HERE = Path(__file__).parent
SHIPPED = HERE.parents[1] / "elmo_bench" / "data"
WNUT = {"wnut17train.conll": 150, "emerging.dev.conll": 60, "emerging.test.annotated": 60}  # sentences
UD = {"en_ewt-ud-train.conllu": 120, "en_ewt-ud-dev.conllu": 40, "en_ewt-ud-test.conllu": 40}
PROPBANK = {"train.conll": 60, "dev.conll": 25, "test.conll": 25}
PAIRS = {"snli_1.0_dev.jsonl": 1150, "snli_1.0_test.jsonl": 120}  # dev is cut from the first: about 1,000 pairs
ARTICLES = {"new_wiki_v1.0.json": 8, "train-v1.1.part.json": 4, "dev-v1.1.json": 6}


def main() -> None:
    for name, count in WNUT.items():
        named = every_third_plain(blocks("wnut17", name), plain=lambda block: all(row.endswith("\tO") for row in block))
        named = list({"\n".join(block): block for block in named}.values())  # no sentence twice
        write("wnut17", name, ("\n".join(block) + "\n\n" for block in take(named, count, longest=20)))
    for name, count in UD.items():
        write("ud_ewt", name, ("\n".join(block) + "\n\n" for block in take(blocks("ud_ewt", name), count, longest=15)))
    for name, count in PROPBANK.items():
        sentences = (block for block in blocks("ewt_propbank", name) if any(row.count("\t") > 7 for row in block))
        write("ewt_propbank", name, ("\n".join(block) + "\n\n" for block in take(sentences, count, longest=15)))
    for name, count in PAIRS.items():
        write("snli", name, (f"{line}\n" for line in short_pairs(name, count)))
    for name, count in ARTICLES.items():
        data = json.loads(text("squad", name))
        articles = [short_article(article) for article in data["data"]]
        found = [article for article in articles if article["paragraphs"]][:count]
        write("squad", name, [json.dumps(data | {"data": found}) + "\n"])
    files = (path for path in HERE.glob("*/*") if path.is_file() and path.suffix != ".xz")
    words = {
        word for path in files for word in re.findall(r"[^\W_]+|[^\w\s]", path.read_text(encoding="utf-8").lower())
    }
    table = load_static("glove-6b", words)
    write_compact(HERE / "vectors.safetensors", table.words, table.vectors[:, :10], {"cut": "glove-6b"}, int8=True)


def text(folder: str, name: str) -> str:
    return lzma.decompress((SHIPPED / folder / f"{name}.xz").read_bytes()).decode()


def blocks(folder: str, name: str) -> list[list[str]]:
    """The lines of each sentence."""
    parts = text(folder, name).replace("\r\n", "\n").split("\n\n")
    return [part.strip("\n").split("\n") for part in parts if part.strip()]


def take(found: Iterable[list[str]], count: int, *, longest: int) -> list[list[str]]:
    """The first `count` sentences of 4 to `longest` tokens."""
    short = [block for block in found if 4 <= sum(not row.startswith("#") for row in block) <= longest]
    return short[:count]


def every_third_plain(found: list[list[str]], *, plain: Callable[[list[str]], bool]) -> list[list[str]]:
    """Two sentences with an entity for each one without."""
    kept: list[list[str]] = []
    without = 0
    for block in found:
        if plain(block) and 3 * without > len(kept):
            continue
        without += plain(block)
        kept.append(block)
    return kept


def short_pairs(name: str, count: int) -> list[str]:
    """Pairs of short premises, with all pairs of a premise."""
    lines = text("snli", name).splitlines()
    return [line for line in lines if len(json.loads(line)["sentence1"].split()) <= 9][:count]


def short_article(article: dict) -> dict:
    """At most two short paragraphs with at most four questions each."""
    short = [part for part in article["paragraphs"] if len(part["context"]) < 500][:2]
    return article | {"paragraphs": [part | {"qas": part["qas"][:4]} for part in short]}


def write(folder: str, name: str, parts: Iterable[str]) -> None:
    (HERE / folder).mkdir(exist_ok=True)
    (HERE / folder / name).write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
