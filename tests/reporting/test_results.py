"""The data frame of a ledger; what is published; and what is committed in results/, which its ledger renders to."""

import ast
import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import elmo_bench
from benchmarks import choices
from elmo_bench.base.errors import UserError
from elmo_bench.cli import report
from elmo_bench.ledger import RunPaths, digest_of, read_all, read_outcomes, write_record
from elmo_bench.ledger.costs import encoder_part
from elmo_bench.reporting import published as published_runs
from elmo_bench.reporting.findings import read_findings
from elmo_bench.reporting.names import task_title
from elmo_bench.reporting.published import Published, verdict
from elmo_bench.reporting.render import END, MINUTES, MINUTES_END, START, write_published, write_readme
from elmo_bench.reporting.significance import holm
from elmo_bench.spec.experiments import Experiment, experiments
from elmo_bench.spec.task_files import suite_tasks, task_yaml
from tests.ledger.records import OUTCOMES, changed, hash_of, make_cost
from tests.reporting.frames import board_of
from tests.reporting.ledgers import add, fill, full, spec_of
from tests.runs import ROOT, forget_configs

RESULTS = ROOT / "results"
PAGES_ON_DROPOUT = ("docs/limits.md", "tasks/snli/README.md", "docs/choices.md")
ENCODERS = ["glove", "elmo_word", "elmo_alone", "elmo"]


def test_a_run_is_a_row_and_a_changed_option_a_column(tmp_path):
    fill(tmp_path, "ner", "glove", seeds=2)
    fill(tmp_path, "ner", "elmo", seeds=2, penalty=1.0)
    old = add(tmp_path, "ner", "glove", 0, weights="old", created="2025-01-01T00:00:00+00:00")
    record = add(tmp_path, "ner", "elmo", 0)
    frame = elmo_bench.results(tmp_path)
    assert list(zip(frame.encoder, frame.label, frame.seed, strict=True)) == [
        ("elmo", "", 0), ("elmo", "mix.penalty=1", 0), ("elmo", "mix.penalty=1", 1),
        ("glove", "", 0), ("glove", "", 0), ("glove", "", 1),
    ]  # fmt: skip
    assert frame["mix.penalty"].dropna().tolist() == ["1", "1"]
    assert frame[~frame.current].hash.tolist() == [old.hash]
    glove = frame[frame.current & (frame.encoder == "glove")]
    first = frame.iloc[0]
    assert (first.test, first.dev) == tuple(record.scores.of(split).overall["f1"] for split in ("test", "dev"))
    assert first.gain == pytest.approx(first.test - glove.test.mean())
    assert glove.gain.isna().all() and first.converged and first.minutes == 1.5
    pivot = frame[frame.current].pivot_table(index="task", columns="encoder", values="test")
    assert pivot.loc["ner", "glove"] == pytest.approx(glove.test.mean())


def test_no_option_replaces_a_column(tmp_path):
    add(tmp_path, "ner", "elmo", 0, settings={"test": 99.9, "suite": "mine"})
    with pytest.warns(UserWarning, match="1 run left out, since no run has "):
        frame = elmo_bench.results(tmp_path)
    assert frame.suite.tolist() == ["open"] and frame.test.tolist() != ["99.9"]


@pytest.mark.usefixtures("forgotten")
def test_the_folders_of_the_environment_are_included(tmp_path, make_record, monkeypatch):
    """Without its folder, a run is listed by its hash, and a warning names the folder's option."""
    forget_configs()
    conf = tmp_path / "mine" / "conf" / "task"
    conf.mkdir(parents=True)
    (conf / "elsewhere.yaml").write_text(
        (ROOT / "conf/task/ner.yaml").read_text().replace("name: ner", "name: elsewhere", 1)
    )
    spec = add(tmp_path / "runs", "ner", "glove", 0).spec.to_json() | {"task": "elsewhere"}
    record = make_record(spec=spec, hash=hash_of(spec))
    write_record(RunPaths.of(tmp_path / "runs", record), record, OUTCOMES)
    with pytest.warns(UserWarning, match="task elsewhere, encoder glove: 1 run left out.*--include FOLDER"):
        frame = elmo_bench.results(tmp_path / "runs")
    assert [*zip(frame.task, frame.label, frame.current, strict=True)] == [
        ("elsewhere", f"run {record.hash}", True), ("ner", "", True),
    ]  # fmt: skip
    monkeypatch.setenv("ELMO_BENCH_INCLUDE", str(tmp_path / "mine"))
    forget_configs()
    assert [*elmo_bench.results(tmp_path / "runs").label] == ["", ""]
    forget_configs()


