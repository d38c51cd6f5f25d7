"""Reading text to train on: all kinds of files, tokenisers, and lines that no sentence has."""

import gzip
import lzma
from pathlib import Path

import pytest
import zstandard

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining.encode import LONGEST, Corpus, shard_files
from elmo_bench.text.vocabulary import TOKENISERS, tokeniser

LINES = [f"sentence {number} has {'very ' * (number % 5)}many words ." for number in range(3000)]
TEXT = "".join(f"{line}\n" for line in LINES).encode()
PACK = {"": bytes, ".txt": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}
PACKED = [".gz", ".xz", ".zst"]


def sentences(path):
    return list(Corpus((path,)).sentences(path))


def write(folder, name, data) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("ending", PACK)
def test_every_kind_of_file(tmp_path, ending):
    path = write(tmp_path, f"text{ending}", PACK[ending](TEXT))
    assert sentences(path) == [line.split() for line in LINES]
    half = len(TEXT) // 2  # packed files that were put together
    path.write_bytes(PACK[ending](TEXT[:half]) + PACK[ending](TEXT[half:]) + PACK[ending](b""))
    assert sentences(path) == [line.split() for line in LINES]


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("part", [0.3, 0.999])
def test_a_cut_file_is_one_line_with_its_place(tmp_path, ending, part):
    data = PACK[ending](TEXT)
    path = write(tmp_path, f"text{ending}", data[: int(part * len(data))])
    with pytest.raises(UserError, match=r"text\.\w+: damaged or cut off after line \d+ \(.+\)"):
        sentences(path)


def test_not_utf8(tmp_path):
    path = write(tmp_path, "text.txt", "good\ncafé\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"text\.txt:2: not UTF-8 text \(.* at byte 3\)"):
        sentences(path)


def test_no_file(tmp_path):
    with pytest.raises(UserError, match="no file matches"):
        shard_files(str(tmp_path / "*.txt"))
    with pytest.raises(UserError, match=r"gone\.txt: no such file"):
        sentences(tmp_path / "gone.txt")


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("letter", ["x", "😀"])
def test_a_line_of_a_megabyte_is_skipped_and_counted(tmp_path, ending, letter, capsys):
    edge = letter * LONGEST
    text = f"a b\n{edge}\n{letter * 2**20}\nc\n{edge}{letter}\r\n{edge}\r\n{letter * 2**20}"
    path = write(tmp_path, f"text{ending}", PACK[ending](text.encode()))
    assert sentences(path) == [["a", "b"], [edge], ["c"], [edge]]
    said = capsys.readouterr().err.replace("\n", "")
    assert f"{path.name}: 3 line(s) of over 20,000 characters left out, the first is line 3" in said


@pytest.mark.parametrize("name", TOKENISERS)
def test_a_blank_line_has_no_token_and_no_token_has_white_space(name):
    assert tokeniser(name)(" \t\u3000") == []
    assert not [token for token in tokeniser(name)("a\u00a0b\u2028c d\te.") if not token or token.split() != [token]]
