"""The tables of each layout: which rows they have, and what each row is compared with."""

import pytest
from elmo_bench.reporting.layouts import encoders, fractions, runs, variants, weights
from elmo_bench.reporting.layouts.fractions import Point, needed

from elmo_bench.ledger import read_ledger
from elmo_bench.reporting.gains import gains_from
from elmo_bench.reporting.groups import groups
from elmo_bench.reporting.rows import select
from elmo_bench.spec.experiments import Experiment
from tests.reporting.ledgers import add, full

TABLE1, FIGURE1, FIGURE2 = (Experiment.load(name) for name in ("table1", "figure1", "figure2"))


def columns(table, row=0):
    return dict(zip([column.name for column in table.columns], [cell.text for cell in table.rows[row]], strict=True))


def tables(name, ledger, **flags):
    experiment, found = Experiment.load(name), select(read_ledger(ledger)[0]).rows
    picked = [(group, rows) for group in groups(found, **flags) if (rows := variants.rows(experiment, group))]
    return variants.tables(experiment, picked, gains_from(ledger))


def first_column(table):
    return [row[0].text for row in table.rows]


# Tasks by encoders


def test_no_fraction_and_no_variation_among_the_encoders(tmp_path, found):
    for encoder in ("glove", "elmo"):
        add(tmp_path, "ner", encoder, 0)
        add(tmp_path, "ner", encoder, 0, train_fraction=0.1, lift=0.3)
        add(tmp_path, "ner", encoder, 0, max_train=100, lift=0.3)
    add(tmp_path, "ner", "none", 0, train_fraction=0.1)
    add(tmp_path, "ner", "elmo_only", 0)
    add(tmp_path, "ner", "elmo", 0, mix="last", lift=0.3)
    own, gain = found()
    glance = encoders.tables(TABLE1, "open", encoders.picked(TABLE1, own, gain))[0]
    shown = columns(glance)
    assert list(shown) == ["task", "glove", "elmo", "score", "n", "trained on", "width", "the paper, glove → elmo"]
    assert (shown["n"], shown["width"]) == ("1", "1/2 of the paper's")
    assert shown["trained on"] == "WNUT-17: 3,394 sentences (paper: 14,041)"
    assert shown["the paper, glove → elmo"] == "CoNLL-2003 test: 90.15 → 92.22 ± 0.10 (other data)"
    whole, *parts = runs.tables(own, gain)
    assert sorted(first_column(whole)) == ["elmo", "elmo, mix=last", "elmo_only", "glove"]
    assert {row[0].text: row[-1].text for row in whole.rows} == {
        "elmo": "92.22 ± 0.10", "elmo, mix=last": "", "elmo_only": "", "glove": "90.15",
    }  # fmt: skip
    assert whole.title == "Named entities (ner), suite open: all runs on all of the data"
    # The runs on 10 % are points of a learning curve; those on 100 examples are not.
    assert [part.title for part in parts] == [
        "Named entities (ner), suite open: all runs on at most 100 training examples"
    ]


# A table a task