def test_a_damaged_record_is_a_warning_and_a_missing_folder_an_error(tmp_path):
    good, bad = (add(tmp_path, "ner", encoder, 0) for encoder in ("glove", "elmo"))
    RunPaths.of(tmp_path, bad).record.write_text("{")
    with pytest.warns(UserWarning, match="elmo"):
        frame = elmo_bench.results(tmp_path)
    assert frame.hash.tolist() == [good.hash]
    assert elmo_bench.results(tmp_path, suite="paper").empty
    with pytest.raises(UserError, match="no such folder"):
        elmo_bench.results(tmp_path / "missing")


@pytest.mark.usefixtures("undrawn")
def test_published_rows_are_read_again(tmp_path, monkeypatch):
    records = fill(tmp_path / "runs", "ner", "glove", seeds=2)
    add(tmp_path / "runs", "ner", "glove", 0, suite="paper")
    path = tmp_path / "data" / "published.json"
    flags = ["--ledger", str(tmp_path / "runs"), "--out", str(tmp_path / "out"), "--published", str(path)]
    assert report.main(flags) == 0
    assert len(json.loads(path.read_text(encoding="utf-8"))) == 1  # of the suite open
    monkeypatch.setattr(published_runs, "FILE", path)
    [row] = published_runs.published.__wrapped__().values()  # past its cache
    assert row.hash == records[0].hash
    assert (row.task, row.encoder, row.label, row.minutes) == ("ner", "glove", "", 1.475)
    scores = {str(r.seed): r.scores.test.overall["f1"] for r in records}
    assert {seed: each["test"] for seed, each in row.seeds.items()} == scores
    assert row.seeds["1"]["processor"] == "A processor"


SEEDS = {str(seed): {"test": 39.8 + 0.7 * seed, "dev": 50.0, "processor": "A"} for seed in range(3)}
ROW = Published("open", "ner", "elmo", "cpu", "0" * 12, "", "d1", 40.5, 0.7, 2.0, SEEDS)


@pytest.mark.parametrize(
    ("score", "seed", "processor", "said"),
    [
        (40.2, 0, "A", "reproduced: 0.40 from the published 39.80 of seed 0"),
        (40.4, 0, "A", "not reproduced: 0.60 from the published 39.80 of seed 0"),
        (40.6, 0, "B", "reproduced: 0.10 from the published mean 40.50"),  # another kind: one more draw
        # A seed that is not published: 9.925 (Student's t, 2 degrees of freedom) · 0.7 · √(4/3) = 8.02.
        (48.6, 7, "A", "not reproduced: 8.10 from the published mean 40.50; up to 8.02 counts"),
        (48.5, 7, "A", "reproduced: 8.00 from the published mean 40.50"),
    ],
)
def test_a_run_reproduces_or_by_how_much_it_does_not(score, seed, processor, said):
    assert verdict(score, seed, processor, ROW).startswith(said)
    if seed != 0 or processor != "A":
        assert verdict(score, seed, processor, ROW._replace(sd=None)).startswith("not comparable")


def test_two_seeds_that_leave_any_score_open_reproduce_none():
    """63.7 (Student's t, 1 degree of freedom) · 0.5 · √1.5 = 39."""
    row = ROW._replace(sd=0.5, seeds={seed: SEEDS[seed] for seed in ("0", "1")})
    said = "not comparable: published 40.50 for 2 seeds on another processor or seed, which differ too much to tell"
    assert verdict(40.5, 7, "B", row) == said
    assert verdict(40.2, 0, "A", row).startswith("reproduced: 0.40 from the published 39.80 of seed 0")


