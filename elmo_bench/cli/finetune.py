"""`elmo-bench finetune weights=mini corpus='text/*.txt' out=my-elmo`: train weights further on your text.

Options are in elmo_bench/pretraining/conf/finetune.yaml. With `task=…` it reads the text of a task.
"""

from pathlib import Path

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, keep_inputs
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
    if config.task:
        take_text(config, [f"task={config.task}", *of_task])
    from elmo_bench.pretraining.trainer import finetune

    finish(*finetune(config), command="finetune", arguments=arguments)
    return 0


def take_text(config: DictConfig, options: list[str]) -> None:
    """Write the sentences of a task's training split, and of its dev split to hold out, to files in `out`."""
    spec, setup = described(*options)
    from elmo_bench.runner.data import build_data, read_splits, training_split

    data = build_data(spec, setup)
    splits = read_splits(data, spec, setup)
    splits["train"] = training_split(splits["train"], spec, setup)
    for key, split in (("corpus", "train"), ("heldout", "dev")):
        if config[key]:
            continue
        texts = dict.fromkeys(tuple(text) for example in splits[split] for text in example.texts)  # a question's
        path = Path(config.out) / f"{split}.txt"  # passage is written once for all its questions
        keep_inputs(path, data.files(spec.suite, setup.data_root))
        with atomic_write(path, "w") as handle:
            handle.writelines(" ".join(text) + "\n" for text in texts if text)
        config[key] = str(path)
