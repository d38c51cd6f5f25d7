"""A tuned encoder in reports: every row is marked, and no table or rank of frozen encoders includes it."""

import re
from itertools import chain

import pytest
from matplotlib.figure import Figure

import elmo_bench
from elmo_bench.__main__ import main
from elmo_bench.ledger import RunPaths, read_all
from elmo_bench.ledger.store import rewrite_record
from elmo_bench.reporting.figures import SURFACE
from elmo_bench.reporting.selection import learned_weights
from elmo_bench.spec.experiments import Experiment, experiments
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.tuning import TRIED_RATES
from tests.ledger.records import changed, put
from tests.reporting.frames import board_of, figures_in, runs_in, sections_of, systems_in, tables_in, texts
from tests.reporting.ledgers import add, fill, spec_of
from tests.runs import first_ones

FULL = {"encoder.contextual.tune": "full", "encoder.tune_lr": 0.00001}
LORA = {"encoder.contextual.tune": "lora", "encoder.tune_lr": 0.0003}
MARKED = "elmo, tuned (full at 1e-05)"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """ELMo frozen and tuned on three tasks, the tuned one far ahead."""
    folder = tmp_path_factory.mktemp("ledger")
    fill(folder, "ner snli sst5", "glove elmo", 2)
    fill(folder, "ner snli sst5", "elmo", 2, lift=0.3, settings=FULL)
    fill(folder, "ner", "minilm", 2)
    fill(folder, "ner", "minilm", 2, lift=0.1, settings=LORA)
    return folder


def test_the_label_says_that_it_is_tuned(ledger):
    labels = set(runs_in(ledger).encoder_label)
    assert {MARKED, "minilm, tuned (lora at 0.0003)", "elmo", "minilm", "glove"} == labels
    assert set(systems_in(ledger).run_label) == labels


def test_table_1_and_the_ranks_have_frozen_encoders_alone(ledger):
    shown = [text for table in tables_in(ledger, "table1") for row in texts(table) for text in row]
    assert "elmo" in " ".join(shown)
    assert "tuned" not in " ".join(shown)
    board = board_of(ledger)
    for name, section in sections_of(board).items():
        if name not in ("tuned", "runs"):
            cells = [cell for table in section.tables for row in [table.columns, *table.texts()] for cell in row]
            assert "tuned" not in " ".join(cells), name


def test_no_other_experiment_takes_it_for_a_variant():
    spec = RunSpec.of_record(type("Record", (), {"spec": spec_of("ner", "elmo", settings=FULL), "changes": None}))
    for name in experiments():
        variant = Experiment.load(name).variant_of(spec)
        assert (variant is None) == (name != "tuned"), name


def test_learned_weights_are_of_frozen_layers(ledger):
    systems = systems_in(ledger)
    chosen = systems[learned_weights(systems)]
    assert set(chosen.encoder_label) == {"elmo", "minilm"}


def test_all_runs_have_it_marked(ledger):
    first, *_ = sections_of(board_of(ledger))["runs"].tables
    names = [row[0] for row in first.texts()]
    assert MARKED in names


def test_each_tuned_encoder_is_compared_with_itself_frozen(ledger):
    [table] = [table for table in tables_in(ledger, "tuned") if "(ner)" in table.title]
    rows = {row["encoder"]: row for row in texts(table)}
    assert list(rows) == ["glove", "minilm frozen", "minilm tuned, LoRA", "elmo frozen", "elmo tuned, all of it"]
    column = "gain over the same encoder frozen"
    assert [name for name, row in rows.items() if row[column]] == ["minilm tuned, LoRA", "elmo tuned, all of it"]
    assert float(rows["elmo tuned, all of it"][column]) > 10
    assert all(row["minutes a run"] for row in rows.values())
    assert [row["learning rate of the encoder"] for row in rows.values()] == ["", "", "0.0003", "", "1e-05"]


def test_a_rate_at_the_end_of_those_tried_is_said(ledger, monkeypatch):
    notes = [note for table in tables_in(ledger, "tuned") for note in table.notes if "of those tried" in note]
    assert len(notes) == 3  # tasks
    assert notes[0].startswith("elmo tuned, all of it: its rate is the lowest of those tried")
    monkeypatch.setitem(TRIED_RATES, "full", (1e-6, 1e-5, 1e-4))
    assert not any("of those tried" in note for table in tables_in(ledger, "tuned") for note in table.notes)


