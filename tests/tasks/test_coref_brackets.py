"""The column of chains is read as scorer.pl of CoNLL-2012 (v8.01) reads it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_bench.tasks.coref.conll import BracketError, format_column, parse_column

# Cells of a column and the spans of its chain 3, as scorer.pl lists them.
READ = [
    ("(3 3)", [(0, 1)]),
    ("(3 3)|(3 3)", [(0, 2), (1, 1)]),
    ("(3 (3|3) 3)", [(0, 2), (1, 1)]),
    ("(3 3)|(3|(4 4) 3)", [(0, 3), (1, 1)]),
    ("(3 (3)|3)", [(0, 1), (1, 1)]),
    ("(3 3)|(3)", [(0, 1), (1, 1)]),
    ("(3 (3 3)|3)", [(0, 2), (1, 2)]),
    ("(3 (3 3)|(3 3)|3)", [(0, 3), (1, 3), (2, 2)]),
    ("(3|3)", [(0, 0)]),
    ("3)|(3", [(0, 0)]),
    ("(3|(3|3) 3)", [(0, 0), (0, 1)]),
    ("(3 3)|(3|3)", [(0, 1), (1, 1)]),
]
REFUSED = ["(3 3)|(3", "3) (3 3)", "(3 3)|3)", "(3|(3 3)|(3", "(3 4)|(4 3)|3)"]


def read_by_steps(column):
    """{chain: spans}: in a cell first (3), then (3, then 3); None for brackets that do not match."""
    chains, waiting = {}, {}
    for token, cell in enumerate(column):
        for chain in re.findall(r"\(([0-9]+)\)", cell):
            chains.setdefault(chain, []).append((token, token))
        left = re.sub(r"\([0-9]+\)", "", cell)
        for chain in re.findall(r"\(([0-9]+)", left):
            chains.setdefault(chain, [])
            waiting.setdefault(chain, []).append(token)
        for chain in re.findall(r"(?<![(0-9])([0-9]+)\)", left):
            if not waiting.get(chain):
                return None
            chains[chain].append((waiting[chain].pop(), token))
    return None if any(waiting.values()) else {chain: sorted(spans) for chain, spans in chains.items()}


def read(column):
    try:
        return parse_column(enumerate(column), single_first=True)
    except BracketError:
        return None


@pytest.mark.parametrize(("cells", "spans"), READ, ids=[cells for cells, _ in READ])
def test_a_cell_opens_its_brackets_before_it_closes_any(cells, spans):
    column = cells.split()
    assert read_by_steps(column)["3"] == spans
    assert parse_column(enumerate(column))["3"] == spans
    assert parse_column(enumerate(column), single_first=True)["3"] == spans


@pytest.mark.parametrize("cells", REFUSED)
def test_brackets_that_do_not_match_are_refused(cells):
    column = cells.split()
    assert read_by_steps(column) is None
    with pytest.raises(BracketError):
        parse_column(enumerate(column))


MENTION = st.tuples(st.sampled_from("12"), st.integers(0, 4), st.integers(0, 2))  # chain, first token, length less one


@st.composite
def columns(draw):
    """The column of a few mentions of two chains, the parts of each cell in any order."""
    cells = [[] for _ in range(7)]
    for chain, start, more in draw(st.lists(MENTION, max_size=5)):
        if more:
            cells[start].append(f"({chain}")
            cells[start + more].append(f"{chain})")
        else:
            cells[start].append(f"({chain})")
    return ["|".join(draw(st.permutations(parts))) or "-" for parts in cells]


@settings(max_examples=50, deadline=None)
@given(columns())
def test_every_column_is_read_in_these_steps_and_written_alike_unless_spans_cross(column):
    chains = read(column)
    expected = read_by_steps(column)
    assert chains == expected
    assert list(chains) == list(expected)
    for spans in chains.values():
        if any(a < c <= b < d for a, b in spans for c, d in spans):
            return
    again = parse_column(enumerate(format_column(chains.values(), len(column))))
    assert sorted(again.values()) == sorted(chains.values())
