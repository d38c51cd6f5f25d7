"""Labels of words: control labels, and words without labels. CoNLL-U: tests/tasks/test_pos.py."""

from collections import Counter

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import task_class
from elmo_bench.text.figures import COUNTED
from elmo_bench.text.token_labels import control_labels
from tests.runs import CUTS


def test_a_control_label_is_of_the_word_and_the_labels_are_as_frequent_as_the_true_ones():
    train = ["NN"] * 600 + ["VB"] * 300 + ["IN"] * 100
    control, again = control_labels(train), control_labels(train)
    words = [f"word{n}" for n in range(4000)]
    labels = list(map(control, words))
    assert labels == list(map(again, reversed(words)))[::-1]
    shares = {label: count / 4000 for label, count in Counter(labels).items()}
    assert shares == pytest.approx({"NN": 0.6, "VB": 0.3, "IN": 0.1}, abs=0.03)


def test_control_labels_of_a_task():
    """One label for each distinct word over all splits, only labels of train, and the same texts as the true ones."""
    options = compose("config", ["task=pos"]).task.data
    of = {labels: task_class("pos", "data")(**{**options, "labels": labels}) for labels in ("gold", "control")}
    true, control = (of[labels].read("open", CUTS) for labels in of)
    label_of: dict[str, str] = {}
    for split, sentences in control.items():
        assert [each.texts for each in sentences] == [each.texts for each in true[split]]
        for sentence in sentences:
            for word, label in zip(sentence.tokens, sentence.gold, strict=True):
                assert label_of.setdefault(word, label) == label
    assert {*label_of.values()} <= {label for sentence in true["train"] for label in sentence.gold}
    assert len({*label_of.values()}) > 5
    with pytest.raises(UserError, match=r"task\.data\.labels=x: unknown. Choose gold or control"):
        task_class("pos", "data")(**{**options, "labels": "x"})


def test_a_treebank_without_these_labels_is_refused(tmp_path):
    data = task_class("deprel", "data")(open={"source": "files", "folder": "ud", "train": "a", "dev": "a", "test": "a"})
    (path := tmp_path / "ud" / "a").parent.mkdir()
    path.write_text("1\tBirds\t_\t_\t_\t_\t0\t_\t_\t_\n\n", encoding="utf-8")
    with pytest.raises(UserError, match="its words have no labels"):
        data.read("open", tmp_path)


PARTLY = "1\tBirds\t_\t_\tNNS\t_\t2\tnsubj\t_\t_\n2\tsing\t_\t_\t_\t_\t0\t_\t_\t_\n\n"
WITHOUT = "1\tNo\t_\t_\t_\t_\t0\t_\t_\t_\n\n"


@pytest.mark.parametrize("labels", ["gold", "control"])
@pytest.mark.parametrize("task", ["pos", "deprel"])
def test_words_without_labels_are_left_out_of_loss_vocabulary_and_scores(tmp_path, task, labels):
    suite = {"source": "files", "folder": "ud", "train": "a.conllu", "dev": "a.conllu", "test": "a.conllu"}
    data = task_class(task, "data")(labels=labels, open=suite)
    (path := tmp_path / "ud" / "a.conllu").parent.mkdir()
    path.write_text(PARTLY + WITHOUT, encoding="utf-8")
    with noted() as notes:
        splits = data.read("open", tmp_path)
    assert "train: words without a label, in no loss and no score: 2 of 3" in notes
    [partly], [label] = splits["train"], data.vocabulary(splits["train"])["labels"]
    assert partly.gold == (label, "_")
    counts = task_class(task, "metric")().counts([partly.gold, ("_",)], [[label, label], [label]])
    assert {name: values.tolist() for name, values in counts.items()} == {
        name: [1, 0] for name in ("correct", "tokens", *(f"type:{label}.{count}" for count in COUNTED))
    }


def test_words_without_gold_are_left_out_of_the_score_of_a_file(tmp_path):
    (path := tmp_path / "x.txt").write_text("Birds\tNNS\tNN\nsing\t_\tVBP\n.\t.\t.\n\n", encoding="utf-8")
    with noted() as notes:
        scores = task_class("pos", "metric")().score_files(path)
    assert notes == ["x.txt: words without a gold label, which do not count: 1 of 3"]
    assert scores["overall"] == {"accuracy": 50, "correct": 1, "tokens": 2}
    assert set(scores["by_type"]) == {"NNS", "NN", "."}
