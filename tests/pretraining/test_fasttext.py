"""`pretrain-fasttext`: gensim's vectors end up in our file, near words are near, and mistakes are one clear line."""

import random
import sys

import numpy as np
import pytest

from elmo_bench.__main__ import main
from elmo_bench.encoders.static import load_static
from elmo_bench.encoders.vector_files import read_compact
from elmo_bench.pretraining.fasttext import Sentences, heldout_loss, train_fasttext

SMALL = {"dim": 8, "buckets": 300, "stored_words": 10, "epochs": 3, "sample": 1.0}
TRAINING = {"shortest": 3, "longest": 6, "window": 5, "negative": 5, "learning_rate": 0.05, "seed": 0}
OPTIONS = ["licence=mine", *(f"{key}={value}" for key, value in SMALL.items())]


@pytest.fixture
def corpus(tmp_path):
    draw = random.Random(0)
    nouns, verbs = [["cat", "dog"], ["car", "bus"]], [["eats", "sleeps", "purrs"], ["stops", "parks", "brakes"]]
    path = tmp_path / "corpus.txt"
    with path.open("w", encoding="utf-8") as handle:
        for _ in range(1500):
            kind = draw.randrange(2)
            handle.write(f"the {draw.choice(nouns[kind])} {draw.choice(verbs[kind])} and {draw.choice(verbs[kind])}\n")
    return path


@pytest.mark.slow  # imports gensim
def test_the_file_holds_what_gensim_trained_and_the_same_command_gives_the_same_file(corpus, tmp_path, capsys):
    command = ["pretrain-fasttext", f"corpus={corpus}", f"heldout={corpus}", *OPTIONS]
    for name in ("a.safetensors", "b.safetensors"):
        assert main([*command, f"out={tmp_path / name}", "dtype=float32"]) == 0
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    assert "tokens 7,500, trained_words 12, words 10, heldout_loss" in capsys.readouterr().out.splitlines()[0]

    kept = {key: value for key, value in SMALL.items() if key != "stored_words"}
    model = train_fasttext([corpus], min_count=5, **kept, **TRAINING)
    words, vectors, metadata, ngrams = read_compact(tmp_path / "a.safetensors")
    assert words == model.wv.index_to_key[:10]
    assert np.array_equal(vectors, model.wv.vectors[:10])
    assert np.array_equal(ngrams.rows.take(), model.wv.vectors_ngrams)
    assert (metadata["licence"], metadata["corpus"], metadata["tokens"]) == ("mine", ["corpus.txt"], 7500)
    unseen = ["catty", "Parkway", "naïve"]
    found = load_static(str(tmp_path / "a.safetensors"), keep=unseen)
    assert found.words == sorted(unseen)
    expected = np.stack([model.wv.get_vector(word) for word in sorted(unseen)])
    np.testing.assert_allclose(found.vectors, expected, rtol=0, atol=1e-6)

    assert main([*command, f"out={tmp_path / 'int8.safetensors'}"]) == 0
    rounded = read_compact(tmp_path / "int8.safetensors").vectors
    assert 0 < np.abs(rounded - vectors).max() <= np.abs(vectors).max() / 250


@pytest.mark.slow
def test_the_heldout_loss_falls_with_training_and_is_that_of_untrained_vectors_before(corpus):
    losses = []
    for epochs in (1, 40):
        settings = {key: value for key, value in SMALL.items() if key != "stored_words"} | {"epochs": epochs}
        model = train_fasttext([corpus], min_count=5, **settings, **TRAINING)
        losses.append(heldout_loss(model, [corpus]))
        if epochs == 1:
            model.syn1neg[:] = 0
            untrained = heldout_loss(model, [corpus])
    assert untrained == pytest.approx(6 * np.log(2), rel=1e-6)
    assert losses[1] < losses[0] - 0.05


def test_sentences_can_be_read_again_and_long_ones_are_cut(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("a b\n" + "c " * 9_999 + "d\n\n" + "e\n", encoding="utf-8")
    sentences = Sentences((path, path))
    for _ in range(2):
        assert [len(sentence) for sentence in sentences] == [2, 10_000, 1] * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["corpus=nowhere/*.txt"], "corpus=nowhere/*.txt: no file matches"),
        (["heldout=nowhere.txt"], "corpus=nowhere.txt: no file matches"),
        (["out=v.txt"], "out=v.txt: must end in .safetensors"),
        (["buckets=0"], "buckets=0: must be a whole number above 0"),
        (["sample=0"], "sample=0: must be a number above 0"),
        (["dtype=int4"], "dtype=int4: unknown. Choose one of: float32, float16, int8."),
        (["shortest=4", "longest=3"], "shortest=4: above longest=3"),
    ],
)
def test_a_mistake_is_one_clear_line(corpus, monkeypatch, capsys, options, message):
    monkeypatch.chdir(corpus.parent)
    assert main(["pretrain-fasttext", "corpus=corpus.txt", "out=v.safetensors", *options]) == 2
    assert message in capsys.readouterr().err.strip().splitlines()[-1]


def test_without_gensim_the_error_says_what_to_install(corpus, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    monkeypatch.chdir(corpus.parent)
    assert main(["pretrain-fasttext", "corpus=corpus.txt", "out=v.safetensors"]) == 2
    assert "pip install 'elmo-bench[fasttext]'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_text_of_rare_words_is_a_clear_error(tmp_path, capsys):
    (tmp_path / "few.txt").write_text("a b\n", encoding="utf-8")
    arguments = [f"corpus={tmp_path / 'few.txt'}", f"out={tmp_path / 'v.safetensors'}"]
    assert main(["pretrain-fasttext", *arguments]) == 2
    assert "few.txt: no word occurs 5 times" in capsys.readouterr().err
