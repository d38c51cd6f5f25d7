"""Counting words and pairs: equal to a plain count, however the text is cut up and whoever counts it."""

import lzma
import random
from collections import Counter, defaultdict

import numpy as np
import pytest

from elmo_bench.__main__ import main
from elmo_bench.pretraining import cooccurrence as counting
from elmo_bench.pretraining.cooccurrence import block_count, cooccurrence, vocabulary


def _write(path, lines):
    content = ("\n".join(map(" ".join, lines)) + "\n").encode()
    path.write_bytes(lzma.compress(content) if path.suffix == ".xz" else content)
    return path


def _lines(count, letters, seed):
    draw = random.Random(seed)
    return [[draw.choice(letters) for _ in range(draw.randint(0, 15))] for _ in range(count)]


@pytest.mark.parametrize(
    "sizes",  # SHARD, BLOCK, PIECE: one block; a file is one block of many pieces; a file is many blocks
    [(10**6, 10**6, 10**6), (10**6, 10**6, 30), (10, 40, 10**6)],
)
def test_counts_equal_a_plain_count(tmp_path, monkeypatch, sizes):
    for name, value in zip(("SHARD", "BLOCK", "PIECE"), sizes, strict=True):
        monkeypatch.setattr(counting, name, value)
    lines = _lines(60, "abcdefgh", seed=1)
    path = _write(tmp_path / "corpus.txt", lines)
    words = list("abcdef")  # g and h are unknown: they are taken out before distances are measured
    expected = defaultdict(float)
    for line in lines:
        known = [word for word in line if word in words]
        for here, word in enumerate(known):
            for there, other in enumerate(known):
                if here != there and abs(here - there) <= 3:
                    expected[word, other] += 1 / abs(here - there)
    blocks = []
    counts = cooccurrence([path], words, window=3, after_block=blocks.append).toarray()
    assert counts.dtype == np.float32
    for row, word in enumerate(words):
        for column, other in enumerate(words):
            assert counts[row, column] == pytest.approx(expected[word, other], rel=1e-6)
    assert sum(blocks) == sum(map(len, lines))
    assert (len(blocks) > 5) == (sizes[0] == 10)


def test_two_processes_count_the_same_bits_as_one(tmp_path, monkeypatch):
    letters = "abcdefghijklmnop"
    files = [_write(tmp_path / f"{seed}.txt.xz", _lines(200, letters, seed)) for seed in range(3)]
    large = _lines(2000, letters, seed=9)
    files.insert(1, _write(tmp_path / "large.txt", large))
    monkeypatch.setattr(counting, "SHARD", 10_000)
    monkeypatch.setattr(counting, "BLOCK", 5_000)
    assert block_count(files) is None
    assert block_count(files[2:]) == 2
    expected = Counter(word for seed in range(3) for line in _lines(200, letters, seed) for word in line)
    expected.update(word for line in large for word in line)
    words, tokens = vocabulary(files, size=12, min_count=1)
    assert words == [word for word, _ in sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))[:12]]
    assert tokens == expected.total()
    assert vocabulary(files, size=12, min_count=1, processes=2) == (words, tokens)
    one, two = (cooccurrence(files, words, window=10, processes=processes) for processes in (1, 2))
    assert one.nnz == 12 * 12
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda content: content[:-30], "part-1.txt.xz: damaged or cut off after line"),
        (lambda content: lzma.compress(b"a b\n\xff\n"), "part-1.txt.xz:2: not UTF-8"),
    ],
)
def test_a_bad_file_that_another_process_reads_is_one_clear_line(tmp_path, capfd, spoil, message):
    for number in range(3):
        path = _write(tmp_path / f"part-{number}.txt.xz", _lines(50, "abcd", number))
    path = tmp_path / "part-1.txt.xz"
    path.write_bytes(spoil(path.read_bytes()))
    out = tmp_path / "v.txt"
    assert main(["pretrain-static", f"corpus={tmp_path}/part-*", f"out={out}", "threads=2"]) == 2
    error = capfd.readouterr().err.splitlines()
    assert len(error) == 1
    assert message in error[0]
    assert not out.exists()
