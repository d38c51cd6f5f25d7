"""`elmo-bench pretrain corpus='shards/*.xz' out=my-elmo`: train a biLM.

Options are in elmo_bench/pretraining/conf/pretrain.yaml.
"""

from typing import TYPE_CHECKING

from elmo_bench.cli.evaluate import TEXT
from elmo_bench.pretraining import CONF
from elmo_bench.reporting.console import next_lines
from elmo_bench.spec.config import compose
from elmo_bench.spec.options import spelled

if TYPE_CHECKING:
    from elmo_bench.pretraining.encode import Encoded
    from elmo_bench.pretraining.loop import Training
    from elmo_bench.pretraining.network import Perplexity


def main(arguments: list[str], command: str = "pretrain") -> int:
    """Compose elmo_bench/pretraining/conf/<command>.yaml with key=value options and train."""
    config = compose(command, arguments, folder=CONF)
    from elmo_bench.pretraining import trainer  # with torch; wrong options should not wait for it

    with trainer.alone(config):
        finish(*getattr(trainer, command)(config), command=command, arguments=arguments)
    return 0


def finish(
    training: "Training", heldout: "Encoded | None", before: "Perplexity | None" = None, *,
    command: str, arguments: list[str],
) -> None:  # fmt: skip
    """Write the folder, measure the held-out text with what was written, and print both and the option that uses it."""
    from elmo_bench.pretraining.encode import shard_files
    from elmo_bench.pretraining.loop import device_of
    from elmo_bench.pretraining.network import load_language_model, perplexity
    from elmo_bench.pretraining.trainer import save_trained

    out = save_trained(training, command=command, arguments=arguments)
    if heldout:
        model, _ = load_language_model(str(out))
        after = perplexity(model, heldout, device=device_of(training.config))
        figures = {" before": before, " after": after} if before else {"": after}
        corpus = ", ".join(file.name for file in shard_files(training.config.heldout))
        seen = f" ({heldout.repeated:,} of its sentences are in the training text)" * bool(heldout.repeated)
        measured = {f"{corpus}{seen}{name}": each for name, each in figures.items()}
        save_trained(training, command=command, arguments=arguments, measured=measured)
        print(*(TEXT.format(weights=f"{out}{name}", corpus=corpus, **each) for name, each in figures.items()), sep="\n")
    else:
        print("perplexity: not measured without heldout=")
    name = out.resolve().name
    both = ["sweep", "task=ner", "encoder=elmo", f"encoder.weights=mini,{spelled(str(out))}", "seed=0,1,2"]
    compared = ["compare", "elmo", "--encoder", "elmo", f"encoder.weights={spelled(name)}"]
    print(*next_lines([(both, "it and the weights that ship"), (compared, "is it better or worse?")]), sep="\n")