def test_seeds_that_hardly_differ_leave_room_for_another_processor():
    row = ROW._replace(mean=36.2, sd=0.04)
    assert verdict(36.6, 7, "B", row) == "reproduced: 0.40 from the published mean 36.20; up to 0.50 counts"
    assert verdict(36.8, 7, "B", row).startswith("not reproduced: 0.60 ")


def test_the_committed_outcomes_add_up_to_the_committed_scores(committed):
    """Of every record; no task is one that is not installed, whose scores nobody here could check."""
    ledger, board = committed
    assert ledger.problems == []
    assert len(board.runs) > 300 and board.runs.checked.all() and (board.runs.left_out == "").all()


def test_budgets_and_choices_of_the_protocol_are_those_of_conf_and_of_the_records(committed):
    text = (ROOT / "docs/choices.md").read_text(encoding="utf-8")
    reports = {task: task_yaml(task)["report"] for task in suite_tasks()}
    budgets = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z\d]+(?:, [a-z\d]+)*) \| (\d+) \| ", budgets, re.MULTILINE)
    said = {task: int(epochs) for tasks, epochs in rows for task in tasks.split(", ")}
    assert said == {task: report["budget"]["cpu"] for task, report in reports.items() if report["budget"]}
    _, board = committed
    dev, test = choices.scores(board.runs[board.runs.suite == "open"])
    shown = re.findall(r"^\| \w+ \| \w+ \| task\..*$", text, re.MULTILINE)
    assert shown == choices.lines(dev)
    gains = re.findall(r"^\| \w+ \| (?:default|task[^|]+) \| [\d, ]+ \| .*$", text, re.MULTILINE)
    assert gains and {*gains} <= {*choices.gains(dev, test)}
    chosen = [choice for choice in choices.rates(board.runs[board.runs.suite == "open"]) if choice.line]
    shown = re.findall(r"^\| \w+ \| \w+ \| (?:lora|full) \| .*$", text, re.MULTILINE)
    assert shown == [choice.line for choice in chosen]
    assert not any(choice.problem for choice in chosen)  # conf/experiment/tuned.yaml


def test_pages_say_what_the_dropout_of_the_paper_does_on_inference(committed):
    _, board = committed
    _, test = choices.scores(board.runs[board.runs.suite == "open"])
    [label] = [label for label in test["snli", "elmo"] if "dropout" in label]
    means = {}
    for encoder, name in product(("glove", "elmo"), ("", label)):
        by_seed = test["snli", encoder][name]
        means[encoder, name] = np.mean([by_seed[seed] for seed in (0, 1, 2)])
    changed, usual = (means["elmo", name] - means["glove", name] for name in (label, ""))
    limits, card, log = ((ROOT / page).read_text(encoding="utf-8") for page in PAGES_ON_DROPOUT)
    assert f"{changed:.1f} points ahead of it on test, in place of {usual:.1f} " in limits
    assert f"{means['glove', label]:.1f} % on test, `elmo` {means['elmo', label]:.1f} %" in card
    assert f"its gain there is {changed:.1f} points on test" in log


def test_one_family_of_all_of_table_1_would_show_three_differences_less_as_the_docs_say(committed):
    _, board = committed
    [gains] = [table.frame for table in board.tables if table.stem == "open-gains"]
    together = gains[gains.family.isin(["primary", "parts"])]
    lost = together[(np.array(holm(together.p.tolist())) > 0.05) & (together.verdict != "tie")]
    steps = {"elmo_word": {"elmo_alone": "layers", "elmo": "layers and context"}, "elmo_alone": {"elmo": "context"}}
    said = {f"{steps[row.their_name][row.our_name]} on {task_title(row.task).lower()}" for row in lost.itertuples()}
    text = " ".join((ROOT / "docs/leaderboard.md").read_text(encoding="utf-8").split())
    listed = re.search(r"three verdicts would be ties: (.*?)\.", text)[1]
    assert said == {*re.split(r", and |, ", listed)}


