"""`elmo-bench embed` as its users call it, against the figures recorded from AllenNLP 2.10.1."""

import gzip
import json
import os
import resource
import sys
import threading
from functools import partial

import h5py
import numpy as np
import pytest

from elmo_bench.__main__ import main
from elmo_bench.elmo import embed as module
from elmo_bench.elmo.encoder import ElmoEncoder
from tests.elmo.recorded import SENTENCES, TOLERANCE
from tests.runs import GOLDEN

TEXT = "".join(" ".join(sentence) + "\n" for sentence in SENTENCES)


@pytest.fixture
def embed(tmp_path, monkeypatch, capfd):
    """`embed(*arguments, text=…) -> (exit code, standard output, standard error)` in a folder with `in.txt`."""
    monkeypatch.chdir(tmp_path)

    def embed(*arguments: str, text: str = TEXT, weights: str = str(GOLDEN)):
        (tmp_path / "in.txt").write_bytes(text.encode())
        capfd.readouterr()
        code = main(["embed", *arguments, *(["--weights", weights] if weights else [])])
        said = capfd.readouterr()
        return code, said.out, said.err

    return embed


def arrays(path) -> dict[str, np.ndarray]:
    """Every numbered array of an output."""
    with h5py.File(path) as file:
        return {name: node[()] for name, node in file.items() if name != "sentence_to_index"}


def check(found: dict[str, np.ndarray], mode: str = "all", run: str = "stateless") -> None:
    """They are the recorded ones: names, kind, shapes, values."""
    recorded = np.load(GOLDEN / f"expected_{run}.npz")
    assert found.keys() == {str(number) for number in range(len(SENTENCES))}
    for number in range(len(SENTENCES)):
        layers = recorded[f"s{number:02d}"].astype(np.float64)
        wanted = {"all": layers, "top": layers[-1], "average": layers.mean(axis=0)}[mode]
        assert (found[str(number)].dtype, found[str(number)].shape) == (np.float32, wanted.shape)
        np.testing.assert_allclose(found[str(number)], wanted, atol=TOLERANCE, rtol=0)