@pytest.fixture(scope="module")
def snli(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiments")
    full(folder, tasks=("snli",), light=("snli",), seeds=1)
    return folder


@pytest.mark.parametrize(
    ("name", "rows", "references"),
    [
        ("table2", ["baseline: static vectors", "last layer only", "all layers, λ = 1", "all layers, λ = 0.001"],
         ["baseline: static vectors"]),
        ("table3", ["input only", "input and output", "output only"], ["input and output"]),  # the task's place
        (
            "ablation_inputs",
            [
                "static vectors only", "character layer only", "ELMo only", "static vectors and character layer",
                "static vectors and ELMo",
            ],
            ["static vectors only"],
        ),
        (
            "gamma",
            ["all layers, with γ", "all layers, without γ", "last layer, with γ", "last layer, without γ"],
            ["all layers, with γ", "last layer, with γ"],  # each "without" against its "with"
        ),
        ("regularisation", ["0.0001", "0.001", "0.01", "0.1", "1", "10"], ["0.001"]),
    ],
)  # fmt: skip
def test_variants_in_order_each_compared_with_its_reference(snli, name, rows, references):
    [table] = tables(name, snli)
    assert table.stem == f"open-snli-{name}"
    assert first_column(table) == rows
    names = [column.name for column in table.columns]
    verdicts = {row[0].text: row[names.index("verdict")].text for row in table.rows}
    assert [name for name, verdict in verdicts.items() if not verdict] == references


def test_the_last_layer_without_gamma_is_compared_with_the_last_layer_with_it(snli):
    [table] = tables("gamma", snli)
    gain = [column.name for column in table.columns].index("dev gain over the same with γ")
    with_, without = (row for row in table.rows if row[0].text.startswith("last layer"))
    assert without[gain].values[0] == pytest.approx(without[1].values[0] - with_[1].values[0])


def test_the_papers_figures_are_in_a_column_headed_with_their_data(snli):
    [table] = tables("table2", snli)
    assert table.columns[-1].name.startswith("paper: SNLI dev (other data")
    assert [row[-1].text for row in table.rows] == ["88.1", "89.1", "89.3", "89.5"]
    assert not any(column.name.startswith("paper") for column in tables("gamma", snli)[0].columns)


@pytest.mark.parametrize("other", ["mybert", "elmo_only"])
def test_every_encoder_takes_elmos_position_and_has_no_figures_of_the_paper(tmp_path, other):
    for options in ({}, {"mix": "last"}):
        add(tmp_path, "snli", other, 0, **options)
        add(tmp_path, "snli", "elmo", 0, **options)
    add(tmp_path, "snli", "glove", 0)
    add(tmp_path, "snli", "none", 0)
    [table] = tables("table2", tmp_path)
    assert {row[0].text: row[-1].text for row in table.rows} == {
        "baseline: static vectors": "88.1",
        "last layer only": "89.1",
        f"{other}: last layer only": "",
        "all layers, λ = 0.001": "89.5",
        f"{other}: all layers, λ = 0.001": "",
    }


def test_a_fraction_of_the_data_has_its_own_table_and_baseline(tmp_path):
    for options in ({}, {"train_fraction": 0.3}):
        add(tmp_path, "srl", "glove", 0, **options)
        for mix in ({}, {"mix": "last"}):
            add(tmp_path, "srl", "elmo", 0, **options, **mix)
    whole, part = tables("table2", tmp_path)
    assert whole.title == "Which layers: Semantic roles (srl), suite open"
    assert part.title.startswith("Which layers: Semantic roles (srl, 30 % of the training data, ")
    for table in (whole, part):
        names = [column.name for column in table.columns]
        baseline, *others = table.rows
        for score, gain in ((1, "dev gain over glove"), (2, "test gain")):
            assert [row[names.index(gain)].values[0] for row in others] == pytest.approx(
                [row[score].values[0] - baseline[score].values[0] for row in others]
            )
    assert whole.rows[0][2].text != part.rows[0][2].text


def test_combined_rows_are_labelled_and_compared_on_their_own_basis_alone(tmp_path):
    for options in ({}, {"size": "paper"}):
        add(tmp_path, "snli", "elmo", 0, **options)
    add(tmp_path, "snli", "elmo", 0, gamma=False)
    add(tmp_path, "snli", "elmo", 0, mix="last", gamma=False, size="paper")
    [table] = tables("gamma", tmp_path, combine=True)
    gain = [column.name for column in table.columns].index("dev gain over the same with γ")
    assert {row[0].text: bool(row[gain].text) for row in table.rows} == {
        "all layers, with γ, size=cpu": False,
        "all layers, with γ, size=paper": False,
        "all layers, without γ, size=cpu": True,
        "last layer, without γ, size=paper": False,
    }


def test_too_few_variants_make_no_table(tmp_path):
    add(tmp_path, "ner", "glove", 0)
    for options in ({}, {"penalty": 1.0}):
        add(tmp_path, "ner", "elmo", 0, **options)
    add(tmp_path, "ner", "elmo", 0, penalty=10.0, train_fraction=0.1)
    add(tmp_path, "ner", "elmo", 0, place="both", train_fraction=0.1)
    for name in ("regularisation", "table3", "ablation_inputs", "gamma"):
        assert tables(name, tmp_path) == []


def test_one_layer_at_a_time_for_an_encoder_of_any_depth(tmp_path):
    for layer in (2, 0, 1, 12):
        add(tmp_path, "pos", "elmo_only", 0, mix="layer", layer=layer, gamma=False)
        if layer < 2:
            add(tmp_path, "pos", "bert_mini_only", 0, mix="layer", layer=layer, gamma=False)
    [table] = tables("table6", tmp_path)
    own, other = ["layer 0", "layer 1", "layer 2", "layer 12"], ["bert_mini_only: layer 0", "bert_mini_only: layer 1"]
    assert first_column(table) == own + other
    assert table.columns[-1].name == "paper: PTB WSJ test (other data)"
    assert [row[-1].text for row in table.rows] == ["", "97.3", "96.8", "", "", ""]


# Less training data


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (10.0, "1 %"),
        (15.0, "3.2 %"),  # half way between 1 and 10 on a log axis: the root of 10
        (20.0, "10 %"),
        (30.0, "31.6 %"),
        (40.0, "100 %"),
        (40.1, "> 100 %"),
        (9.9, "< 1 %"),
    ],
)
def test_needed(make_record, score, text):
    """The baseline scores 10, 20, 40 with 1, 10, 100 % of the data."""
    rows = [select([make_record(encoder="glove", test=test)]).rows[0] for test in (10.0, 20.0, 40.0)]
    baseline = [Point(share, row) for share, row in zip((0.01, 0.1, 1.0), rows, strict=True)]
    assert str(needed(score, baseline)) == text


