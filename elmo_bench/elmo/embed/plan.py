"""Which lines are encoded together: an input is cut into parts, a part into pools.

A part is what is written, and kept over a kill, as one; a pool is one call of the encoder. Both cuts depend on nothing
but the lines from the part's beginning on, so that work taken up again computes what it would have computed.
"""

from collections.abc import Iterable, Iterator, Sequence

from elmo_bench.elmo.embed.lines import Line
from elmo_bench.text.pools import by_length
from elmo_bench.text.pools import pools as cut

PART_TOKENS = 65_536
PART_SENTENCES = 16_384
POOL_TOKENS = 16_384
POOL_SENTENCES = 1_024
STATEFUL_BATCH = 64  # what AllenNLP's command took where none was given


def parts(lines: Iterable[Line], batch: int | None = None) -> Iterator[list[Line]]:
    """Lines in their order, cut behind PART_TOKENS or PART_SENTENCES; with `batch`, behind a whole number of them."""
    part: list[Line] = []
    tokens = 0
    for line in lines:
        part.append(line)
        tokens += len(line.tokens)
        if (tokens >= PART_TOKENS or len(part) >= PART_SENTENCES) and len(part) % (batch or 1) == 0:
            yield part
            part, tokens = [], 0
    if part:
        yield part


def pools(lengths: Sequence[int], batch: int | None = None) -> Iterator[list[int]]:
    """The rows of a part, by their numbers of tokens, that go to the encoder at once.

    With `batch`: exactly so many, in file order. Without: similar lengths together, at most POOL_TOKENS tokens (a
    longer sentence stands alone), so that memory does not depend on how long the lines are.
    """
    if batch is not None:
        return (list(range(start, min(start + batch, len(lengths)))) for start in range(0, len(lengths), batch))
    return cut(by_length(lengths), lengths, size=POOL_SENTENCES, tokens=POOL_TOKENS)
