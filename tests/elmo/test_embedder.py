"""The drop-in `ElmoEmbedder` of AllenNLP 0.9 against the recorded figures of its network."""

import io
import json

import h5py
import numpy as np
import pytest
import torch

from elmo_bench import ElmoEmbedder, ElmoEncoder
from elmo_bench.base.errors import UserError
from elmo_bench.encoders import precomputed
from tests.runs import GOLDEN

FILES = GOLDEN / "options.json", GOLDEN / "weights.hdf5"
CASES = json.loads((GOLDEN / "sentences.json").read_text(encoding="utf-8"))
SENTENCES, BATCHES = CASES["sentences"], CASES["batches"]
ALONE, CARRIED = np.load(GOLDEN / "expected_stateless.npz"), np.load(GOLDEN / "expected_stateful.npz")
TOLERANCE = 2e-5


def is_recorded(found, number, recorded=ALONE):
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, recorded[f"s{number:02d}"], atol=TOLERANCE, rtol=0)


@pytest.fixture(scope="module")
def embedder():
    return ElmoEmbedder(*FILES)


def test_every_call_gives_the_recorded_layers(embedder):
    is_recorded(embedder.embed_sentence(SENTENCES[0]), 0)
    for number, found in enumerate(embedder.embed_batch(SENTENCES[:4])):
        is_recorded(found, number)
    for size in (1, 5, 64):
        for number, found in enumerate(embedder.embed_sentences(iter(SENTENCES), batch_size=size)):
            is_recorded(found, number)


def test_batches_that_carry_state_give_the_recorded_layers():
    stateful = ElmoEmbedder(*map(str, FILES), stateful=True)
    assert [[*range(start, start + 4)] for start in (0, 4, 8)] == BATCHES
    for number, found in enumerate(stateful.embed_sentences(SENTENCES, batch_size=4)):
        is_recorded(found, number, CARRIED)


def test_a_padded_batch_and_its_mask(embedder):
    layers, mask = embedder.batch_to_embeddings(SENTENCES[:4])
    longest = max(map(len, SENTENCES[:4]))
    assert layers.shape == (4, 3, longest, 32)
    assert (mask.dtype, mask.shape) == (torch.int64, (4, longest))
    assert mask.sum(1).tolist() == [*map(len, SENTENCES[:4])]
    for number in range(4):
        is_recorded(layers[number, :, : len(SENTENCES[number])].numpy(), number)
        assert not layers[number, :, len(SENTENCES[number]) :].any()


LINES = [" ".join(sentence) for sentence in SENTENCES if sentence]


@pytest.mark.parametrize("form", ["all", "top", "average"])
def test_a_file_is_laid_out_as_there(embedder, tmp_path, form):
    text = io.StringIO("\n".join(LINES))
    embedder.embed_file(text, tmp_path / "out.hdf5", form, 5)
    assert text.closed
    with h5py.File(tmp_path / "out.hdf5") as file:
        assert {*file} == {*map(str, range(len(LINES))), "sentence_to_index"}
        assert file["sentence_to_index"].shape == (1,)
        assert json.loads(file["sentence_to_index"][0]) == {line: str(number) for number, line in enumerate(LINES)}
        for number in range(len(LINES)):
            layers = ALONE[f"s{number:02d}"]
            expected = {"all": layers, "top": layers[-1], "average": layers.mean(axis=0)}[form]
            assert file[str(number)].dtype == np.float32
            np.testing.assert_allclose(file[str(number)][()], expected, atol=TOLERANCE, rtol=0)
    encoder = precomputed.load(weights=str(tmp_path / "out.hdf5"))
    assert encoder.encode(SENTENCES[:1])[0].shape == (3 if form == "all" else 1, len(SENTENCES[0]), 32)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("a\n\nb\n", {}, "1 empty lines, the first is line 1"),
        ("a\n", {"output_format": "mean"}, "output_format=mean: unknown"),
        ("a\na\n", {"use_sentence_keys": True}, "a line is repeated or has a slash"),
        ("a/b\n", {"use_sentence_keys": True}, "a line is repeated or has a slash"),
        ("a\n", {"batch_size": 0}, "batch_size=0: too small"),
    ],
)
def test_what_a_file_cannot_hold_is_one_line(embedder, tmp_path, text, options, said):
    with pytest.raises(UserError, match=said):
        embedder.embed_file(io.StringIO(text), tmp_path / "out.h5", **options)
    assert not (tmp_path / "out.h5").exists()


def test_names_stand_for_files_and_mistakes_are_named():
    [layers] = ElmoEncoder(weights="mini").encode([["A", "sentence"]])
    found = ElmoEmbedder(weight_file="mini").embed_sentence(["A", "sentence"])
    np.testing.assert_allclose(found, layers, atol=5e-6, rtol=0)
    with pytest.raises(UserError, match="weight_file: missing"):
        ElmoEmbedder(FILES[0])
    with pytest.raises(UserError, match="'A sentence' is a string, expected a list of tokens"):
        ElmoEmbedder(*FILES).embed_batch(["A sentence"])
    with pytest.raises(UserError, match=r"original.*not downloaded yet|not downloaded"):
        ElmoEmbedder()
