"""The readers of text, plain and compressed."""

import gzip
import json
import lzma
import shutil
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import zstandard

from elmo_bench.base.files import read_lines, unpack
from elmo_bench.base.json import read_json
from elmo_bench.elmo import embed
from elmo_bench.elmo.export import _licence
from elmo_bench.encoders.binary_vectors import read_fasttext, read_word2vec
from elmo_bench.encoders.glove_text import read_text
from elmo_bench.pretraining.cooccurrence import cooccurrence
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.text.columns import read_columns
from elmo_bench.text.token_labels import read_conllu
from tests.fuzz.cases import Case, file_of, not_finite
from tests.ledger.records import make_record

TEXT = "the old cats sleep .\nvery old dogs bark .\n\nbirds sing .\n" * 5
VECTORS = "".join(f"word{n} {n}.5 -0.25 1e-3\n" for n in range(20))
WORD2VEC = "2 3\n" + "".join(f"{word} {'1234' * 3}\n" for word in ("the", "naïve"))  # 1234: a small number
FASTTEXT = Path(__file__).parents[1] / "golden" / "fasttext"
CONLLU = "# id = 1\n1\tShe\tshe\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\tran\trun\tVERB\tVBD\t_\t0\troot\t_\t_\n\n"
CARD = "---\nlicense: mit\ntags: [a, b]\n---\n# A card\n"
WORDS = "<S>\t5\n</S>\t5\n<UNK>\t0\nthe\t9\ncats\t3\n"
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": lambda text: text,
    ".gz": partial(gzip.compress, mtime=0),
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def text_cases() -> list[Case]:
    """Lines, vectors, columns, corpora, vocabularies, JSON and cards."""
    return [
        *_packed("base.files:read_lines", "in.txt", TEXT, lambda path: list(read_lines(path))),
        *_packed("encoders.glove_text:read_text", "v.txt", VECTORS, _vectors, wrong=not_finite),
        Case(
            reader="elmo_bench.encoders.glove_text:read_text",
            variant=".zip",
            make=lambda folder: _zipped(folder, "v.txt", VECTORS),
            read=lambda folder: _vectors(folder / "x.zip"),
            wrong=not_finite,
        ),
        *_packed("encoders.binary_vectors:read_word2vec", "v.bin", WORD2VEC, _word2vec, wrong=not_finite),
        *(
            Case(
                reader="elmo_bench.encoders.binary_vectors:read_fasttext",
                variant=name,
                make=lambda folder, name=name: shutil.copy(FASTTEXT / f"{name}.bin", folder / "v.bin"),  # type: ignore[misc]
                read=lambda folder: _fasttext(folder / "v.bin"),
            )
            for name in ("skipgram", "classifier")
        ),
        Case(
            reader="elmo_bench.base.files:unpack",
            make=lambda folder: _zipped(folder, "a/b.txt", TEXT),
            read=lambda folder: unpack(folder / "x.zip", "a/b.txt", folder / "out"),
        ),
        _text("base.json:read_json", json.dumps(make_record()), read_json, name="x.json"),
        _text(
            "pretraining.corpus:Corpus.sentences", TEXT, lambda path: list(Corpus((path,), "treebank").sentences(path))
        ),
        _text(
            "pretraining.cooccurrence:cooccurrence", TEXT, lambda path: cooccurrence([path], ["the", "cats"], window=2)
        ),
        _text("text.columns:read_columns", "a B-x\nb\tO\n\nc O\n", lambda path: list(read_columns(path))),
        _text("text.token_labels:read_conllu", CONLLU, lambda path: list(read_conllu(path))),
        _text("elmo.embed:read", TEXT, lambda path: list(embed.read(path))),
        _text("pretraining.vocabulary:TargetVocabulary.read", WORDS, TargetVocabulary.read),
        _text("elmo.export:_licence", CARD, _licence),
    ]


def _text(reader: str, text: str, read: Callable[[Path], Any], *, name: str = "in.txt") -> Case:
    return Case(reader=f"elmo_bench.{reader}", make=file_of(name, text), read=lambda folder: read(folder / name))


def _packed(reader: str, name: str, text: str, read: Callable[[Path], Any], **more: Any) -> list[Case]:
    """A case for each compression."""
    return [
        Case(
            reader=f"elmo_bench.{reader}",
            variant=ending,
            make=lambda folder, ending=ending: (folder / f"{name}{ending}").write_bytes(PACK[ending](text.encode())),  # type: ignore[misc]
            read=lambda folder, ending=ending: read(folder / f"{name}{ending}"),  # type: ignore[misc]
            **more,
        )
        for ending in PACK
    ]


def _word2vec(path: Path) -> list[Any]:
    return [read_word2vec(path)[1]]


def _fasttext(path: Path) -> list[Any]:
    _, vectors, ngrams = read_fasttext(path)
    return [vectors, *([] if ngrams is None else [ngrams.vectors(["unseen", "x"])])]


def _vectors(path: Path) -> list[Any]:
    return [read_text(path)[1]]


def _zipped(folder: Path, member: str, text: str) -> None:
    with zipfile.ZipFile(folder / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, text)
