"""How an input is cut: nothing lost, nothing twice, bounded, and the same from any part's beginning."""

import random

import pytest

from elmo_bench.elmo.embed import lines
from elmo_bench.elmo.embed.lines import Line

RNG = random.Random(0)
LENGTHS = [RNG.choice([0, 1, 5, 30, 900]) for _ in range(2000)] + [50_000, 1, 2]
LINES = [Line("x " * length, ["x"] * length) for length in LENGTHS]


@pytest.mark.parametrize("batch", [None, 1, 7, 64])
def test_parts_are_the_input_in_its_order(batch):
    parts = list(lines.parts(iter(LINES), batch))
    assert [line for part in parts for line in part] == LINES
    assert all(len(part) % (batch or 1) == 0 for part in parts[:-1])
    sizes = [sum(len(line.tokens) for line in part) for part in parts]
    assert all(size >= lines.PART_TOKENS for size in sizes[:-1])
    assert max(sizes) < lines.PART_TOKENS + 50_000 + 900 * (batch or 1)
    assert list(lines.parts(iter(LINES[len(parts[0]) :]), batch)) == parts[1:]


def test_many_short_lines_are_cut_too():
    assert [len(part) for part in lines.parts(Line("", []) for _ in range(40_000))] == [16_384, 16_384, 7_232]


def test_pools_bound_the_tokens_whatever_the_lines():
    pools = list(lines.pools(LENGTHS))
    assert sorted(row for pool in pools for row in pool) == list(range(len(LENGTHS)))
    assert [LENGTHS.index(50_000)] in pools
    assert all(sum(LENGTHS[row] for row in pool) <= lines.POOL_TOKENS for pool in pools if len(pool) > 1)
    assert max(map(len, pools)) <= lines.POOL_SENTENCES
    spread = [max(LENGTHS[row] for row in pool) - min(LENGTHS[row] for row in pool) for pool in pools]
    assert sum(gap == 0 for gap in spread) > len(pools) / 2


def test_batches_are_what_was_asked_for():
    assert list(lines.pools([3, 1, 9, 0, 2], 2)) == [[0, 1], [2, 3], [4]]
