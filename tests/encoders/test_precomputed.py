"""`encoder=precomputed`: layers that other programs wrote, by sentence, in the layouts that they write."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import h5py
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from elmo_bench.base.errors import UserError
from elmo_bench.cli import texts
from elmo_bench.encoders import precomputed
from elmo_bench.text.columns import line_of
from tests.elmo.recorded import LAYERS, SENTENCES

INDEX = {" ".join(sentence): str(number) for number, sentence in enumerate(SENTENCES)}


def allennlp(path, layers=LAYERS, index=INDEX):
    """As `allennlp elmo` of version 0.9 wrote it: a data set for each sentence, and the index as one text."""
    with h5py.File(path, "w") as file:
        for number, each in enumerate(layers):
            file.create_dataset(str(number), each.shape, dtype="float32", data=each)
        file.create_dataset("sentence_to_index", (1,), dtype=h5py.special_dtype(vlen=str))[0] = json.dumps(index)


def safetensors(path, layers=LAYERS, index=INDEX):
    tensors = {str(number): torch.from_numpy(each.copy()) for number, each in enumerate(layers)}
    save_file(tensors, path, {"sentence_to_index": json.dumps(index)})


WRITERS = {"v.hdf5": allennlp, "v.h5": allennlp, "v.safetensors": safetensors}


@pytest.fixture(params=WRITERS)
def path(request, tmp_path):
    WRITERS[request.param](tmp_path / request.param)
    return tmp_path / request.param


def test_a_file_that_another_process_has_locked_is_read(tmp_path):
    """Disks of a network may refuse locks, and a file is only read. The reference is flock(2) itself."""
    allennlp(tmp_path / "v.h5")
    script = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'rb+'), fcntl.LOCK_EX); print(1, flush=True); input()"
    command = [sys.executable, "-c", script, str(tmp_path / "v.h5")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.read(1) == b"1"
        encoder = precomputed.load(weights=str(tmp_path / "v.h5"))
        layers = encoder.encode(SENTENCES)
        holder.communicate(b"\n")
    assert np.array_equal(layers[0].numpy(), LAYERS[0])


def test_layers_are_those_in_the_file(path):
    encoder = precomputed.load(weights=str(path))
    assert (encoder.layers, encoder.dim, encoder.parameters) == (3, 32, 0)
    for found, expected in zip(encoder.encode(SENTENCES[::-1]), LAYERS[::-1], strict=True):
        assert found.dtype == torch.float32
        np.testing.assert_array_equal(found, expected)
    assert encoder.encode([()])[0].shape == (3, 0, 32)


@pytest.mark.parametrize("name", WRITERS)
def test_layers_of_a_file_that_is_written_again_are_not_mixed_with_those_of_the_old_one(tmp_path, name):
    path, other = tmp_path / name, tmp_path / f"other-{name}"
    WRITERS[name](path)
    WRITERS[name](other, [layers + 1 for layers in LAYERS])
    encoder = precomputed.load(weights=str(path))
    np.testing.assert_array_equal(encoder.encode(SENTENCES[:1])[0], LAYERS[0])
    other.replace(path)
    with pytest.raises(UserError, match=r"changed while it was read\. Start again\.$"):
        encoder.encode(SENTENCES[:1])
    again = precomputed.load(weights=str(path))
    assert again.checksum != encoder.checksum
    np.testing.assert_array_equal(again.encode(SENTENCES[:1])[0], LAYERS[0] + 1)


def test_a_folder_is_all_its_files(tmp_path):
    allennlp(tmp_path / "a.h5", LAYERS[:5], {" ".join(SENTENCES[n]): str(n) for n in range(5)})
    safetensors(tmp_path / "b.safetensors", LAYERS[5:], {" ".join(s): str(n) for n, s in enumerate(SENTENCES[5:])})
    encoder = precomputed.load(weights=str(tmp_path))
    for found, expected in zip(encoder.encode(SENTENCES), LAYERS, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("written", "tokens"),
    [
        ("8\\u{a0}1/2 works", ("8\xa01/2", "works")),  # as `elmo-bench texts` writes it
        ("8\xa01/2 works", ("8\xa01/2", "works")),  # as another program may write it
        ("8\xa01/2 works", ("8", "1/2", "works")),  # a line of a text that `embed` read
        ("New\\u{20}York  \\u{}", ("New York", "")),
    ],
)
def test_white_space_inside_tokens(tmp_path, written, tokens):
    layers = np.arange(3 * len(tokens) * 2, dtype="float32").reshape(3, len(tokens), 2)
    allennlp(tmp_path / "v.h5", [layers], {written: "0"})
    [found] = precomputed.load(weights=str(tmp_path / "v.h5")).encode([tokens])
    np.testing.assert_array_equal(found, layers)


class Sentence(list):
    """flair's, of tokens that are given: as many vectors as tokens after `embed`; an empty token is left out."""

    def __init__(self, tokens):
        super().__init__(Token(text) for text in tokens if text)


class Token:
    def __init__(self, text):
        self.text, self.vectors = text, []

    def get_embedding(self):
        return torch.cat(self.vectors)


class FlairEmbeddings:
    def __init__(self, model):
        self.sign = {"news-forward": 1, "news-backward": -1}[model]

    def embed(self, sentence):
        for place, token in enumerate(sentence):
            token.vectors.append(self.sign * torch.tensor([place, len(token.text), ord(token.text[0])]).float())


class StackedEmbeddings:
    def __init__(self, embeddings):
        self.embeddings = embeddings

    def embed(self, sentence):
        for each in self.embeddings:
            each.embed(sentence)


