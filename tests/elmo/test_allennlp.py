"""The drop-in `Elmo` against figures recorded from AllenNLP 2.10.1 (tests/golden), and what old code relies on."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from elmo_bench import Elmo, ElmoEncoder, batch_to_ids
from tests.elmo.recorded import CASES, SENTENCES, TOLERANCE, elmo, first
from tests.runs import GOLDEN, first_ones

FIRST, SECOND = ([SENTENCES[n] for n in batch] for batch in CASES["batches"][:2])
IDS = batch_to_ids(FIRST)
MODULE = np.load(GOLDEN.parent / "elmo_module.npz")
ODD = np.load(GOLDEN.parent / "elmo_ids.npz")
CALLS = {
    "default": ({"num_output_representations": 2}, IDS),
    "layer_norm": ({"do_layer_norm": True}, IDS),
    "scalars_1_2_0.5": ({"scalar_mix_parameters": [1.0, 2.0, 0.5]}, IDS),
    "boundaries": ({"keep_sentence_boundaries": True}, IDS),
    "boundaries_layer_norm": ({"keep_sentence_boundaries": True, "do_layer_norm": True}, IDS),
    "four_dimensions": ({}, IDS.view(2, 2, *IDS.shape[1:])),
    "empty_row": ({}, IDS * torch.tensor([1, 0, 1, 1])[:, None, None]),
}


def is_recorded(output, name: str, recorded=MODULE) -> None:
    assert list(output) == ["elmo_representations", "mask"]
    np.testing.assert_array_equal(output["mask"], recorded[f"{name}.mask"])
    assert output["mask"].dtype == torch.bool
    for number, found in enumerate(output["elmo_representations"]):
        assert found.dtype == torch.float32
        np.testing.assert_allclose(found.detach(), recorded[f"{name}.{number}"], atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("call", first_ones(CALLS, 2))
def test_a_call_is_the_recorded_one(call, requires_grad, gradients):
    options, ids = CALLS[call]
    before = ids.clone()
    with torch.set_grad_enabled(gradients):
        output = elmo(requires_grad=requires_grad, **options)(ids)
    is_recorded(output, call)
    assert len(output["elmo_representations"]) == options.get("num_output_representations", 1)
    assert torch.equal(ids, before)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_calls_of_a_stateful_module_are_the_recorded_ones(requires_grad):
    module = elmo(num_output_representations=2, stateful=True, requires_grad=requires_grad)
    second = batch_to_ids(SECOND)
    calls = {"default": IDS, "then_batch1": second, "then_two_rows_of_batch0": IDS[:2], "then_batch0_again": IDS}
    for name, ids in calls.items():
        is_recorded(module(ids), name)
    module.reset_states()
    is_recorded(module(IDS), "default")


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("boundaries", [False, True])
@pytest.mark.parametrize("case", ["random", "zeros"])
def test_ids_that_batch_to_ids_does_not_make(case, boundaries, requires_grad):
    output = elmo(keep_sentence_boundaries=boundaries, requires_grad=requires_grad)(
        torch.from_numpy(ODD[f"{case}.ids"])
    )
    np.testing.assert_array_equal(output["mask"], ODD[f"{case}.{boundaries}.mask"])
    np.testing.assert_allclose(first(output), ODD[f"{case}.{boundaries}"], atol=TOLERANCE, rtol=0)


def test_what_crashed_there_works_here():
    module = elmo(keep_sentence_boundaries=True)
    four = module(IDS.view(2, 2, *IDS.shape[1:]))
    assert four["mask"].shape == (2, 2, IDS.shape[1] + 2)
    flat = module(IDS)
    assert torch.equal(first(four).flatten(0, 1), first(flat))
    crossed = IDS.transpose(0, 1).contiguous().transpose(0, 1)
    assert not crossed.is_contiguous()
    assert torch.equal(first(module(crossed)), first(flat))
    for sentences in ([], [[]], [[], []]):
        ids = batch_to_ids(sentences)
        assert ids.shape == (len(sentences), 0, 50)
        for trained in (False, True):
            output = elmo(requires_grad=trained)(ids)
            assert (first(output).shape, output["mask"].shape) == ((len(sentences), 0, 32), (len(sentences), 0))


def test_dropout_is_of_each_representation_and_in_training_mode_alone():
    module = elmo(num_output_representations=2, dropout=0.5)
    assert module.training
    one, two = module(IDS)["elmo_representations"]
    assert not torch.equal(one == 0, two == 0)
    is_recorded(module.eval()(IDS), "default")


def test_the_mix_under_its_old_names_is_all_that_is_trained():
    names = [f"scalar_mix_0.{name}" for name in ("gamma", *(f"scalar_parameters.{n}" for n in range(3)))]
    module = elmo()
    assert {name: tuple(value.shape) for name, value in module.named_parameters()} == dict.fromkeys(names, (1,))
    module(IDS)["elmo_representations"][0].sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in module.parameters())
    fixed = elmo(scalar_mix_parameters=[1.0, 2.0, 0.5])
    assert not any(parameter.requires_grad for parameter in fixed.parameters())
    assert not fixed(IDS)["elmo_representations"][0].requires_grad
    assert module.get_output_dim() == 32


def test_names_stand_for_files():
    output = Elmo(None, "mini", 1, dropout=0)(IDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layers = ElmoEncoder(weights="mini").encode(FIRST)
    for found, wanted in zip(first(output), layers, strict=True):
        torch.testing.assert_close(found[: wanted.shape[1]], wanted.mean(dim=0), atol=5e-6, rtol=0)
    torch.testing.assert_close(first(Elmo(None, Path(GOLDEN), 1, dropout=0)(IDS)), first(elmo()(IDS)), atol=0, rtol=0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("requires_grad", [False, True])
def test_on_a_gpu(requires_grad, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    module = elmo(num_output_representations=2, requires_grad=requires_grad).cuda()
    output = module(IDS.cuda())
    assert output["mask"].device == first(output).device
    is_recorded(
        {"elmo_representations": [x.cpu() for x in output["elmo_representations"]], "mask": output["mask"].cpu()},
        "default",
    )
    is_recorded(module.cpu()(IDS), "default")
