"""Which systems are comparable, and how their groups are called."""

import pytest

from elmo_bench.reporting.all_runs import spent
from elmo_bench.reporting.frame import runs
from elmo_bench.reporting.names import beside_the_papers, data_name, in_paper_order, in_sentence, task_title, task_unit
from tests.ledger.records import changed
from tests.reporting.frames import systems_in
from tests.reporting.ledgers import add, fill, today


def groups_in(ledger):
    """The first system of each group."""
    return systems_in(ledger).drop_duplicates("basis")


@pytest.mark.parametrize(
    ("options", "differs"),
    [
        ({"size": "paper"}, "size=paper"),
        ({"version": 99}, f"version=99, protocol {today()[1]}"),
        ({"data": "x"}, "3,384 examples"),
    ],
)
def test_systems_on_another_basis_are_apart(tmp_path, options, differs):
    fill(tmp_path, "ner", "glove elmo")
    add(tmp_path, "ner", "none", 0, **options)
    table = systems_in(tmp_path)
    assert list(table.encoder) == ["elmo", "glove", "none"]  # the group with most encoders is first
    first, second = groups_in(tmp_path).itertuples()
    assert (second.differs, second.heading) == (differs, f"Named entities (ner, {differs})")
    assert first.stem != second.stem


def test_a_fraction_of_the_data_is_a_group_with_it_in_the_heading(tmp_path):
    add(tmp_path, "ner", "glove", 0)
    add(tmp_path, "ner", "glove", 0, train_fraction=0.3)
    add(tmp_path, "ner", "glove", 0, max_train=50)
    whole, *parts = groups_in(tmp_path).itertuples()
    assert (whole.amount, whole.whole, whole.share) == ("", 3394, 1.0)
    assert {part.heading for part in parts} == {
        "Named entities (ner, 30 % of the training data, at least 100 steps an epoch)",
        "Named entities (ner, at most 50 training examples)",
    }
    assert {part.share for part in parts} == {1018 / 3394, 50 / 3394}
    assert {part.home_heading for part in parts} == {"Named entities (ner)"}
    assert {part.home_stem for part in parts} == {"open-ner"}


def test_columns_that_differ_in_punctuation_alone_have_files_of_their_own(tmp_path):
    for number, label in enumerate(("a-b", "a b", "c")):
        options = {"suite": "reviews", "data": str(number), "settings": {"data.file": "x.csv", "data.label": label}}
        add(tmp_path, "classification", "glove", 0, **options)
    stems = groups_in(tmp_path).set_index("differs").stem
    assert stems["data.label=c"] == "reviews-classification-data.label-c"
    assert len({*stems}) == 3 and all(stem.startswith("reviews-classification-data.label-") for stem in stems)


@pytest.mark.parametrize("letter", ["a", "列"])
def test_long_names_of_columns_have_short_file_names_of_their_own(tmp_path, letter):
    for number in range(3):
        settings = {"data.file": "x.csv", "data.label": f"{letter * (230 if letter == 'a' else 80)}{number}"}
        add(tmp_path, "classification", "glove", 0, suite="reviews", data=str(number), settings=settings)
    stems = groups_in(tmp_path).stem
    assert len({*stems}) == 3
    assert all(stem.startswith("reviews-classification-data.label-") for stem in stems)
    assert max(len(stem.encode()) for stem in stems) < 120


def test_without_the_whole_the_share_is_the_fraction_that_was_asked_for(tmp_path):
    add(tmp_path, "ner", "glove", 0, train_fraction=0.3)
    add(tmp_path, "ner", "glove", 0, max_train=50)
    table = systems_in(tmp_path).set_index("fraction")
    assert table.share["data.train_fraction=0.3, data.least_steps=100"] == 0.3
    assert table.share.isna()["data.max_train=50"]


def test_core_hours_are_processor_time_and_hours_of_a_gpu_are_not(tmp_path):
    one, two = fill(tmp_path, "ner", "glove", seeds=2)
    cost = {"cost/seconds": 3600.0, "cost/cpu_seconds": 4 * 3600.0}
    one = changed(one, cost)
    two = changed(two, cost | {"environment/device": "NVIDIA H100"})
    assert spent(runs(tmp_path, [one, two])) == "2 runs took 4.0 core-hours and 1.0 hours on NVIDIA H100."


def test_names_of_tasks_and_their_order():
    assert in_paper_order({"zebra", "sst5", "ner", "squad", "ape"}) == ["squad", "ner", "sst5", "ape", "zebra"]
    assert (data_name("ner", "open"), task_unit("ner")) == ("WNUT-17", "sentences")
    assert task_title("zebra") == "zebra"
    assert beside_the_papers("ner", "open", "x") == "x (other data)"
    assert beside_the_papers("ner", "paper", "x") == "x"
    assert beside_the_papers("sst5", "open", "x") == "x (same data, smaller models)"


def test_a_title_within_a_sentence_keeps_an_abbreviation():
    titles = ["Named entities", "POS tagging", "Q", ""]
    assert list(map(in_sentence, titles)) == ["named entities", "POS tagging", "Q", ""]