def test_the_script_for_flair_writes_layers_of_every_text(tmp_path, monkeypatch):
    """The script in docs/other-encoders.md, run unchanged with a module of flair's interface."""
    page = (Path("docs") / "other-encoders.md").read_text("utf-8")
    [script] = re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.M)
    for name, contents in {"flair.data": [Sentence], "flair.embeddings": [FlairEmbeddings, StackedEmbeddings]}.items():
        module = ModuleType(name)
        vars(module).update({each.__name__: each for each in contents})
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "flair", ModuleType("flair"))
    sentences = [("8\xa01/2", "works"), ("A", "", "b"), ("Zürich",)]
    (tmp_path / "texts.txt").write_text("".join(f"{line_of(each)}\n" for each in sentences), "utf-8")
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path / "texts.txt"), str(tmp_path / "layers.h5")])
    exec(compile(script, "export_flair.py", "exec"), {})
    encoder = precomputed.load(weights=str(tmp_path / "layers.h5"))
    assert (encoder.layers, encoder.dim) == (1, 6)
    first, second, third = (layers[0].tolist() for layers in encoder.encode(sentences))
    assert first == [[0, 5, 56, 0, -5, -56], [1, 5, 119, -1, -5, -119]]
    assert second == [[0, 1, 65, 0, -1, -65], [1, 1, 32, -1, -1, -32], [2, 1, 98, -2, -1, -98]]
    assert third == [[0, 6, 90, 0, -6, -90]]


def test_a_missing_sentence_is_named(path):
    encoder = precomputed.load(weights=str(path))
    with pytest.raises(UserError, match=r"no layers for the sentence 'Not there \.' \(1 of 2 are missing"):
        encoder.encode([SENTENCES[0], ("Not", "there", ".")])


def test_texts_without_layers_are_counted_before_a_run_trains(tmp_path, monkeypatch, refused):
    """Of all splits, and none of them is trained on."""
    monkeypatch.chdir(tmp_path)
    for split, rows in (("train", "a b\tx\nc\ty\n"), ("dev", "a\tx\n"), ("test", "c\ty\nd e\tx\n")):
        (tmp_path / f"{split}.tsv").write_text(f"text\tlabel\n{rows}", encoding="utf-8")
    safetensors(tmp_path / "v.safetensors", [LAYERS[0][:, :2], LAYERS[0][:, :1]], {"a b": "0", "c": "1"})
    monkeypatch.setattr("elmo_bench.runner.train.build", None)
    options = ("task=classification", "data.file=.", "encoder=precomputed", "encoder.name=v.safetensors")
    said = refused("run", *options, "trainer.threads=1")
    assert "no layers for the sentence 'a' (2 of 4 are missing)" in said


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize(
    ("layers", "index", "said"),
    [
        ([LAYERS[0][:, :-1]], {"a b": "0"}, "the sentence 'a b' needs"),
        ([LAYERS[0]], {"a": "7"}, "'7' is in sentence_to_index, but not in the file|does not contain tensor 7"),
        ([LAYERS[0]], {}, "no sentences"),
        ([LAYERS[0]], ["a"], "not a mapping"),
        ([LAYERS[0] * np.float32(np.nan)], {"a": "0"}, "not finite"),
        ([LAYERS[0].ravel()], {"a": "0"}, "of layers x tokens"),
    ],
)
def test_a_malformed_file_is_one_line(tmp_path, writer, layers, index, said):
    file = tmp_path / next(name for name, each in WRITERS.items() if each is writer)
    writer(file, layers, index)
    with pytest.raises(UserError, match=said):
        precomputed.load(weights=str(file)).encode([("a", "b")])


def test_big_endian_layers_are_read_and_an_index_in_chunks_is_no_damage(tmp_path):
    """As Java writes numbers, and as h5py compresses."""
    allennlp(tmp_path / "v.h5", [layers.astype(">f4") for layers in LAYERS])
    with h5py.File(tmp_path / "v.h5", "r+") as file:
        del file["0"]
        file.create_dataset("0", data=LAYERS[0].astype(">f4"))
    layers = precomputed.load(weights=str(tmp_path / "v.h5")).encode(SENTENCES[:1])
    assert np.array_equal(layers[0].numpy(), LAYERS[0])
    with h5py.File(tmp_path / "v.h5", "r+") as file:
        del file["sentence_to_index"]
        text = h5py.special_dtype(vlen=str)
        index = file.create_dataset("sentence_to_index", (1,), dtype=text, compression="gzip")
        index[0] = json.dumps(INDEX)
    with pytest.raises(UserError, match=r"v\.h5: sentence_to_index is in chunks or compressed\. Write it as one text"):
        precomputed.load(weights=str(tmp_path / "v.h5"))


def test_files_without_an_index_and_other_files_are_named(tmp_path):
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["0"] = LAYERS[0]
    save_file({"0": torch.ones(3, 2, 4)}, tmp_path / "v.safetensors")
    (tmp_path / "v.txt").write_text("a 1 2\n")
    (tmp_path / "empty").mkdir()
    unindexed = {"v.h5": "no sentence_to_index", "v.safetensors": "no sentence_to_index"}
    for name, said in (
        unindexed | dict.fromkeys(["v.txt", "empty"], "no layers there") | {"none.h5": "no layers there"}
    ).items():
        with pytest.raises(UserError, match=said):
            precomputed.load(weights=str(tmp_path / name))


def test_texts_without_a_file_to_write_is_no_file_named_after_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"^task=pos: an option where the text file belongs"):
        texts.main(["task=pos"])
    assert not [*tmp_path.iterdir()]
