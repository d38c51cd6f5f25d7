"""Tags as people write them: which are spans, in which scheme, and the spans of seqeval's strict mode."""

import random

import pytest
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, IOE2, Entities

from elmo_bench.text.schemes import Notation, notation_of
from tests.golden_cases import golden
from tests.runs import first_ones

SEQEVAL = {"BIO": IOB2, "IOB1": IOB1, "IOE2": IOE2, "BIOES": IOBES, "BILOU": BILOU, "BMES": IOBES, "BMEWO": IOBES}
LETTERS = {"BIO": "BI", "IOB1": "BI", "IOE2": "IE", "BIOES": "BIES", "BILOU": "BILU", "BMES": "BMES", "BMEWO": "BMEW"}
AS_IOBES = str.maketrans("MW", "IS")
TRIPLES = golden("tag_schemes")["tag_schemes"]


def drawn(rng: random.Random, scheme: str, kinds: str = "XY") -> list[str]:
    """Tags of a sentence, whether they fit their scheme or not."""
    tags = ["O", *(f"{letter}-{kind}" for letter in LETTERS[scheme] for kind in kinds)]
    return rng.choices(tags, k=rng.randrange(1, 9))


@pytest.mark.parametrize("scheme", first_ones(SEQEVAL, 3))
def test_spans_are_those_of_seqeval_in_strict_mode(scheme):
    rng = random.Random(0)
    for _ in range(2000):
        tags = drawn(rng, scheme)
        written = [tag[0].translate(AS_IOBES) + tag[1:] for tag in tags]
        entities = Entities([written], SEQEVAL[scheme]).entities[0]
        expected = [(entity.tag, entity.start, entity.end - 1) for entity in entities]
        assert Notation(scheme).spans(tags) == expected, tags


GUESSES = [  # tags, what the note says, the same in BIO
    ("B I O B", "BIO (without a type)", "B-_ I-_ O B-_"),
    ("b i o b", "BIO (without a type, lower-case letters, o for O)", "B-_ I-_ O B-_"),
    ("B I 0", "BIO (without a type, 0 for O)", "B-_ I-_ O"),
    ("B-PER I-PER 0 B-LOC", "BIO (0 for O)", "B-PER I-PER O B-LOC"),
    ("B-PER I-PER o O", "BIO (o for O)", "B-PER I-PER O O"),
    ("B-PER I-PER - -", "BIO (- for O)", "B-PER I-PER O O"),
    ("B_PER I_PER O", "BIO (separator _)", "B-PER I-PER O"),
    ("b-per i-per O b-loc", "BIO (lower-case letters)", "B-per I-per O B-loc"),
    ("b_per i_per o", "BIO (separator _, lower-case letters, o for O)", "B-per I-per O"),
    ("PER-B PER-I O LOC-B", "BIO (type first)", "B-PER I-PER O B-LOC"),
    ("PER_B PER_I O", "BIO (separator _, type first)", "B-PER I-PER O"),
    ("B:PER I:PER O", "BIO (separator :)", "B-PER I-PER O"),
    ("B-GPE_CITY I-GPE_CITY O", "BIO", "B-GPE_CITY I-GPE_CITY O"),
    ("B-X M-X E-X O S-X", "BMES", "B-X I-X I-X O B-X"),
    ("B M E S B E", "BMES (without a type)", "B-_ I-_ I-_ B-_ B-_ I-_"),
    ("B-X M-X E-X O W-X", "BMEWO", "B-X I-X I-X O B-X"),
    ("B-X I-X E-X O S-X", "BIOES", "B-X I-X I-X O B-X"),
    ("B-X I-X L-X O U-X", "BILOU", "B-X I-X I-X O B-X"),
    ("I-X I-X O I-Y B-Y", "IOB1", "B-X I-X O B-Y B-Y"),
    ("I-X E-X E-X O", "IOE2", "B-X I-X B-X O"),
    ("O O", "BIO", "O O"),
]


@pytest.mark.parametrize(("tags", "said", "bio"), GUESSES, ids=[tags for tags, *_ in GUESSES])
def test_spans_are_recognised_however_they_are_written(tags, said, bio):
    notation = notation_of([tags.split()])
    assert str(notation) == said
    assert notation.to_bio(tags.split()) == bio.split()


@pytest.mark.parametrize(
    "tags",
    [
        "NN VB -LRB- ,", "O NNP VBD", "1 0 0 2", "S O V", "S V", "N_S V_B X_S", "B C D", "C F O", "0 1", "PER LOC", "",
        "I-------------- NNIS1-----A---- Z:-------------", "S/NP N/N NP O", "- NN _", "u v w",
    ],
)  # fmt: skip
def test_plain_tags_stay_plain(tags):
    assert notation_of([tags.split()]) is None


@pytest.mark.parametrize(
    ("tags", "scheme", "named"),
    [
        ("B-X I-X O PERSON", None, "PERSON: not in one scheme"),
        ("B-X I-X OUT", None, "OUT: not in one scheme"),
        ("B-X b-X O", None, "b-X: not in one scheme"),
        ("B_X I_X O [CLS]", None, r"\[CLS\]: not in one scheme"),
        ("B I O X", None, "X: not in one scheme"),
        ("B-X I-X B O", None, "B: not in one scheme"),
        ("B-X S-X U-X O", None, "letters of two: not in one scheme"),
        ("(PER* *) * (ORG*)", None, r"\(ORG\*\): spans in brackets"),
        ("B-X E-X O", "BIO", r"letters of two: not in one scheme \(BIO\)"),
        ("NN VB", "BIOES", "NN: not a tag of BIOES"),
    ],
)
def test_tags_of_two_kinds_are_refused_and_named(tags, scheme, named):
    with pytest.raises(ValueError, match=f"^{named}"):
        notation_of([tags.split()], scheme)


def test_a_scheme_that_is_asked_for_is_used():
    tags = ["I-X", "I-X", "O", "B-X"]
    assert notation_of([tags], "BIO").to_bio(tags) == ["O", "O", "O", "B-X"]
    assert notation_of([tags], "IOB1").to_bio(tags) == ["B-X", "I-X", "O", "O"]
    assert notation_of([tags], "plain") is None
    tags = ["PER", "PER", "O", "LOC"]
    assert notation_of([tags], "IO").to_bio(tags) == ["B-PER", "I-PER", "O", "B-LOC"]


def test_the_scheme_of_a_corpus_is_the_one_that_leaves_out_the_fewest_tags():
    for name, scheme in (("iob1", "IOB1"), ("bio2", "BIO"), ("bioul", "BILOU")):
        assert notation_of(case[name] for case in TRIPLES).scheme == scheme
    notation = notation_of([["B-X", "I-X", "O", "I-X", "O", "B-X", "I-X", "O", "B-X"]])
    assert (notation.scheme, notation.misfits(["B-X", "O", "I-X"])) == ("BIO", [2])


def test_valid_tags_of_every_scheme_are_the_golden_bio():
    for case in TRIPLES:
        assert notation_of([case["bio2"]]).to_bio(case["bio2"]) == case["bio2"]
        for name, scheme in (("iob1", "IOB1"), ("bioul", "BILOU")):
            assert Notation(scheme).to_bio(case[name]) == case["bio2"]
