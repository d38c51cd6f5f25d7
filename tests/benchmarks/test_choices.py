"""The rule of the protocol: what dev has to gain before a budget or a rate changes."""

from pathlib import Path

from benchmarks.choices import best_rate, gains, lines, main, rates, scores
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.tuning import TRIED_RATES
from tests.reporting.frames import runs_in
from tests.reporting.ledgers import add

LR = "task.training.optimizer.lr=0.002"


def verdicts(**by_label):
    """The last cell of each line; `usual` is the default run."""
    found = {"" if label == "usual" else label: dict(enumerate(dev)) for label, dev in by_label.items()}
    return [line.split(" | ")[-1].strip(" |") for line in lines({("ner", "glove"): found})]


def test_more_than_a_point_and_more_than_two_standard_errors():
    usual = [40.0, 41.0, 42.0]  # standard deviation 1, so the error of a difference of like means is 0.816
    assert verdicts(usual=usual, other=[41.7, 42.7, 43.7]) == ["changes"]  # 1.7 > 2 × 0.816
    assert verdicts(usual=usual, other=[41.6, 42.6, 43.6]) == ["stays"]  # 1.6
    assert verdicts(usual=[40.0, 40.0, 40.0], other=[41.1, 41.1, 41.1]) == ["changes"]
    assert verdicts(usual=[40.0, 40.0, 40.0], other=[41.0, 41.0, 41.0]) == ["stays"]  # a point is not more than one


def test_seeds_that_only_one_side_has_do_not_count():
    assert verdicts(usual=[40.0, 40.0], other=[42.0, 42.0, 0.0]) == ["changes"]
    assert verdicts(usual=[40.0], other=[42.0, 42.0]) == []  # one seed has no spread


def test_runs_that_differ_in_one_chosen_option_are_compared(tmp_path: Path):
    cpu = []
    for seed in (0, 1):
        cpu.append(add(tmp_path, "ner", "glove", seed))
        add(tmp_path, "ner", "glove", seed, settings={"task.training.optimizer.lr": 0.002})
        add(tmp_path, "ner", "glove", seed, settings={"task.training.batch": 8})
        add(tmp_path, "ner", "glove", seed, size="paper", lift=0.2, created="2026-06-01T00:00:00+00:00")
    found, test = scores(runs_in(tmp_path))
    assert {place: sorted(by_label) for place, by_label in found.items()} == {("ner", "glove"): ["", LR]}
    assert {*found["ner", "glove"][""].values()} == {record.scores.dev.overall["f1"] for record in cpu}
    assert {*test["ner", "glove"][""].values()} == {record.scores.test.overall["f1"] for record in cpu}


def test_dropout_rates_of_inference_are_one_choice(tmp_path: Path):
    rates = {f"task.head.dropout.{name}": 0.5 for name in ("recurrent", "aligned", "classifier")}
    for seed in (0, 1):
        add(tmp_path, "snli", "glove", seed)
        add(tmp_path, "snli", "glove", seed, settings=rates)
        add(tmp_path, "snli", "glove", seed, settings={"task.head.dropout.aligned": 0.5})
        add(tmp_path, "snli", "glove", seed, settings=rates | {"task.training.epochs": 48})
    dev, _ = scores(runs_in(tmp_path))
    label = ", ".join(f"{option}=0.5" for option in sorted(rates))
    assert sorted(dev["snli", "glove"]) == ["", label]


def test_the_gain_is_shown_by_default_and_with_each_change_over_the_seeds_that_all_arms_have():
    label = "task.training.epochs=64"
    dev = {
        ("ner", "glove"): {"": {0: 40.0, 1: 90.0}, label: {0: 41.0}},
        ("ner", "elmo"): {"": {0: 45.0, 1: 50.0}, label: {0: 45.5}},
        ("srl", "glove"): {"": {0: 40.0}, label: {0: 41.0}},
        ("srl", "elmo"): {"": {0: 40.0}},
    }
    test = {key: {name: {0: 2 * by_seed[0]} for name, by_seed in runs.items()} for key, runs in dev.items()}
    assert gains(dev, test) == ["| ner | default | 0 | +5.00 | +10.00 |", f"| ner | {label} | 0 | +4.50 | +9.00 |"]


