"""`python -m elmo_bench COMMAND …`: everything but the main job, which is `python run.py`."""

import importlib
import os
import sys
from pathlib import Path

from elmo_bench.base.errors import UserError

# Each command is a module with `main(arguments) -> exit code`; it is imported only when it is called.
COMMANDS = {
    "run": ("elmo_bench.cli.run", "train and score one head:  run task=ner encoder=elmo"),
    "score": ("elmo_bench.cli.score", "official figures of a file of predictions:  score TASK FILE [--json]"),
    "fetch": ("elmo_bench.cli.fetch", "public data files, held against their checksums:  fetch --suite open"),
    "predict": ("elmo_bench.cli.predict", "a trained head on new text:  predict RECORD FILE OUT"),
    "report": ("elmo_bench.cli.report", "render results/README.md and index.html from the ledger"),
    "status": (
        "elmo_bench.cli.status",
        "which runs of a sweep are done, failed or missing:  status --experiment table1",
    ),
    "sweep": ("elmo_bench.cli.sweep", "every combination of values:  sweep task=ner encoder=none,glove,elmo seed=0,1"),
    "merge": ("elmo_bench.cli.merge", "add the runs of a ledger that was made elsewhere:  merge LEDGER"),
    "clean": ("elmo_bench.cli.clean", "remove what finished and failed runs leave behind"),
    "embed": (
        "elmo_bench.cli.embed",
        "vectors of a file, one tokenised sentence a line:  embed sentences.txt out.h5",
    ),
    "pretrain": (
        "elmo_bench.cli.pretrain",
        "train a biLM on your own text:  pretrain corpus='shards/*.xz' out=my-elmo",
    ),
    "finetune": (
        "elmo_bench.cli.finetune",
        "go on from weights on other text:  finetune weights=mini corpus=text.txt out=my-elmo",
    ),
    "evaluate": (
        "elmo_bench.cli.evaluate",
        "perplexity of a biLM on held-out text:  evaluate weights=my-elmo corpus=heldout.txt",
    ),
    "export": (
        "elmo_bench.cli.export",
        "a biLM in the published layout, as AllenNLP loads it:  export mini folder",
    ),
    "pretrain-masked": (
        "elmo_bench.cli.pretrain_masked",
        "train a small BERT on your own text:  pretrain-masked corpus='shards/*.xz' out=my-bert minutes=15",
    ),
    "pretrain-static": ("elmo_bench.cli.pretrain_static", "train GloVe vectors on your own text"),
}


def usage() -> str:
    rows = "\n".join(f"  {name:<16} {text}" for name, (_, text) in COMMANDS.items())
    return (
        f"usage: python -m elmo_bench COMMAND …\n\n{rows}\n\nThe main job is `python run.py` (--help for its options)."
    )


def main(arguments: list[str]) -> int:
    """Run one command; its exit code, 2 for a mistake in its input."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0
    name, *rest = arguments
    options = Path(__file__).parent / "pretraining" / "conf" / f"{name}.yaml"  # of the commands that take key=value
    if rest in (["-h"], ["--help"]) and options.is_file():
        print(options.read_text(encoding="utf-8"), end="")
        return 0
    if name not in COMMANDS:
        print(f"elmo_bench: unknown command '{name}'; choose one of: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    try:
        return importlib.import_module(COMMANDS[name][0]).main(rest) or 0
    except UserError as error:
        print(f"elmo_bench {name}: {error}", file=sys.stderr)
        return 2


def main_into_pipe(arguments: list[str]) -> int:
    """`main`, ending quietly where the reader of its output has had enough (`| head`)."""
    try:
        try:
            return main(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush when Python ends
        return 141  # as a shell counts it: 128 + SIGPIPE


if __name__ == "__main__":
    sys.exit(main_into_pipe(sys.argv[1:]))
