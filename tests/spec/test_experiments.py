"""The definitions in conf/experiment: complete, consistent with what a sweep runs, and true to the paper."""

import re
from collections.abc import Iterator

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.spec.conf_files import CONF
from elmo_bench.spec.config import compose
from elmo_bench.spec.experiments import Experiment, Variant, experiments
from elmo_bench.spec.options import spelled
from elmo_bench.spec.run_spec import RunSpec
from tests.runs import first_ones

LISTED = [name for name in experiments() if Experiment.load(name).caption]
TABLE1 = {
    "squad": ("80.8", "85.6"),  # dev: its test set is hidden
    "snli": ("88.0", "88.7 ± 0.17"),
    "srl": ("81.4", "84.6"),
    "coref": ("67.2", "70.4"),
    "ner": ("90.15", "92.22 ± 0.10"),
    "sst5": ("51.4", "54.7 ± 0.5"),
}


def specs(experiment: Experiment, *options: str) -> Iterator[tuple[Variant, RunSpec]]:
    """Each variant with the spec of its run."""
    for variant in [experiment._at(value) for value in experiment.values(experiment.axis)] or experiment.variants:
        own = [f"{option}={spelled(value)}" for option, value in variant.options.items()]
        encoder = f"encoder={variant.encoder or experiment.encoder}"
        yield variant, RunSpec.of(compose("config", [*options, encoder, *own]))


@pytest.mark.parametrize("name", first_ones([name for name in LISTED if name != "figure2"], 5))
def test_a_variant_is_recognised_by_its_spec(name):
    experiment = Experiment.load(name)
    suite = "suite=paper" if name == "ladder" else "suite=open"  # with vectors that are not the ladder's
    for variant, spec in specs(experiment, f"task={experiment.values('task')[0]}", suite):
        assert experiment.variant_of(spec) == variant
    fraction, short = (
        next(specs(experiment, "task=ner", suite, option))[1]
        for option in ("data.train_fraction=0.3", "task.training.epochs=3")
    )
    assert name == "figure1" or experiment.variant_of(fraction)
    assert experiment.variant_of(short) is None


def test_the_list_of_experiments_is_that_of_the_files():
    text = (CONF / "experiment" / "README.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(\w+)` \| (.*) \| \d+ \|$", text, flags=re.MULTILINE))
    assert list(listed) and set(listed) == set(experiments())
    for name, about in listed.items():
        assert Experiment.load(name).about.startswith(about)


def test_values_of_several_sweeps_are_in_order_and_each_is_there_once():
    table1, table2 = Experiment.load("table1"), Experiment.load("table2")
    assert table1.values("task") == ["ner", "snli", "sst5", "coref", "squad", "srl"]
    assert table1.values("seed") == [0, 1, 2, 3, 4]
    assert (table2.values("data.train_fraction"), table2.values("place")) == ([0.3], [])
    assert table1.encoder == "elmo"


@pytest.mark.parametrize("task", TABLE1)
def test_table1(task):
    paper = Experiment.load("table1").paper[task]
    assert tuple(str(paper.figures[name]) for name in ("glove", "elmo")) == TABLE1[task]
    assert paper.gain == pytest.approx(paper.figures["elmo"].mean - paper.figures["glove"].mean, abs=0.011)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[]", ": a list, not a mapping"),
        ("{about: x}", ": no sweep"),
        ("{about: x, sweep: {task: ner}, capton: y}", "unknown key capton"),
        ("{about: x, sweep: {task: ner}, axis: mix.penalty}", "axis: mix.penalty is not in the sweep"),
        ("{about: x, sweep: {task: ner}, order: first}", "order: first or least: 2 is not a number"),
        ("{about: x, sweep: {place: [both]}, axis: place}", "axis: 'both' is not a number"),
        ("{about: x, sweep: {task: ner}, variants: {a: {place: both}}}", "variants: place is not in the sweep"),
        ("{about: x, sweep: [{task: ner}, snli]}", "sweep: not a mapping from options to values, or a list of them"),
        ("{about: x, sweep: {task: ner}, caption: [a, b]}", "caption: ['a', 'b'] is not a text"),
        (
            "{about: x, sweep: {task: ner}, layout: tabel}",
            "layout: tabel is unknown. Choose one of: encoders, ",
        ),
        ("{about: x, sweep: {task: ner}, variants: [a]}", "variants: give a mapping"),
        ("{about: x, sweep: {task: ner}, variants: {a: last}}", "variants.a: give a mapping of options"),
        ("{about: x, sweep: {task: ner}, paper: {ner: {figures: {}}}}", "paper.ner: give a mapping with scored and"),
        ("{about: x", ":1 cannot be read as YAML (expected ',' or '}'"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(tmp_path, text, error):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=f"^{tmp_path}/experiment/mine.yaml.*{re.escape(error)}"):
        Experiment.load("mine", tmp_path)
