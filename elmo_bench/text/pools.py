"""Groups of sequences of similar length, so that little padding is computed."""

from collections.abc import Iterable, Iterator, Sequence


def pools(order: Iterable[int], lengths: Sequence[int], *, size: int, tokens: int) -> Iterator[list[int]]:
    """Cut `order`, numbers of sequences by rising length, into pools of at most `size` sequences and `tokens` tokens.

    Tokens are counted with padding. A pool has at least one sequence, however long. `lengths` of all, in tokens.
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
    """The numbers of all sequences by rising length; equal lengths keep their order."""
    return sorted(range(len(lengths)), key=lengths.__getitem__)
