"""Gradients of every parameter of the biLM against autograd of a plain loop in float64, sentence by sentence."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.elmo.bilm import BiLM, zero_states
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.sentences import layers_of
from elmo_bench.pretraining.model import initialise
from elmo_bench.text.chars import words_ids

OPTIONS = BiLMOptions(
    filters=((1, 3), (2, 4), (4, 5)),
    character_dim=4,
    highways=2,
    activation="relu",
    lstm_dim=7,
    projection_dim=5,
    layers=3,
    cell_clip=0.6,
    projection_clip=0.4,
)
WORDS = ["<S>", "</S>", "a", "naïve", "antidisestablishmentarianism", "", "word", "words"]
SENTENCES = [[0, 2, 1], [0, 3, 4, 5, 6, 7, 1], [0, 1], [0, 7, 2, 7, 1]]  # lengths neither sorted nor equal


@pytest.fixture(scope="module")
def bilm() -> BiLM:
    torch.manual_seed(0)
    bilm = BiLM(OPTIONS)
    initialise(bilm)
    for lstm in bilm.lstms:
        lstm.weight.data *= 4  # so that the clips work
        lstm.bias.data.uniform_(-1, 1)
    return bilm


def characters(parameters: dict[str, Tensor], ids: Tensor) -> Tensor:
    x = parameters["characters.embedding"][ids - 1]  # NCD, never trimmed
    pooled = []
    for k, (width, _) in enumerate(OPTIONS.filters):
        weight, bias = (parameters[f"characters.convolutions.{k}.{kind}"] for kind in ("weight", "bias"))
        windows = [
            torch.einsum("nwd,fdw->nf", x[:, t : t + width], weight) + bias for t in range(ids.shape[1] - width + 1)
        ]
        pooled.append(torch.stack(windows).max(dim=0).values)
    x = torch.relu(torch.cat(pooled, dim=1))
    for k in range(OPTIONS.highways):
        carry, transform = (
            functional.linear(x, *(parameters[f"characters.highways.{k}.{part}.{kind}"] for kind in ("weight", "bias")))
            for part in ("carry", "transform")
        )
        gate = torch.sigmoid(carry)
        x = gate * torch.relu(transform) + (1 - gate) * x
    return functional.linear(x, parameters["characters.projection.weight"], parameters["characters.projection.bias"])


def direction(parameters: dict[str, Tensor], vectors: list[Tensor], which: int, clipped: dict[str, int]) -> list:
    """Vectors [P] of one sentence in the order of reading -> each layer's outputs in that order."""
    layers = []
    for layer in range(OPTIONS.layers):
        weight, bias, projection = (
            parameters[f"lstms.{layer}.{name}"][which] for name in ("weight", "bias", "projection")
        )
        h, c = vectors[0].new_zeros(OPTIONS.projection_dim), vectors[0].new_zeros(OPTIONS.lstm_dim)
        outputs = []
        for x in vectors:
            i, j, f, o = (torch.cat([x, h]) @ weight + bias).chunk(4)
            free = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(j)
            c = free.clamp(-OPTIONS.cell_clip, OPTIONS.cell_clip)
            raw = (torch.sigmoid(o) * torch.tanh(c)) @ projection
            h = raw.clamp(-OPTIONS.projection_clip, OPTIONS.projection_clip)
            clipped["cell"] += int((c != free).sum())
            clipped["projection"] += int((h != raw).sum())
            outputs.append(h)
        if layer:
            outputs = [y + x for y, x in zip(outputs, vectors, strict=True)]
        layers.append(outputs)
        vectors = outputs
    return layers


def plain_layers(parameters: dict[str, Tensor], ids: Tensor, clipped: dict[str, int]) -> list[Tensor]:
    """Layers [L, T, 2P] of each sentence."""
    words = characters(parameters, ids)
    found = []
    for sentence in SENTENCES:
        vectors = [words[n] for n in sentence]
        ahead = direction(parameters, vectors, 0, clipped)
        back = [outputs[::-1] for outputs in direction(parameters, vectors[::-1], 1, clipped)]
        layers = [torch.stack(vectors).repeat(1, 2)]
        layers += [torch.cat([torch.stack(f), torch.stack(b)], dim=1) for f, b in zip(ahead, back, strict=True)]
        found.append(torch.stack(layers))
    return found


def test_layers_and_gradients_are_those_of_a_plain_loop(bilm):
    ids = torch.from_numpy(words_ids(WORDS))
    index = torch.nn.utils.rnn.pad_sequence([torch.tensor(s) + 1 for s in SENTENCES], batch_first=True)
    generator = torch.Generator().manual_seed(1)
    count = 1 + OPTIONS.layers, index.shape[1], 2 * OPTIONS.projection_dim
    pull = torch.randn(len(SENTENCES), *count, generator=generator)

    vectors = functional.pad(bilm.characters(ids), (0, 0, 1, 0))
    layers, _ = layers_of(bilm, vectors, index, zero_states(OPTIONS, len(index), vectors))
    (layers * pull).sum().backward()

    exact = {name: value.detach().double().requires_grad_() for name, value in bilm.named_parameters()}
    clipped = {"cell": 0, "projection": 0}
    plain = plain_layers(exact, ids, clipped)
    assert min(clipped.values()) > 20
    for row, wanted in enumerate(plain):
        torch.testing.assert_close(layers[row, :, : wanted.shape[1]].double(), wanted, atol=2e-6, rtol=0)
        assert not layers[row, :, wanted.shape[1] :].any()
    sum((found * pull[row, :, : found.shape[1]]).sum() for row, found in enumerate(plain)).backward()
    for name, parameter in bilm.named_parameters():
        wanted = exact[name].grad
        assert wanted.abs().max() > 1e-3, name
        difference = (parameter.grad.double() - wanted).abs().max() / wanted.abs().max()
        assert difference < 1e-5, (name, float(difference))
