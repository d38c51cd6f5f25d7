"""`elmo-bench finetune weights=mini corpus='text/*.txt' out=my-elmo`: train weights further on your text.

Options are in elmo_bench/pretraining/conf/finetune.yaml. With `task=…` it reads the text of a task.
"""

from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.cli.pretrain import finish
from elmo_bench.pretraining import CONF
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import described


def main(arguments: list[str]) -> int:
    """Compose the options, train, print perplexity before and after, and the option that uses the folder."""
    of_task = [part for part in arguments if part.lstrip("+~").startswith(("task.", "data.", "suite="))]
    config = compose("finetune", [part for part in arguments if part not in of_task], folder=CONF)
    if bool(config.task) == bool(config.corpus):
        raise UserError("give either corpus=… or task=…")
    if of_task and not config.task:
        raise UserError(f"{of_task[0]} is an option of a task's data; give task=… too")
    for key, split in (("corpus", "train"), ("heldout", "dev")) if config.task else ():
        if not config[key]:
            from elmo_bench.runner.data import write_texts

            config[key] = str(Path(config.out) / f"{split}.txt")
            write_texts(Path(config[key]), *described(f"task={config.task}", *of_task), [split])
    from elmo_bench.pretraining.trainer import finetune

    finish(*finetune(config), command="finetune", arguments=arguments)
    return 0
