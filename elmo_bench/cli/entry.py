"""The command line: `elmo-bench COMMAND …`, also `python -m elmo_bench COMMAND …`."""

import importlib
import os
import shutil
import signal
import sys
import textwrap
from contextlib import redirect_stdout
from pathlib import Path
from typing import TextIO

from elmo_bench._version import __version__
from elmo_bench.base.errors import Plain, UserError
from elmo_bench.base.files import refusal
from elmo_bench.base.include import include_given, included_lines
from elmo_bench.base.machine import wait_asleep
from elmo_bench.cli import COMMANDS, GROUPS


def usage() -> str:
    """The text of `--help`, as wide as the terminal."""
    width = max(60, shutil.get_terminal_size((120, 24)).columns)
    lines = ["usage: elmo-bench [--include FOLDER] COMMAND …"]
    for group, commands in GROUPS.items():
        lines += ["", f"{group}:"]
        for name, about in commands.items():
            lines += textwrap.wrap(f"  {name:<11} {about}", width, subsequent_indent=" " * 14)
    more = (
        f"--include FOLDER adds the tasks, encoders and configs of a folder of yours. $ELMO_BENCH_INCLUDE may name "
        f"more, with '{os.pathsep}' between them. `COMMAND --help` lists options, --version prints the version."
    )
    return "\n".join([*lines, "", *textwrap.wrap(more, width)])


def main(arguments: list[str]) -> int:
    """Run one command. Returns its exit code: 0, 1 for a failure, 2 for a mistake in the input."""
    name = ""
    wait_asleep()
    try:
        arguments = include_given(arguments)
        if not arguments or arguments[0] in ("-h", "--help", "--version"):
            print(f"elmo-bench {__version__}" if "--version" in arguments[:1] else usage())
            return 0
        name, *rest = arguments
        if name not in COMMANDS:
            from elmo_bench.spec.options import guess  # with OmegaConf, which few commands need

            raise UserError(f"unknown command '{name}'{guess(name, COMMANDS)}. Choose one of: {', '.join(COMMANDS)}.")
        options = Path(__file__).parents[1] / "pretraining" / "conf" / f"{name}.yaml"  # commands that take key=value
        if rest in (["-h"], ["--help"]) and options.is_file():
            print(options.read_text(encoding="utf-8"), end="")
            return 0
        with redirect_stdout(Plain(sys.stdout)):  # type: ignore[type-var]
            return importlib.import_module(f"elmo_bench.cli.{name.replace('-', '_')}").main(rest) or 0
    except UserError as error:
        return _report(error, name)
    except Exception as error:
        if lines := included_lines(error):  # the user's own code: its lines, and none of ours
            print(lines, file=sys.stderr)
            return 1
        if (found := refusal(error, "output")) is None:
            raise
        return _report(found, name)


def _report(error: UserError, name: str) -> int:
    try:
        print(f"elmo-bench {name}: {error}" if name in COMMANDS else f"elmo-bench: {error}", file=sys.stderr)
    except OSError:  # the same full disk, where the output goes to a file
        _silence(sys.stderr)
    return 2


def _silence(stream: TextIO) -> None:
    """Nothing more is written, not even when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def main_into_pipe(arguments: list[str]) -> int:
    """`main`, ending with a line after Ctrl-C or SIGTERM, and quietly when its output's reader has ended (`| head`)."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a terminal may know ASCII alone
    try:
        try:
            return main(arguments)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("elmo-bench: interrupted. Give the same command again to go on.", file=sys.stderr)
        return 130  # 128 + SIGINT
    except OSError as error:
        _silence(sys.stdout)
        if isinstance(error, BrokenPipeError):
            return 141  # as a shell counts it: 128 + SIGPIPE
        if (found := refusal(error, "output")) is None:
            raise
        return _report(found, "")


def entry(*command: str) -> None:
    """The `elmo-bench` script; the main job is `entry("run")`."""
    sys.exit(main_into_pipe([*command, *sys.argv[1:]]))
