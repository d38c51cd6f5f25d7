"""`python -m elmo_bench pretrain corpus='shards/*.xz' out=my-elmo`: train a biLM (options in conf/pretrain.yaml)."""

from elmo_bench.config import compose


def main(arguments: list[str]) -> int:
    """Compose conf/pretrain.yaml with key=value options and train."""
    config = compose("pretrain", arguments)
    from elmo_bench.pretraining.trainer import pretrain  # imports torch; a misspelt option should not wait for it

    print(pretrain(config))
    return 0
