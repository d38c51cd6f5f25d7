"""Semantic roles in the Hub's table of OntoNotes."""

from elmo_bench.base.notes import noted
from tests.hub import from_hub
from tests.tasks.test_srl_data import READ


def frame(tags):
    return {"verb": "v", "frames": list(tags)}


HUB = [
    {"words": ["Yes"], "predicate_lemmas": [None], "srl_frames": []},
    {
        "words": list(READ[0].sentence.tokens),
        "predicate_lemmas": [None, "come", None, "see", None, None],
        "srl_frames": [frame(READ[1].tags), frame(READ[0].tags)],
    },
    {"words": ["No", "."], "predicate_lemmas": [None, None], "srl_frames": []},
    {"words": ["Go"], "predicate_lemmas": [None], "srl_frames": [frame(["B-V"])]},
    {"words": ["So"], "predicate_lemmas": [None], "srl_frames": []},
]


def test_paper_suite_from_the_hub(monkeypatch):
    suite, asked = from_hub(monkeypatch, "srl", {"sentences": [HUB, HUB]})
    assert suite == dict.fromkeys(("train", "dev", "test"), READ * 2)
    assert asked == [
        ("ontonotes/conll2012_ontonotesv5", f"english_v12/{part}/0000.parquet", "refs/convert/parquet")
        for part in ("train", "validation", "test")
    ]


def test_a_frame_of_the_hub_without_its_verb_is_left_out_with_a_note(monkeypatch):
    """OntoNotes has a predicate whose column has no (V*)."""
    rows = [[{**each, "srl_frames": [frame(["O"] * len(each["words"])), *each["srl_frames"]]} for each in HUB]]
    with noted() as notes:
        suite, _ = from_hub(monkeypatch, "srl", {"sentences": rows})
    assert suite["train"] == READ
    assert notes[0].endswith(
        "english_v12/train/0000.parquet: 5 predicates left out: their roles do not name the predicate (B-V)"
    )
