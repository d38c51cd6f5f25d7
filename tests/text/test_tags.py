"""Tag schemes against triples of the same spans that hold by construction (tests/golden/tag_schemes.json)."""

import json
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from elmo_bench.text import tags

ROOT = Path(__file__).parents[2]
TRIPLES = json.loads((ROOT / "tests/golden/tag_schemes.json").read_text(encoding="utf-8"))["tag_schemes"]


def test_golden_triples():
    assert len(TRIPLES) == 60
    for case in TRIPLES:
        assert tags.to_bio(case["iob1"]) == tags.to_bio(case["bio2"]) == case["bio2"]
        assert tags.bio_to_bioul(case["iob1"]) == tags.bio_to_bioul(case["bio2"]) == case["bioul"]
        assert tags.bioul_to_bio(case["bioul"]) == case["bio2"]
        assert [[start, end, kind] for kind, start, end in tags.spans(case["iob1"])] == case["spans"]


@pytest.mark.parametrize(
    ("written", "bio"),
    [
        ("O I-PER I-PER", "O B-PER I-PER"),
        ("I-PER I-ORG", "B-PER B-ORG"),
        ("B-PER I-ORG I-ORG", "B-PER B-ORG I-ORG"),
        ("B-X I-X- I--X", "B-X B-X- B--X"),  # types that differ in hyphens alone
        ("", ""),
    ],
)
def test_to_bio(written, bio):
    assert tags.to_bio(written.split()) == bio.split()


@pytest.mark.parametrize("wrong", ["X", "B", "B-", "-PER", "S-PER", "O-PER", "o", ""])
def test_what_is_no_tag(wrong):
    with pytest.raises(ValueError, match="is not a tag: expected O or B-TYPE, I-TYPE"):
        tags.to_bio([wrong])


@pytest.mark.parametrize("scheme", ["BIO", "BIOUL"])
def test_allowed_transitions_allow_exactly_the_valid_sequences(scheme):
    """All sequences of three tags: allowed if and only if writing their spans anew gives them back."""
    letters = [letter for letter in scheme if letter != "O"]
    labels = ["O", *(f"{letter}-{kind}" for kind in "XY" for letter in letters)]
    starts, transitions, ends = tags.allowed_transitions(labels, scheme)
    assert (starts.shape, transitions.shape, ends.shape) == ((len(labels),), (len(labels),) * 2, (len(labels),))
    assert {array.dtype for array in (starts, transitions, ends)} == {np.dtype(bool)}
    rewrite = tags.to_bio if scheme == "BIO" else lambda seq: tags.bio_to_bioul(tags.bioul_to_bio(seq))
    for ids in product(range(len(labels)), repeat=3):
        sequence = [labels[i] for i in ids]
        allowed = starts[ids[0]] and ends[ids[-1]] and all(transitions[pair] for pair in pairwise(ids))
        assert allowed == (rewrite(sequence) == sequence), sequence
