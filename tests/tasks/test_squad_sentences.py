"""Sentences by rules, each case decided by a reader."""

import pytest

from elmo_bench.tasks.squad.build import sentences

CASES = [
    "It rained. | Nobody came.",
    "Did it rain? | No! | It snowed.",
    "Mr. Smith met Dr. J. R. Jones of the U.S. Army, No. 5 Co. Ltd. in St. Ives. | They talked.",
    'He said "No." | Then he left.',
    "(It was late.) | Nobody knew.",
    "Version 2.0 came out in the 3.5 m long box. | 1984 was the year.",
    "She works for e.g. a bank. | So does he.",
    "It stopped . . . and went on...  | Then it stopped.",
    "A heading | A line that ends with no stop | Another.",
    "“Yes.” | “No.”",
    "It is written in lower case. and this goes on.",
    "Łódź is a city. | Ústí is one too.",
    "No full stop",
]


@pytest.mark.parametrize("case", CASES)
def test_a_reader_finds_the_same_sentences(case):
    expected = case.split(" | ")
    text = case.replace(" | ", "\n" if case.startswith("A heading") else " ")
    assert [text[start:end].strip() for start, end in sentences(text)] == [part.strip() for part in expected]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text", ["a" * 500_000 + " b. C", "." * 500_000, "A. " * 30_000], ids=["word", "stops", "initials"]
)
def test_time_grows_with_the_text_and_not_with_its_square(text):
    assert len(list(sentences(text))) == 1