def test_another_rate_is_no_row(tmp_path):
    fill(tmp_path, "ner", "glove elmo", 2)
    add(tmp_path, "ner", "elmo", 0, settings=FULL | {"encoder.tune_lr": 0.001})
    assert tables_in(tmp_path, "tuned") == []


def test_a_figure_shows_scores_by_minutes(ledger):
    """Of each task with a tuned encoder; hollow marks are tuned."""
    figures = {figure.stem: figure for figure in figures_in(ledger, "tuned")}
    assert set(figures) == {f"open-{task}-tuned-minutes" for task in ("ner", "snli", "sst5")}
    drawn = figures["open-ner-tuned-minutes"]
    for name in ("glove", "minilm frozen", "minilm tuned, LoRA", "elmo frozen", "elmo tuned, all of it"):
        assert name in re.sub(r"</tspan>\s*<tspan[^>]*>", " ", drawn.svg) and f"{name}: " in drawn.alt
    assert "core-minutes a run" in drawn.svg
    assert re.search(
        r"elmo tuned, all of it, is \d+\.\d points above frozen \(ahead\) and takes 1\.0 times", drawn.message
    )
    axes = Figure().add_subplot()
    drawn.paint(axes, False)
    faces = [
        line.get_markerfacecolor() for line in axes.lines if line.get_linestyle() == "-" and line.get_marker() != "_"
    ]
    assert faces.count(SURFACE) == 2


def move(ledger, record, device):
    """As if the run had been made on this device."""
    environment = record.environment.model_copy(update={"device": device})
    rewrite_record(RunPaths.of(ledger, record), record.model_copy(update={"environment": environment}))


def test_runs_on_each_model_of_gpu_have_a_figure_of_their_own(tmp_path):
    fill(tmp_path, "ner", "glove elmo minilm", 2)
    fill(tmp_path, "ner", "elmo", 2, lift=0.1, settings=FULL)
    fill(tmp_path, "ner", "minilm", 2, lift=0.1, settings=LORA)
    devices = {"elmo": "NVIDIA H200", "minilm": "NVIDIA A100", "glove": "cpu"}
    for record in read_all(tmp_path).records:
        move(tmp_path, record, devices[record.spec.encoder])
    drawn = {figure.stem: figure.svg for figure in figures_in(tmp_path, "tuned")}
    assert set(drawn) == {"open-ner-tuned-nvidia-h200", "open-ner-tuned-nvidia-a100"}
    assert "minutes on NVIDIA H200 a run" in drawn["open-ner-tuned-nvidia-h200"]
    assert not any("glove" in svg for svg in drawn.values())


def test_minutes_on_a_gpu_are_no_core_minutes(tmp_path):
    """One seed is on another GPU: its minutes do not count."""
    fill(tmp_path, "ner", "glove elmo", 2)
    fill(tmp_path, "ner", "elmo", 2, lift=0.1, settings=FULL)
    for record in read_all(tmp_path).records:
        is_other = record.seed == 0 and "encoder.contextual.tune" in record.spec.settings
        move(tmp_path, record, "NVIDIA A100" if is_other else "NVIDIA H200")
    [drawn] = figures_in(tmp_path, "tuned")
    assert "core-minutes" not in drawn.message and "1.0 times as long" in drawn.message


def test_a_run_of_zero_minutes_is_in_no_figure(tmp_path):
    records = fill(tmp_path, "ner", "glove elmo", 2)
    fill(tmp_path, "ner", "elmo", 2, lift=0.1, settings=FULL)
    for record in records:
        if record.spec.encoder == "glove":
            rewrite_record(RunPaths.of(tmp_path, record), changed(record, {"cost/cpu_seconds": 0.0}))
    [drawn] = figures_in(tmp_path, "tuned")
    assert "elmo frozen" in drawn.svg and "glove" not in drawn.svg


