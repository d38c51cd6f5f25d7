"""Files of predictions and of texts: the tokens that were written are read back, whatever white space is in them."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_bench.elmo import embed
from elmo_bench.spec.config import task_yaml
from elmo_bench.spec.names import task_class
from elmo_bench.tasks.coref.conll import Document, genre_of
from elmo_bench.tasks.coref.data import ESCAPED
from elmo_bench.tasks.deprel.data import ROOT, Sentence
from elmo_bench.tasks.ner.metric import Metric as Conlleval
from elmo_bench.tasks.snli.data import LABELS, NO_GOLD, Pair
from elmo_bench.tasks.srl.columns import Proposition
from elmo_bench.tasks.srl.columns import Sentence as Words
from elmo_bench.tasks.sst5.data import Phrase
from elmo_bench.text.columns import escaped, line_of, read_columns, tokens_of, unescaped
from elmo_bench.text.tags import TaggedSentence

ODD = [
    "", " ", "\t", "\n", "\r", "\xa0", "\u2028", "\u3000", "\x1c", "\ufeff", "New York", "8\xa01/2", " a ", "\\",
    "\\u{a0}", "\\u{}", "\\u{5c}u{", "\\\\u{a0}", "\\u{d800}", "\\u{110000}", "\\u{zz}", "u{a0}", "\\n", "C:\\new",
    "-X-", "-DOCSTART-", "-", "#", "# text", "#begin document", "#end document", "_", "1-2", "(0)", "{", "(3 (2 a))",
    "0\t1\ta",
]  # fmt: skip
TOKEN = st.sampled_from(ODD) | st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\\u{}a0- \n#"), max_size=9
)
TOKENS = st.lists(TOKEN, min_size=1, max_size=6).map(tuple)
FEW = settings(deadline=None, max_examples=15)
LABEL = st.sampled_from(["NN", "X Y", "a\xa0b"])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("written") / "file.txt"


@cache
def of(task):
    """The data and the metric of a task."""
    options = {name: value for name, value in task_yaml(task)["data"].items() if not name.startswith("_")}
    return task_class(task, "data")(**options), task_class(task, "metric")()


def written(task, path, examples, predicted):
    """The examples that `read_file` reads in the file that `write` wrote."""
    data, _ = of(task)
    data.write(path, examples, predicted)
    return data.read_file(path)


@pytest.mark.parametrize("token", ODD)
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


@FEW
@given(st.lists(TOKENS, min_size=1, max_size=3))
def test_ner(path, sentences):
    examples = [TaggedSentence(each, ("B-X", *["I-X"] * (len(each) - 1))) for each in sentences]
    gold = [each.gold for each in examples]
    assert written("ner", path, examples, gold) == examples
    assert Conlleval().score_files(path) == Conlleval().score(gold, gold)


@FEW
@given(st.lists(st.lists(st.tuples(TOKEN, LABEL, LABEL), min_size=1, max_size=6), min_size=1, max_size=3))
def test_pos_and_deprel(path, sentences):
    columns = [list(zip(*each, strict=True)) for each in sentences]
    predicted = [labels for *_, labels in columns]
    tagged = [TaggedSentence(*each[:2]) for each in columns]
    related = [Sentence(words, (ROOT, *range(len(words) - 1)), labels) for words, labels, _ in columns]
    for task, field, examples in (("pos", "tags", tagged), ("deprel", "relations", related)):
        pairs = zip(examples, predicted, strict=True)
        assert written(task, path, examples, predicted) == [replace(each, **{field: labels}) for each, labels in pairs]
        metric = of(task)[1]
        assert metric.score_files(path) == metric.score([each.gold for each in examples], predicted)


@FEW
@given(st.lists(TOKENS.filter(lambda words: not ESCAPED.keys() & {*words}), min_size=1, max_size=3), TOKEN, TOKEN)
def test_coref(path, sentences, name, speaker):
    """OntoNotes' spellings of full stop and question mark are the only tokens that its reader changes."""
    count = sum(map(len, sentences))
    clusters = (((0, 0), (count - 1, count - 1)),) if count > 1 else ()
    document = Document(name, "003", genre_of(name), tuple(sentences), (speaker,) * count, clusters)
    assert written("coref", path, [document], [clusters]) == [document]
    metric = of("coref")[1]
    assert metric.score_files(path, path)["scores"]["mentions"]["recall_num"] == 2 * len(clusters)


@FEW
@given(st.lists(st.tuples(TOKENS, st.sampled_from([None, 0, 4]), st.sampled_from([0, 4])), min_size=1, max_size=3))
def test_sst5(path, rows):
    examples = [Phrase(tokens, gold) for tokens, gold, _ in rows]
    assert written("sst5", path, examples, [label for *_, label in rows]) == examples
    known = [(gold, label) for _, gold, label in rows if gold is not None]
    if len(known) == len(rows):
        assert of("sst5")[1].score_files(path)["overall"]["correct"] == sum(gold == label for gold, label in known)


@FEW
@given(st.lists(st.tuples(TOKENS, TOKENS, st.sampled_from([*LABELS, NO_GOLD]), st.sampled_from(LABELS)), min_size=1))
def test_snli(path, rows):
    examples = [Pair(*row[:3]) for row in rows]
    assert written("snli", path, examples, [label for *_, label in rows]) == examples
    if any(pair.label != NO_GOLD for pair in examples):
        metric = of("snli")[1]
        assert metric.score_files(path) == metric.score([pair.gold for pair in examples], [row[3] for row in rows])


@FEW
@given(st.lists(TOKEN, min_size=2, max_size=4))
def test_srl(path, lemmas):
    """Its files of predictions hold the predicates' lemmas, and no other tokens."""
    sentence = Words(tuple(lemmas), 0)
    examples = [Proposition(sentence, place, lemma, ()) for place, lemma in enumerate(lemmas)]
    tags = [tuple("B-V" if place == each.predicate else "B-A0" for place in range(len(lemmas))) for each in examples]
    data, metric = of("srl")
    data.write(path, examples, tags)
    assert metric.score_files(path, path)["n_props"] == metric.score(tags, tags)["overall"]["n_props"] == len(lemmas)
    assert metric.score_files(path, path)["perfect_props"] == 100


@FEW
@given(st.lists(TOKENS, min_size=1, max_size=3))
def test_texts(path, sentences):
    """`elmo-bench texts` writes such lines, and `embed` reads them."""
    path.write_text("".join(f"{line_of(tokens)}\n" for tokens in sentences), encoding="utf-8")
    assert [tuple(tokens) for _, tokens in embed.read(path)] == sentences
    assert [tuple(tokens_of(line_of(tokens))) for tokens in sentences] == sentences


def test_files_of_other_programs_keep_their_tokens(path):
    """Only spaces and tabs separate cells, and a backslash is a backslash."""
    path.write_text("8\xa01/2 O\nC:\\new O\n\\u00a0 O\n# O\n", encoding="utf-8")
    assert [cells[0] for _, cells in next(read_columns(path))] == ["8\xa01/2", "C:\\new", "\\u00a0", "#"]
    path.write_text("a \xa0 b\\n\n", encoding="utf-8")
    assert [*embed.read(path)] == [("a \xa0 b\\n", ["a", "b\\n"])]
