"""Tag schemes against triples of the same spans that hold by construction (tests/golden/tag_schemes.json)."""

import json
import subprocess
import sys
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
        ("B-LOC B-LOC I-LOC", "B-LOC B-LOC I-LOC"),
        ("I-GPE-CITY I-GPE-TOWN", "B-GPE-CITY B-GPE-TOWN"),
        ("B-B-SIDE I-B-SIDE", "B-B-SIDE I-B-SIDE"),
        ("B-X I-X- I--X", "B-X B-X- B--X"),  # types that differ in hyphens alone
        ("", ""),
    ],
)
def test_to_bio(written, bio):
    assert tags.to_bio(written.split()) == bio.split()


def test_seqeval_is_imported_only_when_spans_are_read():
    """It imports scikit-learn, which takes over a second: not for the help, not for a report, not for training."""
    code = (
        "import sys; from elmo_bench.__main__ import main; from elmo_bench.text import tags\n"
        "from elmo_bench.tasks.ner.metric import Metric\n"
        "tags.bio_to_bioul(tags.to_bio(['I-A', 'O']))\n"
        "try: main(['score', '--help'])\nexcept SystemExit: pass\n"
        "before = {'seqeval', 'sklearn'} & set(sys.modules)\n"
        "Metric().score([['B-A']], [['B-A']])\n"
        "print(sorted(before), 'seqeval' in sys.modules, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[] True False"


def test_invalid_bioul_becomes_valid_bio():
    assert tags.bioul_to_bio(["I-A", "L-A", "O", "L-B", "U-A", "I-A", "B-A", "U-B"]) == [
        "B-A",
        "I-A",
        "O",
        "B-B",
        "B-A",
        "B-A",
        "B-A",
        "B-B",
    ]


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


def test_allowed_transitions_refuse_what_they_do_not_know():
    with pytest.raises(ValueError, match="unknown tag scheme 'IOB1'"):
        tags.allowed_transitions(["O"], "IOB1")
    with pytest.raises(ValueError, match="'U-X' is not a tag"):
        tags.allowed_transitions(["U-X"], "BIO")
