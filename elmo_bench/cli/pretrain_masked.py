"""`elmo-bench pretrain-masked corpus='shards/*.xz' out=my-bert minutes=15`: train a small BERT.

Options are in elmo_bench/pretraining/conf/pretrain-masked.yaml.
"""

from elmo_bench.pretraining import CONF
from elmo_bench.spec.config import compose
from elmo_bench.training.quiet import quiet


def main(arguments: list[str]) -> int:
    """Compose conf/pretrain-masked.yaml with key=value options and train; 0."""
    config = compose("pretrain-masked", arguments, folder=CONF)
    from elmo_bench.pretraining.masked.pretrain import pretrain_masked  # imports torch

    with quiet():
        pretrain_masked(config, arguments)
    print(config.out)
    return 0
