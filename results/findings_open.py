"""The claims of FINDINGS-open.md and their numbers: `elmo-bench report` leaves out a
finding whose assert fails.

Each finding names one of these functions, which gets the frames of the tables by their
names. A table that is not there yet, or a row of it, is a KeyError or an IndexError:
the finding waits for its runs.
"""

import pandas as pd

from elmo_bench.reporting.findings import Tables, linked, points
from elmo_bench.reporting.formats import signed
from elmo_bench.reporting.names import percent


def _gains(tables: Tables, ours: str, theirs: str = "glove") -> pd.DataFrame:
    """What one encoder gains over another on test, by task."""
    gains = tables["gains"]
    return gains[(gains.our_name == ours) & (gains.their_name == theirs)].set_index(
        "task"
    )


def _leads(tables: Tables) -> pd.DataFrame:
    """ELMo's gain on dev after 1, 2, 4, … epochs and at the end, by task."""
    speed = tables["speed"]
    return speed[speed.encoder_label == "elmo"].set_index("task")


def _of_share(tables: Tables, share: str) -> pd.Series:
    """ELMo's row with this share of the training data."""
    fractions = tables["ner-figure1"]
    shares = fractions.share.map(percent)
    return fractions[(fractions.encoder_label == "elmo") & (shares == share)].iloc[0]


def what_elmo_is_worth(tables: Tables) -> dict[str, str]:
    elmo = _gains(tables, "elmo")
    four = elmo.loc[["squad", "ner", "coref", "srl"]]
    assert (four.verdict == "ahead").all()
    assert (elmo.loc[["snli", "sst5"]].verdict == "tie").all()
    assert elmo.gain["srl"] < elmo.gain["coref"] < elmo.gain["ner"] < elmo.gain["squad"]
    assert (four.gain > four.paper_gain).all()
    less = four.reduction < four.paper_reduction
    assert less[["squad", "ner", "srl"]].all()
    assert not less["coref"]
    sentiment = elmo.loc["sst5"]
    assert sentiment.high < sentiment.paper_gain
    slices = tables["slices"]
    known = slices[(slices.task == "ner") & (slices.run_label == "elmo")]
    known = known[known.slice == "every word has a static vector"]
    interval = f"{signed(sentiment.low)} … {signed(sentiment.high)}"
    return {
        "papers_sentiment": f"{sentiment.paper_gain:.1f}",
        "sentiment_interval": linked(interval, sentiment.anchor),
        "srl": points(elmo.loc["srl"]),
        "squad": points(elmo.loc["squad"]),
        "squad_reduction": linked(
            f"{elmo.reduction['squad']:.1f} %", elmo.anchor["squad"]
        ),
        "ner_reduction": linked(f"{elmo.reduction['ner']:.1f} %", elmo.anchor["ner"]),
        "ner_known_words": points(known.iloc[0]),
    }


def how_much_of_it_is_context(tables: Tables) -> dict[str, str]:
    whole = _gains(tables, "elmo")
    context = _gains(tables, "elmo", "elmo_word")
    words = _gains(tables, "elmo_word")
    assert (
        context.loc[["squad", "srl", "ner", "coref", "sst5"]].verdict == "ahead"
    ).all()
    assert context.verdict["snli"] == "tie"
    between = context.gain[["sst5", "squad", "srl"]]
    assert context.gain["coref"] < between.min()
    assert between.max() < context.gain["ner"]
    assert (words.loc[["squad", "coref", "srl"]].verdict == "ahead").all()
    assert (words.loc[["ner", "sst5", "snli"]].verdict == "tie").all()
    assert whole.verdict["sst5"] == "tie"
    return {
        "context_coref": points(context.loc["coref"]),
        "context_ner": points(context.loc["ner"]),
        "words_squad": points(words.loc["squad"]),
        "words_coref": points(words.loc["coref"]),
        "words_srl": points(words.loc["srl"]),
    }


def how_soon_elmo_helps(tables: Tables) -> dict[str, str]:
    leads = _leads(tables)
    early = leads["epoch 1"][["squad", "srl", "snli"]]
    assert (early > 3 * leads.end[["squad", "srl", "snli"]]).all()
    ner, coref, sst5 = leads.loc["ner"], leads.loc["coref"], leads.loc["sst5"]
    assert ner["epoch 4"] > 3 * ner.end
    assert ner["epoch 4"] > ner["epoch 2"]
    assert ner["epoch 4"] > ner["epoch 8"]
    assert 1.7 * coref.end < coref["epoch 4"] < 2.3 * coref.end
    assert sst5["epoch 1"] <= sst5.end
    assert 0.75 * sst5["epoch 2"] < sst5.end < sst5["epoch 2"]
    squad = leads.loc["squad"]
    return {
        "squad_first": points(squad, "epoch 1"),
        "squad_last": points(squad, "end"),
        "ner_fourth": points(ner, "epoch 4"),
        "ner_last": points(ner, "end"),
        "coref_fourth": points(coref, "epoch 4"),
        "coref_last": points(coref, "end"),
    }


def how_much_labelled_data(tables: Tables) -> dict[str, str]:
    hundredth, three, tenth, whole = (
        _of_share(tables, share) for share in ("1 %", "3 %", "10 %", "100 %")
    )
    assert three.low > whole.high
    assert three.verdict == tenth.verdict == "ahead"
    assert hundredth.verdict == "tie"
    assert 0.8 < tenth.needed_share < 1
    needed = f"{tenth.needed_bound} {percent(tenth.needed_share)}".strip()
    return {
        "three_percent": points(three),
        "all": points(whole),
        "needed": linked(needed, tenth.anchor),
    }


def layers_and_place(tables: Tables) -> dict[str, str]:
    tested = pd.concat(
        [tables[name] for name in ("ner-regularisation", "ner-gamma", "ner-table3")]
    )
    tested = tested[tested.gain.notna()]
    assert (tested.verdict == "tie").all()
    assert tested.detectable.min() > 1
    return {
        "count": str(len(tested)),
        "largest": f"{tested.gain.abs().max():.1f}",
        "detectable": f"{tested.detectable.max():.1f}",
    }
