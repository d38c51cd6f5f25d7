"""`elmo-bench pretrain corpus='shards/*.xz' out=my-elmo`: train a biLM.

Options are in elmo_bench/pretraining/conf/pretrain.yaml.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import locked
from elmo_bench.base.machine import choose_threads
from elmo_bench.cli.evaluate import TEXT
from elmo_bench.elmo.pretrained import NAMES
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.encode import shard_files
from elmo_bench.reporting.endings import next_lines
from elmo_bench.spec.config import compose
from elmo_bench.spec.options import check_once, spelled

OTHER_SHAPE = (
    "The weights that ship, mini, have another shape (shape=wide): the commands below "
    "compare sizes as well as texts."
)

if TYPE_CHECKING:
    from elmo_bench.elmo.options import BiLMOptions
    from elmo_bench.pretraining.encode import Encoded
    from elmo_bench.pretraining.loop import Training
    from elmo_bench.pretraining.network import Perplexity


def main(arguments: list[str], command: str = "pretrain") -> int:
    """Train with elmo_bench/pretraining/conf/<command>.yaml and key=value options."""
    check_once(arguments, single=True)
    config = compose(command, arguments, folder=CONF, can_sweep=False)

    with alone(config):
        shard_files(config.corpus)
        if config.threads is not None:
            choose_threads(config.threads, command)
        # Imported here, so that wrong options do not wait for torch.
        from elmo_bench.pretraining import trainer

        trained = getattr(trainer, command)(config)
        finish(*trained, command=command, arguments=arguments)
    return 0


def alone(config: DictConfig) -> AbstractContextManager[None]:
    """For `with`: a block in which no other process trains into the folder `out`.

    Raises UserError if one does, and for a name of published weights.
    """
    out = Path(str(config.out)).resolve()
    if not out.name:
        raise UserError(f"out={config.out}: give a folder below it.")
    if out.name in NAMES:
        raise UserError(
            f"out={config.out}: commands would take it for the published weights of "
            "this name. Give another name."
        )
    held = UserError(
        f"out={config.out}: another process trains there now. Wait for its end, or "
        "give another out=."
    )
    return locked(out.with_name(f".{out.name}.lock"), "", held=held)


def finish(
    training: "Training",
    heldout: "Encoded | None",
    before: "Perplexity | None" = None,
    *,
    command: str,
    arguments: list[str],
) -> None:
    """Write the folder, and print its perplexity and the commands that use it.

    The perplexity is measured with what was written.
    """
    from elmo_bench.pretraining.trainer import save_trained

    out = save_trained(training, command=command, arguments=arguments)
    if heldout:
        figures = _figures(training, heldout, out, before)
        corpus = ", ".join(file.name for file in heldout.files)
        text = f"{corpus}{_repeated(heldout)}"
        measured = {f"{text}{when}": figure for when, figure in figures.items()}
        save_trained(training, command=command, arguments=arguments, measured=measured)
        for when, figure in figures.items():
            print(TEXT.format(weights=f"{out}{when}", corpus=corpus, **figure))
    else:
        print("perplexity: not measured without heldout=")
    if not has_shape_of_mini(training.model.bilm.options):
        print(OTHER_SHAPE)
    _print_next(out)


def has_shape_of_mini(options: "BiLMOptions") -> bool:
    """Whether a biLM has the numbers of the weights that ship."""
    from elmo_bench.elmo.options import BiLMOptions
    from elmo_bench.elmo.pretrained import locate_options

    return options == BiLMOptions.from_file(locate_options("mini"))


def _figures(
    training: "Training",
    heldout: "Encoded",
    out: Path,
    before: "Perplexity | None",
) -> "dict[str, Perplexity]":
    """The perplexity of the weights in `out`, by what to say behind their name.

    before: the perplexity of the weights that training began with.
    """
    from elmo_bench.pretraining.loop import device_of
    from elmo_bench.pretraining.network import load_language_model, perplexity

    model, _ = load_language_model(str(out))
    after = perplexity(model, heldout, device=device_of(training.config))
    if before is None:
        return {"": after}
    return {" before": before, " after": after}


def _repeated(heldout: "Encoded") -> str:
    """How much of the held-out text was trained on, if any was."""
    if not heldout.repeated:
        return ""
    return f" ({heldout.repeated:,} of its sentences are in the training text)"


def _print_next(out: Path) -> None:
    """Print commands that compare the new weights with those that ship."""
    weights = f"encoder.weights=mini,{spelled(str(out))}"
    sweep = ["sweep", "task=ner", "encoder=elmo", weights, "seed=0,1,2"]
    name = spelled(out.resolve().name)
    compare = ["compare", "elmo", "--encoder", "elmo", f"encoder.weights={name}"]
    commands = [
        (sweep, "it and the weights that ship"),
        (compare, "is it better or worse?"),
    ]
    for line in next_lines(commands):
        print(line)
