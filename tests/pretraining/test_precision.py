"""`precision=auto`: the faster type is used, printed and named in the card, and a resumed training keeps it."""

import pytest
import torch

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.pretraining import precision
from elmo_bench.pretraining.precision import choose_precision, measure
from tests.pretraining import test_resident
from tests.pretraining.corpora import overrides, train, write

NAMES = {"device": "cpu", "bfloat16": "bf16-mixed", "float32": "32-true"}


@pytest.fixture
def corpus(tmp_path):
    write(tmp_path)
    (tmp_path / "heldout.txt").write_text("the cats sleep .\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def faster(monkeypatch):
    """Sets the type whose products are faster."""

    def say(dtype):
        monkeypatch.setattr(precision, "measure", lambda other, device: 0.3 if other == dtype else 0.9)

    monkeypatch.delenv(precision.CHOSEN, raising=False)
    return say


@pytest.mark.parametrize(("dtype", "name"), [(torch.bfloat16, "bf16-mixed"), (torch.float32, "32-true")])
def test_auto_is_the_faster_one_and_the_log_says_why(faster, dtype, name, capsys):
    faster(dtype)
    assert choose_precision("auto", **NAMES, kept=None) == name
    times = "0.3" if dtype == torch.bfloat16 else "3.0"
    expected = f"precision={name}: a product takes {times} times as long in bfloat16 as in float32"
    assert expected in " ".join(capsys.readouterr().err.split())


def test_a_choice_of_the_user_or_of_the_checkpoint_is_not_measured(monkeypatch):
    monkeypatch.setattr(precision, "measure", lambda dtype, device: pytest.fail("measured"))
    monkeypatch.setenv(precision.CHOSEN, "32-true")
    assert choose_precision("32-true", **NAMES, kept="bf16-mixed") == "32-true"
    assert choose_precision("auto", **NAMES, kept="bf16-mixed") == "bf16-mixed"
    with pytest.raises(UserError, match="float8"):
        choose_precision("auto", **NAMES, kept="float8")


def test_processes_that_the_first_one_starts_take_its_choice(faster, monkeypatch):
    faster(torch.float32)
    assert choose_precision("auto", **NAMES, kept=None) == "32-true"
    faster(torch.bfloat16)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert choose_precision("auto", **NAMES, kept=None) == "32-true"
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert choose_precision("auto", **NAMES, kept=None) == "bf16-mixed"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_products_are_measured_in_the_type(dtype, monkeypatch):
    seen = set()
    linear = torch.nn.functional.linear

    def look(x, weight):
        seen.add(linear(x, weight).dtype)

    monkeypatch.setattr(precision.functional, "linear", look)
    assert measure(dtype, "cpu") > 0
    assert seen == {dtype}


def test_pretrain_names_the_choice_and_keeps_it_when_it_resumes(corpus, faster, capsys):
    out = corpus / "out"
    faster(torch.float32)
    given = ["recipe.precision=auto", "dtype=float32"]
    assert main(["pretrain", *overrides(corpus, out, *given, "recipe.steps=3")]) == 0
    assert "precision 32-true" in (out / "README.md").read_text(encoding="utf-8")
    faster(torch.bfloat16)
    assert main(["pretrain", *overrides(corpus, out, *given, "recipe.steps=6")]) == 0
    assert "precision=32-true, as before" in capsys.readouterr().err
    assert "precision 32-true" in (out / "README.md").read_text(encoding="utf-8")
    plain = train(corpus, corpus / "plain", "recipe.steps=3")  # recipe.precision=32-true
    again = train(corpus, corpus / "auto", "recipe.steps=3", "recipe.precision=auto")  # bfloat16
    pairs = zip(plain.model.parameters(), again.model.parameters(), strict=True)
    assert any(not torch.equal(one, other) for one, other in pairs)


def test_a_training_in_memory_chooses_too(corpus, faster, capsys):
    given = ["recipe.precision=auto", "recipe.epochs=1"]
    faster(torch.float32)
    test_resident.train(corpus, corpus / "out", *given)
    faster(torch.bfloat16)
    test_resident.train(corpus, corpus / "out", "recipe.precision=auto", "recipe.epochs=2")
    assert "precision=32-true, as before" in capsys.readouterr().err