def test_a_limit_of_file_sizes_is_one_line(embed, tmp_path, monkeypatch):
    """HDF5 would crash on the file that it cannot close."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python would leave half a module's bytecode
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        code, _, said = embed("in.txt", "out.h5", text="a b c\n" * 50)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (code, "out.h5: File too large. Free some space" in said) == (2, True)
    assert not [*tmp_path.glob("*out.h5*")]


@pytest.mark.parametrize("options", [[], ["--all"], ["--top"], ["--average"]])
def test_every_mode_is_the_recorded_one(embed, tmp_path, monkeypatch, options):
    monkeypatch.setattr(module, "TOKENS", 30)  # five windows
    code, said, _ = embed("in.txt", "out.h5", *options)
    assert code == 0
    assert said.startswith("out.h5: 12 sentences, 135 tokens, ")
    mode = options[0].strip("-") if options else "all"
    check(arrays(tmp_path / "out.h5"), mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.h5"]


def test_bfloat16_is_close_and_no_float32(embed, tmp_path):
    for precision in ("float32", "bfloat16"):
        assert embed("in.txt", f"{precision}.h5", "--precision", precision)[0] == 0
    exact, rounded = (arrays(tmp_path / f"{precision}.h5") for precision in ("float32", "bfloat16"))
    for name, layers in exact.items():
        assert 1e-4 < np.abs(layers - rounded[name]).max() < 0.1


def test_stateful_batches_of_four_are_the_recorded_ones(embed, tmp_path):
    assert embed("in.txt", "out.hdf5", "--stateful", "--batch-size", "4")[0] == 0
    check(arrays(tmp_path / "out.hdf5"), run="stateful")


def test_allennlps_mapping(embed, tmp_path):
    embed("in.txt", "out.h5", "--top", text="a b\n  c\t d \na b\né\n")
    with h5py.File(tmp_path / "out.h5") as file:
        assert (file["sentence_to_index"].shape, h5py.check_string_dtype(file["sentence_to_index"].dtype).length) == (
            (1,), None,
        )  # fmt: skip
        mapping = json.loads(file["sentence_to_index"][0])
        np.testing.assert_allclose(file["0"][()], file["2"][()], atol=5e-6, rtol=0)
        assert {name: node.shape for name, node in file.items() if name != "sentence_to_index"} == {
            "0": (2, 32), "1": (2, 32), "2": (2, 32), "3": (1, 32),
        }  # fmt: skip
    assert mapping == {"a b": "2", "c\t d": "1", "é": "3"}


def test_a_text_of_too_many_lines_for_an_index_is_noted_at_the_first_of_them(embed, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAPPED", 12)
    assert embed("in.txt", "out.h5")[2] == ""
    monkeypatch.setattr(module, "MAPPED", 2)
    monkeypatch.setattr(module, "TOKENS", 30)  # five windows
    encode, windows = ElmoEncoder.encode, []

    def encode_two(self, sentences):
        windows.append(sentences)
        if len(windows) == 3:
            raise KeyboardInterrupt
        return encode(self, sentences)

    monkeypatch.setattr(ElmoEncoder, "encode", encode_two)
    code, _, said = embed("in.txt", "long.h5")
    assert code == 130
    assert "in.txt: more than 2 lines, so sentence_to_index is left out" in said
    assert "(split -l 2)" in said


@pytest.mark.parametrize("options", [[], ["--batch-size", "2", "--stateful"]])
def test_empty_lines_keep_their_number(embed, tmp_path, options):
    _, _, said = embed("in.txt", "out.h5", *options, text="\na b\n\n   \nc\n")
    found = arrays(tmp_path / "out.h5")
    assert {name: array.shape[1] for name, array in found.items()} == {"0": 0, "1": 2, "2": 0, "3": 0, "4": 1}
    assert "in.txt: 3 empty lines, the first is line 1; their output has no tokens" in said


def test_standard_input(embed, tmp_path, request):
    request.addfinalizer(partial(os.dup2, os.dup(0), 0))
    (tmp_path / "text").write_text(TEXT, encoding="utf-8")
    with (tmp_path / "text").open("rb") as text:
        os.dup2(text.fileno(), 0)
    assert embed("-", "out.h5")[0] == 0
    check(arrays(tmp_path / "out.h5"))


def test_a_packed_text_and_a_pipe_that_can_be_read_once(embed, tmp_path):
    (tmp_path / "text.gz").write_bytes(gzip.compress(TEXT.encode()))
    os.mkfifo(tmp_path / "pipe")
    threading.Thread(target=lambda: (tmp_path / "pipe").write_text(TEXT)).start()
    for source in ("text.gz", "pipe"):
        assert embed(source, f"{source}.h5")[0] == 0
        check(arrays(tmp_path / f"{source}.h5"))


FULL = OSError(28, "Can't write data (errno = 28, error message = 'No space left on device')")


@pytest.mark.parametrize(
    ("raised", "end"),
    [
        (KeyboardInterrupt(), (130, "", "elmo-bench embed: stopped, and nothing is written\n")),
        (
            FULL,
            (2, "", "elmo-bench embed: out.h5: No space left on device. Free some space, or choose another place.\n"),
        ),
    ],
)
def test_what_ends_a_run_ends_it_in_a_line_and_leaves_no_file(embed, tmp_path, monkeypatch, raised, end):
    plain = h5py.Group.create_dataset

    def ends(file, name, **given):
        if name == "8":
            raise raised
        return plain(file, name, **given)

    monkeypatch.setattr(h5py.Group, "create_dataset", ends)
    assert embed("in.txt", "out.h5") == end
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_what_is_there_is_replaced_only_when_asked(embed, tmp_path):
    assert embed("in.txt", "out.h5", text="a\n")[0] == 0
    before = (tmp_path / "out.h5").read_bytes()
    line = "elmo-bench embed: out.h5: exists already. Give another path, or --overwrite to replace it.\n"
    assert embed("in.txt", "out.h5") == (2, "", line)
    assert (tmp_path / "out.h5").read_bytes() == before
    assert embed("in.txt", "out.h5", "--overwrite")[0] == 0
    check(arrays(tmp_path / "out.h5"))


BAD = {
    "a missing file": (["missing.txt", "out.h5"], "missing.txt: no such file"),
    "not UTF-8": (["latin.txt", "out.h5"], "latin.txt:2: not UTF-8 text"),
    "nothing in it": (["empty.txt", "out.h5"], "empty.txt: no lines"),
    "an unknown ending": (["in.txt", "out.npz"], "out.npz: not the name of an HDF5 file. Name a file that ends in .h5"),
    "a precision of fancy": (["in.txt", "out.h5", "--precision", "half"], "precision=half: unknown"),
    "a device of fancy": (["in.txt", "out.h5", "--device", "abacus"], "device=abacus: no such device"),
}


@pytest.mark.parametrize(("arguments", "line"), BAD.values(), ids=BAD)
def test_a_mistake_ends_in_one_line(embed, tmp_path, arguments, line):
    (tmp_path / "latin.txt").write_bytes(b"a b\n\xe9\n")
    (tmp_path / "empty.txt").touch()
    before = {*os.listdir(tmp_path), "in.txt"}  # noqa: PTH208
    code, said, error = embed(*arguments)
    assert (code, said, error.count("\n")) == (2, "", 1), error
    assert line in error
    assert set(os.listdir(tmp_path)) == before  # noqa: PTH208
