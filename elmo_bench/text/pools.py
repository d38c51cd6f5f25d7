"""Which texts go together: similar lengths, so that little padding is computed."""

from collections.abc import Iterable, Iterator, Sequence


def pools(order: Iterable[int], lengths: Sequence[int], *, size: int, tokens: int) -> Iterator[list[int]]:
    """Numbers of texts, which come by rising length, in pools of at most `size` texts and (padded) `tokens` tokens.

    A pool has one text at least, however long. `lengths` are those of all texts, in tokens.
    """
    pool: list[int] = []
    for number in order:  # the newest is the longest
        if pool and (len(pool) == size or (len(pool) + 1) * lengths[number] > tokens):
            yield pool
            pool = []
        pool.append(number)
    if pool:
        yield pool


def by_length(lengths: Sequence[int]) -> list[int]:
    """The numbers of texts by rising length, equal ones as they came."""
    return sorted(range(len(lengths)), key=lengths.__getitem__)
