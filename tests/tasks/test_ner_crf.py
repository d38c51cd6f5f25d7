"""The CRF equals brute force over all paths, under constraints in decoding."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import torch
from torchcrf import CRF

from elmo_bench.base.errors import UserError
from elmo_bench.tasks.ner.head import ConstrainedCrf, check_memory, log_sum_of_paths
from tests.runs import first_rows

LABELS = 4


@pytest.fixture
def crf():
    """Random scores and random constraints, under which label 0 may always follow, start and end."""
    rng = np.random.default_rng(1)
    starts, ends = rng.random(LABELS) < 0.5, rng.random(LABELS) < 0.5
    transitions = rng.random((LABELS, LABELS)) < 0.5
    starts[0] = ends[0] = transitions[0] = transitions[:, 0] = True
    torch.manual_seed(1)
    crf = ConstrainedCrf(starts, transitions, ends)
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter)
    return crf, starts, transitions, ends


def score(crf, emissions, path):
    """The score of one path, in double precision."""
    total = crf.start_transitions[path[0]].double() + crf.end_transitions[path[-1]].double()
    total = total + sum(emissions[t, label].double() for t, label in enumerate(path))
    return total + sum(crf.transitions[a, b].double() for a, b in itertools.pairwise(path))


LENGTHS = (5, 4, 3, 2, 1)


def emissions_and_mask(scale=1.0, seed=2):
    torch.manual_seed(seed)
    mask = torch.arange(max(LENGTHS))[None] < torch.tensor(LENGTHS)[:, None]
    return scale * torch.randn(len(LENGTHS), max(LENGTHS), LABELS), mask


def test_decoding_finds_the_best_of_the_allowed_paths(crf):
    crf, starts, transitions, ends = crf
    differs = 0
    for seed, (row, length) in itertools.product(range(4), enumerate(LENGTHS)):
        emissions, mask = emissions_and_mask(scale=3.0, seed=seed)
        paths = list(itertools.product(range(LABELS), repeat=length))
        allowed = [
            path for path in paths
            if starts[path[0]] and ends[path[-1]] and all(transitions[a, b] for a, b in itertools.pairwise(path))
        ]  # fmt: skip
        scores = {path: score(crf, emissions[row], path).item() for path in paths}
        assert crf.best_tags(emissions, mask)[row] == list(max(allowed, key=scores.get))
        differs += max(allowed, key=scores.get) != max(paths, key=scores.get)
    assert differs  # otherwise the constraints were not tried


@pytest.mark.parametrize("scale", [0.1, 3.0, 300.0])
def test_marginals_are_the_share_of_the_allowed_paths_through_a_tag(crf, scale):
    crf, starts, transitions, ends = crf
    emissions, mask = emissions_and_mask(scale=scale)
    with torch.no_grad():
        found = crf.marginals(emissions, mask)
    for row, length in enumerate(LENGTHS):
        expected = torch.zeros(max(LENGTHS), LABELS, dtype=torch.float64)
        allowed = []
        for path in itertools.product(range(LABELS), repeat=length):
            steps = all(transitions[a, b] for a, b in itertools.pairwise(path))
            if steps and starts[path[0]] and ends[path[-1]]:
                allowed.append(path)
        scores = torch.stack([score(crf, emissions[row], path) for path in allowed])
        for path, share in zip(allowed, scores.softmax(0), strict=True):
            expected[range(length), path] += share.detach()
        torch.testing.assert_close(found[row], expected, rtol=1e-9, atol=1e-9)


def test_marginals_of_many_tags_are_those_of_few():
    """Labels that are never allowed change nothing, though they make the matrices wide."""
    few, many = 5, 200
    torch.manual_seed(5)
    emissions = torch.randn(len(LENGTHS), max(LENGTHS), many)
    _, mask = emissions_and_mask()
    allowed = np.arange(many) < few
    wide = ConstrainedCrf(allowed, allowed[:, None] & allowed, allowed)
    narrow = ConstrainedCrf(*(np.ones(shape, bool) for shape in (few, (few, few), few)))
    with torch.no_grad():
        narrow.transitions.copy_(wide.transitions[:few, :few])
        narrow.start_transitions.copy_(wide.start_transitions[:few])
        narrow.end_transitions.copy_(wide.end_transitions[:few])
    found = wide.marginals(emissions, mask)
    assert found[:, :, few:].abs().max() < 1e-12
    torch.testing.assert_close(found[:, :, :few], narrow.marginals(emissions[:, :, :few], mask))


def test_the_loss_is_brute_force_log_sum_exp_over_all_paths(crf):
    """Training knows no constraints, as AllenNLP's CRF does not."""
    crf, *_ = crf
    emissions, mask = emissions_and_mask()
    tags = torch.tensor([[0, 1, 2, 3, 1], [1, 2, 1, 0, 0], [3, 3, 0, 0, 0], [0, 2, 0, 0, 0], [2, 0, 0, 0, 0]])
    expected = 0.0
    for row, length in enumerate(LENGTHS):
        paths = itertools.product(range(LABELS), repeat=length)
        everything = torch.logsumexp(torch.stack([score(crf, emissions[row], path) for path in paths]), dim=0)
        expected += (everything - score(crf, emissions[row], tags[row, :length].tolist())).item()
    assert crf.negative_log_likelihood(emissions, tags, mask).item() == pytest.approx(expected, rel=1e-5)


