"""`elmo-bench evaluate weights=mini corpus=heldout.txt.xz`: perplexity of a biLM.

Options are in elmo_bench/pretraining/conf/evaluate.yaml.
"""

import json
from typing import Any

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.machine import choose_threads
from elmo_bench.elmo.pretrained import locate_with_softmax
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.encode import Corpus, check_text, encode, shard_files
from elmo_bench.spec.config import compose
from elmo_bench.spec.options import check_once

TEXT = """\
{weights} on {corpus}: {sentences:,} sentences, {targets:,} targets in each direction, \
softmax of {words:,} words
            all targets   without <UNK>
forward   {forward:13.2f}   {forward_without_unknown:13.2f}
backward  {backward:13.2f}   {backward_without_unknown:13.2f}
average   {average:13.2f}   {average_without_unknown:13.2f}
<UNK> is {unknown_percent:.2f} % of the targets"""


def main(arguments: list[str]) -> int:
    """Print the perplexities as a block of text or a line of JSON. Raises UserError."""
    check_once(arguments, single=True)
    config = compose("evaluate", arguments, folder=CONF, can_sweep=False)
    if config.format not in ("text", "json"):
        raise UserError(f"format={config.format}: choose text or json")
    figures = _measured(config)
    text = json.dumps(figures) if config.format == "json" else TEXT.format_map(figures)
    print(text)
    return 0


def _measured(config: DictConfig) -> dict[str, Any]:
    """The perplexities, and which weights read which files."""
    tokenizer = str(config.tokenizer)
    corpus = Corpus(tuple(shard_files(config.corpus)), tokenizer=tokenizer)
    locate_with_softmax(str(config.weights))

    # Imported here, so that --help and a missing file do not wait for torch.
    import torch

    from elmo_bench.elmo.frozen import device_named
    from elmo_bench.pretraining.network import load_language_model, perplexity

    device_named(config.device)
    torch.set_num_threads(choose_threads(config.threads, "evaluate"))
    model, vocabulary = load_language_model(str(config.weights), tokenizer=tokenizer)
    check_text(corpus)
    sentences = encode(corpus, vocabulary)
    return {
        "weights": redacted(str(config.weights)),
        "corpus": ", ".join(map(str, corpus.files)),
        **perplexity(model, sentences, device=config.device),
    }