def test_a_table_of_fractions_has_each_of_them(tmp_path, found):
    for encoder in ("glove", "elmo"):
        for options in ({}, {"train_fraction": 0.1}, {"train_fraction": 0.01}):
            add(tmp_path, "sst5", encoder, 0, **options)
        add(tmp_path, "ner", encoder, 0)
    add(tmp_path, "sst5", "elmo", 0, place="input", train_fraction=0.1)  # differs in more than its data
    own, gain = found()
    families = fractions.families(FIGURE1, own)
    assert [(family.group.task, sorted(family.curves)) for family in families] == [("sst5", ["elmo", "glove"])]
    [table] = fractions.tables(FIGURE1, families, gain)
    assert table.stem == "open-sst5-figure1"
    assert [[cell.text for cell in row][:3] for row in table.rows] == [
        ["1 %", "936", "elmo"], ["1 %", "936", "glove"], ["10 %", "9,357", "elmo"], ["10 %", "9,357", "glove"],
        ["100 %", "93,567", "elmo"], ["100 %", "93,567", "glove"],
    ]  # fmt: skip
    assert any(note.startswith("Tests on a fraction are paired by seed and by item") for note in table.notes)
    names = [column.name for column in table.columns]
    for name in ("gain over glove", "verdict"):
        assert [bool(row[names.index(name)].text) for row in table.rows] == [True, False] * 3
    needs = [row[names.index("glove needs")] for row in table.rows[::2]]
    assert [cell.text.startswith(">") for cell in needs] == [False, True, True]
    assert 0.01 < needs[0].order < needs[1].order == needs[2].order == 1  # sorted by share, with and without a bound
    # The run that differs in more than its data is in a table of all runs on that fraction.
    assert any("10 % of the training data" in table.title for table in runs.tables(own, gain))


# The weights of the layers


