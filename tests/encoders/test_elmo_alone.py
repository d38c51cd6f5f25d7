"""`encoder=elmo_alone`: ELMo reads each word as a sentence of its own, with all of its layers and no context."""

import pytest
import torch

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.encoders import elmo
from elmo_bench.encoders.checks import check_encoder
from elmo_bench.runner.heads import build_stores
from elmo_bench.runner.plan import plan
from elmo_bench.runner.prepare import load_frozen
from tests.runs import GOLDEN, described

SENTENCES = [("The", "cat", "sat", "on", "the", "cat", "."), (), ("naïve",), ("cat", "The")]


@pytest.fixture(scope="module")
def alone():
    return elmo.load(weights=str(GOLDEN), context=False)


@pytest.fixture(scope="module")
def whole():
    return ElmoEncoder(weights=str(GOLDEN))


def test_a_word_has_the_layers_of_a_sentence_of_that_word(alone, whole):
    for sentence, layers in zip(SENTENCES, alone.encode(SENTENCES), strict=True):
        assert layers.shape == (3, len(sentence), 32)
        for position, word in enumerate(sentence):
            [expected] = whole.encode([(word,)])
            torch.testing.assert_close(layers[:, position], expected[:, 0], atol=1e-5, rtol=0)


def test_layer_0_is_that_of_elmo_and_the_others_differ(alone, whole):
    for ours, theirs in zip(alone.encode(SENTENCES), whole.encode(SENTENCES), strict=True):
        torch.testing.assert_close(ours[0], theirs[0], atol=1e-5, rtol=0)
        if ours.shape[1] > 1:
            assert (ours[1:] - theirs[1:]).abs().max() > 0.01


def test_a_word_has_the_same_vectors_wherever_it_is(alone):
    first, _, _, last = alone.encode(SENTENCES)
    assert torch.equal(first[:, 1], first[:, 5])
    torch.testing.assert_close(first[:, 0], last[:, 1], atol=1e-6, rtol=0)


def test_it_keeps_the_contract_of_an_encoder(alone):
    check_encoder(alone, name="elmo_alone")


def test_each_distinct_word_is_encoded_once(monkeypatch):
    encoder = elmo.load(weights=str(GOLDEN), context=False)
    read = []
    encode = encoder.elmo.encode
    monkeypatch.setattr(encoder.elmo, "encode", lambda sentences: read.extend(sentences) or encode(sentences))
    encoder.encode(SENTENCES)
    assert sorted(read) == sorted({(word,) for sentence in SENTENCES for word in sentence})


def test_a_warm_cache_of_elmo_serves_it_nothing(tmp_path):
    """The two share weights, so a checksum of the weights alone would hand out the contextual layers."""
    options = ("task=ner", f"encoder.weights={GOLDEN}", "store=disk", f"store.folder={tmp_path}")
    layers = {}
    for name in ("elmo", "elmo_alone"):
        spec, setup = described(*options, f"encoder={name}")
        encoders = load_frozen(spec, setup, {"The", "cat"}).encoders
        [store] = build_stores(setup, encoders).values()
        store.fill(SENTENCES)
        layers[name] = store.batch(SENTENCES)
    assert not torch.equal(layers["elmo"], layers["elmo_alone"])
    torch.testing.assert_close(layers["elmo"][:, 0], layers["elmo_alone"][:, 0], atol=1e-5, rtol=0)


def test_its_checksum_is_not_elmos(alone, whole):
    assert alone.checksum != whole.checksum
    assert elmo.load(weights=str(GOLDEN), context=True).checksum == whole.checksum


def test_runs_with_and_without_context_are_two_runs_and_elmos_is_as_it_was():
    runs = {run.spec.encoder: run.spec for run in plan(["task=ner", "encoder=elmo,elmo_alone", "seed=0"]).runs}
    assert runs["elmo_alone"].settings["encoder.contextual.context"] is False
    assert "encoder.contextual.context" not in runs["elmo"].settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stateful": True, "context": False}, "context=false starts each word from zero states"),
        ({"context": "no"}, r"context='no': give true or false"),
        ({"context": None}, r"context=None: give true or false"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(UserError, match=message):
        elmo.load(weights=str(GOLDEN), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["mix=first"], "encoder=elmo_alone mix=first: the same run as encoder=elmo_word. Use that name."),
        (["encoder.contextual.context=true"], "the same run as without the option. Choose encoder=elmo."),
    ],
)
def test_a_run_with_another_name_is_refused(options, message, capsys):
    assert main(["run", "task=ner", "encoder=elmo_alone", *options]) != 0
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("sentences", ["The cat", [("The", 3)]])
def test_what_is_no_list_of_words_is_refused(alone, sentences):
    with pytest.raises(UserError):
        alone.encode(sentences)
