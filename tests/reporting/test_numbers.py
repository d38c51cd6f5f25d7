"""Numbers in README, the docs and the cards: `report` writes them (test_results.py), or they are computed here.

All others name the command and the commit that measured them, or their source.
"""

import csv
import json
import re
from pathlib import Path

import pytest
import yaml

import elmo_bench
from elmo_bench.__main__ import main
from elmo_bench.base.sources import SPLITS
from elmo_bench.reporting.formats import signed
from elmo_bench.reporting.published import published
from elmo_bench.runner.data import build_data, read_splits
from elmo_bench.runner.plan import plan
from elmo_bench.spec.describe import label_of
from elmo_bench.spec.task_files import suite_tasks, task_yaml
from tests.runs import DATA, ROOT, described

SUITES = ("open", "paper")
PACKAGE = Path(elmo_bench.__file__).parent


def page(name):
    """The text of a file of the clone, or of the package, which may be installed elsewhere."""
    folder = PACKAGE.parent if name.startswith(f"{PACKAGE.name}/") else ROOT
    return (folder / name).read_text(encoding="utf-8")


def test_the_suite_is_what_its_page_says():
    """Versions and heads as in the tasks' yaml, digests as in the golden hashes."""
    contents = json.loads(page("tests/golden/hashes.json"))["contents"]
    digests = {run.split()[0]: found["data"][:12] for run, found in contents.items() if "control" not in run}
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| ([\w-]+) \| (.+) \| `(\w+)` \|$", page("docs/suite.md"), re.MULTILINE)
    assert {task for task, *_ in rows} == {*suite_tasks()}
    for task, version, head, data, digest in rows:
        own = task_yaml(task)
        known = (own["version"], own["head"]["name"], own["report"]["data"]["open"], digests[task])
        assert (int(version), head, data, digest) == known
    protocol = yaml.safe_load(page("conf/config.yaml"))["protocol"]
    assert f"training protocol {protocol} at" in page("docs/suite.md")


def test_the_page_of_elmo_shows_what_neighbours_prints(tmp_path, capsys):
    sentence = "The river bank was muddy ."
    [shown] = re.findall(rf"^ {{4}}{sentence} .*\n(?: {{5}}.*\n)+", page("docs/encoder.md"), re.MULTILINE)
    text = re.sub(r"[\[\]]", "", "\n".join(re.findall(r"\d  (.*)", shown)))
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    assert main(["neighbours", "bank", "--in", sentence, str(tmp_path / "text.txt")]) == 0
    assert capsys.readouterr().out.split() == shown.split()


def test_pages_say_of_elmo_mini_what_its_card_says():
    card = page("elmo_bench/weights/elmo-mini.md")
    sizes = [re.search(rf"([\d,]+) {what}", card)[1].replace(",", "") for what in ("in the encoder", "tokens")]
    parameters, tokens = (int(size) / 1e6 for size in sizes)
    for name in ("README.md", "docs/limits.md"):
        text = page(name)
        assert f"{parameters:.1f} M parameters" in text and f"{tokens:.0f} M tokens" in text, name
    limits = page("elmo_bench/reporting/page/words.j2")
    assert (round(93.6 / parameters), round(800 / tokens)) == (8, 10)  # the paper's, as in docs/limits.md
    assert "an eighth of the parameters of the paper's, a tenth of the text, and 2.3 passes" in limits
    assert re.search(r"([\d.]+) passes over the text", card)[1] == "2.29"


def test_the_quickstart_counts_the_pairs_of_inference():
    """The runs of table 1: tests/whole/test_commands_in_docs.py."""
    card = page("tasks/snli/README.md")
    ours, theirs = (int(re.search(rf"^\| {suite} .*\| ([\d,]+) /", card, re.M)[1].replace(",", "")) for suite in SUITES)
    for name in ("docs/quickstart.md", "tasks/snli/README.md", "conf/task/snli.yaml"):
        assert f"{100 * ours / theirs:.1f} % as many" in page(name), name


