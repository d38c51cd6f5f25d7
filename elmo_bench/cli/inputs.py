"""Files that commands read and write, checked before anything slow is imported."""

import re
from pathlib import Path

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.refusals import check_writable
from elmo_bench.ledger import Record

PLACE = "Give LEDGER/suite/task/encoder/hash/seed<k>.json."


def check_file(path: str | Path) -> None:
    """Raise UserError for a file that is missing, and for a folder."""
    path = Path(path)
    if path.is_dir():
        raise UserError(f"{path}: a folder. Give a file.")
    if not path.exists():
        raise UserError(f"{path}: no such file. Check the path.")


def check_output(path: Path, *, overwrite: bool) -> None:
    """Raise UserError for a file that cannot be written, or is there already.

    overwrite: it is replaced.
    """
    if path.is_dir():
        raise UserError(f"{path}: a folder. Give a file.")
    if path.exists() and not overwrite:
        raise UserError(
            f"{path}: exists already. Give another path, or --overwrite to replace it."
        )
    check_writable(path.parent, path)


def record_in(path: Path) -> Record:
    """The record in this file.

    Raises UserError, for a folder and for a file of something else too.
    """
    if path.is_dir():
        raise UserError(f"{path}: a folder, not the record of a run. {PLACE}")
    has_name_of_record = re.fullmatch(r"seed\d+\.json", path.name)
    if has_name_of_record or not path.exists():
        return ledger.read_record(path)
    try:
        return ledger.read_record(path)
    except UserError:
        raise UserError(f"{path}: not the record of a run. {PLACE}") from None
