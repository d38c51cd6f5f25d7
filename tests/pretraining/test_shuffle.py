"""Random order in constant memory."""

import random
from itertools import chain, islice, pairwise

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.shuffle import OPEN, TURN, Reader, interleaved, shuffled


def corpus(folder, *, files, lines):
    """Distinct lines over files of different lengths, an empty one among them."""
    texts = [f"line {number}" for number in range(lines)]
    edges = [0, *sorted(random.Random(0).sample(range(lines), files - 1)), lines]
    for part, (start, end) in enumerate(pairwise(edges)):
        (folder / f"{part}.txt").write_text("".join(f"{text}\n\n" for text in texts[start:end]))
    (folder / "empty.txt").write_text("")
    return Corpus(tuple(sorted(folder.glob("*.txt")))), texts


def reader(corpus, seed="0", **settings):
    return Reader(corpus, seed=seed, **({"buffer": 50, "rank": 0, "world": 1} | settings))


@pytest.mark.parametrize("buffer", [1, 7, 1000, 5000])
@pytest.mark.parametrize("files", [1, 3, 11])
def test_a_pass_has_every_line_once(tmp_path, buffer, files):
    text, lines = corpus(tmp_path, files=files, lines=2000)
    source = iter(reader(text, buffer=buffer))
    first, second = list(islice(source, 2000)), list(islice(source, 2000))
    assert sorted(first) == sorted(second) == sorted(lines)
    assert first != second or buffer == files == 1


def test_the_order_follows_from_seed_and_pass(tmp_path):
    text, _ = corpus(tmp_path, files=6, lines=500)
    one, again, other = (list(islice(reader(text, seed), 1000)) for seed in "001")
    assert one == again
    assert one[:500] != other[:500]
    assert list(islice(reader(text, number=1), 500)) == one[500:]


@pytest.mark.parametrize("world", [2, 3])
def test_processes_share_a_pass_out(tmp_path, world):
    text, lines = corpus(tmp_path, files=3, lines=200)
    whole = list(islice(reader(text), 200))
    for number in (0, 1):
        shares = []
        for rank in range(world):
            source, share = reader(text, rank=rank, world=world), []
            for line in source:
                if source.number > number:
                    break
                if source.number == number:
                    share.append(line)
            shares.append(share)
        assert sorted(chain(*shares)) == sorted(lines)
        if number == 0:
            assert shares == [whole[rank::world] for rank in range(world)]


@pytest.mark.parametrize(("rank", "world"), [(0, 1), (0, 2), (1, 2), (2, 3)])
def test_a_reader_goes_on_from_where_another_stood(tmp_path, rank, world):
    text, _ = corpus(tmp_path, files=5, lines=100)
    source = reader(text, rank=rank, world=world)
    lines, places = [], []
    for line in islice(source, 250 // world):
        lines.append(line)
        places.append({"number": source.number, "drawn": source.drawn})
    assert places[-1]["number"] == 2
    for behind, place in enumerate(places, start=1):
        later = reader(text, rank=rank, world=world, **place)
        assert list(islice(later, 10))[: len(lines) - behind] == lines[behind : behind + 10]


def test_fewer_lines_than_processes(tmp_path):
    (tmp_path / "a.txt").write_text("only one\n")
    text = Corpus((tmp_path / "a.txt",))
    assert list(islice(reader(text, world=2), 3)) == ["only one"] * 3
    with pytest.raises(UserError, match=r"fewer sentences than processes \(2\)"):
        next(iter(reader(text, rank=1, world=2)))
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(UserError, match="fewer sentences"):
        next(iter(reader(text)))


def test_the_buffer_is_bounded():
    pulled = 0

    def lines():
        nonlocal pulled
        for pulled in range(1, 10_001):
            yield str(pulled)

    for given, _ in enumerate(shuffled(lines(), 100, random.Random(0)), start=1):
        assert pulled - given <= 100
    assert given == 10_000


def test_few_files_are_open_and_each_gives_its_turn():
    opened, most, ahead = set(), 0, 0

    def read(file):
        nonlocal most, ahead
        opened.add(file)
        most = max(most, len(opened))
        for number in range(3 * TURN):
            ahead += 1
            yield f"{file} {number}"
        opened.remove(file)

    given = []
    for line in interleaved([*range(10)], read):
        given.append(line)
        assert ahead - len(given) < TURN
    assert most == OPEN
    assert sorted(given) == sorted(f"{file} {number}" for file in range(10) for number in range(3 * TURN))
    assert {line.split()[0] for line in given[: OPEN * TURN]} == {str(file) for file in range(OPEN)}


def test_lines_of_a_long_sorted_file_come_from_all_over_the_buffer():
    order = [int(line) for line in shuffled(map(str, range(50_000)), 1000, random.Random(0))]
    delay = np.arange(50_000 - 1000) - np.array(order[: 50_000 - 1000])
    assert abs(delay[5000:].mean()) < 50  # it comes in 1,000 draws early, and waits a geometric number of mean 1,000
    assert delay[5000:].std() == pytest.approx(1000, rel=0.05)
