"""Reading and writing propositions: golden columns, CoNLL-2012, and the Hub's table of OntoNotes."""

from pathlib import Path

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.runner.evaluate import marks_of
from elmo_bench.spec.task_files import task_yaml
from elmo_bench.tasks.srl.brackets import read_phrases, read_tags, write_column
from elmo_bench.tasks.srl.columns import Proposition, Sentence
from elmo_bench.tasks.srl.data import Data
from elmo_bench.tasks.srl.props import read_props
from tests.golden_cases import for_each, golden
from tests.hub import from_hub

CASES = golden("brackets")["srl"]


@for_each(CASES)
def test_equals_the_golden_reading(case, _):
    assert len(case["column"]) == case["n_tokens"]
    assert [[start, end, label] for start, end, label, _ in read_phrases(case["column"])] == case["spans"]
    assert read_tags(case["column"]) == case["tags"]
    assert write_column(case["tags"]) == case["column"]


def test_a_role_that_directly_follows_itself():
    tags = ["B-A0", "B-A0", "I-A0", "B-V"]
    assert write_column(tags) == ["(A0*)", "(A0*", "*)", "(V*)"]
    assert read_tags(write_column(tags)) == tags


SKELETON = """\
d 0 0 Yes UH * - -

d 1 0 Ada NN * - - (ARG0*) (ARG0*)
d 1 1 came VB * come come.03 (V*) *
d 1 2 and CC * - - * *
d 1 3 saw VB * see see.01 * (V*
d 1 4 through RP * - - * *)
d 1 5 it PRP * - - * (ARG1*)

d 2 0 No UH * - -
d 2 1 . . * - -

d 3 0 Go VB * - go.01 (V*)

d 4 0 So UH * - -

"""
ADA = Sentence(("Ada", "came", "and", "saw", "through", "it"), 1, gap=(1,))
READ = [
    Proposition(ADA, 1, "come", ("B-ARG0", "B-V", *"OOOO")),
    Proposition(ADA, 3, "see", ("B-ARG0", "O", "O", "B-V", "I-V", "B-ARG1")),
    Proposition(Sentence(("Go",), 3, gap=(2,), rest=(1,)), 0, "Go", ("B-V",)),
]
# The same sentences twice, in two files or documents: sentences are counted on, and those at the end are a gap.
GO_ON = Sentence(("Go",), 3, gap=(2,))
AGAIN = Sentence(ADA.tokens, 6, gap=(1, 1))
TWICE = [
    *READ[:2],
    Proposition(GO_ON, 0, "Go", ("B-V",)),
    *(Proposition(AGAIN, each.predicate, each.lemma, each.tags) for each in READ[:2]),
    Proposition(Sentence(("Go",), 8, gap=(2,), rest=(1,)), 0, "Go", ("B-V",)),
]


def conll_2012(text, stars=True):
    """The same sentences as a CoNLL-2012 file; a sentence without a predicate may have a column of stars."""
    blocks = []
    for block in text.strip("\n").split("\n\n"):
        rows = [line.split(" ") for line in block.split("\n")]
        brackets = [row[8:] or ["*"] * stars for row in rows]
        blocks.append(
            "\n".join(
                "  ".join([*row[:8], "-", "Speaker#1", "*", *cells, "-"])
                for row, cells in zip(rows, brackets, strict=True)
            )
        )
    return "#begin document (d); part 000\n" + "\n\n".join(blocks) + "\n\n#end document\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace("\n\n", "\n \n\n"),
        conll_2012,
        lambda text: conll_2012(text, stars=False),
        lambda text: conll_2012(text).replace("#end", "#end document\n#begin document (e); part 001\n#end"),
    ],
    ids=["as it is", "tabs", "blank lines", "CoNLL-2012", "without stars", "two documents"],
)
def test_files_that_say_the_same(tmp_path, change):
    path = tmp_path / "x.conll"
    path.write_bytes(change(SKELETON).encode())
    assert Data().read_file(path) == READ


