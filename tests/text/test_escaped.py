"""Files of predictions and of texts: the tokens that were written are read back, whatever white space is in them."""

from functools import cache
from itertools import cycle, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_bench.elmo import embed
from elmo_bench.spec.names import task_class
from elmo_bench.spec.task_files import task_yaml
from elmo_bench.tasks.coref.conll import Document, genre_of
from elmo_bench.tasks.coref.data import ESCAPED
from elmo_bench.tasks.deprel.data import ROOT, Sentence
from elmo_bench.tasks.snli.data import LABELS as CLASSES
from elmo_bench.tasks.snli.data import NO_GOLD, Pair
from elmo_bench.tasks.srl.columns import Proposition
from elmo_bench.tasks.srl.columns import Sentence as Words
from elmo_bench.tasks.sst5.data import Phrase
from elmo_bench.text.columns import escaped, line_of, read_columns, unescaped
from elmo_bench.text.tags import TaggedSentence
from tests.golden_cases import score

ODD = [
    "", " ", "\t", "\n", "\r", "\xa0", "\u2028", "\u3000", "\x1c", "\ufeff", "New York", "8\xa01/2", " a ", "\\",
    "\\u{a0}", "\\u{}", "\\u{5c}u{", "\\\\u{a0}", "\\u{d800}", "\\u{110000}", "\\u{zz}", "u{a0}", "\\n", "C:\\new",
    "-X-", "-DOCSTART-", "-", "#", "# text", "#begin document", "#end document", "_", "1-2", "(0)", "{", "(3 (2 a))",
    "0\t1\ta",
]  # fmt: skip
TOKEN = st.sampled_from(ODD) | st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\\u{}a0- \n#"), max_size=9
)
LABELS, HEADS = ["NN", "X Y", "a\xa0b"], (ROOT, *range(len(ODD)))
SENTENCES = [tuple(ODD), *((token, "a") for token in ODD), *((token,) for token in ODD)]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("written") / "file.txt"


@cache
def of(task):
    """The data and the metric of a task."""
    options = {name: value for name, value in task_yaml(task)["data"].items() if not name.startswith("_")}
    return task_class(task, "data")(**options), task_class(task, "metric")()


def written(task, path, examples, predicted, data=None):
    """The examples that `read_file` reads in the file that `write` wrote."""
    data = data or of(task)[0]
    data.write(path, examples, predicted)
    return data.read_file(path)


@settings(deadline=None, max_examples=100)
@given(TOKEN)
def test_a_written_token_has_no_white_space_and_is_read_back(token):
    text = escaped(token, reserved=("-X-", "-"))
    assert text not in ("", "-X-", "-")
    assert text.split() == [text]
    assert unescaped(text) == token


@pytest.mark.parametrize(("token", "text"), [("8\xa01/2", "8\\u{a0}1/2"), ("", "\\u{}"), ("\\u{a0}", "\\u{5c}u{a0}")])
def test_how_tokens_are_written(token, text):
    assert (escaped(token), unescaped(text)) == (text, token)


@pytest.mark.parametrize("text", ["\\u{d800}", "\\u{110000}", "\\u{A0}", "\\u{0000020}", "\\u{", "\\n"])
def test_what_is_no_escape_is_read_as_it_is(text):
    assert unescaped(text) == text
    assert unescaped(escaped(text)) == text


def of_words():
    """Tasks with a label for each word: examples, predicted labels, and what is read of the file."""
    spans = [TaggedSentence(each, ("B-X", *["I-X"] * (len(each) - 1))) for each in SENTENCES]
    yield "ner", spans, [each.gold for each in spans], spans
    gold, predicted = ([tuple(islice(cycle(some), len(each))) for each in SENTENCES] for some in (LABELS, LABELS[1:]))
    for task, make in (
        ("pos", TaggedSentence),
        ("deprel", lambda words, own: Sentence(words, HEADS[: len(words)], own)),
    ):
        yield task, [*map(make, SENTENCES, gold)], predicted, [*map(make, SENTENCES, predicted)]


@pytest.mark.parametrize(("task", "examples", "predicted", "read"), [*of_words()], ids=["ner", "pos", "deprel"])
def test_labels_of_words(path, task, examples, predicted, read):
    assert written(task, path, examples, predicted) == read
    metric = of(task)[1]
    assert metric.score_files(path) == score(metric, [each.gold for each in examples], predicted)


