"""A tuned encoder in the optimiser: its groups and rates, the epochs of the head alone, and what a checkpoint keeps."""

import copy

import pytest
import torch
from torch import nn
from torch.optim import SGD, AdamW

from elmo_bench.training.optimisers import build_schedule
from elmo_bench.training.tuned import DECAY, Joint, encoder_optimiser, head_alone
from tests.training.trainings import batches, fit, head_training

LINEAR = {"name": "linear"}


class Tuned(nn.Module):
    """An encoder of one number and one bias."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1, 1))
        self.bias = nn.Parameter(torch.ones(1))
        self.rests = False


def tuning(*, scores=(), schedule=LINEAR, optimiser="sgd"):
    """A training of a head that adds its encoder's numbers to its loss; and what its steps saw."""
    module = head_training(schedule, scores, optimiser=optimiser)
    module.tuned_rate = 0.5
    tuned = module.head.embedder.tuned = module.head.tuned = Tuned()
    seen = []
    plain = module.head.loss

    def loss(batch):
        groups = module.trainer.optimizers[0].param_groups
        seen.append((tuned.rests, [group["lr"] for group in groups]))
        numbers = 0 if tuned.rests else tuned.weight.sum() + tuned.bias.sum()
        return plain(batch) + module.head.weight + numbers

    module.head.loss = loss
    return module, tuned, seen


@pytest.mark.parametrize(("epochs", "alone"), [(1, 0), (8, 0), (10, 1), (32, 3), (45, 4)])
def test_a_tenth_of_the_epochs_in_whole_ones(epochs, alone):
    assert head_alone(epochs) == alone


def test_the_encoder_has_groups_of_its_own_without_decay_of_norms_and_biases():
    module, tuned, _ = tuning(optimiser="adam")
    head, weights, others = module.configure_optimizers().param_groups
    assert [*map(id, head["params"])] == [id(module.head.weight)]
    assert [*map(id, weights["params"])] == [id(tuned.weight)]
    assert [*map(id, others["params"])] == [id(tuned.bias)]
    assert (head["lr"], weights["lr"], others["lr"]) == (1.0, 0.5, 0.5)
    assert (weights["weight_decay"], others["weight_decay"]) == (DECAY, 0)


def test_both_rates_fall_to_zero_and_the_encoder_rests_in_the_first_tenth():
    module, tuned, seen = tuning(scores=[float(epoch) for epoch in range(10)])
    fit(module, batches(2), batches(1), callbacks=[], epochs=10, enable_checkpointing=False)
    assert [rests for rests, _ in seen] == [True] * 2 + [False] * 18
    shares = [1 - step / 20 for step in range(20)]
    assert [rates for _, rates in seen] == [[share, share / 2, share / 2] for share in shares]
    assert tuned.weight.item() < 1 > tuned.bias.item()


def test_a_frozen_run_has_the_optimiser_that_it_had():
    module = head_training(LINEAR)
    assert type(module.configure_optimizers()) is SGD


def test_a_plateau_lowers_the_rates_of_both():
    module, _, _ = tuning(optimiser="adam")
    optimiser = module.configure_optimizers()
    schedule = build_schedule({"name": "plateau", "every": "epoch", "patience": 0, "factor": 0.5}, optimiser)
    for score in (2.0, 1.0):
        schedule.step(score)
    assert [group["lr"] for group in optimiser.param_groups] == [0.5, 0.25, 0.25]


def test_a_loaded_optimiser_goes_on_as_the_saved_one():
    def made():
        torch.manual_seed(0)
        head, encoder = nn.Linear(3, 2), nn.Linear(4, 3)
        joint = Joint(AdamW(head.parameters(), lr=0.1), encoder_optimiser(encoder, 0.05))
        return head, encoder, joint

    def step(head, encoder, joint):
        joint.zero_grad()
        head(encoder(torch.ones(1, 4))).square().sum().backward()
        joint.step()

    whole, resumed = made(), made()
    for _ in range(3):
        step(*whole)
    state = copy.deepcopy(whole[2].state_dict())
    for ours, saved in zip(resumed[:2], whole[:2], strict=True):
        ours.load_state_dict(saved.state_dict())
    resumed[2].load_state_dict(state)
    for joint in (whole[2], resumed[2]):
        joint.param_groups[1]["lr"] = 0.01  # what a schedule sets after a resumption reaches the encoder
    step(*whole)
    step(*resumed)
    for ours, saved in zip(resumed[:2], whole[:2], strict=True):
        for name, values in saved.state_dict().items():
            assert torch.equal(ours.state_dict()[name], values)
