"""`python -m elmo_bench COMMAND …`: the same as `elmo-bench COMMAND …`."""

from elmo_bench.cli.entry import entry, main

__all__ = ["entry", "main"]

if __name__ == "__main__":
    entry()