def test_labels_of_texts(path):
    phrases = [Phrase(tokens, gold) for tokens, gold in zip(SENTENCES, cycle([4, 0]))]
    assert written("sst5", path, phrases, [0] * len(phrases)) == phrases
    right = sum(phrase.gold == 0 for phrase in phrases)
    assert of("sst5")[1].score_files(path)["overall"]["correct"] == right
    unknown = [Phrase(tokens, None) for tokens in SENTENCES]
    assert written("sst5", path, unknown, [0] * len(unknown)) == unknown
    pairs = [Pair(*each) for each in zip(SENTENCES, reversed(SENTENCES), cycle([*CLASSES, NO_GOLD]))]
    predicted = [CLASSES[0]] * len(pairs)
    assert written("snli", path, pairs, predicted) == pairs
    scores = of("snli")[1].score_files(path)
    labelled = [pair.gold for pair in pairs if pair.gold != NO_GOLD]
    wanted = score(of("snli")[1], labelled, predicted[: len(labelled)])
    wanted["overall"]["left_out"] = len(pairs) - len(labelled)
    assert scores == wanted


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
@pytest.mark.parametrize("labels", [["NN", "X Y", "a\xa0b"], [1, 0], [True, False]])
def test_tables_of_the_users_own(tmp_path, ending, labels):
    """Tokens and tags in lists, of text, numbers or switches: what `write` wrote is read, in any form."""
    data, path = task_class("tagging", "data")(), tmp_path / f"x{ending}"
    rows = [{"tokens": [*each], "tags": [*islice(cycle(labels), len(each))]} for each in SENTENCES]
    names = {"tokens": "tokens", "tags": "tags"}
    examples = [data.example(row, names, "x") for row in rows]
    assert written("", path, examples, [example.gold for example in examples], data) == examples
    texts = task_class("classification", "data")(tokenizer="spaces")
    examples = [texts.example({"text": [*each], "label": labels[0]}, {"text": "text", "label": "label"}, "x")
                for each in SENTENCES]  # fmt: skip
    assert written("", path, examples, [example.gold for example in examples], texts) == examples


def test_coref(path):
    """OntoNotes' spellings of full stop and question mark are the only tokens that its reader changes."""
    sentences = tuple(tuple(word for word in each if word not in ESCAPED) for each in SENTENCES[:9])
    count = sum(map(len, sentences))
    clusters = (((0, 0), (count - 1, count - 1)),)
    documents = [
        Document(name, "003", genre_of(name), sentences, (speaker,) * count, clusters)
        for name, speaker in zip(ODD, reversed(ODD), strict=True)
    ]
    assert written("coref", path, documents, [clusters] * len(documents)) == documents
    scores = of("coref")[1].score_files(path, path)["scores"]
    assert scores["mentions"]["recall_num"] == 2 * len(documents)


def test_srl(path):
    """Its files of predictions hold the predicates' lemmas, and no other tokens."""
    sentence, count = Words(tuple(ODD), 0), len(ODD)
    examples = [Proposition(sentence, place, lemma, ()) for place, lemma in enumerate(ODD)]
    tags = [tuple("B-V" if place == each.predicate else "B-A0" for place in range(count)) for each in examples]
    data, metric = of("srl")
    data.write(path, examples, tags)
    assert metric.score_files(path, path)["n_props"] == score(metric, tags, tags)["overall"]["n_props"] == count
    assert metric.score_files(path, path)["perfect_props"] == 100


def test_texts(path):
    """`elmo-bench texts` writes such lines, and `embed` reads them."""
    path.write_text("".join(f"{line_of(tokens)}\n" for tokens in SENTENCES), encoding="utf-8")
    assert [tuple(tokens) for _, tokens in embed.read(path)] == SENTENCES


def test_files_of_other_programs_keep_their_tokens(path):
    """Only spaces and tabs separate cells, and a backslash is a backslash."""
    path.write_text("8\xa01/2 O\nC:\\new O\n\\u00a0 O\n# O\n", encoding="utf-8")
    assert [cells[0] for _, cells in next(read_columns(path))] == ["8\xa01/2", "C:\\new", "\\u00a0", "#"]
    path.write_text("a \xa0 b\\n\n", encoding="utf-8")
    assert [*embed.read(path)] == [("a \xa0 b\\n", ["a", "b\\n"])]
