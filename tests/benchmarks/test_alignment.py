"""The measure of inference's alignment."""

import math
from types import SimpleNamespace

import pytest
import torch

from benchmarks.alignment import line, sharpness
from elmo_bench.base.errors import UserError
from tests.reporting.ledgers import add


def trained_on(vectors, mask):
    """What `sharpness` reads of a trained head: one batch of dev, whose sentences are aligned by these vectors."""
    text = SimpleNamespace(mask=mask)
    head = SimpleNamespace(eval=lambda: None, to_align=lambda text: vectors)
    loaders = SimpleNamespace(loader=lambda split: [{"text": text}])
    return SimpleNamespace(module=SimpleNamespace(head=head), loaders=loaders)


def test_equal_vectors_have_equal_weights():
    mask = torch.ones(2, 4, dtype=torch.bool)
    assert sharpness(trained_on(torch.zeros(2, 4, 3), mask)) == (pytest.approx(0.25), pytest.approx(1.0))


def test_long_vectors_pick_one_token():
    vectors = 100 * torch.eye(3).repeat(2, 1, 1)
    largest, entropy = sharpness(trained_on(vectors, torch.ones(2, 3, dtype=torch.bool)))
    assert largest == pytest.approx(1.0)
    assert entropy == pytest.approx(0.0, abs=1e-6)


def test_padding_has_no_weight_and_sentences_of_one_token_do_not_count():
    """A pair of 3 and 2 tokens, and a pair of 1 and 3: the second premise is read by nobody but its hypothesis."""
    lengths = [3, 1, 2, 3]  # premises, then hypotheses
    mask = torch.arange(3) < torch.tensor(lengths)[:, None]
    vectors = torch.zeros(4, 3, 5)
    # premise 1 reads 2 tokens (3 times 1/2), its hypothesis 3 (2 times 1/3), premise 2 reads 3 (once 1/3)
    largest, entropy = sharpness(trained_on(vectors, mask))
    assert largest == pytest.approx((3 / 2 + 2 / 3 + 1 / 3) / 6)
    assert entropy == pytest.approx(1.0)
    assert math.isfinite(entropy)


def test_a_record_of_another_task_or_without_its_head_is_one_line(tmp_path):
    add(tmp_path, "ner", "glove", 0)
    add(tmp_path, "snli", "glove", 0)
    [ner], [snli] = (list(tmp_path.glob(f"open/{task}/glove/*/seed0.json")) for task in ("ner", "snli"))
    with pytest.raises(UserError, match="a record of task=ner"):
        line(ner, None)
    with pytest.raises(UserError, match="the head of this run is not here"):
        line(snli, None)
