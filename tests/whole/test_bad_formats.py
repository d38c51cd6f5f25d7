"""Files of every task's format, damaged: one line with file and line number, exit code 2; or read, and reported."""

import json
import re
from functools import cache

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.ledger import read_all
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import task_class
from tests.runs import small

NER = "Ada\tB-person\nvisited\tO\nParis\tB-location\n.\tO\n\n"
TREE = "(3 (2 It) (4 (3 (3 really) (3 works)) (2 .)))\n"
PAIR = {"gold_label": "neutral", "sentence1": "A man talks .", "sentence2": "He is glad ."}
PARSE = {"sentence1_binary_parse": "( ( A man ) ( talks . ) )"}
SRL = (
    "d 0 0 Ada NNP * - - (ARG0*)\nd 0 1 gave VBD * give give.01 (V*)\n"
    "d 0 2 it PRP * - - (ARG1*\nd 0 3 up RP * - - *)\n\n"
)
OTHER = "d 0 0 Ada NNP * - - *\nd 0 1 met VBD * meet meet.01 (V*)\n\n"
COREF = (
    "#begin document (nw/x); part 000\n"
    + "".join(f"nw/x 0 {n} w{n} NN * - - - - * {cell}\n" for n, cell in enumerate(["(1)", "(2", "2)|(1)", "(2)"]))
    + "\n#end document\n"
)


def squad_json(articles):
    """SQuAD JSON of {title: (passage, [(id, question, [(answer, its start)])])}."""
    data = [
        {"title": title, "paragraphs": [{"context": passage, "qas": [
            {"id": name, "question": question, "answers": [{"text": t, "answer_start": start} for t, start in answers]}
            for name, question, answers in questions
        ]}]} for title, (passage, questions) in articles.items()
    ]  # fmt: skip
    return json.dumps({"version": "1.1", "data": data}, indent=1, ensure_ascii=False)


def squad(text="Paris", answer_start=13):
    """Two articles with a question each; of the second one, the answer may be another."""
    passage, asked = "Ada lives in Paris.", "Where does Ada live?"
    answers = {"a": ("Paris", 13), "b": (text, answer_start)}
    return squad_json({title: (passage, [(f"{title}1", asked, [answer])]) for title, answer in answers.items()})