def test_the_project_of_a_student_takes_the_minutes_of_the_published_runs():
    minutes = {(row.task, row.encoder, row.label): row.minutes for row in published().values()}
    taken = {}
    text = page("docs/experiments.md")
    lines = re.findall(r"`elmo-bench sweep (experiment=.*)` \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    assert len(lines) == 3
    for command, count, total in lines:
        runs = plan(command.split()).runs
        own = {(run.spec.key, run.seed): minutes["ner", run.spec.encoder, label_of(run.spec)] for run in runs}
        assert (len(runs), round(sum(own.values()))) == (int(count), int(total)), command
        taken |= own
    both = "Six runs belong to two of the experiments and are made once, so all three together take"
    assert f"{both} {sum(taken.values()):.0f} minutes" in " ".join(text.split())
    assert len(taken) == sum(int(count) for _, count, _ in lines) - 6


def test_the_page_on_tuning_says_what_the_table_says():
    with (ROOT / "results/tables/open-ner-tuned.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["encoder"]: row for row in csv.DictReader(file)}
    text = page("docs/other-encoders.md").partition("**When to tune.**")[2]
    tuned = {name: row for name, row in rows.items() if "tuned" in name}
    assert len(tuned) == 3
    for name, row in tuned.items():
        assert row["verdict"].startswith("tie") and len(row["seeds"].split(",")) == 3
        numbers = [row["gain over the same encoder frozen mean"], row["95 % low"], row["95 % high"]]
        gain, low, high = (signed(float(number), 1) for number in numbers)
        assert f"{gain} ({low} to {high})" in text, name
        frozen = rows[f"{name.split()[0]} frozen"]
        assert float(row["minutes a run"]) > 10 * float(frozen["minutes a run"])


def test_the_page_on_mpnet_says_how_fast_it_was_measured():
    with (ROOT / "results/tables/open-encoders.csv").open(encoding="utf-8", newline="") as file:
        speed = {row["encoder"]: row["best tokens/s"] for row in csv.DictReader(file)}["mpnet"]
    assert f"the encoder reads {float(speed):,.0f} tokens a second" in " ".join(page("docs/other-encoders.md").split())


def test_cards_count_the_cases_that_official_scorers_scored():
    for card, names in (("ner", "conlleval"), ("srl", "srl"), ("squad", "squad"), ("coref", "coref coref_repeated")):
        cases = sum(len(json.loads(page(f"tests/golden/{name}.json"))["cases"]) for name in names.split())
        assert f"{cases} cases" in page(f"tasks/{card}/README.md")


@pytest.mark.slow
@pytest.mark.parametrize("task", ["squad", "snli", "srl", "coref", "ner", "sst5", "pos", "deprel"])
def test_a_card_counts_what_its_reader_reads(task):
    if task in ("coref", "sst5") and not DATA.is_dir():
        pytest.skip("needs the open suite's data in $ELMO_BENCH_DATA")
    spec, setup = described(f"task={task}", "encoder=glove", f"data.root={DATA if DATA.is_dir() else 'null'}")
    splits = read_splits(build_data(spec, setup), spec, setup)
    sizes = [f"{len(splits[split]):,}" for split in SPLITS]
    counts = [" / ".join(sizes)]
    if task in ("ner", "coref"):
        tokens = {split: sum(len(text) for each in splits[split] for text in each.texts) for split in SPLITS}
        counts.append(" / ".join(f"{tokens[split]:,}" for split in SPLITS))
    [row] = re.findall(r"^\| open.*$", page(f"tasks/{task}/README.md"), re.MULTILINE)
    cells = [cell.strip() for cell in row.split("|")]
    if task == "sst5":  # trains on phrases, which have a cell of their own behind that of the sentences
        sentences = next(cell for cell in cells if cell.endswith(" / ".join(sizes[1:])))
        counts = [sentences, sizes[0]]
    assert [cell for cell in cells if cell in counts] == counts
