"""`elmo-bench embed` as its users call it, against the figures recorded from AllenNLP 2.10.1."""

import collections
import gzip
import itertools
import json
import lzma
import os
import shutil
import threading
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from elmo_bench.__main__ import main
from elmo_bench.elmo.embed import job, lines, modes, outputs, parts
from tests.elmo.embed.golden import CASES, GOLDEN, SMALL_PARTS, TEXT, TOLERANCE, expected, recorded

MIX = (0.5, -1.0, 2.0, 0.7)


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


@pytest.fixture
def standard_input():
    """`standard_input(text)`: what the process reads from then on."""
    kept = os.dup(0)

    def feed(text: str) -> None:
        read, write = os.pipe()
        os.dup2(read, 0)
        os.close(read)
        threading.Thread(target=lambda: [os.write(write, text.encode()), os.close(write)]).start()

    yield feed
    os.dup2(kept, 0)
    os.close(kept)


def arrays(path) -> dict[str, np.ndarray]:
    """Every numbered array of an output."""
    if path.is_dir():
        found = {}
        for shard in json.loads((path / "index.json").read_text())["shards"]:
            with np.load(path / shard["file"]) as file:
                assert list(file) == [str(shard["first"] + row) for row in range(shard["sentences"])]
                found.update(file)
        return found
    with h5py.File(path) as file:
        return {name: node[()] for name, node in file.items() if name != "sentence_to_index"}


