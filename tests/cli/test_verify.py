"""`elmo-bench verify`: runs on the paper's data against its figures; the records are made up."""

import json

import pytest

from elmo_bench.__main__ import main
from elmo_bench.ledger import RunPaths
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from tests.ledger.records import hash_of, make_record, write_true

NEAR = {"glove": (90.1, 90.2, 90.3), "elmo": (92.1, 92.3, 92.2)}  # the paper: 90.15 and 92.22 ± 0.10


@pytest.fixture
def verify(tmp_path, capsys):
    def run(scores, *options, task="ner"):
        for encoder, tests in scores.items():
            config = compose("config", [f"task={task}", f"encoder={encoder}", "suite=paper", *options])
            spec = json.loads(json.dumps(RunSpec.of(config).with_contents({"data": "d"}).to_json()))
            for seed, test in enumerate(tests):
                record = make_record(spec=spec, hash=hash_of(spec), seed=seed, test=test)
                write_true(RunPaths.of(tmp_path, record), record)
        code = main(["verify", task, "--ledger", str(tmp_path)])
        captured = capsys.readouterr()
        return code, (captured.out + captured.err).splitlines()

    return run


def test_runs_near_the_paper_pass(verify):
    code, (baseline, elmo) = verify(NEAR)
    assert code == 0
    assert baseline.startswith("ner glove: 90.20 ± 0.10 over 3 seeds, the paper has 90.15 (CoNLL-2003 test)")
    # Means of 3 and of 5 seeds with a standard deviation of 0.1, Welch: -0.02 ± t(0.975, 4.34) · 0.0730
    assert "the paper has 92.22 ± 0.10" in elmo
    assert elmo.endswith("difference -0.02, 95 % interval -0.22 to +0.18: pass")


def test_runs_below_the_paper_fail_and_runs_above_it_say_so(verify):
    code, (baseline, elmo) = verify({"glove": (88.1, 88.2, 88.3), "elmo": (93.1, 93.3, 93.2)})
    assert code == 1
    assert baseline.endswith("FAIL") and elmo.endswith("pass, and above the paper")


@pytest.mark.parametrize(
    ("scores", "options", "found"),
    [
        ({"glove": (90.1,), "elmo": (92.1, 92.2)}, (), "1 of size=paper"),
        (NEAR, ("size=cpu",), "3 of size=cpu"),
        (NEAR, ("task.training.epochs=2",), "3 of size=paper, task.training.epochs=2"),
        ({}, (), "none"),
    ],
)
def test_without_two_seeds_of_the_papers_run_one_line_says_what_there_is_and_what_to_run(
    verify, scores, options, found
):
    code, lines = verify(scores, *options)
    assert code == 2 and len(lines) == 1
    assert f"ner glove: fewer than two seeds of the paper's run; suite=paper has {found}. Run: " in lines[0]
    assert lines[0].endswith("elmo-bench sweep task=ner encoder=glove suite=paper size=paper seed=0,1,2,3,4")
