"""The memory that tuning takes is asked for before training: the formula, a made-up limit, and nothing else changes."""

from types import SimpleNamespace

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.encoders import tuned_memory
from elmo_bench.encoders.elmo import load as load_elmo
from elmo_bench.encoders.hf import HfEncoder
from elmo_bench.encoders.tuned_memory import activations, check_memory, kept, largest_batch, still_needed
from tests.runs import GOLDEN, first_ones

BATCH = [["a", "dog", "ran"] * 5] * 8
EXAMPLES = [SimpleNamespace(texts=BATCH)]


@pytest.fixture(params=first_ones(["full", "elmo", "lora"], 1))
def tuned(request, tiny_bert):
    if request.param == "elmo":
        return load_elmo(weights=str(GOLDEN), tune="full").tuned
    if request.param == "lora":
        pytest.importorskip("peft")
    return HfEncoder(weights=str(tiny_bert), tune=request.param).tuned


def test_gradients_and_moments_are_three_numbers_for_each_that_is_trained(tuned):
    assert still_needed(tuned, BATCH) == 12 * tuned.count + activations(tuned, BATCH) + 2**29


def test_activations_are_those_of_a_batch_that_is_read(tuned):
    """What autograd keeps of the whole batch at once, without padding."""
    parameters = {tensor.untyped_storage().data_ptr() for tensor in tuned.network.parameters()}
    sizes, held = {}, []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            sizes[storage.data_ptr()] = storage.nbytes()
            held.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        tuned.train()(BATCH)
    estimate = activations(tuned, BATCH)
    assert 0.6 * sum(sizes.values()) < estimate < 1.7 * sum(sizes.values())


def test_longer_sentences_keep_more(tuned):
    word = ["dog"]
    assert kept(tuned, word * 24) < kept(tuned, word * 96)
    assert activations(tuned, [word * 40]) < activations(tuned, [word * 80]) < activations(tuned, [word * 80] * 2)
    assert activations(tuned, [word * 1000]) < 1.1 * activations(tuned, [word * 384] * 3)


def test_asking_draws_no_number_and_leaves_the_network_as_it_is(tuned):
    before = {name: tensor.clone() for name, tensor in tuned.network.state_dict().items()}
    tuned.eval()
    tuned.rests = True
    torch.manual_seed(3)
    first = torch.rand(4)
    torch.manual_seed(3)
    check_memory(tuned, EXAMPLES, size=1, tokens=1)
    assert torch.equal(torch.rand(4), first)
    assert not tuned.training and tuned.rests
    for name, tensor in tuned.network.state_dict().items():
        assert torch.equal(tensor, before[name])
    assert all(parameter.grad is None for parameter in tuned.parameters())


def test_too_little_memory_is_one_line(tuned, monkeypatch):
    monkeypatch.setattr(tuned_memory, "available_memory", lambda: int(still_needed(tuned, BATCH)) + 1)
    check_memory(tuned, EXAMPLES, size=1, tokens=1)
    monkeypatch.setattr(tuned_memory, "available_memory", lambda: int(still_needed(tuned, BATCH)) - 1)
    with pytest.raises(UserError, match=rf"tune={tuned.way}: training takes about .* GiB are available\. Lower"):
        check_memory(tuned, EXAMPLES, size=1, tokens=1)


@pytest.mark.parametrize(
    ("size", "tokens", "expected"), [(2, 100, [9, 5]), (9, 100, [9, 5, 1]), (9, 18, [9, 5]), (9, 8, [9])]
)
def test_the_largest_batch_has_the_longest_examples(size, tokens, expected):
    examples = [SimpleNamespace(texts=(("w",) * length,)) for length in (5, 1, 9)]
    assert [*map(len, largest_batch(examples, size=size, tokens=tokens))] == expected
