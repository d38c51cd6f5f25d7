"""`batch_to_ids`, and mistakes in what the drop-in is given: one line each."""

import re

import pytest
import torch

from elmo_bench import Elmo, ElmoEmbedder, ElmoEncoder, batch_to_ids
from elmo_bench.base.errors import UserError
from elmo_bench.encoders.elmo import WordsAlone
from tests.elmo.recorded import FILES
from tests.runs import GOLDEN

IDS = batch_to_ids([["A", "word"]])


def test_ids_are_those_of_the_original():
    ids = batch_to_ids([["a", "é"], ["b"]])
    assert (ids.dtype, tuple(ids.shape)) == (torch.int64, (2, 2, 50))
    # begin-word 259, a byte plus one, end-word 260, padding 261 (bilm-tf, bilm/data.py)
    assert ids[0, 0].tolist() == [259, 98, 260, *[261] * 47]
    assert ids[0, 1, :5].tolist() == [259, 0xC3 + 1, 0xA9 + 1, 260, 261]
    assert not ids[1, 1].any()
    assert batch_to_ids([[""]])[0, 0, :3].tolist() == [259, 260, 261]
    assert batch_to_ids([["<S>"]])[0, 0, :3].tolist() == [259, 257, 260]


def one_line(said: str, function, *arguments, **named) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        function(*arguments, **named)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (IDS[0], "inputs: torch.int64 [2, 50], expected integers from 0 to 261, [B, T, 50]"),
        (IDS.float(), "inputs: torch.float32 ["),
        (IDS > 0, "inputs: torch.bool ["),
        (IDS + 1, "expected integers from 0 to 261"),
        (IDS - 67, "expected integers from 0 to 261"),
        (IDS * torch.tensor([0, 1])[:, None], "padding before a token"),
        (IDS.tolist(), "inputs: list, expected"),
        (None, "inputs: NoneType, expected"),
    ],
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_inputs_that_do_not_fit(inputs, said, requires_grad):
    one_line(said, Elmo(*FILES, 1, requires_grad=requires_grad), inputs)


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((FILES[0], None, 1), {}, "weight_file: missing"),
        ((FILES[0], "nowhere.hdf5", 1), {}, "nowhere.hdf5: no such file"),
        (("mini", "mini", 1), {}, "mini has options of its own. Leave them out"),
        ((None, "tiny", 1), {}, "or one of: mini, small"),
        ((*FILES, 0), {}, "num_output_representations=0: too few"),
        ((*FILES, 1), {"scalar_mix_parameters": [1.0, 2.0]}, "=[1.0, 2.0]: wrong length. Give 3 numbers"),
        ((*FILES, 1), {"precision": "half"}, "precision=half: unknown. Choose one of"),
        ((*FILES, 1), {"precision": "int8", "requires_grad": True}, "precision=int8: for a frozen biLM only"),
        ((None, None, 1), {"module": torch.nn.Linear(1, 1)}, "None for both and module=: a BiLM or an ElmoEncoder"),
    ],
)
def test_arguments_that_do_not_fit(arguments, options, said):
    one_line(said, Elmo, *arguments, **options)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("A sentence", "'A sentence' is a string, expected a list of sentences. Give ['A sentence'.split()]"),
        (["a dog"], "'a dog' is a str, expected a list of tokens."),
        ([["a"], None], "None is a NoneType, expected a list of tokens"),
        ([["a", None]], "token 1 of sentence 0 (counted from 0) is None. Give strings"),
        ([[b"a"]], "token 0 of sentence 0 (counted from 0) is b'a'. Give strings"),
    ],
)
def test_what_is_no_list_of_lists_of_strings(given, said):
    for call in (batch_to_ids, ElmoEncoder(weights=str(GOLDEN)).encode):
        one_line(f"{call.__name__}: {said}", call, given)


def test_sentences_that_can_be_read_once_are_read_once():
    sentences = [["A", "Dog"], [], ["Ran"]]
    lower = [[word.lower() for word in sentence] for sentence in sentences]
    encoder = ElmoEncoder(weights=str(GOLDEN))
    alone = WordsAlone(encoder)
    assert torch.equal(batch_to_ids(map(str.lower, sentence) for sentence in sentences), batch_to_ids(lower))
    for encode in (encoder.encode, alone.encode):
        once = ((word.lower() for word in sentence) for sentence in sentences)
        assert all(map(torch.equal, encode(once), encode(lower)))
    once = [map(str.lower, sentence) for sentence in sentences]
    assert torch.equal(encoder.outputs(once)["elmo"], encoder.outputs(lower)["elmo"])


def test_a_device_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    one_line("device=cuda: no such device here. Use cpu", ElmoEncoder, device="cuda")
    one_line("device=cuda:0: no such device here", ElmoEmbedder, *FILES, cuda_device=0)
    one_line("device=abacus: no such device here. Use cpu", ElmoEncoder, device="abacus")


def test_an_encoder_says_what_it_is():
    assert repr(ElmoEncoder()) == "ElmoEncoder(mini: 3 layers x 512, 11,902,800 parameters, cpu)"


def test_a_string_is_no_list_of_sentences():
    one_line("outputs: a string, expected a list of sentences", ElmoEncoder(weights=str(GOLDEN)).outputs, "A word")
