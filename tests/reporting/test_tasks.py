"""What tables call tasks."""

from elmo_bench.reporting.tasks import in_paper_order, paper_heading, task_info

from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.names import tasks


def test_the_heading_names_the_data_set_and_marks_other_data():
    paper = Experiment.load("table1").paper
    assert paper_heading(paper["ner"], "ner", "open") == "paper: CoNLL-2003 test (other data)"
    assert paper_heading(paper["ner"], "ner", "mini") == "paper: CoNLL-2003 test (other data)"
    assert paper_heading(paper["ner"], "ner", "paper") == "paper: CoNLL-2003 test"
    assert paper_heading(paper["squad"], "squad", "paper") == "paper: SQuAD dev"
    assert paper_heading(paper["sst5"], "sst5", "open") == "paper: SST-5 test (same data, smaller models)"


def test_order_and_names():
    assert in_paper_order({"zebra", "sst5", "ner", "squad", "ape"}) == ["squad", "ner", "sst5", "ape", "zebra"]
    assert (task_info("ner", "open").data, task_info("ner", "open").unit) == ("WNUT-17", "sentences")
    assert task_info("zebra", "open").title == "zebra"


def test_every_task_has_names():
    for task in tasks():
        for suite in ("mini", "open", "paper"):
            assert task_info(task, suite).data
