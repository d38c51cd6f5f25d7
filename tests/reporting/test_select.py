"""Which records stand together, and which are superseded."""

from elmo_bench.ledger import Identity, run_hash
from elmo_bench.reporting.select import baseline_of, select


def test_seeds_of_one_run_are_one_row(make_record):
    [row] = select([make_record(seed=seed, test=10.0 * seed) for seed in (2, 0, 1)]).rows
    assert row.seeds == [0, 1, 2]
    assert row.scores("test") == {0: 0.0, 1: 10.0, 2: 20.0}
    assert row.summary("test").mean == 10.0
    assert row.cost("seconds") == 90.0


def test_best_test_mean_first_and_labels_say_what_was_changed(make_record):
    records = [
        make_record(encoder="glove", test=40.0),
        make_record(test=50.0),
        make_record(test=45.0, overrides=("mix=last",)),
        make_record(test=70.0, task="another"),
    ]
    tables = select(records).tables()
    assert [row.label for row in tables["open", "tagging"]] == ["elmo", "elmo, mix=last", "glove"]
    assert list(tables) == [("open", "another"), ("open", "tagging")]


def test_data_that_were_chosen_supersede_no_others(make_record):
    plain = make_record(created="2026-01-01T00:00:00+00:00")
    other = make_record(created="2026-01-02T00:00:00+00:00", overrides=["task.data.open.seed=1"])
    other["identity"]["settings"] = plain["identity"]["settings"]  # data are no setting: their fingerprint tells them
    selection = select([plain, other])
    assert {row.label for row in selection.rows} == {"elmo", "elmo, task.data.open.seed=1"}
    assert not selection.stale


def test_the_newest_contents_are_current(make_record):
    old = [make_record(seed=seed, weights="w1", created=f"2026-01-0{seed + 1}T00:00:00+00:00") for seed in (0, 1)]
    new = [make_record(weights="w2", created="2026-01-03T00:00:00+00:00")]
    chosen = select(new + old)
    assert [row.records for row in chosen.rows] == [tuple(new)]
    [(superseded, current)] = chosen.stale
    assert superseded.records == tuple(old)
    assert current.records == tuple(new)
    [preferred] = select(new + old, prefer=old[0]["hash"]).rows
    assert preferred.records == tuple(old)


def test_rows_with_one_label_get_the_setting_that_sets_them_apart(make_record):
    plain = make_record()
    identity = Identity(settings=plain["identity"]["settings"] | {"rate": 0.5}, contents=plain["identity"]["contents"])
    other = make_record(identity=identity, hash=run_hash(identity))
    labels = {row.label for row in select([plain, other]).rows}
    assert labels == {"elmo, rate=0.001", "elmo, rate=0.5"}


def test_rows_that_differ_in_much_get_their_hash(make_record):
    records = []
    for rate in (0.5, 0.25):
        settings = {"a": rate, "b": rate, "c": rate}
        identity = Identity(settings=settings, contents={"data": "d"})
        records.append(make_record(identity=identity, hash=run_hash(identity)))
    assert {row.label for row in select(records).rows} == {f"elmo #{record['hash'][:6]}" for record in records}


def test_the_baseline_has_the_same_overrides_as_far_as_it_can(make_record):
    few, last, long = ("data.train_fraction=0.1",), ("mix=last",), ("task.training.epochs=50",)
    runs = [("glove", ()), ("glove", few), *(("elmo", overrides) for overrides in ((), few, last, long))]
    records = [make_record(encoder=encoder, overrides=overrides) for encoder, overrides in runs]
    records.append(make_record(task="another"))
    rows = select(records).rows
    against = {(row.place[1], row.label): getattr(baseline_of(row, rows), "label", None) for row in rows}
    assert against == {
        ("another", "elmo"): None,
        ("tagging", "elmo"): "glove",
        ("tagging", "elmo, data.train_fraction=0.1"): "glove, data.train_fraction=0.1",
        ("tagging", "elmo, mix=last"): "glove",
        ("tagging", "elmo, task.training.epochs=50"): None,  # glove was not trained so long
        ("tagging", "glove"): None,
        ("tagging", "glove, data.train_fraction=0.1"): None,
    }
