"""The commands, one module each: `main(arguments) -> exit code`.

A module is imported when its command is called.
"""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

# The first command of a visitor, and of one with data; what each does.
STARTS = {
    "elmo-bench run task=ner encoder=elmo": "named entities, which ship: four minutes "
    "of one core",
    "elmo-bench sweep task=classification data.file=reviews.csv encoder=glove,elmo "
    "seed=0,1,2": "your own data, and which encoder to use; also task=pairs, tagging",
}
GROUPS = {
    "run": {
        "run": "train one task head on one encoder:  run task=ner encoder=elmo",
        "sweep": "run every combination:  "
        "sweep task=ner,sst5 encoder=none,glove,elmo seed=0,1,2",
        "status": "list the runs of a sweep: done, running or missing:  "
        "status --experiment table1",
        "predict": "apply the trained head of a run to new text:  "
        "predict RECORD FILE OUT",
    },
    "look": {
        "report": "render results/README.md and results/index.html from the ledger",
        "compare": "encoders on every task that has runs of all of them:  "
        "compare elmo glove",
        "score": "print the official scores of a file of predictions:  "
        "score TASK FILE [--json]",
        "check": "check a record from elsewhere, and score its predictions again:  "
        "check RECORD",
        "verify": "compare your runs on the paper's data with its figures:  "
        "verify TASK",
        "cost": "measure frozen encoders on this machine:  cost encoder=glove,elmo",
        "merge": "add the records of other ledgers:  merge LEDGER …",
    },
    "data": {
        "fetch": "download public data and verify it:  fetch --root FOLDER",
        "texts": "write the texts of a task, one a line, for `embed` and other "
        "programs:  texts OUT task=ner",
    },
    "frozen encoders": {
        "embed": "write the vectors of a file, one tokenised sentence a line:  "
        "embed sentences.txt out.h5",
        "neighbours": "list the tokens nearest to a word in context:  "
        "neighbours WORD --in SENTENCE text.txt",
        "pretrain": "train a biLM on your text:  "
        "pretrain corpus='shards/*.xz' out=my-elmo",
        "finetune": "train a biLM further on other text:  "
        "finetune weights=mini corpus=text.txt out=my-elmo",
        "evaluate": "measure the perplexity of a biLM:  "
        "evaluate weights=my-elmo corpus=heldout.txt",
        "export": "write a biLM in the published layout, which AllenNLP loads, or the "
        "trained head of a run:  export mini FOLDER",
    },
    "your own encoders and tasks": {
        "test": "check the encoders and tasks of a folder, with what to write:  "
        "--include FOLDER test",
    },
}
COMMANDS: dict[str, str] = {}
for _group in GROUPS.values():
    COMMANDS |= _group
# Options that `run` and the commands about encoders share.
_ENCODER_OPTION = re.compile(r"(encoder|suite|task|trainer|device)(\.[\w.]+)?=")


class _StoreOnce(argparse.Action):
    """Stores the values of an argument; an option with others again is refused."""

    given: Any = None  # by the option

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if option_string is not None:
            if self.given not in (None, values):
                parser.error(f"{option_string} is given twice. Give it once.")
            self.given = values
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """A parser whose errors say how the options of a run are written.

    An option that takes a value is given once.
    """

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.register("action", None, _StoreOnce)

    def error(self, message: str) -> NoReturn:
        option = re.search(r"unrecognized arguments: --([a-z][\w.]*)", message)
        if option:
            message += f" (an option of a run has no dashes: {option[1]}=VALUE)"
        super().error(message)


def parser(
    command: str, epilog: str | None = None, *, ledger: bool = False
) -> argparse.ArgumentParser:
    """A parser that describes the command as the list of commands does.

    ledger: with the option `--ledger`.
    """
    about = COMMANDS[command].partition(":  ")[0]
    sentence = f"{about[:1].upper()}{about[1:]}."
    command_parser = Parser(
        prog=f"elmo-bench {command}", description=sentence, epilog=epilog
    )
    if ledger:
        command_parser.add_argument(
            "--ledger",
            type=Path,
            default=Path("results/runs"),
            help="folder of records (default: %(default)s)",
        )
    return command_parser


def encoder_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """(`key=value` options of an encoder among these words, the other words)."""
    options = [word for word in words if _ENCODER_OPTION.match(word)]
    others = [word for word in words if word not in options]
    return options, others
