"""The user's data before a run: a mistake is one message, found before any process and before torch."""

from pathlib import Path

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.runner import first_look
from elmo_bench.runner.first_look import read_own_data
from elmo_bench.runner.plan import plan
from elmo_bench.spec.names import task_class
from tests.tasks.test_own_tasks import CLASSES
from tests.text.test_own_data import table, write


def test_an_unknown_way_with_alike_labels_is_refused(refused, tmp_path):
    path = write(tmp_path / "x.csv", "text,label\na,b\n")
    assert "data.alike=x: unknown. Give merge, or nothing." in refused(
        "texts", tmp_path / "t", *CLASSES, f"data.file={path}", "data.alike=x"
    )
    assert "data.alike=x: unknown. Give merge, or nothing." in refused(
        "texts", tmp_path / "t", "task=tagging", "encoder=none", f"data.file={path}", "data.alike=x"
    )


def test_merged_labels_are_merged_in_new_text_too(tmp_path):
    data = task_class("classification", "data")(alike="merge")
    examples = data.read_file(Path(write(tmp_path / "x.csv", "text,label\na,Good \nb,GOOD\nc,\n")))
    assert [each.gold for each in examples] == ["good", "good", None]


MERGED = [  # tags as they are written; as they are read; with data.scheme=
    ("B-PER I-PER O B-Per", "B-per I-per O B-per", None),
    ("B-PER I-Per O O", "B-per I-per O O", None),  # one span, which case alone would cut
    ("B_LOC I_loc O B_Loc", "B-loc I-loc O B-loc", None),
    ("PER-B per-I O Per-B", "B-per I-per O B-per", None),
    ("B-A B-b I-B O", "B-a B-b I-b O", None),
    ("B-x E-X O S-X", "B-x I-x O B-x", None),
    ("B-Ort L-ORT O U-ort", "B-ort I-ort O B-ort", None),
    ("PER Per O LOC", "B-per I-per O B-loc", "IO"),
    ("NOUN Noun verb VERB", "noun noun verb verb", "plain"),
    ("1 1.0 01 2", "1 1 1 2", "plain"),
    ("Straße STRASSE a A", "strasse strasse a a", "plain"),
    ("B-Ⅳ I-IV O O", "B-iv I-iv O O", None),
]


def write_sentences(path, tags):
    """Forty sentences of other words, each with these tags."""
    lines = []
    for number in range(40):
        lines += [f"w{number} {tag}" for tag in tags.split()]
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.parametrize(("written", "merged", "scheme"), MERGED)
def test_merged_tags_are_one(tmp_path, written, merged, scheme):
    write_sentences(tmp_path / "x.conll", written)
    data = task_class("tagging", "data")(file=str(tmp_path / "x.conll"), scheme=scheme, alike="merge")
    with noted() as notes:
        [*splits] = data.read("x", None).values()
    assert {" ".join(sentence.tags) for split in splits for sentence in split} == {merged}
    assert not any("distinguish" in line for line in notes)
    [first, *_] = data.read_file(tmp_path / "x.conll")
    assert " ".join(first.tags) == merged


def test_tags_that_may_be_one_are_noted(tmp_path):
    write_sentences(tmp_path / "x.conll", "B-PER O B-Per")
    with noted() as notes:
        task_class("tagging", "data")(file=str(tmp_path / "x.conll")).read("x", None)
    assert any("'PER' and 'Per'. Each counts alone; data.alike=merge makes them one" in line for line in notes)


@pytest.mark.parametrize("column", ["text", "label"])
def test_a_sweep_reads_the_file_once_and_before_any_process(tmp_path, monkeypatch, refused, column):
    """One message for nine runs, and no folder of logs, which the first process would need."""
    path = write(tmp_path / "x.csv", table([(f"t {n}", "ab"[n % 2]) for n in range(40)], "text", "label"))
    monkeypatch.chdir(tmp_path)
    options = [
        "task=classification",
        f"data.file={path}",
        f"data.{column}=body",
        "encoder=none,glove,elmo",
        "seed=0,1,2",
    ]
    said = refused("sweep", *options)
    assert said.count("no column 'body'. The columns are text, label.") == 1
    assert not (tmp_path / "results").exists()


def test_a_sweep_refuses_more_items_than_a_record_keeps_but_not_those_that_are_cut(tmp_path, monkeypatch):
    """As `run` does, which cuts dev and test before it counts them."""
    path = write(tmp_path / "x.csv", table([(f"t {n}", "ab"[n % 2]) for n in range(40)], "text", "label"))
    options = ["task=classification", f"data.file={path}", "encoder=none"]
    monkeypatch.setattr(first_look, "MOST_ITEMS", 2)
    read_own_data(plan([*options, "data.max_eval=1,2"]).runs)
    with pytest.raises(UserError, match="and a record keeps outcomes of at most 2"):
        read_own_data(plan([*options, "data.max_eval=1,3"]).runs)


def test_equal_data_of_a_sweep_are_read_once(tmp_path, monkeypatch):
    path = write(tmp_path / "x.csv", table([(f"t {n}", "ab"[n % 2]) for n in range(40)], "text", "label"))
    (tmp_path / "more").mkdir()
    other = write(tmp_path / "more" / "x.csv", table([(f"u {n}", "ab"[n % 2]) for n in range(40)], "text", "label"))
    runs = plan(["task=classification", f"data.file={path},{other}", "encoder=none,glove", "seed=0,1"]).runs
    read_paths = []
    original = task_class("classification", "data").read_rows
    monkeypatch.setattr(task_class("classification", "data"), "read_rows",
                        lambda data, path: read_paths.append(str(path)) or original(data, path))  # fmt: skip
    with noted() as notes:
        read_own_data(runs)
    assert read_paths == [str(path), str(other)]
    assert any(each.startswith("2 labels: ") for each in notes)


@pytest.mark.parametrize(("tag", "scheme"), [("B-\u00a0", None), ("\u00a0", "IO")])
def test_a_type_of_white_space_cannot_be_merged(tmp_path, tag, scheme):
    (path := tmp_path / "x.conll").write_text(f"Ada {tag}\nran O\n\nBo B-P\nran O\n\n" * 9, encoding="utf-8")
    data = task_class("tagging", "data")(file=str(path), scheme=scheme, alike="merge")
    said = r"^tags: '.*' has white space as its type\. Name the type, or decide: data\.scheme=plain reads each"
    with pytest.raises(UserError, match=said):
        data.read("x", None)