def test_two_of_the_three_seeds_of_random_stay_at_chance_on_inference_as_the_docs_say(committed):
    _, board = committed
    seeds = board.runs[(board.runs.encoder == "random") & (board.runs.task == "snli")]
    assert (seeds.test < 36).sum() == 2 and len(seeds) == 3 and not seeds.converged.all()  # chance: 34.3
    assert "two of the three published seeds, stays at chance" in " ".join(
        (ROOT / "docs/other-encoders.md").read_text().split()
    )


def test_scores_of_equal_seeds_are_no_more_alike_than_others_as_the_docs_say(committed):
    _, board = committed
    defaults = board.runs.spec.map(lambda spec: not spec.changes)
    of_table = board.runs[(board.runs.suite == "open") & defaults]
    together = apart = 0.0
    for _, of_task in of_table[of_table.encoder.isin(ENCODERS)].groupby("task"):
        scores = of_task.pivot_table(index="seed", columns="encoder", values="test").dropna()
        covariance = scores.cov().to_numpy()
        count = len(covariance)
        apart += np.trace(covariance) * (count - 1)
        together += covariance.sum() - np.trace(covariance)
    assert -0.2 < together / apart < 0.1, together / apart


def test_the_records_with_corrected_costs_say_so(committed):
    _, board = committed
    corrected = board.runs[[bool(keys) for keys in board.runs.corrected]]
    assert len(corrected) == 17 and all([*keys] == ["cost"] for keys in corrected.corrected)
    text = (RESULTS / "RUNS.md").read_text(encoding="utf-8")
    assert f"{len(corrected)} records of inference, sentiment and coreference" in text
    assert {*corrected.task} == {"snli", "sst5", "coref"}


@pytest.mark.usefixtures("undrawn")
def test_the_tables_in_the_pages_and_the_published_scores_are_those_of_the_ledger(committed, tmp_path):
    """As `report` writes them, which test_report_command.py shows of another ledger."""
    _, board = committed
    for page, start, end in (("README.md", START, END), ("docs/quickstart.md", MINUTES, MINUTES_END)):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert start in text
        copy = tmp_path / page
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(re.sub(f"{start}.*?{end}", f"{start}\n{end}", text, flags=re.DOTALL), encoding="utf-8")
        write_readme(board, copy, tmp_path / "results")
        assert copy.read_text(encoding="utf-8") == text, "run `make report` and commit what it writes"
    scores = tmp_path / "published.json"
    write_published(board, scores)
    assert scores.read_bytes() == published_runs.FILE.read_bytes(), "run `make report` and commit what it writes"


def test_the_committed_findings_are_short_and_have_no_number_but_of_the_ledger():
    """Each has a claim in bold, at most three sentences of at most three numbers, and one caveat; 500 words in all."""
    text = (RESULTS / "FINDINGS-open.md").read_text(encoding="utf-8")
    text = re.sub(r"{\w+}", "#", re.sub(r"{\w+_interval}", "# #", text))
    assert {*re.findall(r"experiment=(\w+)", text)} <= {*experiments()}
    findings = [part.split("\n\n")[1:] for part in text.split("\n## ")[1:]]
    assert len(findings) == 7
    for claim, body, caveat in findings:
        assert re.fullmatch(r"\*\*[^*]+\.\*\*", claim) and caveat.startswith("Caveat: ")
        sentences = re.split(r"[.!?]\s+", body.strip())
        assert len(sentences) <= 3 and all(sentence.count("#") <= 3 for sentence in sentences)
        assert not re.search(r"\d", claim + body + caveat)
    assert len(" ".join(map(" ".join, findings)).split()) <= 500
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    assert page.count("#### ") == 7 and all(f"#### {name}\n" in page for name in re.findall(r"\n## (.*)", text))