def check(found: dict[str, np.ndarray], mode: str = "all", run: str = "stateless", numbers=()) -> None:
    """They are the recorded ones: names, kind, shapes, values."""
    assert found.keys() == {str(number) for number in range(len(CASES["sentences"]))}
    for number, layers in enumerate(recorded(run)):
        wanted = expected(mode, layers, numbers)
        assert (found[str(number)].dtype, found[str(number)].shape) == (np.float32, wanted.shape)
        np.testing.assert_allclose(found[str(number)], wanted, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("out", ["out.h5", "out/"])
@pytest.mark.parametrize("options", [[], ["--all"], ["--top"], ["--average"], ["--mix", ",".join(map(str, MIX))]])
def test_every_mode_is_the_recorded_one(embed, tmp_path, monkeypatch, options, out):
    monkeypatch.setattr(lines, "PART_TOKENS", SMALL_PARTS)
    code, said, _ = embed("in.txt", out, *options)
    assert code == 0
    assert said.startswith(f"{out.rstrip('/')}: 12 sentences, 135 tokens, ")
    mode = options[0].strip("-") if options else "all"
    check(arrays(tmp_path / out), mode, numbers=MIX)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", out.rstrip("/")]


@pytest.mark.parametrize("out", ["out.hdf5", "out"])
def test_stateful_batches_of_four_are_the_recorded_ones(embed, tmp_path, monkeypatch, out):
    monkeypatch.setattr(lines, "PART_TOKENS", SMALL_PARTS)
    assert embed("in.txt", out, "--stateful", "--batch-size", "4")[0] == 0
    check(arrays(tmp_path / out), run="stateful")


def test_a_mix_may_begin_with_a_minus(embed, tmp_path):
    numbers = (-3.0, 1.5, 0.25, 1.9)
    assert embed("in.txt", "out.h5", "--mix", "-3,1.5,.25,1.9")[0] == 0
    check(arrays(tmp_path / "out.h5"), "mix", numbers=numbers)


def test_allennlps_mapping(embed, tmp_path):
    _, _, said = embed("in.txt", "out.h5", "--top", text="a b\n  c\t d \na b\né\n")
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
    assert "1 lines are repeated" in said


@pytest.mark.parametrize("out", ["out.h5", "out/"])
def test_a_long_input_has_no_mapping(embed, tmp_path, monkeypatch, out):
    for module in (lines, outputs, parts):
        monkeypatch.setattr(module, "MAPPED", 11)
    _, _, said = embed("in.txt", out, "--average")
    assert "more than 11 sentences: sentence_to_index is left out" in said
    assert len(arrays(tmp_path / out)) == 12
    assert not (tmp_path / out / "sentence_to_index.json").exists()
    if out == "out.h5":
        with h5py.File(tmp_path / out) as file:
            assert "sentence_to_index" not in file


@pytest.mark.parametrize("options", [[], ["--batch-size", "2", "--stateful"]])
def test_empty_lines_keep_their_number(embed, tmp_path, options):
    _, _, said = embed("in.txt", "out.h5", *options, text="\na b\n\n   \nc\n")
    found = arrays(tmp_path / "out.h5")
    assert {name: array.shape[1] for name, array in found.items()} == {"0": 0, "1": 2, "2": 0, "3": 0, "4": 1}
    assert "in.txt: 3 empty lines, the first is line 1; their output has no tokens" in said


def test_the_two_files_of_allennlps_command(embed, tmp_path):
    files = ["--options-file", str(GOLDEN / "options.json"), "--weight-file", str(GOLDEN / "weights.hdf5")]
    assert embed("in.txt", "out.h5", *files, weights="")[0] == 0
    check(arrays(tmp_path / "out.h5"))


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_packed_text(embed, tmp_path, ending):
    with {".gz": gzip.open, ".xz": lzma.open}[ending](tmp_path / f"text{ending}", "wb") as file:
        file.write(TEXT.encode())
    assert embed(f"text{ending}", "out.h5")[0] == 0
    check(arrays(tmp_path / "out.h5"))


def test_standard_input(embed, tmp_path, standard_input):
    standard_input(TEXT)
    assert embed("-", "out.h5")[0] == 0
    check(arrays(tmp_path / "out.h5"))


def test_a_pipe_that_can_be_read_once(embed, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    threading.Thread(target=lambda: (tmp_path / "pipe").write_text(TEXT)).start()
    assert embed("pipe", "out.h5")[0] == 0
    check(arrays(tmp_path / "out.h5"))


def test_one_line_longer_than_a_pool_and_a_part(embed, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "PART_TOKENS", 100)
    monkeypatch.setattr(lines, "POOL_TOKENS", 50)
    long = "w " * 300
    assert embed("in.txt", "out.h5", "--top", text=f"a\n{long}\n" + TEXT)[0] == 0
    found = arrays(tmp_path / "out.h5")
    assert [found[name].shape[0] for name in ("0", "1", "2")] == [1, 300, 1]
    np.testing.assert_allclose(found["2"], recorded("stateless")[0][-1], atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("words", [1, 20])
def test_words_that_were_forgotten(embed, tmp_path, monkeypatch, words):
    monkeypatch.setattr(job, "WORDS", words)
    monkeypatch.setattr(lines, "PART_TOKENS", SMALL_PARTS)
    assert embed("in.txt", "out.h5")[0] == 0
    check(arrays(tmp_path / "out.h5"))


def test_ctrl_c_ends_in_a_line_and_the_same_command_goes_on(embed, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "PART_TOKENS", SMALL_PARTS)
    calls = collections.Counter()
    plain = modes.Mode.__call__

    def interrupted(self, layers):
        calls["pool"] += 1
        if calls["pool"] == 8:
            raise KeyboardInterrupt
        return plain(self, layers)

    monkeypatch.setattr(modes.Mode, "__call__", interrupted)
    code, said, error = embed("in.txt", "out.h5")
    assert (code, said) == (130, "")
    assert error == "elmo-bench embed: stopped. The same command resumes after the last complete part.\n"
    code, said, error = embed("in.txt", "out.h5")
    assert code == 0
    assert "resuming after 4 sentences" in error
    assert "(4 sentences were done before)" in said
    check(arrays(tmp_path / "out.h5"))


@pytest.fixture
def disk(monkeypatch):
    """A disk of ten kilobytes until `disk["free"]` is changed."""
    state = {"free": 10_000}
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(**state))
    return state


@pytest.mark.parametrize(("source", "out"), [*itertools.product(["in.txt", "-"], ["out.h5", "out/"])])
def test_a_disk_that_is_too_small(embed, disk, standard_input, source, out):
    standard_input(TEXT)
    code, said, error = embed(source, out)
    assert (code, said) == (2, "")
    [line] = error.splitlines()
    assert " takes " in line
    assert "more are needed, out" in line
    assert ".parts has 10.0 kB free. Make room, or write elsewhere." in line
    assert os.listdir() == ["in.txt"]  # noqa: PTH208
    disk["free"] = 250_000  # more than twice the figures: 135 tokens of 384 bytes
    standard_input(TEXT)
    assert embed(source, out)[0] == 0


def test_the_estimate_is_at_least_the_size_and_not_much_more(embed, tmp_path, monkeypatch):
    estimates = []
    monkeypatch.setattr(job, "check_room", lambda folder, needed, what: estimates.append(needed))
    text = "".join(f"{number} some words of no meaning\n" for number in range(3000))
    assert embed("in.txt", "out.h5", "--average", text=text)[0] == 0
    assert 1 <= estimates[0] / 2 / (tmp_path / "out.h5").stat().st_size < 1.25


@pytest.mark.parametrize("out", ["out.h5", "out/"])
def test_what_is_there_is_replaced_only_when_asked(embed, tmp_path, out):
    assert embed("in.txt", out, text="a\n")[0] == 0
    before = arrays(tmp_path / out)
    code, _, error = embed("in.txt", out)
    assert (code, error) == (
        2,
        f"elmo-bench embed: {out.rstrip('/')}: exists already. Give another path, or --overwrite to replace it.\n",
    )
    assert arrays(tmp_path / out).keys() == before.keys()
    assert embed("in.txt", out, "--overwrite")[0] == 0
    check(arrays(tmp_path / out))


@pytest.mark.parametrize("options", [[], ["--overwrite"]])
def test_a_folder_of_somebody_elses_is_left_alone(embed, tmp_path, options):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("x")
    assert "other files in it" in embed("in.txt", "home/", *options)[2]
    assert os.listdir(tmp_path / "home") == ["thesis.tex"]  # noqa: PTH208


BAD = {
    "a missing file": (["missing.txt", "out.h5"], "missing.txt: no such file"),
    "a folder as input": (["folder", "out.h5"], "folder: cannot be read (Is a directory)"),
    "not UTF-8": (["latin.txt", "out.h5"], "latin.txt:2: not UTF-8 text"),
    "nothing in it": (["empty.txt", "out.h5"], "empty.txt: no lines"),
    "a folder that cannot be made": (["in.txt", "in.txt/out.h5"], "in.txt/out.h5.parts: cannot be written"),
    "an unknown ending": (["in.txt", "out.npz"], "out.npz: unknown extension '.npz'. Name a file .h5 or .hdf5, or a"),
    "a folder as file": (["in.txt", "folder.h5"], "folder.h5: is a folder"),
    "a file as folder": (["in.txt", "in.txt/"], "in.txt: is a file, but npz shards need a folder"),
    "a mix of words": (["in.txt", "out.h5", "--mix", "1,x,2,3"], "--mix 1,x,2,3: not a list of numbers"),
    "an infinite mix": (["in.txt", "out.h5", "--mix", "1,inf,2,3"], "--mix 1,inf,2,3: not a list of numbers"),
    "a short mix": (
        ["in.txt", "out.h5", "--mix", "1,2,3"],
        "3 numbers for 3 layers. Give 3 weights",
    ),
    "no batch": (["in.txt", "out.h5", "--batch-size", "0"], "--batch-size 0: too small"),
    "both weights": (
        ["in.txt", "out.h5", "--weight-file", "w.hdf5", "--options-file", "o.json"],
        "--weights, --weight-file: both name weights. Give one of them.",
    ),
    "half of the files": (
        ["in.txt", "out.h5", "--weight-file", "w.hdf5"],
        "--options-file, --weight-file: one of them is missing",
    ),
    "an unknown precision": (
        ["in.txt", "out.h5", "--precision", "int3"],
        "precision=int3: unknown. Choose one of: float32, ",
    ),
    "a device of fancy": (["in.txt", "out.h5", "--device", "abacus"], "--device abacus: no such device"),
}


@pytest.mark.parametrize(("arguments", "line"), BAD.values(), ids=BAD)
def test_a_mistake_ends_in_one_line(embed, tmp_path, arguments, line):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.h5").mkdir()
    (tmp_path / "latin.txt").write_bytes(b"a b\n\xe9\n")
    (tmp_path / "empty.txt").touch()
    before = {*os.listdir(tmp_path), "in.txt"}  # noqa: PTH208
    code, said, error = embed(*arguments)
    assert (code, said, error.count("\n")) == (2, "", 1), error
    assert line in error
    assert set(os.listdir(tmp_path)) == before  # noqa: PTH208
