"""The layer store between processes: two that fill it at once, and ones that are killed while they write."""

import multiprocessing
import os
import random
import shutil
import time

import pytest
import torch

from elmo_bench.encoders.cache import LayerStore
from tests.word_encoder import WordEncoder, fill, sentences

PROCESSES = multiprocessing.get_context("forkserver")  # forks of a process that has torch ready and no threads
PATIENCE = 120.0  # seconds
TEXTS = sentences(1500)


def start(*arguments):
    PROCESSES.set_forkserver_preload(["tests.word_encoder"])
    process = PROCESSES.Process(target=fill, args=arguments)
    process.start()
    return process


def fresh(encoder, texts):
    """Batches of the sentences and what the encoder itself says they are."""
    for first in range(0, len(texts), 32):
        some = texts[first : first + 32]
        yield some, encoder.encode(some)


def stored(folder, expected):
    """How many sentences lie in the store, having compared each of its vectors; what is missing is not added to it."""
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy, copy_function=os.link)  # files are never changed, so a link is a copy
    encoder = WordEncoder(dim=256)
    computed, encode = [], encoder.encode
    encoder.encode = lambda some: computed.extend(some) or encode(some)
    store = LayerStore(encoder, mode="disk", folder=copy)
    store.fill(text for some, _ in expected for text in some)
    for some, layers in expected:
        for row, right in zip(store.batch(some), layers, strict=True):
            torch.testing.assert_close(row[:, : right.shape[1]], right, rtol=0, atol=0)
    encoder.encode = encode
    shutil.rmtree(copy)
    return sum(len(some) for some, _ in expected) - len(computed)


def test_a_store_killed_while_writing_never_returns_a_wrong_vector(folder, expected):
    """It is killed (SIGKILL) at a random moment, three times."""
    moment, kills = random.Random(0), 0
    while kills < 3:
        had = len(list(folder.rglob("*")))
        process = start(folder, TEXTS)
        ends = time.monotonic() + PATIENCE
        while len(list(folder.rglob("*"))) <= had and process.is_alive():  # until it writes
            assert time.monotonic() < ends
            time.sleep(0.001)
        time.sleep(moment.uniform(0, 0.2))
        process.kill()
        process.join()
        kills += process.exitcode == -9
        if stored(folder, expected) == len(TEXTS) or list(folder.rglob(".*")):
            shutil.rmtree(folder)  # so that there is something to write
            folder.mkdir()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "layers").mkdir()
    return tmp_path / "layers"


@pytest.fixture(scope="module")
def expected():
    return list(fresh(WordEncoder(dim=256), TEXTS))


def test_two_processes_that_fill_one_store_end_with_every_entry_right(folder, expected):
    processes = [start(folder, TEXTS), start(folder, TEXTS[500:] + sentences(100, seed=1))]
    for process in processes:
        process.join(PATIENCE)
        assert process.exitcode == 0
    assert stored(folder, expected) == len(TEXTS)
    assert stored(folder, list(fresh(WordEncoder(dim=256), sentences(100, seed=1)))) == 100
