"""`elmo-bench texts OUT task=ner suite=open …`: the texts that an encoder reads in a run, for other programs."""

import re
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.sources import SPLITS
from elmo_bench.cli import parser


def main(arguments: list[str]) -> int:
    """Write every distinct text, a line each, its tokens separated by spaces. Raises UserError."""
    command = parser("texts", "encoder=precomputed needs the layers of all of them.")
    command.add_argument("out", type=Path, help="a text file")
    command.add_argument("options", nargs="*", help="key=value, as of `elmo-bench run`: task=ner suite=open")
    command.add_argument("--split", action="append", choices=SPLITS, help="all three by default; may be repeated")
    given = command.parse_intermixed_args(arguments)
    if re.match(r"[\w.]+=", str(given.out)):
        raise UserError(f"{given.out}: an option where the text file belongs. Write: texts OUT {given.out} …")
    from elmo_bench.runner.data import write_texts
    from elmo_bench.spec.run_spec import described

    print(f"{given.out}: {write_texts(given.out, *described(*given.options), given.split or SPLITS):,} texts")
    return 0