@pytest.mark.slow
def test_rendered_again_it_is_the_same_byte_for_byte(tmp_path):
    out = tmp_path / "results"
    out.mkdir()
    for name in ("runs", "costs"):
        (out / name).symlink_to(RESULTS / name)
    (tmp_path / "elmo_bench").symlink_to(Path(elmo_bench.__file__).parent)  # with the cards of weights, as in a clone
    flags = ["--ledger", str(out / "runs"), "--out", str(out), "--findings", str(RESULTS)]
    assert report.main(flags) == 0
    assert _rendered(out) == _rendered(RESULTS), "run `make report` and commit what it writes"


def _rendered(folder):
    paths = [folder / "README.md", folder / "index.html"]
    paths += [path for name in ("tables", "figures") for path in (folder / name).iterdir()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(paths)}


def test_every_committed_finding_holds(committed):
    """On the committed ledger: the claims are plain asserts, and each failure shows its line."""
    _, board = committed
    findings = read_findings(RESULTS, "open", board.tables)
    assert (findings.untrue, findings.waiting) == ([], {})
    assert len(findings.shown) == 7


def _cost_of(encoder):
    spec = spec_of("ner", encoder)
    return make_cost(encoder, settings=encoder_part(spec.settings), contents=spec.contents)


@pytest.mark.slow
def test_no_committed_finding_waits_once_all_runs_are_there(tmp_path):
    """Without its asserts each claim finds its numbers."""
    full(tmp_path / "runs", light=("ner", "snli"), seeds=2)
    for variant in Experiment.load("tuned").variants:
        if variant.options or variant.encoder == "minilm":
            for seed in range(2):
                add(tmp_path / "runs", "ner", variant.encoder, seed, settings=variant.options)
    fill(tmp_path / "runs", " ".join(suite_tasks()), "minilm mpnet", seeds=2)
    for record in read_all(tmp_path / "runs", ("open", "ner")).records:  # every other entity lacks a vector
        outcomes = read_outcomes(run := RunPaths.of(tmp_path / "runs", record))
        outcomes |= {"novector": np.arange(len(outcomes["correct"])) % 2, "dev.novector": outcomes["dev.correct"] < 0}
        write_record(run, changed(record, {"outcomes": digest_of(outcomes)}), outcomes)
    costs = [_cost_of(encoder) for encoder in ("glove", "elmo", "minilm")]
    tables = board_of(tmp_path / "runs", costs).tables
    assert not read_findings(RESULTS, "open", tables).waiting
    (tmp_path / "FINDINGS-open.md").write_bytes((RESULTS / "FINDINGS-open.md").read_bytes())
    claims = ast.parse((RESULTS / "findings_open.py").read_text(encoding="utf-8"))
    for node in ast.walk(claims):
        if isinstance(node, ast.FunctionDef):
            node.body = [statement for statement in node.body if not isinstance(statement, ast.Assert)]
    (tmp_path / "findings_open.py").write_text(ast.unparse(claims), encoding="utf-8")
    shown = read_findings(tmp_path, "open", tables).shown
    assert len(shown) == 7 and not any("{" in finding.text for finding in shown)


def test_the_finding_on_context_grows_with_its_runs():
    """It names the tasks that have runs of ELMo on single words, and nothing without any."""
    code = compile((RESULTS / "findings_open.py").read_text(encoding="utf-8"), "findings_open.py", "exec")
    namespace = {}
    exec(code, namespace)
    columns = ["our_name", "their_name", "task", "gain", "verdict", "anchor"]
    rows = [("elmo", "elmo_alone", "ner", 2.1, "ahead", "a"), ("elmo", "elmo_alone", "srl", 1.5, "ahead", "b"),
            ("elmo", "elmo_alone", "snli", 0.1, "tie", "c")]  # fmt: skip
    told = [namespace["_context_alone"]({"gains": pd.DataFrame(rows[:count], columns=columns)}) for count in range(4)]
    assert told[0] == ""
    rest = "; other tasks are not tested yet."
    assert told[1].endswith(f"adds [2.1](#a) points on named entities{rest}")
    assert told[2].endswith(f"adds [2.1](#a) points on named entities and [1.5](#b) points on semantic roles{rest}")
    assert told[3].endswith(f" points on semantic roles, and is not shown to add any on inference{rest}")
