"""GloVe training: one step is the gradient, the loss falls, words of the same contexts end up near; the command."""

import lzma
import random

import numpy as np
import pytest

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.cli import pretrain_static
from elmo_bench.encoders.static import load_static
from elmo_bench.encoders.vector_files import Rows, read_compact
from elmo_bench.pretraining.cooccurrence import cooccurrence, vocabulary
from elmo_bench.pretraining.static import train_glove

SETTINGS = {"dim": 8, "x_max": 100, "alpha": 0.75, "learning_rate": 0.2, "batch": 500, "seed": 0}


def _sentences(count, seed=0):
    """Cats and dogs mostly do the same things, and so do cars and buses; which of the two is drawn by chance."""
    draw = random.Random(seed)
    nouns, verbs = [["cat", "dog"], ["car", "bus"]], [["eats", "sleeps", "purrs"], ["stops", "parks", "brakes"]]
    for _ in range(count):
        kind = draw.randrange(2)
        # One in ten does what the other kind does: GloVe learns from cells that are not zero.
        does = verbs[kind if draw.random() < 0.9 else 1 - kind]
        yield f"the {draw.choice(nouns[kind])} {draw.choice(does)} and {draw.choice(does)} ."


@pytest.fixture
def corpus(tmp_path):
    lines = list(_sentences(600))
    first, second = tmp_path / "part-0.txt", tmp_path / "part-1.txt.xz"
    first.write_text("\n".join(lines[:300]) + "\n", encoding="utf-8")
    second.write_bytes(lzma.compress(("\n".join(lines[300:]) + "\n").encode()))
    return [first, second]