def test_a_record_that_says_it_is_not_tuned_is_no_tuned_encoder(tmp_path):
    fill(tmp_path, "ner", "glove elmo", 2)
    fill(tmp_path, "ner", "elmo", 2, lift=0.1, settings=FULL)
    frozen = add(tmp_path, "ner", "minilm", 0, settings={"encoder.contextual.tune": "none"})
    put(RunPaths.of(tmp_path, frozen).record, changed(frozen, {"changes": {}}))
    [table], [drawn] = tables_in(tmp_path, "tuned"), figures_in(tmp_path, "tuned")
    assert "minilm frozen" in {row["encoder"] for row in texts(table)} and "minilm frozen" in drawn.alt


def test_without_tuned_runs_there_is_no_figure(tmp_path):
    fill(tmp_path, "ner", "glove elmo minilm", 2)
    assert figures_in(tmp_path, "tuned") == []


@pytest.mark.slow
def test_no_picture_headline_or_comparison_ranks_it_among_frozen_ones(ledger):
    """Whatever is drawn or said but the section of tuned encoders and the list of all runs."""
    board = board_of(ledger)
    [suite] = board.suites.itertuples()
    tuned = {figure.stem for figure in figures_in(ledger, "tuned")}
    assert "tuned" not in suite.headline
    for figure in board.figures:
        if figure.stem not in tuned:
            assert "tuned" not in figure.svg + figure.alt + figure.phone_svg, figure.stem
    for table in (suite.table1, suite.others):
        assert table is None or "tuned" not in " ".join(chain(table.columns, *table.texts()))
    assert not [name for name in suite.encoders.name if "tuned" in name]
    assert not [name for name in suite.scores.name if "tuned" in name]
    for stem, table in {table.stem: table for table in board.tables}.items():
        if "tuned" not in stem and not stem.endswith("-runs"):
            assert "tuned" not in " ".join(chain(table.columns, *table.texts())), stem


@pytest.mark.parametrize("names", first_ones([["elmo", "glove"], ["elmo", "minilm", "glove"]], 1))
def test_compare_takes_the_frozen_encoder_of_a_name(ledger, capsys, names):
    assert main(["compare", *names, "--ledger", str(ledger)]) == 0
    assert "tuned" not in capsys.readouterr().out
    frame = elmo_bench.compare(elmo_bench.results(ledger), "elmo", "glove")
    assert (frame.options == "").all() and frame.gain.max() < 20


@pytest.mark.parametrize(
    "named",
    [
        [MARKED],
        ["--encoder", "elmo", "encoder.contextual.tune=full", "encoder.tune_lr=1e-5"],
    ],
)
def test_compare_takes_a_tuned_encoder_by_its_options_or_by_its_name(ledger, capsys, named):
    assert main(["compare", "elmo", *named, "--ledger", str(ledger)]) == 0
    assert f"test scores of elmo minus {MARKED}" in capsys.readouterr().out


def test_compare_names_a_tuned_encoder_as_it_takes_it(ledger, capsys):
    other = ["--encoder", "elmo", "encoder.contextual.tune=full"]  # at the usual rate, of which there are no runs
    assert main(["compare", "elmo", *other, "--ledger", str(ledger)]) == 2
    assert f"'{MARKED}'" in capsys.readouterr().err
    assert main(["compare", "elmo", *other, "encoder.tune_lr=fast", "--ledger", str(ledger)]) == 2
    assert "encoder.tune_lr=fast: give a number" in capsys.readouterr().err
    assert main(["compare", "glove", *other[:-1], "encoder.contextual.tune=ful", "--ledger", str(ledger)]) == 2
    assert "encoder.contextual.tune=ful: give one of: none, lora, full" in capsys.readouterr().err


def test_minutes_of_two_processors_are_not_divided(tmp_path):
    fill(tmp_path, "ner", "glove elmo", 2)
    fill(tmp_path, "ner", "elmo", 2, lift=0.1, settings=FULL)
    for record in read_all(tmp_path).records:
        if "encoder.contextual.tune" in record.spec.settings:
            environment = record.environment.model_copy(update={"cpu": "Another"})
            rewrite_record(RunPaths.of(tmp_path, record), record.model_copy(update={"environment": environment}))
    [drawn] = figures_in(tmp_path, "tuned")
    assert "times as long" not in drawn.message and "on other processors" in drawn.message
    [table] = tables_in(tmp_path, "tuned")
    assert re.search(r"On Another: elmo tuned, all of it\. All others on A processor\.$", table.notes[0])
