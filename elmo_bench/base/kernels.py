"""Which kernels and C loops a run used: rounding may differ between two ways to compute the same numbers."""

_used: dict[str, set[str]] = {}  # ways by name; of the process, since the last `forget_kernels`


def used(name: str, how: str) -> None:
    """Remember that this part was computed in this way, such as `gru` in `c`; or as `kernels_used` says.

    Called at every step, so it does no more.
    """
    _used.setdefault(name, set()).update(how.split(" and "))


def kernels_used() -> dict[str, str]:
    """The way of each part, in alphabetical order; a part that was computed in two ways has both: `c and torch`."""
    return {name: " and ".join(sorted(_used[name])) for name in sorted(_used)}


def forget_kernels() -> None:
    """A run begins: what earlier ones in this process used is not its own."""
    _used.clear()