@pytest.mark.parametrize(
    ("cells", "tags", "left"),
    [
        ("(V*) (ARG1*) *", "B-V B-ARG1 O", 0),
        ("(V*) (ARG2(ARG1*)) *", "B-V B-ARG1 O", 1),
        ("(V*) (ARG2(ARG1(ARG0*))) *", "B-V B-ARG0 O", 2),
        ("(V*) (ARG2(ARG1* *))", "B-V B-ARG1 I-ARG1", 1),
        ("(V(ARG1*)) * (C-ARG1*)", "B-ARG1 O B-C-ARG1", 1),
        ("(V*) (R-ARG2(R-ARG1*)) (ARG3(ARG4*))", "B-V B-R-ARG1 B-ARG4", 2),
    ],
)
def test_of_two_labels_on_one_span_the_inner_one_is_kept_with_a_note(tmp_path, cells, tags, left):
    path = tmp_path / "x.conll"
    rows = (f"d 0 {n} w VB * - {'-' if n else 'w.01'} {cell}\n" for n, cell in enumerate(cells.split()))
    path.write_text("".join(rows) + "\n", encoding="utf-8")
    with noted() as notes:
        assert [each.tags for each in Data().read_file(path)] == [tuple(tags.split())]
        props = tmp_path / "x.props"  # for scoring
        props.write_text("".join(f"{'-' if n else 'w'} {cell}\n" for n, cell in enumerate(cells.split())) + "\n")
        assert list(read_props(props))
    assert [note.split()[1:4] for note in notes] == [[str(left), "labels", "left"]] * 2 * (left > 0)


@pytest.mark.parametrize(
    "cells", ["(V*) (ARG1(ARG2*) *)", "(V*) (ARG1* (ARG2*))", "(V*) (ARG1(ARG2*)", "(V*) *) (ARG1"]
)
def test_brackets_that_tags_cannot_express_are_refused(tmp_path, cells):
    path = tmp_path / "x.conll"
    rows = (f"d 0 {n} w VB * - {'-' if n else 'w.01'} {cell}\n" for n, cell in enumerate(cells.split()))
    path.write_text("".join(rows) + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"x\.conll:[23]: .* Fix this line\.$"):
        Data().read_file(path)


def test_a_skeleton_without_its_words_is_refused(tmp_path):
    path = tmp_path / "x.gold_skel"
    path.write_text(SKELETON.replace(" it ", " [WORD] "), encoding="utf-8")
    with pytest.raises(UserError, match=r"x\.gold_skel:8: \[WORD\] where a word belongs\. Put the words in first"):
        Data().read_file(path)


