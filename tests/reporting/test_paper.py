"""The paper's figures, held against arXiv 1802.05365v2, tables 1 to 3."""

import pytest

from elmo_bench.reporting.paper import about, column, in_paper_order

TABLE1 = {
    "squad": ("80.8", "85.6"),  # dev: its test is hidden
    "snli": ("88.0", "88.7 ± 0.17"),
    "srl": ("81.4", "84.6"),
    "coref": ("67.2", "70.4"),
    "ner": ("90.15", "92.22 ± 0.10"),
    "sst5": ("51.4", "54.7 ± 0.5"),
}


@pytest.mark.parametrize("task", TABLE1)
def test_table1(task):
    found = column(task, "open", "table1")
    assert tuple(str(found.variants[name]) for name in ("glove", "elmo")) == TABLE1[task]
    assert found.gain == pytest.approx(found.variants["elmo"].mean - found.variants["glove"].mean, abs=0.011)


@pytest.mark.parametrize(
    ("table", "task", "printed"),
    [
        ("table2", "squad", [80.8, 84.7, 85.0, 85.2]),
        ("table2", "snli", [88.1, 89.1, 89.3, 89.5]),
        ("table2", "srl", [81.6, 84.1, 84.6, 84.8]),
        ("table3", "squad", [85.1, 85.6, 84.8]),
        ("table3", "snli", [88.9, 89.5, 88.7]),
        ("table3", "srl", [84.7, 84.3, 80.9]),
    ],
)
def test_development_tables(table, task, printed):
    assert [figure.mean for figure in column(task, "paper", table).variants.values()] == printed


def test_the_heading_names_the_data_set_and_says_where_it_is_another():
    assert column("ner", "open", "table1").heading == "paper: CoNLL-2003 test (other data)"
    assert column("ner", "mini", "table1").heading == "paper: CoNLL-2003 test (other data)"
    assert column("ner", "paper", "table1").heading == "paper: CoNLL-2003 test"
    assert column("squad", "paper", "table1").heading == "paper: SQuAD dev"
    assert "other data" in column("squad", "open", "table1").heading
    assert column("ner", "open", "table2") is None
    assert column("nonesuch", "open", "table1") is None


def test_order_and_names():
    assert in_paper_order({"zebra", "sst5", "ner", "squad", "ape"}) == ["squad", "ner", "sst5", "ape", "zebra"]
    assert (about("ner", "open").data, about("ner", "open").unit) == ("WNUT-17", "sentences")
    assert about("zebra", "open").title == "zebra"
