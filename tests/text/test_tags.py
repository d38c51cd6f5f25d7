"""Tag schemes against triples of the same spans that hold by construction (tests/golden/tag_schemes.json)."""

from itertools import pairwise, product

import numpy as np
import pytest

from elmo_bench.text import tags
from tests.golden_cases import golden

TRIPLES = golden("tag_schemes")["tag_schemes"]


def bioes(bioul):
    return [tag.translate(str.maketrans("UL", "SE"))[0] + tag[1:] for tag in bioul]


def test_golden_triples():
    assert len(TRIPLES) == 60
    for case in TRIPLES:
        assert tags.to_bio(case["iob1"]) == tags.to_bio(case["bio2"]) == case["bio2"]
        assert tags.bio_to_bioul(case["iob1"]) == tags.bio_to_bioul(case["bio2"]) == case["bioul"]
        assert tags.to_bio(case["bioul"], "BILOU") == case["bio2"]
        assert tags.to_bio(bioes(case["bioul"]), "BIOES") == case["bio2"]
        assert [[start, end, kind] for kind, start, end in tags.spans(case["iob1"])] == case["spans"]


@pytest.mark.parametrize(
    ("written", "scheme", "bio"),
    [
        ("O I-PER I-PER", "BIO", "O B-PER I-PER"),
        ("I-PER I-ORG", "BIO", "B-PER B-ORG"),
        ("B-PER I-ORG I-ORG", "BIO", "B-PER B-ORG I-ORG"),
        ("B-X I-X- I--X", "BIO", "B-X B-X- B--X"),  # types that differ in hyphens alone
        ("", "BIO", ""),
        ("S-X E-X", "BIOES", "B-X B-X"),
        ("E-X S-X E-X", "BIOES", "B-X B-X B-X"),
        ("B-X E-Y O", "BIOES", "B-X B-Y O"),
        ("B-X E-X I-X", "BIOES", "B-X I-X B-X"),
        ("I-X L-X U-X", "BILOU", "B-X I-X B-X"),
    ],
)
def test_malformed_chunks_begin_and_end_where_their_letters_say(written, scheme, bio):
    assert tags.to_bio(written.split(), scheme) == bio.split()


def test_the_scheme_of_a_corpus():
    """The same sentences in four schemes."""
    for name, scheme in (("iob1", "IOB1"), ("bio2", "BIO"), ("bioul", "BILOU")):
        assert tags.scheme_of(case[name] for case in TRIPLES) == scheme
    assert tags.scheme_of([bioes(case["bioul"]) for case in TRIPLES]) == "BIOES"


@pytest.mark.parametrize(
    ("written", "scheme"),
    [
        ("O O", "BIO"),
        ("B-X", "BIO"),
        ("O I-X", "IOB1"),
        ("B-X I-Y", "BIO"),
        ("B-X I-X O I-X O B-X I-X O B-X", "BIO"),  # one tag is wrong
        ("I-X I-X O B-X O I-X I-X O I-X B-X", "IOB1"),
        ("S-X", "BIOES"),
        ("U-X", "BILOU"),
        ("B-X I-X E-X", "BIOES"),
        ("B-X S-X U-X", None),
        ("E-X L-X", None),
        ("NN VB -LRB-", None),
        ("B I O", None),
        ("O X-Y", None),
        ("B-X b-X", None),
        ("", None),
    ],
)
def test_scheme_of(written, scheme):
    assert tags.scheme_of([written.split(), []]) == scheme


@pytest.mark.parametrize("wrong", ["X", "B", "B-", "-PER", "S-PER", "O-PER", "o", ""])
def test_what_is_no_tag(wrong):
    with pytest.raises(ValueError, match=r"is not a tag: expected O or B-TYPE, I-TYPE$"):
        tags.to_bio([wrong])
    with pytest.raises(ValueError, match="'U-X' is not a tag: expected O or B-TYPE, I-TYPE, E-TYPE, S-TYPE"):
        tags.to_bio(["U-X"], "BIOES")


@pytest.mark.parametrize("scheme", ["BIO", "BIOUL"])
def test_allowed_transitions_allow_exactly_the_valid_sequences(scheme):
    """All sequences of three tags: allowed if and only if writing their spans anew gives them back."""
    letters = [letter for letter in scheme if letter != "O"]
    labels = ["O", *(f"{letter}-{kind}" for kind in "XY" for letter in letters)]
    starts, transitions, ends = tags.allowed_transitions(labels, scheme)
    assert (starts.shape, transitions.shape, ends.shape) == ((len(labels),), (len(labels),) * 2, (len(labels),))
    assert {array.dtype for array in (starts, transitions, ends)} == {np.dtype(bool)}
    rewrite = tags.to_bio if scheme == "BIO" else lambda seq: tags.bio_to_bioul(tags.to_bio(seq, "BILOU"))
    for ids in product(range(len(labels)), repeat=3):
        sequence = [labels[i] for i in ids]
        allowed = starts[ids[0]] and ends[ids[-1]] and all(transitions[pair] for pair in pairwise(ids))
        assert allowed == (rewrite(sequence) == sequence), sequence


@pytest.mark.parametrize(
    ("written", "scheme", "places"),
    [
        ("B-X O I-X I-X B-Y I-X", "BIO", [2, 5]),
        ("I-X B-X O B-X I-Y", "IOB1", [3]),
        ("S-X B-X E-X B-X O I-X E-X", "BIOES", [3, 5]),
        ("U-X B-X L-X O L-X", "BILOU", [4]),
    ],
)
def test_tags_that_do_not_fit_a_scheme(written, scheme, places):
    assert tags.misfits(written.split(), scheme) == places


def test_valid_sequences_fit():
    for case in TRIPLES:
        forms = {"IOB1": case["iob1"], "BIO": case["bio2"], "BILOU": case["bioul"], "BIOES": bioes(case["bioul"])}
        assert all(tags.misfits(form, scheme) == [] for scheme, form in forms.items())
