"""What in the splits of a run makes its scores mean less: counted, and noted."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note

# The share of short sentences, such as "Thanks .", that any data repeats; a larger one
# is noted.
NORMAL = 0.01
_LETTERS = ("B-", "I-", "U-")  # before the type of a tag
_SHOWN = 5  # labels in a note


def check_splits(splits: Mapping[str, Sequence[Any]], where: str) -> dict[str, int]:
    """Counts of what makes scores mean less, by name; 0 where there is nothing.

    | name | counts |
    |---|---|
    | `test_in_train`, `dev_in_train`, `test_in_dev` | examples with the texts of one in
      the other split, in any order |
    | `repeated_in_train` | training examples with the texts and the gold of an earlier
      one |
    | `labels_in_train` | labels that train has; 0 for a task without labels, such as
      spans |
    | `labels_not_in_train` | labels that dev or test has and train lacks |
    | `labels_only_in_train` | labels that neither dev nor test has |
    | `empty_texts` | texts without a token, in all splits |

    All of a split counts, whatever fraction of it a run trains on. What matters is
    noted, a line for each count: `dev_in_train`, `test_in_dev` and `repeated_in_train`
    if they are more than NORMAL of their split, and `labels_only_in_train` if more than
    NORMAL of what is labelled in train has these labels; rare ones are normal.

    where: names task and suite. Raises UserError if test has the examples of train,
    texts and gold, in any order. A test split that is dev may be meant, where there is
    one held-out set: it is noted.
    """
    train = _distinct(splits["train"])
    if train == _distinct(splits["test"]):
        raise UserError(
            f"{where}: test has the same examples as train. Give other data for test."
        )
    texts = {}
    for split, examples in splits.items():
        texts[split] = [tuple(sorted(example.texts)) for example in examples]
    shared = {
        "test_in_train": _shared(texts, "test", "train", normal=0.0),
        "dev_in_train": _shared(texts, "dev", "train", normal=NORMAL),
        "test_in_dev": _shared(texts, "test", "dev", normal=NORMAL),
    }
    size = len(splits["train"])
    repeated = size - len(train)
    if repeated > NORMAL * size:
        note(
            f"train: {repeated:,} of {size:,} examples repeat an earlier one and its "
            "gold"
        )
    labels = _check_labels(splits)
    empty = 0
    for of_split in texts.values():
        for of_example in of_split:
            empty += of_example.count(())
    if empty:
        note(f"texts without a token: {empty:,}")
    return shared | {"repeated_in_train": repeated} | labels | {"empty_texts": empty}


def _distinct(examples: Sequence[Any]) -> set[tuple[Any, str]]:
    return {(example.texts, repr(example.gold)) for example in examples}


def _shared(
    texts: Mapping[str, Sequence[Any]], split: str, other: str, *, normal: float
) -> int:
    """How many examples of a split have the texts of one in the other split.

    Noted if they are more than a normal share.
    """
    other_texts = set(texts[other])
    size = len(texts[split])
    count = sum(text in other_texts for text in texts[split])
    if count > normal * size:
        note(f"{split}: the texts of {count:,} of {size:,} examples are in {other} too")
    return count


def _check_labels(splits: Mapping[str, Sequence[Any]]) -> dict[str, int]:
    """The counts of `check_splits` of labels, with notes."""
    labels = {split: _labels(examples) for split, examples in splits.items()}
    train = labels["train"]
    held_out = labels["dev"].keys() | labels["test"].keys()
    new = held_out - train.keys()
    old = train.keys() - held_out
    if len(train) == 1:
        note(f"train: the only label is {_names(train)}, so there is nothing to learn")
    if new:
        note(
            f"train: lacks {len(new)} of the labels of dev and test, which no head can "
            f"learn ({_names(new)})"
        )
    if sum(train[label] for label in old) > NORMAL * sum(train.values()):
        note(
            f"train: {len(old)} of its {len(train)} labels are not in dev and test, so "
            f"no score shows them ({_names(old)})"
        )
    return {
        "labels_in_train": len(train),
        "labels_not_in_train": len(new),
        "labels_only_in_train": len(old),
    }


def _labels(examples: Sequence[Any]) -> Counter[str]:
    """How often each label occurs.

    The letters of BIO, IOB1 and plain tags are left out: `B-PER` and `I-PER` are one. A
    label is a gold that is a text or a whole number, or part of a gold that has one
    text for each token.
    """
    counts: Counter[str] = Counter()
    for example in examples:
        tags = _tags(example)
        if all(isinstance(tag, str) for tag in tags):
            counts.update(map(_without_letter, tags))
    return counts


def _tags(example: Any) -> Sequence[Any]:
    gold = example.gold
    if isinstance(gold, str | int):
        return [str(gold)]
    if isinstance(gold, tuple | list):
        lengths = [len(text) for text in example.texts]
        if lengths == [len(gold)]:
            return gold
    return ()


def _without_letter(tag: str) -> str:
    return tag[2:] if tag.startswith(_LETTERS) else tag


def _names(labels: Iterable[str]) -> str:
    """The first labels, in order."""
    names = sorted(labels)
    more = " …" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
