"""`encoder=hf` on other architectures, and how the pieces of a word become its vector."""

import shutil

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.encoders.hf import HfEncoder
from tests.runs import first_rows
from tests.tiny_bert import make_tiny_bert

transformers = pytest.importorskip("transformers")
TEXTS = [("un", "believable", "a"), ("Anna",), ("a", "\x07", "unbelievable", "b", "a")]
SIZES = {
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32},
    "xlnet": {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A tiny model of each architecture, with the pieces of tiny-bert."""
    root = tmp_path_factory.mktemp("models")
    bert = make_tiny_bert(root / "bert")
    tokeniser = transformers.AutoTokenizer.from_pretrained(bert)
    made = {"bert": bert}
    for kind, sizes in SIZES.items():
        torch.manual_seed(0)
        config = transformers.AutoConfig.for_model(kind, vocab_size=len(tokeniser), **sizes)
        transformers.AutoModel.from_config(config).save_pretrained(root / kind)
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokeniser.backend_tokenizer, unk_token="[UNK]", pad_token="[PAD]"
        ).save_pretrained(root / kind)
        made[kind] = root / kind
    return made


def by_hand(folder, words, pooling):
    """transformers alone, a sentence at a time, word by word: [L, T, D]."""
    tokeniser, model = (kind.from_pretrained(folder) for kind in (transformers.AutoTokenizer, transformers.AutoModel))
    coded = tokeniser(list(words), is_split_into_words=True)
    with torch.no_grad():
        output = model.eval()(torch.tensor([coded["input_ids"]]), output_hidden_states=True)
    states = torch.stack(output.hidden_states)[:, 0]  # LPD
    rows = []
    for number in range(len(words)):
        pieces = [piece for piece, word in enumerate(coded.word_ids()) if word == number]
        chosen = {"first": pieces[:1], "last": pieces[-1:], "mean": pieces}[pooling]
        rows.append(states[:, chosen].mean(1) if chosen else torch.zeros(len(states), states.shape[2]))
    return torch.stack(rows, dim=1)


@pytest.mark.parametrize(
    ("kind", "pooling"),
    first_rows(
        [
            ("bert", "last"),
            ("gpt2", None),
            ("xlnet", "mean"),
            ("gpt2", "first"),
            *((kind, None) for kind in ("bert", *SIZES) if kind != "gpt2"),
        ],
        3,
    ),
)
def test_layers_are_those_of_transformers(folders, kind, pooling):
    encoder = HfEncoder(weights=str(folders[kind]), pooling=pooling)
    wanted = pooling or ("last" if kind == "gpt2" else "first")
    assert (encoder.pooling, encoder.layers, encoder.dim) == (wanted, 3, 16)
    for words, layers in zip(TEXTS, encoder.encode(TEXTS), strict=True):
        torch.testing.assert_close(layers, by_hand(folders[kind], words, wanted), atol=2e-5, rtol=0)


def test_another_pooling_has_another_checksum(folders):
    checksums = [HfEncoder(weights=str(folders["bert"]), pooling=each).checksum for each in (None, "last", "mean")]
    assert len({*checksums}) == 3
    assert HfEncoder(weights=str(folders["bert"]), pooling="first").checksum == checksums[0]
    with pytest.raises(UserError, match=r"pooling=max: unknown\. Choose one of: first, last, mean"):
        HfEncoder(weights=str(folders["bert"]), pooling="max")


@pytest.mark.slow
def test_a_tokeniser_that_does_not_number_words_is_refused(folders, tmp_path):
    for name in ("config.json", "model.safetensors"):
        shutil.copy(folders["bert"] / name, tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "CanineTokenizer"}')
    with pytest.raises(UserError, match="its tokeniser does not number words"):
        HfEncoder(weights=str(tmp_path))
