"""Cards of encoders and the overview: who is ranked, what an encoder is, what chance scores."""

from dataclasses import replace
from pathlib import Path

import pytest

from elmo_bench.reporting.frame import runs, systems
from elmo_bench.reporting.overview import about, card, chance_of, licence
from elmo_bench.reporting.render import to_csv, to_latex
from elmo_bench.spec.conf_files import choices, config_file
from tests.reporting.frames import board_of, sections_of, texts
from tests.reporting.ledgers import default, fill, spec_of, stuck


@pytest.mark.slow
def test_an_encoder_is_ranked_if_it_is_converged_on_every_task_of_elmo(tmp_path):
    fill(tmp_path, "ner snli", "glove none", seeds=3)
    fill(tmp_path, "ner snli", "elmo", seeds=3, lift=0.1)
    fill(tmp_path, "ner", "mybert random", seeds=3)
    fill(tmp_path, "squad", "glove none", seeds=3)  # whose runs of elmo are yet to come
    for seed in range(3):
        stuck(tmp_path, "snli", "random", seed)
    board = board_of(tmp_path)
    [suite] = board.suites.itertuples()
    ranks = suite.encoders["mean"].astype(object).where(suite.encoders["mean"].notna(), None)
    assert list(zip(suite.encoders.name, ranks, strict=True)) == [
        ("elmo", 1), ("glove", 2), ("none", 3), ("mybert", None), ("random", None),
    ]  # fmt: skip
    assert suite.encoders.low[0] == 1 and suite.encoders.high[0] < 2
    [overview] = sections_of(board)["encoders"].tables
    lines = {line["encoder"]: line for line in texts(overview)}
    assert lines["elmo"]["Inference (snli)"].endswith("▲") and lines["random"]["Inference (snli)"].endswith("†")
    assert lines["mybert"]["Inference (snli)"] == "" == lines["mybert"]["mean rank"]
    assert "not converged on each of these tasks: mybert, random." in " ".join(overview.notes)
    assert lines["chance"]["Named entities (ner)"] == "0.00"
    assert lines["elmo"]["Question answering (squad)"] == ""


def test_the_note_names_the_tasks_that_ranks_count(tmp_path):
    """On inference ELMo is converged in a smaller group alone, at another size."""
    fill(tmp_path, "ner", "glove elmo", seeds=2)
    fill(tmp_path, "snli", "glove none", seeds=2)
    fill(tmp_path, "snli", "glove elmo", seeds=2, size="paper")
    for seed in range(2):
        stuck(tmp_path, "snli", "elmo", seed)
    [overview] = sections_of(board_of(tmp_path))["encoders"].tables
    assert overview.notes[0].startswith("mean rank: over the tasks (Named entities), among")


@pytest.mark.parametrize("name", sorted({*choices("encoder")} - {"hf", "precomputed", "cove"}))  # these take files
def test_every_encoder_that_ships_says_what_it_is_and_has_a_card_that_exists(name):
    task = {"tfidf": "pairs", "features": "tagging"}.get(name, "ner")  # of a floor
    spec = default(task, name, "mine" if task != "ner" else "open", "cpu")
    text = " ".join(config_file("encoder", name).read_text(encoding="utf-8").replace("\n# ", " ").split())
    assert len(about(spec)) > 10 and about(spec)[1:-1] in text and "elmo-bench run" not in about(spec)
    without = ("none", "random", "random_only", "minilm", "mpnet", "elmo_bert_mini", "tfidf", "features")
    assert Path(card(spec)).is_file() if name not in without else card(spec) == ""


def test_chance_is_on_pages_alone(tmp_path):
    fill(tmp_path, "ner snli", "glove elmo", seeds=2)
    [page] = sections_of(board_of(tmp_path))["encoders"].tables
    names = [line["encoder"] for line in texts(page)]
    assert names[-1] == "chance" and page.notes[-1].startswith("chance: ")
    files = page.in_files
    assert [line["encoder"] for line in texts(files)] == names[:-1]
    assert "chance" not in to_csv(files) + to_latex(files)


def test_chance_is_the_most_frequent_gold_label_or_no_answer(tmp_path, make_record):
    def chance(metric, **gold):
        test = {"overall": {metric: 1.0}, "by_type": {name: {"gold": count} for name, count in gold.items()}}
        record = make_record(metric=metric, scores={"dev": test, "test": test})
        [system] = systems(runs(tmp_path, [record])).itertuples()
        return chance_of(system)

    assert chance("accuracy", yes=30, no=70) == (70, "always “no”")
    assert chance("f1", PER=3) == (0, "no answer")
    assert chance("accuracy") == chance("bleu") == (None, "")


def test_an_encoder_has_the_licence_of_its_card_or_yaml():
    licences = {name: licence(spec_of("ner", name)) for name in ("elmo", "glove", "minilm", "mpnet", "mybert", "none")}
    assert licences["elmo"] == "CC BY-SA 3.0" and licences["glove"] == "Public Domain Dedication and License 1.0"
    assert licences["minilm"] == licences["mpnet"] == "Apache-2.0, by the model's card"
    assert licences["mybert"] == licences["none"] == ""


def test_settings_without_words_have_no_card():
    spec = spec_of("ner", "none")
    assert card(replace(spec, settings={})) == ""
