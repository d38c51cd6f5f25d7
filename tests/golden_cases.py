"""Hundreds of recorded cases as one test: a test each would take several times as long."""

from collections.abc import Callable, Sequence
from pathlib import Path


def for_each(cases: Sequence) -> Callable:
    """Make `test(case, folder)` one test over all cases; a failure says which case it was."""

    def decorate(test: Callable) -> Callable:
        def all_cases(tmp_path: Path) -> None:
            assert cases
            for number, case in enumerate(cases):
                try:
                    test(case, tmp_path)
                except BaseException as error:
                    error.add_note(f"golden case {number}")
                    raise

        return all_cases

    return decorate
