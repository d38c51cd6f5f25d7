"""`elmo-bench texts OUT task=ner suite=open …`: the texts that a run's encoder reads.

They are for other programs.
"""

import argparse
import re
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import check_unpacked_name, keep_inputs
from elmo_bench.base.sources import SPLITS
from elmo_bench.cli import parser
from elmo_bench.cli.inputs import check_output
from elmo_bench.spec.options import check_once


def main(arguments: list[str]) -> int:
    """Write every distinct text, a line each, its tokens separated by spaces.

    Raises UserError.
    """
    options = _parse(arguments)
    out = options.out
    if re.match(r"[\w.]+=", str(out)):
        raise UserError(
            f"{out}: an option where the text file belongs. Write: texts OUT {out} …"
        )
    check_unpacked_name(out)
    check_once(options.options, single=True)

    # Imported here, so that --help and a missing file do not wait for torch.
    from elmo_bench.runner.finished import data_files_of
    from elmo_bench.spec.run_spec import described

    spec, setup = described(*options.options)
    keep_inputs(out, data_files_of(spec, setup))
    check_output(out, overwrite=options.overwrite)
    from elmo_bench.runner.data import write_texts

    count = write_texts(out, spec, setup, options.split or SPLITS)
    print(f"{out}: {count:,} texts")
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("texts", "encoder=precomputed needs the layers of all of them.")
    command.add_argument("out", type=Path, help="a text file")
    command.add_argument(
        "options",
        nargs="*",
        default=[],  # not required
        help="key=value, as of `elmo-bench run`: task=ner suite=open",
    )
    command.add_argument(
        "--split",
        action="append",
        choices=SPLITS,
        help="all three by default; may be repeated",
    )
    command.add_argument("--overwrite", action="store_true", help="replace OUT")
    return command.parse_intermixed_args(arguments)
