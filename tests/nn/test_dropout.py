"""Dropout by 16 random bits a feature: its rate, its scale, its generator."""

from hashlib import sha256

import pytest
import torch

from elmo_bench.nn.dropout import Dropout, VariationalDropout, dropout

# Digests of the values and of the gradient, which a loop in C computed (elmo_bench/nn/dropout.c in commit 1d6659e9).
IN_C = {
    (torch.float32, 0.1): ("8c4547243df37f02", "ef37ecf9f1fb5fd3"),
    (torch.float32, 0.33): ("5973b5db90e10b85", "193433e64f5a46c4"),
    (torch.float32, 0.9): ("123f94493850840e", "401a99c182767cd6"),
    (torch.float64, 0.5): ("daec18733cab35ba", "ec40aa51aae4b3ac"),
}


@pytest.mark.parametrize(("kind", "rate"), IN_C)
def test_masks_and_values_are_those_of_the_first_records_bit_by_bit(kind, rate):
    x = (torch.arange(-500, 501, dtype=kind) / 7).view(7, 11, 13).transpose(0, 1).requires_grad_()
    torch.manual_seed(5)
    y = dropout(x, rate)
    y.backward(x.detach() / 3)
    digests = [sha256(array.contiguous().numpy().tobytes()).hexdigest()[:16] for array in (y.detach(), x.grad)]
    assert tuple(digests) == IN_C[kind, rate]


def test_no_rate_and_no_training_change_nothing():
    x = torch.randn(4, 5)
    assert Dropout(0.0)(x) is x
    assert Dropout(0.5).eval()(x) is x
    with pytest.raises(ValueError, match="dropout=1"):
        Dropout(1.0)


def test_variational_dropout_has_one_mask_a_sequence():
    torch.manual_seed(0)
    dropped = VariationalDropout(0.5)(torch.ones(6, 9, 50))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert (dropped == dropped[:, :1]).all()
    assert not (dropped[0, 0] == dropped[1, 0]).all()
    assert dropped.mean().item() == pytest.approx(1, abs=0.2)