def test_the_loss_that_never_waits_for_a_gpu_is_pytorch_crfs(crf):
    """With few tags; a GPU takes this one."""
    crf, *_ = crf
    emissions, mask = emissions_and_mask()
    found = log_sum_of_paths(emissions, mask, crf.start_transitions, crf.transitions, crf.end_transitions)
    torch.testing.assert_close(found, crf._compute_normalizer(emissions.transpose(0, 1), mask.T))


@pytest.mark.parametrize(("scale", "spread"), first_rows([(1.0, 1.0), (100.0, 1.0), (1.0, 100.0), (50.0, 50.0)], 2))
def test_the_loss_of_many_tags_is_pytorch_crfs(scale, spread):
    """Loss and gradients, in an implementation that keeps no matrix of pairs for each token."""
    many = 301
    torch.manual_seed(3)
    crf = ConstrainedCrf(np.ones(many, bool), np.ones((many, many), bool), np.ones(many, bool))
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter, std=spread)
    emissions, (_, mask) = scale * torch.randn(len(LENGTHS), max(LENGTHS), many), emissions_and_mask()
    tags = torch.randint(many, mask.shape)
    results = []
    for loss in (crf.negative_log_likelihood, lambda *given: -CRF.forward(crf, *given)):
        crf.zero_grad()
        scores = emissions.clone().requires_grad_()
        value = loss(scores, tags, mask)
        value.backward()
        results.append([value.detach(), scores.grad, *(parameter.grad.clone() for parameter in crf.parameters())])
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


THOUSAND = """
import resource, torch
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
from elmo_bench.tasks.ner.head import ConstrainedCrf
from elmo_bench.text.tags import allowed_transitions
labels = ["O", *(f"{letter}-{kind}" for kind in range(1000) for letter in "BIUL")]
crf, tags = ConstrainedCrf(*allowed_transitions(labels, "BIOUL")), torch.randint(len(labels), (32, 30))
optimiser = torch.optim.Adam(crf.parameters())
emissions, mask = torch.randn(32, 30, len(labels), requires_grad=True), torch.ones(32, 30, dtype=torch.bool)
crf.negative_log_likelihood(emissions, tags, mask).backward()
optimiser.step()
with torch.no_grad():
    assert len(crf.best_tags(emissions[:, :2], mask[:, :2])) == 32
"""


@pytest.mark.slow
def test_a_thousand_types_are_trained_in_4_gib():
    """A step of pytorch-crf on this batch keeps matrices of 60 GB."""
    done = subprocess.run([sys.executable, "-c", THOUSAND], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_cannot_fit_is_refused_with_its_number():
    check_memory(25)  # WNUT
    with pytest.raises(UserError, match=r"1,000,000 types of entities are 4,000,001 tags, .* GiB of memory; .* fewer"):
        check_memory(4_000_001)