def pairs(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


PREMISES = pairs(*(PAIR | {"sentence1": f"{number} men talk ."} for number in range(1010)))
# Of each task: the content of every file of its open suite, and the file that is damaged.
GOOD = {
    "ner": (NER * 9, "wnut17/emerging.dev.conll"),
    "sst5": (TREE * 9, "sst/dev.txt"),
    "snli": (PREMISES, "snli/snli_1.0_test.jsonl"),
    "srl": (SRL + OTHER, "ewt_propbank/dev.conll"),
    "coref": (COREF, "ontogum/dev.v4_gold_conll"),
    "squad": (squad(), "squad/dev-v1.1.json"),
}  # fmt: skip
FILES = {
    "ner": ["wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"],
    "sst5": ["train.txt", "dev.txt", "test.txt"],
    "snli": ["snli_1.0_dev.jsonl", "snli_1.0_test.jsonl"],
    "srl": ["train.conll", "dev.conll", "test.conll"],
    "coref": ["train.v4_gold_conll", "dev.v4_gold_conll", "test.v4_gold_conll"],
    "squad": ["new_wiki_v1.0.json", "train-v1.1.part.json", "dev-v1.1.json"],
}
# (task, what is wrong): the content, the line of it (None: a file without lines), what is said.
DAMAGED = {
    ("ner", "cut"): (NER * 2 + "Ada\tB-per", 11, "cut off"),
    ("ner", "cut within a line"): (NER * 2 + "Ada\n\n", 11, "expected 2 columns, found 1"),
    ("ner", "a label that is none"): (NER + NER.replace("B-person", "person"), 6, "'person' is not a tag"),
    ("sst5", "cut"): (TREE * 2 + TREE[:20], 3, "cut off"),
    ("sst5", "unbalanced parentheses"): (TREE * 2 + TREE[:-2] + "\n", 3, "unbalanced parentheses: 1 still open"),
    ("sst5", "one parenthesis too many"): (TREE + TREE[:-1] + ")\n", 2, "')' is outside of the tree"),
    ("sst5", "a label outside the set"): (TREE.replace("(4", "(5"), 1, "'5' is not a label"),
    ("sst5", "a node of words"): (TREE + "(2 a b)\n", 2, "a node of 2 words and 0 nodes"),
    ("snli", "no text"): (pairs(PAIR | {"sentence2": None}), 1, "sentence2 is missing"),
    ("snli", "cut"): (pairs(PAIR, PAIR)[:-30], 2, "cut off"),
    ("snli", "not JSON"): (pairs(PAIR) + "{'gold_label'}\n", 2, "not valid JSON"),
    ("snli", "a label outside the set"): (pairs(PAIR, PAIR | {"gold_label": "maybe"}), 2, "gold_label is 'maybe'"),
    ("snli", "unbalanced parentheses"): (
        pairs(PAIR, PAIR | {key: tree[:-2] for key, tree in PARSE.items()}), 2, "unbalanced parentheses: 1 still open"
    ),
    ("srl", "cut"): (SRL + OTHER[:-20], 7, "cut off"),
    ("srl", "cut between columns"): (SRL + OTHER.replace("meet meet.01 (V*)", "meet"), 7, "7 columns, but 9"),
    ("srl", "a bracket that is not closed"): (OTHER + SRL.replace(" *)\n", " *\n"), 6, "(ARG1 is not closed"),
    ("srl", "a bracket that nothing opened"): (SRL + OTHER.replace("- *\n", "- *)\n"), 6, "closes"),
    ("srl", "more predicates than columns"): (
        SRL + OTHER.replace("NNP * - -", "NNP * Ada Ada.01"), 6, "1 columns of brackets for 2 predicates"
    ),
    ("srl", "fewer predicates than columns"): (SRL.replace("give.01", "-") + OTHER, 1, "1 columns of brackets for 0"),
    ("coref", "cut"): (COREF + COREF.replace("000", "001")[:-15], 12, "of line 8 has no #end. Add it, or"),
    ("coref", "no end"): (COREF.replace("\n#end document\n", "") + COREF, 6, "document of line 1 has no #end"),
    ("coref", "a repeated part"): (COREF * 2, 8, "the part of line 1 again"),
    ("coref", "a bracket that is not closed"): (COREF.replace("2)|", ""), 3, "'(2' is never closed"),
    ("coref", "a bracket that nothing opened"): (COREF.replace("(2\n", "-\n"), 4, "'2)' closes a chain"),
    ("coref", "no cell of brackets"): (COREF.replace("(2\n", "2\n"), 3, "'2' is not a cell"),
    ("coref", "too few columns"): (COREF.replace("w1 NN * -", "w1"), 3, "expected 12 columns or more, found 9"),
    ("squad", "cut"): (squad()[:-30], None, "cut off in the middle"),
    ("squad", "not JSON"): (squad().replace("{", "(", 1), 1, "not valid JSON"),
    ("squad", "an offset that is not the answer's"): (squad(answer_start=12), None, "'Paris' is not at character 12"),
    ("squad", "a text that is not at its offset"): (squad(text="Rome"), None, "'Rome' is not at character 13"),
    ("squad", "an offset that is none"): (squad(answer_start="x"), None, "'answer_start' is not a whole number"),
    **{(task, "empty"): ("", 0, "") for task in GOOD},
}  # fmt: skip


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """`good(task) -> the root` of a data folder with the files of its open suite, sound."""
    root = tmp_path_factory.mktemp("data")
    for task, (content, damaged) in GOOD.items():
        for name in FILES[task]:
            path = root / damaged.split("/")[0] / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
    return root


def line_of(content):
    """The line of the damaged question in a file of several lines."""
    return next(number for number, line in enumerate(content.splitlines(), start=1) if '"b1"' in line)


@cache
def adapter(task):
    return task_class(task, "data")(**compose("config", [f"task={task}"]).task.data)


def read(task, root):
    return adapter(task).read("open", root)


@pytest.mark.parametrize("task", GOOD)
def test_sound_files_are_read_and_crlf_and_a_byte_order_mark_too_which_is_said(task, good, capsys):
    content, name = GOOD[task]
    with noted() as before:
        splits = read(task, good)
    assert all(splits.values())
    path = good / name
    path.write_bytes(b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode())
    capsys.readouterr()
    with noted() as notes:
        assert read(task, good) == splits
    path.write_text(content, encoding="utf-8")
    expected = [
        f"{path.name}: begins with a byte order mark, which is left out",
        f"{path.name}: line 1 ends in CRLF, which is read as the end of a line",
    ]
    assert [line for line in notes if line not in before] == expected
    assert capsys.readouterr().err.count(f"{path}: begins with a byte order mark") == 1


@pytest.fixture(params=DAMAGED, ids=lambda wrong: f"{wrong[0]}-{wrong[1]}")
def damaged(request, good):
    """(task, what its error must begin with, what it must contain); the file is damaged as long as the test runs."""
    (task, what), (content, line, said) = request.param, DAMAGED[request.param]
    sound, name = GOOD[task]
    path = good / name
    path.write_text(content, encoding="utf-8")
    if task == "squad" and line is None:
        line = len(content.splitlines()) if what == "cut" else line_of(content)
    yield task, f"{path}:{line}: " if line else f"{path}: ", said
    path.write_text(sound, encoding="utf-8")


def test_the_reader_names_file_and_line(damaged, good):
    task, where, said = damaged
    with pytest.raises(UserError, match=f"^{re.escape(where)}.*{re.escape(said)}"):
        read(task, good)


PROPS = "-\t(A0*)\ngive\t(V*)\n-\t(A1*\n-\t*)\n\n"
# (task, what is wrong): the files of `score`, the one that is damaged, the line, what is said.
SCORED = {
    ("ner", "cut"): (["a O O\nb O\n"], 0, 2, "columns"),
    ("ner", "a label that is none"): (["a O O\nb O X-PER\n"], 0, 2, "'X-PER' is not a tag"),
    ("sst5", "a label outside the set"): (["3\t3\n3\t5\n"], 0, 2, "'5' is not a label"),
    ("sst5", "cut"): (["3\t3\n3"], 0, 2, "expected gold label, tab, predicted label"),
    ("snli", "a label outside the set"): (["neutral\tneutral\nneutral\t-\n"], 0, 2, "'-' is not a label"),
    ("snli", "cut"): (["neutral\tneutral\nneutral"], 0, 2, "expected gold label, tab, predicted label"),
    ("srl", "wrong brackets"): ([PROPS, PROPS.replace("*)\n\n", "*\n\n")], 1, 3, "(A1 is not closed"),
    ("srl", "column count"): ([PROPS, PROPS.replace("give\t", "-\t")], 1, 1, "1 columns of brackets for 0 predicates"),
    ("srl", "cut"): ([PROPS, PROPS[:-5] + "\n"], 1, 4, "columns, but 2"),
    ("srl", "a sentence is missing"): ([PROPS * 2, PROPS], 1, None, "sentence"),
    ("coref", "wrong brackets"): ([COREF, COREF.replace("2)|", "")], 1, 3, "'(2' is never closed"),
    ("coref", "cut"): ([COREF, COREF[:-20]], 1, 5, "cut off"),
    ("coref", "another length"): ([COREF, COREF.replace("nw/x 0 3", "nw/x 0 3 x -\nnw/x 0 4")], 1, 1, "5 tokens where"),
    ("squad", "cut"): ([squad(), '{"a1": "Par'], 1, 1, "cut off in the middle"),
    ("squad", "not text"): ([squad(), '{"a1": 3}'], 1, None, "expected one object"),
    **{
        (task, "empty"): ([*before, ""], len(before), None, "")
        for task, before in {
            "ner": [], "sst5": [], "snli": [], "srl": [PROPS], "coref": [COREF], "squad": [squad()]
        }.items()
    },
}  # fmt: skip


@pytest.mark.parametrize(("task", "wrong"), SCORED)
def test_score_ends_in_one_line(task, wrong, tmp_path, refused):
    contents, damaged, line, said = SCORED[task, wrong]
    paths = [tmp_path / f"{number}.txt" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content, encoding="utf-8")
    told = refused("score", task, *paths)
    where = f"{paths[damaged]}:{line}: " if line else str(paths[damaged])
    assert where in told and said in told


@pytest.mark.parametrize("files", [[], ["one"], ["one", "two", "three"]])
def test_the_files_that_a_task_wants_are_named(files, refused):
    assert re.search(r"srl: give 2 file\(s\): GOLD.* PRED", refused("score", "srl", *files))


def test_a_span_in_two_chains_stays_in_the_first_and_a_chain_of_one_mention_goes_which_stands_in_the_record(
    good, main_job, tmp_path, capsys
):
    path = good / GOOD["coref"][1]
    path.write_text(COREF.replace("(2\n", "(2|(3\n").replace("2)|(1)", "2)|3)|(1)"), encoding="utf-8")
    others = {letter: path.with_name(f"{split}.v4_gold_conll") for letter, split in (("a", "train"), ("b", "test"))}
    for letter, other in others.items():  # each split has words of its own
        other.write_text(COREF.replace(" w", f" {letter}"), encoding="utf-8")
    options = ("task.sizes.cpu.hidden=[4]", "task.sizes.cpu.scored=[4,4]", "task.training.epochs=1")
    try:
        given = small("task=coref", "suite=open", f"data.root={good}", *options, encoder="none")
        assert main_job(*given) == 0
        [document] = read("coref", good)["dev"]
    finally:
        for each in (path, *others.values()):
            each.write_text(COREF, encoding="utf-8")
    assert document.clusters == (((0, 0), (2, 2)), ((1, 2), (3, 3)))
    said = "1 mentions are in two chains (kept in the first), 1 chains have one mention (dropped)"
    said += "; the first of them in nw/x"
    assert f"{path}: {said}" in capsys.readouterr().err
    [record], _ = read_all(tmp_path / "runs")
    assert record.data.notes[0] == f"{path.name}: {said}"  # then, that no word has a vector