def _cosine(vectors, words, left, right):
    a, b = vectors[words.index(left)], vectors[words.index(right)]
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_the_vocabulary_is_the_most_frequent_words_case_kept(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("b b a a The the the 7 7 7 7\n", encoding="utf-8")
    assert vocabulary([path], size=4, min_count=1) == (["7", "a", "b", "the"], 11)
    assert vocabulary([path], size=9, min_count=3) == (["7"], 11)


def test_the_loss_falls_and_like_words_are_near_and_the_seed_decides(corpus):
    words, _ = vocabulary(corpus, size=100, min_count=1)
    counts = cooccurrence(corpus, words, window=10)
    vectors, losses = train_glove(counts, **SETTINGS, epochs=60)
    assert vectors.shape == (len(words), 8)
    assert losses[-1] < losses[0] / 3
    assert _cosine(vectors, words, "cat", "dog") > _cosine(vectors, words, "cat", "car") + 0.2
    assert _cosine(vectors, words, "stops", "parks") > _cosine(vectors, words, "stops", "eats") + 0.2
    again, _ = train_glove(counts, **SETTINGS, epochs=60)
    assert np.array_equal(vectors, again)
    shared, _ = train_glove(counts, **SETTINGS, epochs=60, threads=3)
    assert np.array_equal(vectors, shared)
    other, _ = train_glove(counts, **SETTINGS | {"seed": 1}, epochs=60)
    assert not np.array_equal(vectors, other)


def test_one_step_is_the_gradient_of_the_objective(corpus):
    """One batch of all cells: the change of the tables against a plain double-precision gradient."""
    words, _ = vocabulary(corpus, size=100, min_count=1)
    counts = cooccurrence(corpus, words, window=2)
    settings = SETTINGS | {"batch": 10**6, "x_max": 50}
    start, _ = train_glove(counts, **settings, epochs=0)
    after, losses = train_glove(counts, **settings, epochs=1)

    size, dim = len(words), 8
    draw = np.random.default_rng(0)  # the same first draws as the trainer's
    left, right = ((draw.random((size, dim + 2), dtype=np.float32) - 0.5).astype(float) / dim for _ in range(2))
    assert np.allclose(start, (left + right)[:, :dim], atol=1e-7)
    error, loss = np.zeros((size, size)), 0.0
    for i, j in zip(*counts.nonzero(), strict=True):
        value = float(counts[i, j])
        difference = left[i, :dim] @ right[j, :dim] + left[i, dim] + right[j, dim + 1] - np.log(value)
        error[i, j] = min(1, (value / 50) ** 0.75) * difference
        loss += 0.5 * error[i, j] * difference
    gradients = [error @ right[:, :dim], error.T @ left[:, :dim]]
    moved = left[:, :dim] + right[:, :dim] - sum(0.2 * each / np.sqrt(1 + each**2) for each in gradients)
    assert np.allclose(after, moved, atol=1e-5)
    assert losses[0] == pytest.approx(loss / counts.nnz, rel=1e-5)


def test_the_command_writes_every_precision_and_text_and_says_what_it_did(corpus, tmp_path, capsys):
    pattern = f"corpus={corpus[0].parent}/part-*"
    small = ["dim=8", "epochs=3", "min_count=1", "licence=mine"]
    for name in ("v.safetensors", "v.txt.gz"):
        assert main(["pretrain-static", pattern, f"out={tmp_path / name}", *small]) == 0
    summary = capsys.readouterr().out.splitlines()
    assert len(summary) == 2
    assert "tokens 3,600, vocabulary 13" in summary[0]
    words, rounded, metadata, _ = read_compact(tmp_path / "v.safetensors")
    assert metadata["corpus"] == ["part-0.txt", "part-1.txt.xz"]
    assert (metadata["tokens"], metadata["licence"], metadata["epochs"]) == (3600, "mine", 3)
    whole = (tmp_path / "v.safetensors").read_bytes()
    assert main(["pretrain-static", pattern, f"out={tmp_path / 'v.safetensors'}", "threads=2", *small]) == 0
    assert (tmp_path / "v.safetensors").read_bytes() == whole
    text = load_static(str(tmp_path / "v.txt.gz"))
    assert text.words == words
    counts = cooccurrence(corpus, words, window=10)
    trained, _ = train_glove(counts, **SETTINGS | {"batch": 500_000, "x_max": 10}, epochs=3)
    assert np.allclose(text.vectors, trained, rtol=1e-4)
    assert np.array_equal(rounded, Rows.of(trained, "int8").take())
    for dtype in ("float16", "float32"):
        assert main(["pretrain-static", pattern, f"out={tmp_path / 'w.safetensors'}", f"dtype={dtype}", *small]) == 0
        assert np.array_equal(read_compact(tmp_path / "w.safetensors").vectors, trained.astype(dtype))


@pytest.mark.parametrize(
    "case",
    [
        (b"a b\n" * 9, ["corpus=nowhere/*.txt"], "corpus=nowhere/*.txt: no file matches"),
        (b"a b\n" * 9, ["out=v.bin"], "out=v.bin: must end in .safetensors"),
        (b"a b\n" * 9, ["out='???'"], "out has no value; give out="),
        (b"a b\n" * 9, ["epochs=0"], "epochs=0: must be a whole number above 0"),
        (b"a b\n" * 9, ["seed=-1"], "seed=-1: must be a whole number, 0 or more"),
        (b"a b\n" * 9, ["threads=0"], "threads=0: must be a whole number above 0, or null for the idle cores"),
        (b"a b\n" * 9, ["out=./corpus.txt"], "corpus.txt: this file is read too, and would be overwritten."),
        (b"a b\n" * 9, ["out=corpus.txt/v.txt"], "out=corpus.txt/v.txt: its folder cannot be made"),
        (b"a b\n" * 9, ["dtype=int4"], "dtype=int4: unknown. Choose one of: float32, float16, int8."),
        (b"a b\n" * 9, ["alpha=-1"], "alpha=-1: must be a number above 0"),
        (b"a b\n" * 2, [], "no word occurs 5 times"),
        (b"a\n" * 9, [], "no two known words share a sentence"),
        (b"", [], "no word occurs 5 times"),
        (b"a b\n\xff\n", [], "corpus.txt:2: not UTF-8"),
    ],
)
def test_a_mistake_is_one_clear_line(tmp_path, monkeypatch, capsys, case):
    content, options, message = case
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_bytes(content)
    assert main(["pretrain-static", "corpus=corpus.txt", "out=v.safetensors", *options]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert message in error
    assert not list(tmp_path.glob("v.*"))


def test_a_run_that_is_cut_off_leaves_what_was_there(corpus, tmp_path, monkeypatch):
    def cut(*_arguments, **_options):
        raise KeyboardInterrupt

    out = tmp_path / "v.safetensors"
    out.write_bytes(b"older vectors")
    monkeypatch.setattr(pretrain_static, "train_glove", cut)
    with pytest.raises(KeyboardInterrupt):
        main(["pretrain-static", f"corpus={corpus[0]}", f"out={out}", "threads=1"])
    assert out.read_bytes() == b"older vectors"
    assert {path.name for path in tmp_path.iterdir()} == {"part-0.txt", "part-1.txt.xz", "v.safetensors"}


def test_a_missing_file_is_a_user_error(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        vocabulary([tmp_path / "missing.txt"], size=5, min_count=1)
