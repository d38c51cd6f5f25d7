"""`elmo-bench run task=ner encoder=elmo`: one run. `elmo-bench sweep …`, or `run -m …`: a sweep."""

import argparse
import shutil
import textwrap
from pathlib import Path

from omegaconf import OmegaConf

from elmo_bench.base.errors import redacted
from elmo_bench.ledger import HeldElsewhere, RunPaths
from elmo_bench.reporting.console import ending, outcome
from elmo_bench.runner.run import run
from elmo_bench.spec.config import CONF, choices, compose

HELP = """\
elmo-bench: what is a frozen encoder worth? One run makes one record in the ledger.

  elmo-bench run task=ner encoder=elmo                                  one run (in a clone also: python run.py)
  elmo-bench sweep task=ner encoder=none,glove,elmo seed=0,1,2          every combination (also: python run.py -m)
  elmo-bench sweep experiment=table2                                    a table or figure of the paper
  elmo-bench run task=sst5 encoder=elmo data.root=FOLDER                on data that does not ship: elmo-bench fetch

== Groups (group=option) ==
{groups}

== Options worth changing (key=value) ==
  seed=0                        of everything random in the run
  encoder.weights=mini          mini small medium original original_5.5B, a folder or file, or user/repo on the Hub
  encoder.vectors=glove-6b      a known name (glove.840B.300d, senna, ...), or a file in GloVe format
  place=input                   input output both
  mix.penalty=0.1               λ of the mix; also mix.layer_norm=none|token|batch, mix.dropout=0.0
  vectors.trainable=true        learn a correction of the static vectors
  data.root=FOLDER              where your data is (default: the environment variable ELMO_BENCH_DATA)
  data.train_fraction=1.0       a fraction of the training data; data.max_train=N: at most N examples
  store.max_gb=10.0             limit of the cache of frozen layers
  trainer.threads=2             default: one for training, the idle cores for encoding
  task.training.epochs=20       and every other number of conf/task/*.yaml
  ledger=results/runs  overwrite=false  predictions=false

Any key that `elmo-bench run --cfg job` prints can be set the same way. A finished run is skipped; overwrite=true runs
it again. Everything else: elmo-bench --help
"""


def main(arguments: list[str]) -> int:
    """Make one run, or a sweep with `-m`; the exit code. Raises UserError for bad input."""
    parser = argparse.ArgumentParser(prog="elmo-bench run", add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("--cfg", choices=["job"])
    parser.add_argument("--attempt", help=argparse.SUPPRESS)  # id that a sweep gives to this attempt
    parser.add_argument("options", nargs="*")
    given = parser.parse_intermixed_args(arguments)
    if given.multirun:
        from elmo_bench.cli.sweep import main as sweep

        return sweep(given.options)
    if given.help or not (given.options or given.cfg):
        groups = (f"{path.name}: {', '.join(choices(path.name))}" for path in sorted(CONF.iterdir()) if path.is_dir())
        width = min(shutil.get_terminal_size().columns, 120)
        for line in HELP.format(groups="\n".join(groups)).splitlines():
            print(textwrap.fill(line, width, subsequent_indent=" " * 6))
        return 0
    config = compose("config", given.options)
    if given.cfg:
        print(redacted(OmegaConf.to_yaml(config)), end="")
        return 0
    try:
        record, skipped = run(config, attempt=given.attempt)
    except HeldElsewhere as error:
        print(error, flush=True)
        return 0  # the other process makes the run
    ledger, state = Path(config.ledger), "done"
    if skipped:
        lacks = config.predictions and not any(RunPaths.of(ledger, record).work.glob("test.predictions*"))
        state = f"already in the ledger{', without predictions' if lacks else ''} (overwrite=true runs it again)"
    print(outcome(ledger, record, state), flush=True)
    if given.attempt is None:
        print(*ending(record), sep="\n", flush=True)
    return 0
