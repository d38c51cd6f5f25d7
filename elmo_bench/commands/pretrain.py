"""`python -m elmo_bench pretrain corpus='shards/*.xz' out=my-elmo`: train a biLM.

Options stand in elmo_bench/pretraining/conf/pretrain.yaml.
"""

from elmo_bench.config import compose
from elmo_bench.pretraining import CONF


def main(arguments: list[str]) -> int:
    """Compose elmo_bench/pretraining/conf/pretrain.yaml with key=value options and train."""
    config = compose("pretrain", arguments, folder=CONF)
    from elmo_bench.pretraining.trainer import pretrain  # imports torch; a misspelt option should not wait for it

    print(pretrain(config))
    return 0
