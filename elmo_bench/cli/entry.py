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
from elmo_bench.cli import COMMANDS, GROUPS, STARTS

# The options of commands that take key=value.
_CONF = Path(__file__).parents[1] / "pretraining" / "conf"


def usage() -> str:
    """The text of `--help`, as wide as the terminal."""
    width = max(60, shutil.get_terminal_size((120, 24)).columns)
    lines = ["usage: elmo-bench [--include FOLDER] COMMAND …", "", "start with:"]
    for command, about in STARTS.items():
        lines += [f"  {command}", f"{' ' * 14}{about}"]
    for group, commands in GROUPS.items():
        lines += ["", f"{group}:"]
        for name, about in commands.items():
            line = f"  {name:<11} {about}"
            lines += textwrap.wrap(line, width, subsequent_indent=" " * 14)
    more = (
        "--include FOLDER adds the tasks, encoders and configs of a folder of yours. "
        f"$ELMO_BENCH_INCLUDE may name more, with '{os.pathsep}' between them. "
        "`COMMAND --help` lists options, --version prints the version."
    )
    lines += ["", *textwrap.wrap(more, width)]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run one command.

    Returns its exit code: 0, 1 for a failure, 2 for a mistake in the input.
    """
    name = ""
    wait_asleep()
    try:
        arguments = _without_help(include_given(arguments))
        if not arguments or arguments[0] in ("-h", "--help", "--version"):
            is_version = "--version" in arguments[:1]
            print(f"elmo-bench {__version__}" if is_version else usage())
            return 0
        name, *rest = arguments
        _check_command(name)
        _check_folder()
        return _run_command(name, rest)
    except UserError as error:
        return _report(error, name)
    except Exception as error:
        lines = included_lines(error)
        if lines:  # the user's own code: its lines, and none of ours
            print(lines, file=sys.stderr)
            return 1
        refused = refusal(error, "output")
        if refused is None:
            raise
        return _report(refused, name)


def _without_help(arguments: list[str]) -> list[str]:
    """`help` and `help COMMAND` as `--help` and `COMMAND --help`."""
    if arguments[:1] != ["help"]:
        return arguments
    return [*arguments[1:2], "--help"]


def _check_command(name: str) -> None:
    """Raise UserError for an unknown command."""
    if name.startswith("-"):
        raise UserError(
            f"{name}: a command comes first, and its options are key=value. "
            "Write: elmo-bench run task=ner encoder=elmo"
        )
    if name not in COMMANDS:
        # Imported here, with OmegaConf, which few commands need.
        from elmo_bench.spec.options import guess

        names = ", ".join(COMMANDS)
        hint = guess(name, COMMANDS)
        raise UserError(f"unknown command '{name}'{hint}. Choose one of: {names}.")


def _check_folder() -> None:
    """Raise UserError if the current folder was removed: libraries then fail."""
    try:
        Path.cwd()
    except FileNotFoundError:
        raise UserError("the current folder was removed. Change to another.") from None


def _run_command(name: str, arguments: list[str]) -> int:
    options = _CONF / f"{name}.yaml"
    if {"-h", "--help"} & {*arguments} and options.is_file():
        print(options.read_text(encoding="utf-8"), end="")
        return 0
    output = Plain(sys.stdout)
    with redirect_stdout(output):  # type: ignore[type-var]
        module = importlib.import_module(f"elmo_bench.cli.{name}")
        code: int = module.main(arguments)
    return code


def _report(error: UserError, name: str) -> int:
    """Print the error; the exit code."""
    program = f"elmo-bench {name}" if name in COMMANDS else "elmo-bench"
    try:
        print(f"{program}: {error}", file=sys.stderr)
    except OSError:  # the same full disk, where the output goes to a file
        _silence(sys.stderr)
    return 2


def _silence(stream: TextIO) -> None:
    """Nothing more is written, not even when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _open_closed_streams() -> None:
    """Nothing is written to a stream that the caller closed (`>&-`).

    A file that is opened later would else get the number of the stream, and what is
    printed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
        mode = "r" if name == "stdin" else "w"
        setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def main_into_pipe(arguments: list[str]) -> int:
    """`main`, ending with a line after Ctrl-C or SIGTERM.

    It ends quietly when the reader of its output has ended (`| head`).
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal may know ASCII alone.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        try:
            return main(arguments)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print(
            "elmo-bench: interrupted. Give the same command again to go on.",
            file=sys.stderr,
        )
        return 130  # 128 + SIGINT
    except OSError as error:
        _silence(sys.stdout)
        if isinstance(error, BrokenPipeError):
            return 141  # as a shell counts it: 128 + SIGPIPE
        refused = refusal(error, "output")
        if refused is None:
            raise
        return _report(refused, "")


def entry(*command: str) -> None:
    """The `elmo-bench` script; the main job is `entry("run")`."""
    sys.exit(main_into_pipe([*command, *sys.argv[1:]]))
