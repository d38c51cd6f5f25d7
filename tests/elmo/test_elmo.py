"""The frozen biLM against figures recorded from AllenNLP 2.10.1, in tests/golden/bilm and bilm2 with their weights."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.text.chars import batch_ids
from tests.elmo.recorded import CASES, SENTENCES, TOLERANCE
from tests.runs import GOLDEN, first_ones

SETS = pytest.mark.parametrize("name", ["bilm", "bilm2"])  # shapes and contents: tests/golden/README.md


def cases(name: str) -> tuple[Path, list[list[str]], list[list[int]]]:
    """(folder, sentences, batches of the stateful run) of a set."""
    folder = GOLDEN.parent / name
    found = json.loads((folder / "sentences.json").read_text(encoding="utf-8"))
    return folder, found["sentences"], found["batches"]


def test_character_ids_are_the_recorded_ones():
    recorded = np.load(GOLDEN / "expected_char_ids.npz")
    for number, sentence in enumerate(SENTENCES):
        np.testing.assert_array_equal(batch_ids([sentence])[0], recorded[f"s{number:02d}"])


def are_recorded(layers, recorded, numbers):
    """Layers with markers, of the sentences with these numbers."""
    for number, found in zip(numbers, layers, strict=True):
        key = f"s{number:02d}"
        np.testing.assert_allclose(found[:, 1:-1], recorded[key], atol=TOLERANCE, rtol=0)
        np.testing.assert_allclose(found[:, [0, -1]], recorded[f"{key}_markers"], atol=TOLERANCE, rtol=0)


@SETS
@pytest.mark.parametrize("together", first_ones([False, True], 1))
def test_stateless_layers_are_the_recorded_ones(name, together):
    folder, sentences, _ = cases(name)
    encoder = ElmoEncoder(weights=str(folder))
    calls = [sentences] if together else [[sentence] for sentence in sentences]
    layers = [found for call in calls for found in encoder.encode(call, markers=True)]
    are_recorded(layers, np.load(folder / "expected_stateless.npz"), range(len(sentences)))


@SETS
def test_stateful_layers_are_the_recorded_ones(name):
    folder, sentences, batches = cases(name)
    encoder = ElmoEncoder(weights=str(folder), stateful=True)
    for batch in batches:
        layers = encoder.encode([sentences[n] for n in batch], markers=True)
        are_recorded(layers, np.load(folder / "expected_stateful.npz"), batch)


@pytest.mark.parametrize("kind", ["plain", "layer_norm"])
@pytest.mark.parametrize("run", ["alone", "batch"])
@pytest.mark.parametrize("mix", first_ones(CASES["mixes"], 1), ids=[mix["name"] for mix in CASES["mixes"]])
def test_mixes_are_the_recorded_ones(run, kind, mix):
    recorded = np.load(GOLDEN / "expected_mix.npz")
    encoder = ElmoEncoder(weights=str(GOLDEN), stateful=run == "batch")
    module = ScalarMix(3, kind="fixed", scalars=mix["scalars"], layer_norm="batch" if kind == "layer_norm" else "none")
    with torch.no_grad():
        module.gamma.fill_(mix["gamma"])
    for batch in CASES["batches"] if run == "batch" else [[n] for n in range(len(SENTENCES))]:
        layers = encoder.encode([SENTENCES[n] for n in batch], markers=True)
        padded = torch.nn.utils.rnn.pad_sequence([x.transpose(0, 1) for x in layers], batch_first=True).transpose(1, 2)
        mask = torch.tensor([[t < x.shape[1] for t in range(padded.shape[2])] for x in layers])
        mixed = module(padded, mask).detach()
        for row, number in enumerate(batch):
            found = mixed[row, 1 : len(SENTENCES[number]) + 1]
            np.testing.assert_allclose(
                found, recorded[f"{run}.{mix['name']}.{kind}.s{number:02d}"], atol=TOLERANCE, rtol=0
            )


def test_positions_of_a_long_sentence_are_the_recorded_ones():
    folder, sentences, _ = cases("bilm2")
    recorded = np.load(folder / "expected_long.npz")
    words = sorted({word for sentence in sentences for word in sentence})
    found = ElmoEncoder(weights=str(folder)).encode([[words[n] for n in recorded["words"]]])[0]
    np.testing.assert_allclose(found[:, recorded["positions"]], recorded["layers"], atol=TOLERANCE, rtol=0)