def test_verbs_are_told_by_the_tag_of_the_predicate_where_there_is_one(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text(SKELETON.replace("came VB", "came VBD").replace("saw VB", "saw NN"), encoding="utf-8")
    assert [each.marks for each in Data().read_file(path)] == [{"is_verb": True}, {"is_verb": False}, {"is_verb": True}]
    path.write_text(conll_2012(SKELETON.replace("saw VB", "saw -")), encoding="utf-8")
    found = Data().read_file(path)
    assert [each.marks for each in found] == [{"is_verb": True}, {}, {"is_verb": True}]
    assert list(marks_of(found)) == []  # a score of verbs alone needs to know all of them


def test_a_written_file_has_every_sentence(tmp_path):
    tags = [("O", "B-V", "O", "O", "O", "O"), ("B-ARG0", "O", "O", "B-V", "O", "O"), ("O",)]
    Data().write(tmp_path / "x.props", READ, tags)
    assert (tmp_path / "x.props").read_text(encoding="utf-8") == (
        "-\n\n-\t*\t(ARG0*)\ncome\t(V*)\t*\n-\t*\t*\nsee\t*\t(V*)\n-\t*\t*\n-\t*\t*\n\n-\n-\n\nGo\t*\n\n-\n\n"
    )
    twice = [Proposition(Sentence(("Go", "on"), 0), 0, "go", ("B-V", "O"))] * 2  # of two files, one after the other
    Data().write(tmp_path / "y.props", twice, [example.gold for example in twice])
    assert (tmp_path / "y.props").read_text(encoding="utf-8") == "go\t(V*)\n-\t*\n\n" * 2


@pytest.fixture
def root(tmp_path):
    """A data folder for both suites, made up; CoNLL-2012 in two files a split, and one that is not for this task."""
    (tmp_path / "ewt_propbank").mkdir()
    for split in ("train", "dev", "test"):
        (tmp_path / "ewt_propbank" / f"{split}.conll").write_text(SKELETON, encoding="utf-8")
    for split in ("train", "development", "conll-2012-test"):
        folder = tmp_path / "conll2012/data" / split / "data/english/annotations/bc"
        folder.mkdir(parents=True)
        (folder / "one.v4_gold_conll").write_text(conll_2012(SKELETON), encoding="utf-8")
        (folder / "two.gold_conll").write_text(conll_2012(SKELETON), encoding="utf-8")
        (folder / "one.v4_auto_conll").write_text("damaged", encoding="utf-8")
    return tmp_path


def test_the_suites_of_the_yaml(root, capsys):
    data = Data(**task_yaml("srl")["data"])
    assert data.read("open", root) == dict.fromkeys(("train", "dev", "test"), READ)
    assert "sentences without a predicate, skipped: train 3, dev 3, test 3" in capsys.readouterr().err
    assert data.read("paper", root) == dict.fromkeys(("train", "dev", "test"), TWICE)
    assert "skipped: train 6, dev 6, test 6" in capsys.readouterr().err
    assert data.vocabulary(READ) == {"labels": ["O", "B-ARG0", "I-ARG0", "B-ARG1", "I-ARG1", "B-V", "I-V"]}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ["d 0 0 Ada NN * - -", "d 0 1 came VB * come come.03"],
            r"dev\.conll: predicates, but no column of brackets\. Training and scoring need their roles\.$",
        ),
        (["d 0 0 Yes UH * - -"], r"ewt_propbank: no predicates in the dev split\. Check its files\.$"),
    ],
)
def test_a_split_without_roles_or_predicates_can_be_neither_trained_on_nor_scored(root, lines, said):
    path = root / "ewt_propbank" / "dev.conll"
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    with pytest.raises(UserError, match=said):
        Data(**task_yaml("srl")["data"]).read("open", root)
    assert [example.tags for example in Data().read_file(path)] == [None] * (len(lines) - 1)  # to predict


def test_one_document_under_two_names_is_refused(root):
    folder = root / "conll2012/data/train/data/english/annotations/bc"
    (folder / "two.v4_gold_conll").write_text(conll_2012(SKELETON), encoding="utf-8")
    with pytest.raises(UserError, match=r"two\.v4_gold_conll: the same document as two\.gold_conll\. Keep one"):
        Data(**task_yaml("srl")["data"]).read("paper", root)


@pytest.mark.parametrize("end", ["", "#end document\n"])
def test_conll_2012_without_its_first_line_is_said_to_be_read_as_a_skeleton(tmp_path, end):
    text = conll_2012(SKELETON).partition("\n")[2].replace("#end document\n", end)
    (path := tmp_path / "x.conll").write_text(text, encoding="utf-8")
    said = r"read as a PropBank skeleton, since the file does not begin with #begin document\)\. (Add|Fix)"
    with pytest.raises(UserError, match=said):
        Data().read_file(path)


def test_a_file_without_a_predicate_is_written_between_those_that_have_some(root):
    folder = root / "conll2012/data/conll-2012-test/data/english/annotations/bc"
    (folder / "one_b.gold_conll").write_text(conll_2012("b 0 0 Yes UH * - -\n"), encoding="utf-8")
    data = Data(**task_yaml("srl")["data"])
    examples = data.read("paper", root)["test"]
    data.write(root / "x.props", examples, [example.tags for example in examples])
    blocks = (root / "x.props").read_text(encoding="utf-8").strip().split("\n\n")
    assert [block.count("\n") + 1 for block in blocks] == [1, 6, 2, 1, 1, 1, 1, 6, 2, 1, 1]


def frame(tags):
    return {"verb": "v", "frames": list(tags)}


HUB = [
    {"words": ["Yes"], "predicate_lemmas": [None], "srl_frames": []},
    {
        "words": list(READ[0].sentence.tokens),
        "predicate_lemmas": [None, "come", None, "see", None, None],
        "srl_frames": [frame(READ[1].tags), frame(READ[0].tags)],
    },
    {"words": ["No", "."], "predicate_lemmas": [None, None], "srl_frames": []},
    {"words": ["Go"], "predicate_lemmas": [None], "srl_frames": [frame(["B-V"])]},
    {"words": ["So"], "predicate_lemmas": [None], "srl_frames": []},
]


