"""Mistyped text: seeded, as many tokens as before, one letter in twenty."""

import hashlib
from difflib import SequenceMatcher

from elmo_bench.text.columns import read_columns
from elmo_bench.text.mistyped import NEIGHBOURS, mistype
from tests.runs import CUTS

TEXTS = [tuple(cells[0] for _, cells in rows) for rows in read_columns(CUTS / "wnut17" / "wnut17train.conll")]


def test_equal_texts_and_seeds_give_equal_results_on_every_machine():
    found = [mistype(text) for text in TEXTS]
    assert found == [mistype(text) for text in reversed(TEXTS)][::-1]
    assert found != [mistype(text, seed=1) for text in TEXTS]
    # Another digest means other noise, so that earlier figures on mistyped text are not comparable.
    assert hashlib.sha256(repr(found).encode()).hexdigest()[:12] == "f5ef974673c7"


def test_five_per_cent_of_the_letters_are_mistyped_and_nothing_else():
    letters = changed = 0
    for text in TEXTS:
        typed = mistype(text)
        assert len(typed) == len(text)
        assert all(typed)
        for token, own in zip(text, typed, strict=True):
            assert sorted(c for c in token if not c.isalpha()) == sorted(c for c in own if not c.isalpha())
            letters += sum(map(str.isalpha, token))
            codes = SequenceMatcher(a=token, b=own, autojunk=False).get_opcodes()
            changed += token != own and max(1, sum(code != "equal" for code, *_ in codes) // 2)
    assert 0.04 < changed / letters < 0.06


def test_the_kinds_of_errors():
    typed = {mistype((word,), seed=seed)[0] for seed in range(3000) for word in ["Go"]}
    assert {"oG", "G", "o"} <= typed  # swapped, left out
    assert {f"{key}o" for key in "FHTYVB"} <= typed  # the keys around G
    assert {f"G{key}o" for key in "FHTYVB"} <= typed
    assert {len(word) for word in typed} <= {1, 2, 3, 4}
    single = {mistype(("a",), seed=seed)[0] for seed in range(3000)}
    assert {"a", *NEIGHBOURS["a"]} <= single
    assert "" not in single
    assert mistype(("1,000", "--", "")) == ("1,000", "--", "")
    assert {mistype(("я",), seed=seed)[0] for seed in range(3000)} > {"я", "q"}


def test_the_keys_around_a_key():
    assert {key: set(NEIGHBOURS[key]) for key in "gqam"} == {
        "g": set("fhtyvb"), "q": set("wa"), "a": set("qwsz"), "m": set("njk"),
    }  # fmt: skip
    assert all(key in NEIGHBOURS[other] for key, others in NEIGHBOURS.items() for other in others)
