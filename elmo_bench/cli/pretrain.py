"""`elmo-bench pretrain corpus='shards/*.xz' out=my-elmo`: train a biLM.

Options are in elmo_bench/pretraining/conf/pretrain.yaml.
"""

import dataclasses

from elmo_bench.pretraining import CONF
from elmo_bench.spec.config import compose
from elmo_bench.training.quiet import quiet


def main(arguments: list[str]) -> int:
    """Compose elmo_bench/pretraining/conf/pretrain.yaml with key=value options and train."""
    config = compose("pretrain", arguments, folder=CONF)
    from elmo_bench.pretraining.card import check_dtype
    from elmo_bench.pretraining.corpus import Corpus, shard_files
    from elmo_bench.pretraining.model import load_language_model  # imports torch; wrong options should not wait for it
    from elmo_bench.pretraining.perplexity import perplexity
    from elmo_bench.pretraining.trainer import first_process, pretrain, save_trained

    heldout = Corpus(tuple(shard_files(config.heldout)), config.tokenizer) if config.heldout else None
    check_dtype(config.dtype)
    with quiet():
        trained = pretrain(config)
    if first_process():
        out = save_trained(trained, config, command="pretrain", arguments=arguments)
        if heldout:
            device = "cuda" if config.accelerator == "gpu" else "cpu"
            found = dataclasses.asdict(perplexity(*load_language_model(str(out)), heldout, device=device))  # as stored
            measured = [{**found, "corpus": ", ".join(file.name for file in heldout.files)}]
            save_trained(trained, config, command="pretrain", arguments=arguments, perplexity=measured)
            print("perplexity {average:.2f} (forward {forward:.2f}, backward {backward:.2f})".format_map(found))
        print(out)
    return 0
