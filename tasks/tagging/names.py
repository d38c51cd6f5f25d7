"""The tags of a head without transitions: BIO, or plain tags."""

from collections.abc import Sequence

from torch import Tensor

from elmo_bench.tasks.tagging.data import Sentence
from elmo_bench.text.schemes import written
from elmo_bench.text.tags import to_bio


def names_of(labels: Sequence[str]) -> list[str]:
    """The tags of `Data.vocabulary`: the BIO tags among BIOUL, or all plain tags."""
    if "O" not in labels:
        return list(labels)
    return [label for label in labels if label[0] in "OBI"]


def numbers_of(sentence: Sentence, names: Sequence[str]) -> list[int]:
    """The number of each token's tag; 0 for a tag that training lacks, or no tag."""
    numbers = {name: place for place, name in enumerate(names)}
    tags = sentence.gold or ("",) * len(sentence.tokens)
    return [numbers.get(tag, 0) for tag in tags]


def tags_of(numbers: Sequence[int], names: Sequence[str]) -> list[str]:
    """The tags with these numbers.

    An I that continues no span opens one, as in conlleval.
    """
    tags = [names[number] for number in numbers]
    return to_bio(tags) if "O" in names else tags


def probabilities_of(shares: Tensor, labels: Sequence[str]) -> list[dict[str, float]]:
    """{tag: its probability} of each token, from the shares [T, K] of a head's labels.

    The tags are as `predict` writes them: BIO, of which two BIOUL tags may be one, or
    plain.
    """
    tags = written(labels)
    tokens = []
    for row in shares.tolist():
        by_tag = dict.fromkeys(tags, 0.0)
        for tag, share in zip(tags, row, strict=True):
            by_tag[tag] += share
        tokens.append(by_tag)
    return tokens
