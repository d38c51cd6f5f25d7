"""`python -m elmo_bench COMMAND …`: the same as `elmo-bench COMMAND …`.

The command line is imported when it is called, so that Ctrl-C ends it with a line from
the start.
"""

import sys


def main(arguments: list[str]) -> int:
    """Run one command; its exit code. See `elmo_bench.cli.entry.main`."""
    from elmo_bench.cli import entry as command_line

    return command_line.main(arguments)


def entry(*command: str) -> None:
    """The `elmo-bench` script; the main job is `entry("run")`."""
    try:
        from elmo_bench.cli import entry as command_line
    except KeyboardInterrupt:
        print("elmo-bench: interrupted before it began.", file=sys.stderr)
        sys.exit(130)  # 128 + SIGINT
    command_line.entry(*command)


if __name__ == "__main__":
    entry()
