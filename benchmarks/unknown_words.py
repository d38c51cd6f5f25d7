"""How often the heads read the unknown word: expected in training, and in test.

    python benchmarks/unknown_words.py suite=open data.root=FOLDER
    python benchmarks/unknown_words.py --tasks ner,srl

For each task and kind of words the share of all tokens that an epoch on train and the scoring of test read, texts that
several examples have as often as they are read. `none`: learned words. `trained`: static vectors with
vectors.trainable=true. `fixed`: with false, where the vectors of words that are not in the table are zeros.
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from elmo_bench.encoders.static import load_static
from elmo_bench.encoders.words import HIDDEN
from elmo_bench.runner.data import build_data, read_splits, words_of
from elmo_bench.runner.model import Lexicon
from elmo_bench.spec.config import compose

TASKS = "squad,snli,srl,coref,ner,sst5"
KINDS = ("none", "trained", "fixed")


def shares(splits: Mapping[str, Sequence[Any]], vectors: str) -> dict[str, tuple[float, float]]:
    """By kind: the shares of the tokens of train and test that are read as the unknown word."""
    lexicon = Lexicon.of(splits["train"])
    counts = {split: Counter(words_of(splits[split])) for split in ("train", "test")}
    table = load_static(vectors, {word for each in counts.values() for word in each})
    seen, once = set(lexicon.words), set(lexicon.words[lexicon.repeated :])
    bare = {word for each in counts.values() for word in each if table.lookup(word) is None}
    hidden = {"none": once, "trained": once & bare, "fixed": set()}
    unknown = {"none": {word for word in counts["test"] if word not in seen}, "trained": bare - seen, "fixed": bare}
    found = {}
    for kind in KINDS:
        train = HIDDEN * _share(counts["train"], hidden[kind]) + _share(counts["train"], unknown[kind])
        found[kind] = train, _share(counts["test"], unknown[kind])
    return found


def _share(counts: Counter[str], words: set[str]) -> float:
    return sum(count for word, count in counts.items() if word in words) / counts.total()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=TASKS)
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_args()
    print("| task | " + " | ".join(f"{kind}: train | test" for kind in KINDS) + " |")
    print("|---|" + "---:|---:|" * len(KINDS))
    for task in given.tasks.split(","):
        config = compose("config", [f"task={task}", "encoder=glove", *given.overrides])
        found = shares(read_splits(config, build_data(config)), config.encoder.vectors)
        cells = [f"{share:.2%}".replace("%", " %") for kind in KINDS for share in found[kind]]
        print(f"| {task} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
