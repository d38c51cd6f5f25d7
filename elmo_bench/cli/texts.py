"""`elmo-bench texts OUT task=ner suite=open …`: the texts that an encoder reads in a run, for other programs."""

import re
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, keep_inputs
from elmo_bench.cli import parser


def main(arguments: list[str]) -> int:
    """Write every distinct text of all splits, a line each, its tokens separated by spaces (see text/columns.py).

    Raises UserError.
    """
    command = parser("texts", "encoder=precomputed needs the layers of all of them.")
    command.add_argument("out", type=Path, help="a text file")
    command.add_argument("options", nargs="*", help="key=value, as of `elmo-bench run`: task=ner suite=open")
    given = command.parse_args(arguments)
    if re.match(r"[\w.]+=", str(given.out)):
        raise UserError(f"{given.out}: an option where the text file belongs. Write: texts OUT {given.out} …")
    from elmo_bench.runner.data import build_data, read_splits
    from elmo_bench.spec.run_spec import described
    from elmo_bench.text.columns import line_of

    spec, setup = described(*given.options)
    data = build_data(spec, setup)
    keep_inputs(given.out, data.files(spec.suite, setup.data_root))
    splits = read_splits(data, spec, setup)
    examples = [example for split in splits.values() for example in split]
    texts = dict.fromkeys(line_of(text) for example in examples for text in example.texts)
    with atomic_write(given.out, "w") as handle:
        handle.writelines(f"{text}\n" for text in texts if text)
    print(f"{given.out}: {len(texts):,} texts")
    return 0