def test_of_rates_with_equal_scores_the_lowest_is_chosen():
    assert best_rate({1e-4: 50.0, 1e-5: 49.0, 3e-5: 50.0}) == 3e-5


def add_rates(folder, encoder, way, best, *, task="ner", seed=0):
    """A run with each rate of the protocol; dev is highest with `best`."""
    for rate in TRIED_RATES[way]:
        settings = {"encoder.contextual.tune": way, "encoder.tune_lr": rate}
        add(folder, task, encoder, seed, lift=0.3 if rate == best else 0.1, settings=settings)


def test_the_rates_of_tuned_encoders_are_judged_by_dev_of_seed_0_on_ner(tmp_path: Path):
    add_rates(tmp_path, "elmo", "full", planned("elmo", "full"))
    add_rates(tmp_path, "elmo", "full", 1e-4, seed=1)
    add_rates(tmp_path, "elmo", "full", 1e-4, task="snli")
    another = next(rate for rate in TRIED_RATES["full"] if rate != planned("minilm", "full"))
    add_rates(tmp_path, "minilm", "full", another)
    lora, minilm, elmo = rates(runs_in(tmp_path))
    assert lora == ("", "minilm, lora: no run with encoder.tune_lr=0.0001, 0.0003, 0.001, so no rate is chosen.")
    assert minilm.line.startswith("| ner | minilm | full | 1e-05: ") and minilm.line.endswith(f" | {another} |")
    assert minilm.problem.startswith(f"minilm, full: dev chose {another}; conf/experiment/tuned.yaml has ")
    assert elmo.line.endswith(f" | {planned('elmo', 'full')} |") and not elmo.problem


def planned(encoder, way):
    [rate] = [
        float(variant.options["encoder.tune_lr"])
        for variant in Experiment.load("tuned").variants
        if variant.encoder == encoder and variant.options.get("encoder.contextual.tune") == way
    ]
    return rate


def test_two_rates_are_too_few_to_choose(tmp_path: Path):
    for rate in (1e-4, 3e-4):
        settings = {"encoder.contextual.tune": "lora", "encoder.tune_lr": rate}
        add(tmp_path, "ner", "minilm", 0, settings=settings)
    lora, *_ = rates(runs_in(tmp_path))
    assert lora == ("", "minilm, lora: no run with encoder.tune_lr=0.001, so no rate is chosen.")


def test_the_list_waits_for_rates_only_where_it_asks(tmp_path: Path, monkeypatch, capsys):
    add(tmp_path, "ner", "glove", 0)
    monkeypatch.setattr("sys.argv", ["choices.py", "ner", "--ledger", str(tmp_path)])
    assert main() == 0 and not capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["choices.py", "ner", "--tuned", "--ledger", str(tmp_path)])
    assert main() == 1
    assert len(capsys.readouterr().err.splitlines()) == 3
    for encoder, way in (("minilm", "lora"), ("minilm", "full"), ("elmo", "full")):
        add_rates(tmp_path, encoder, way, planned(encoder, way))
    assert main() == 0
    assert "| full | 1e-05: " in capsys.readouterr().out


def test_the_sweep_of_tuned_encoders_has_the_rates_of_its_rows():
    tuned = Experiment.load("tuned")
    swept = {
        (encoder, part["encoder.contextual.tune"][0], part["encoder.tune_lr"][0])
        for part in tuned.sweep
        if "encoder.contextual.tune" in part
        for encoder in part["encoder"]
    }
    assert swept == {
        (variant.encoder, variant.options["encoder.contextual.tune"], float(variant.options["encoder.tune_lr"]))
        for variant in tuned.variants
        if "encoder.contextual.tune" in variant.options
    }
