"""What the splits of a task have in common, and what they lack: stated before training, kept in the record."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note

NORMAL = 0.01  # the share of short sentences, such as "Thanks .", that any data repeats; a larger one is printed


def check_splits(splits: Mapping[str, Sequence[Any]], where: str) -> dict[str, int]:
    """Counts of what makes scores mean less, by name; 0 where there is nothing. `where` names task and suite.

    | name | counts |
    |---|---|
    | `test_in_train`, `dev_in_train`, `test_in_dev` | examples of one split whose texts an example of the other has |
    | `repeated_in_train` | training examples with the texts and the gold of an earlier one |
    | `labels_in_train` | labels that train has; 0 for a task without labels, such as spans |
    | `labels_not_in_train` | labels that dev or test has and train lacks |
    | `labels_only_in_train` | labels that neither dev nor test has |
    | `empty_texts` | texts without a token, in all splits |

    All of a split counts, whatever fraction of it a run trains on. What matters is noted, a line for each count:
    `dev_in_train`, `test_in_dev` and `repeated_in_train` if they are more than NORMAL of their split, and
    `labels_only_in_train` if more than NORMAL of what is labelled in train has these labels; rare ones are normal.

    Raises UserError if test has the examples of train, texts and gold, in any order. A test split that is dev may be
    meant, where there is one held-out set: it is noted.
    """
    texts = {split: [example.texts for example in examples] for split, examples in splits.items()}
    train = {(example.texts, _gold(example)) for example in splits["train"]}
    if train == {(example.texts, _gold(example)) for example in splits["test"]}:
        raise UserError(f"{where}: test has the same examples as train. Give other data for test.")
    labels = {split: _labels(examples) for split, examples in splits.items()}
    held_out = labels["dev"].keys() | labels["test"].keys()
    new, old = held_out - labels["train"].keys(), labels["train"].keys() - held_out
    counts = {
        "test_in_train": _shared(texts, "test", "train"),
        "dev_in_train": _shared(texts, "dev", "train"),
        "test_in_dev": _shared(texts, "test", "dev"),
        "repeated_in_train": len(texts["train"]) - len(train),
        "labels_in_train": len(labels["train"]),
        "labels_not_in_train": len(new),
        "labels_only_in_train": len(old),
        "empty_texts": sum(not text for split in texts.values() for each in split for text in each),
    }
    _tell(counts, {split: len(each) for split, each in splits.items()}, labels["train"], new, old)
    return counts


def _tell(
    counts: Mapping[str, int], sizes: Mapping[str, int], labels: Mapping[str, int], new: set[str], old: set[str]
) -> None:
    for name, least in (("test_in_train", 0.0), ("dev_in_train", NORMAL), ("test_in_dev", NORMAL)):
        split, other = name.split("_in_")
        if counts[name] > least * sizes[split]:
            note(f"{split}: the texts of {counts[name]:,} of {sizes[split]:,} examples are in {other} too")
    if counts["repeated_in_train"] > NORMAL * sizes["train"]:
        note(
            f"train: {counts['repeated_in_train']:,} of {sizes['train']:,} examples repeat an earlier one and its gold"
        )
    if len(labels) == 1:
        note(f"train: the only label is {_names(labels)}, so there is nothing to learn")
    if new:
        note(f"train: lacks {len(new)} of the labels of dev and test, which no head can learn ({_names(new)})")
    if sum(labels[label] for label in old) > NORMAL * sum(labels.values()):
        note(
            f"train: {len(old)} of its {len(labels)} labels are not in dev and test, so no score shows them "
            f"({_names(old)})"
        )
    if counts["empty_texts"]:
        note(f"texts without a token: {counts['empty_texts']:,}")


def _gold(example: Any) -> Any:
    """The gold as a value that can be in a set."""
    try:
        hash(example.gold)
    except TypeError:
        return repr(example.gold)
    return example.gold


def _shared(texts: Mapping[str, Sequence[Any]], split: str, other: str) -> int:
    known = set(texts[other])
    return sum(each in known for each in texts[split])


def _labels(examples: Sequence[Any]) -> Counter[str]:
    """How often each label occurs. The letters of BIO and IOB1 are left out: `B-PER` and `I-PER` are one label.

    A label is a gold that is a text or a whole number, or part of a gold that has one text for each token.
    """
    whole = (str(example.gold) for example in examples if isinstance(example.gold, str | int))
    tagged = (example.gold for example in examples if _is_tags(example.gold, example.texts))
    found: Counter[str] = Counter()
    for label, count in Counter(chain(whole, chain.from_iterable(tagged))).items():
        found[label[2:] if label.startswith(("B-", "I-")) else label] += count
    return found


def _is_tags(gold: Any, texts: Sequence[Any]) -> bool:
    return (
        isinstance(gold, tuple | list)
        and len(texts) == 1
        and len(gold) == len(texts[0])
        and all(isinstance(tag, str) for tag in gold)
    )


def _names(labels: Iterable[str]) -> str:
    """The first labels, in order."""
    found = sorted(labels)
    return ", ".join(found[:5]) + (" …" if len(found) > 5 else "")