def test_weights_are_of_the_best_epoch_over_seeds(make_record):
    def after(first, gamma):
        best = {"input": {"weights": [first, 1 - first], "gamma": gamma}}
        return [best, {"input": {"weights": [1.0, 0.0], "gamma": 9.0}}]

    records = [
        make_record(seed=0, layer_weights=after(0.2, 1.0), epochs={"run": 2, "best": 1}),
        make_record(seed=1, layer_weights=after(0.4, 2.0), epochs={"run": 2, "best": 1}),
        make_record(encoder="glove", layer_weights=[]),
    ]
    [group] = groups(select(records).rows)
    [mix] = [mix for row in group.rows for mix in weights.mixes_of(group, row)]
    assert (mix.place, mix.gamma.mean, [round(w.mean, 12) for w in mix.weights]) == ("input", 1.5, [0.3, 0.7])
    [table] = weights.tables(FIGURE2, "open", [mix])
    assert [cell.text for cell in table.rows[0]][2:4] == ["input", "1.50 ± 0.71"]
    assert weights.tables(FIGURE2, "open", []) == []
    assert not any("share" in column.name for column in table.columns)


def test_the_share_of_a_layer_is_that_of_weight_times_norm_where_a_record_has_norms(make_record):
    def after(*mixes):
        return [{"input": {"weights": [0.75, 0.25], "gamma": 1.0, **more}} for more in mixes]

    records = [
        make_record(seed=0, layer_weights=after({}, {"norms": [4.0, 12.0]})),
        make_record(seed=1, layer_weights=after({}, {"norms": [1.0, 9.0]})),
        make_record(seed=2, layer_weights=after({}, {})),  # of an earlier version
        make_record(encoder="other", layer_weights=after({}, {})),
    ]
    mixes = [m for group in groups(select(records).rows) for row in group.rows for m in weights.mixes_of(group, row)]
    shares = {mix.row.encoder: [round(share.mean, 12) for share in mix.shares] for mix in mixes}
    assert shares == {"elmo": [0.375, 0.625], "other": []}  # 3 : 3 and 0.75 : 2.25
    [table] = weights.tables(FIGURE2, "open", mixes)
    place = [column.name for column in table.columns].index("share of layer 0")
    assert {row[1].text: [cell.text for cell in row[place : place + 2]] for row in table.rows} == {
        "elmo": ["0.38 ± 0.18", "0.62 ± 0.18"], "other": ["", ""],
    }  # fmt: skip


def test_the_mixes_of_a_stack_are_named_by_encoder(make_record):
    depths = {"input elmo": 3, "input bert_mini": 7}
    mixes = {name: {"weights": [1 / depth] * depth, "gamma": 1.5} for name, depth in depths.items()}
    record = make_record(encoder="elmo_bert_mini", layer_weights=[mixes], epochs={"run": 1, "best": 1})
    [group] = groups(select([record]).rows)
    found = [mix for row in group.rows for mix in weights.mixes_of(group, row)]
    assert {mix.place: len(mix.weights) for mix in found} == depths
    assert [mix.heading for mix in found] == ["bert_mini at the input", "elmo at the input"]
    [table] = weights.tables(FIGURE2, "open", found)
    assert [[cell.text for cell in row][2] for row in table.rows] == ["input bert_mini", "input elmo"]
    drawing = weights._heat("figure2", "open", "elmo_bert_mini", found)
    assert "bert_mini at the input: 0.14, 0.14" in drawing.alt


def test_a_place_that_the_default_run_lacks_comes_from_a_run_that_differs_in_it_alone(tmp_path, found):
    plain = add(tmp_path, "ner", "elmo", 0)
    both = add(tmp_path, "ner", "elmo", 0, place="both")
    add(tmp_path, "ner", "elmo", 0, place="output")
    add(tmp_path, "ner", "elmo", 0, mix="last")  # learns no weights
    own, _ = found()
    assert {mix.place: mix.row.newest["hash"] for mix in weights.learned(own)} == {
        "input": plain["hash"], "output": both["hash"],
    }  # fmt: skip
