"""Files of the layer store: damage is never returned, the cap holds, a full disk ends nothing."""

import os
import shutil
import time
from collections import namedtuple
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.encoders import cache, layer_files
from elmo_bench.encoders.cache import LayerStore
from tests.encoders.test_cache import batch_of
from tests.word_encoder import WordEncoder, sentences

TEXTS = sentences(60)
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def _many_files(monkeypatch):
    monkeypatch.setattr(cache, "TOKENS_AT_ONCE", 100)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "layers"


@pytest.fixture
def filled(folder):
    """The folder with TEXTS in it."""
    LayerStore(WordEncoder(), folder=folder).fill(TEXTS)
    return folder


def shards(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.safetensors"))


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def computed(folder: Path, texts=TEXTS, **options) -> int:
    """How many sentences a store computes for a right batch."""
    store = LayerStore(encoder := WordEncoder(), **{"mode": "disk", "folder": folder} | options)
    store.fill(texts)
    assert torch.equal(store.batch(texts), batch_of(WordEncoder(), texts))
    return len(encoder.asked)


def test_a_file_is_the_one_that_safetensors_writes_and_the_umask_sets_its_mode(tmp_path):
    layers = {"1" * 32: torch.arange(12.0).view(2, 3, 2), "2" * 32: torch.zeros(2, 0, 2), "3" * 32: torch.ones(2, 1, 2)}
    path = tmp_path / ("a" * 32) / f"{'b' * 32}.safetensors"
    before = os.umask(0o027)
    try:
        layer_files.write_layers(path, layers, max_bytes=1e9)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
    assert [*path.parent.iterdir()] == [path]
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    numbers = torch.cat([tensor.flatten() for tensor in layers.values()])
    assert path.read_bytes() == save({"layers": numbers}, metadata)
    found = layer_files.read_layers(path, layers)
    assert all(torch.equal(found[key], tensor) for key, tensor in layers.items())


def test_what_a_killed_process_left_counts_and_makes_room(filled):
    shard = shards(filled)[0]
    left = shard.with_name(f".{shard.name}.0123abcd.unfinished")
    left.write_bytes(b"x" * 10**6)
    an_hour_ago = time.time() - 3600
    os.utime(left, (an_hour_ago, an_hour_ago))
    other = LayerStore(WordEncoder(checksum="other"), mode="disk", folder=filled, max_gb=1e-3)
    other.fill(TEXTS)
    assert not left.exists()


def test_layers_whose_unfinished_file_another_process_removes_are_kept_in_memory(folder, monkeypatch):
    def removed(path, layers, *, max_bytes):
        with atomic_write(path) as handle:
            Path(handle.name).unlink()

    monkeypatch.setattr(cache, "write_layers", removed)
    store = LayerStore(WordEncoder(), mode="disk", folder=folder)
    store.fill(TEXTS)
    assert torch.equal(store.batch(TEXTS), batch_of(WordEncoder(), TEXTS))


@pytest.mark.parametrize("kept", [0, 7, 100, 0.5, -1])
def test_a_cut_file_is_computed_again(filled, kept, capsys):
    path = shards(filled)[0]
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept) if isinstance(kept, float) else kept])
    assert computed(filled) > 0
    assert f"{path} is damaged and was removed" in capsys.readouterr().err
    assert computed(filled) == 0