def test_paper_suite_from_the_hub(monkeypatch):
    suite, asked = from_hub(monkeypatch, "srl", {"document_id": ["bc/a", "bc/b"], "sentences": [HUB, HUB]})
    assert suite == dict.fromkeys(("train", "dev", "test"), TWICE)
    assert asked == [
        ("ontonotes/conll2012_ontonotesv5", f"english_{part}/0000.parquet", "refs/convert/parquet")
        for part in ("v12/train", "v12/validation", "v12/test", "v4/test")
    ]


def test_of_the_hubs_test_split_the_documents_of_conll_2012_are_kept(monkeypatch):
    def table(repo, file, revision):
        rows = {"document_id": ["bc/a", "pt/b"], "sentences": [HUB, [HUB[3]]]}
        if file.startswith("english_v4"):
            rows = {"document_id": listed, "sentences": [[]]}
        return type("Table", (dict,), {"column_names": property(list)})(rows)

    monkeypatch.setattr("elmo_bench.base.hub.hub_table", table)
    paper = task_yaml("srl")["data"]["paper"]
    data = Data(paper={**paper, "source": "hub"})
    listed = ["bc/a"]
    with noted() as notes:
        suite = data.read("paper", None)
    assert suite["test"] == READ
    assert len(suite["train"]) == len(suite["dev"]) == 4
    assert any("test/0000.parquet: 1 of 2 documents, as in english_v4/test/0000.parquet" in line for line in notes)
    listed = ["bc/c"]
    with pytest.raises(UserError, match=r"english_v12/test/0000\.parquet: lacks 1 documents of english_v4/test"):
        data.read("paper", None)


def test_the_table_of_documents_is_among_the_files_of_the_hub(monkeypatch):
    """So that a run is not done if only this table has changed, or an earlier version did not read it."""
    for module in ("elmo_bench.base.sources", "elmo_bench.tasks.srl.data"):
        monkeypatch.setattr(f"{module}.hub_file", lambda repo, file, revision: Path(file))
    paper = task_yaml("srl")["data"]["paper"]
    files = Data(paper={**paper, "source": "hub"}).files("paper", None)
    names = ("v12/train", "v12/validation", "v12/test", "v4/test")
    assert files == [Path(f"english_{name}/0000.parquet") for name in names]


def test_tables_of_the_hub_without_names_of_documents_are_read_whole_with_a_note(monkeypatch):
    with noted() as notes:
        suite, _ = from_hub(monkeypatch, "srl", {"sentences": [HUB, HUB]})
    assert len(suite["test"]) == 2 * len(READ)
    assert any("no column document_id, so more is read than english_v4/test" in line for line in notes)


def test_a_sentence_of_the_hub_without_words_is_skipped_with_a_note(monkeypatch, tmp_path):
    empty = {"words": [], "predicate_lemmas": [], "srl_frames": []}
    rows = {"document_id": ["bc/a"], "sentences": [[empty, *HUB[:3], empty, *HUB[3:]]]}
    with noted() as notes:
        suite, _ = from_hub(monkeypatch, "srl", rows)
    assert suite["test"] == READ
    where = "ontonotes/conll2012_ontonotesv5/english_v12/train/0000.parquet"
    assert f"{where}: 2 sentences without words skipped" in notes


def test_a_frame_of_the_hub_without_its_verb_is_left_out_with_a_note(monkeypatch):
    """OntoNotes has a predicate whose column has no (V*)."""
    rows = [[{**each, "srl_frames": [frame(["O"] * len(each["words"])), *each["srl_frames"]]} for each in HUB]]
    with noted() as notes:
        suite, _ = from_hub(monkeypatch, "srl", {"document_id": ["bc/a"], "sentences": rows})
    assert suite["train"] == READ
    assert notes[0].endswith(
        "english_v12/train/0000.parquet: 5 predicates left out: their roles do not name the predicate (B-V)"
    )
