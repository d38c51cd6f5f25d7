"""`python -m elmo_bench evaluate weights=my-elmo corpus=heldout.txt.xz`: held-out perplexity of a biLM."""

import json
from pathlib import Path

from elmo_bench.config import compose
from elmo_bench.pretraining import CONF


def main(arguments: list[str]) -> int:
    """Compose elmo_bench/pretraining/conf/evaluate.yaml with key=value options and print the figures as JSON."""
    config = compose("evaluate", arguments, folder=CONF)
    from elmo_bench.pretraining.perplexity import load_language_model, perplexity

    model, vocabulary = load_language_model(Path(config.weights))
    figures = perplexity(model, vocabulary, Path(config.corpus))
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}))
    return 0
