"""`elmo-bench finetune weights=mini corpus='text/*.txt' out=my-elmo`: train weights further on your text.

Options are in elmo_bench/pretraining/conf/finetune.yaml. `elmo-bench texts` writes the text of a task.
"""

from elmo_bench.cli.pretrain import finish
from elmo_bench.pretraining import CONF
from elmo_bench.spec.config import compose


def main(arguments: list[str]) -> int:
    """Compose the options, train, print perplexity before and after, and the option that uses the folder."""
    config = compose("finetune", arguments, folder=CONF)
    from elmo_bench.pretraining.trainer import alone, finetune

    with alone(config):
        finish(*finetune(config), command="finetune", arguments=arguments)
    return 0