def test_changed_bytes_are_computed_again(filled, capsys):
    for path in shards(filled):
        with path.open("r+b") as file:
            file.seek(-path.stat().st_size // 2, os.SEEK_END)
            file.write(b"\xff" * 8)
    assert computed(filled) == len(TEXTS)
    assert capsys.readouterr().err.count("damaged") == len(shards(filled))


def test_a_file_that_the_system_refuses_is_not_removed(filled, monkeypatch, capsys):
    """Its content may be good: permissions, or a disk that is away for a moment."""
    names = {path: path.stat().st_ino for path in shards(filled)}

    def refuse(path, framework):
        raise FileNotFoundError(f"No such file or directory: {path}")  # what safetensors says of a lack of permission

    with monkeypatch.context() as patch:
        patch.setattr(layer_files, "safe_open", refuse)
        assert all(layer_files.read_layers(path, {}) == {} for path in names)
    assert capsys.readouterr().err.count("cannot be read: its layers are computed again") == len(names)
    assert {path: path.stat().st_ino for path in shards(filled)} == names


def test_what_another_process_evicts_can_still_be_read(filled):
    store = LayerStore(encoder := WordEncoder(), mode="disk", folder=filled)
    store.fill(TEXTS)
    shutil.rmtree(filled)
    assert torch.equal(store.batch(TEXTS), batch_of(WordEncoder(), TEXTS))
    store.fill(TEXTS)
    assert encoder.asked == []
    assert computed(filled) == len(TEXTS)


def test_the_least_recently_used_go_first(folder):
    """Three data sets of one size, room for two; the last fill counts as the last use, over all encoders."""
    parts = [[(f"{letter}{n}", "x", "y") for n in range(100)] for letter in "abc"]
    cap = 2.9 * LayerStore(WordEncoder(dim=500), folder=folder).bytes_of(parts[0]) / 1e9

    def fill(texts, checksum):
        time.sleep(0.02)  # the clock of the file system ticks every few milliseconds
        encoder = WordEncoder(checksum=checksum, dim=500)
        store = LayerStore(encoder, mode="disk", folder=folder, max_gb=cap)
        store.fill(texts)
        assert size(folder) <= cap * 1e9
        return len(encoder.asked)

    assert fill(parts[0], "words") == 100
    assert fill(parts[1], "other") == 100
    assert fill(parts[0], "words") == 0
    assert fill(parts[2], "words") == 100  # the other encoder's make room
    assert fill(parts[0], "words") == 0
    assert fill(parts[2], "words") == 0
    assert fill(parts[1], "other") > 0


def test_files_of_others_in_the_folder_are_not_removed(folder):
    """`store.folder=.`: no room is made by removing a model or a data set."""
    theirs = [folder / "model" / "model.safetensors", folder / "own" / f"{'a' * 32}.safetensors"]
    for path in theirs:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x")
        os.utime(path, (0, 0))
    store = LayerStore(WordEncoder(), mode="disk", folder=folder)
    store.max_gb = 2.5 * store.bytes_of(TEXTS) / 1e9
    store.fill(TEXTS)
    other = LayerStore(WordEncoder(checksum="other"), mode="disk", folder=folder, max_gb=store.max_gb)
    other.fill(TEXTS)
    assert len(other._kept) == len(TEXTS)
    assert all(path.is_file() for path in theirs)


@pytest.mark.parametrize("where", ["from the start", "no folder"])
def test_where_nothing_can_be_written_auto_keeps_layers_in_memory_and_disk_says_so(folder, monkeypatch, capsys, where):
    if where == "from the start":
        free = layer_files.SPARE + 1000
        monkeypatch.setattr(layer_files.shutil, "disk_usage", lambda path: Usage(10**12, 10**12 - free, free))
    else:
        folder.write_text("a file")
    store = LayerStore(encoder := WordEncoder(), mode="auto", folder=folder)
    store.fill(TEXTS)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert str(folder) in said
    assert "kept in memory" in said
    assert torch.equal(store.batch(TEXTS), batch_of(WordEncoder(), TEXTS))
    assert sorted(encoder.asked) == sorted(TEXTS)
    with pytest.raises(UserError, match=str(folder)):
        LayerStore(WordEncoder(checksum="other"), mode="disk", folder=folder).fill(TEXTS)


@pytest.mark.parametrize("mode", ["disk", "ram"])
def test_more_than_the_cap_is_refused_before_anything_is_computed(folder, mode):
    options = {"folder": folder} if mode == "disk" else {}
    store = LayerStore(encoder := WordEncoder(), mode=mode, max_gb=1e-5, **options)
    with pytest.raises(UserError, match=r"more than store\.max_gb=1e-05\. Raise it, or use store=off"):
        store.fill(TEXTS)
    assert encoder.asked == []


def test_auto_above_the_cap_computes_each_time(folder, capsys):
    store = LayerStore(encoder := WordEncoder(), mode="auto", max_gb=1e-5, folder=folder)
    store.fill(TEXTS)
    assert "store.max_gb=1e-05: they are computed for every batch" in capsys.readouterr().err
    assert not folder.exists()
    for _ in range(2):
        assert torch.equal(store.batch(TEXTS), batch_of(WordEncoder(), TEXTS))
    assert len(encoder.asked) == 2 * len(TEXTS)
