"""`python -m elmo_bench pretrain corpus='shards/*.xz' out=my-elmo`: train a biLM.

Options stand in elmo_bench/pretraining/conf/pretrain.yaml.
"""

from pathlib import Path

from elmo_bench.config import compose
from elmo_bench.pretraining import CONF
from elmo_bench.quiet import quiet


def main(arguments: list[str]) -> int:
    """Compose elmo_bench/pretraining/conf/pretrain.yaml with key=value options and train."""
    config = compose("pretrain", arguments, folder=CONF)
    from elmo_bench.pretraining.folder import save_weights  # imports torch; a misspelt option should not wait for it
    from elmo_bench.pretraining.trainer import pretrain

    out = Path(config.out)
    with quiet():
        trained = pretrain(config)
    if trained.first:
        save_weights(trained.model, out, about={"steps": trained.steps, "tokens": trained.tokens})
        print(out)
    return 0
