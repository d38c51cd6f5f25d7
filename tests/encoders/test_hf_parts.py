"""`encoder=hf` with models that read images, too: their language model is the encoder."""

import json
import logging

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.encoders.hf import HfEncoder
from tests.encoders.test_hf_tokenisers import WORDS, word_piece, write
from tests.runs import first_ones

transformers = pytest.importorskip("transformers")
TEXT = {
    "vocab_size": 400,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "max_position_embeddings": 64,
}
VISION = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}
QWEN_VISION = {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 16}
GEMMA = {"text_config": TEXT, "vision_config": VISION, "mm_tokens_per_image": 4}
KINDS = {
    "gemma3": GEMMA,
    "qwen3_5": {
        "text_config": TEXT | {"layer_types": ["linear_attention", "full_attention"]},
        "vision_config": QWEN_VISION,
    },
    "mistral3": {
        "text_config": {"model_type": "mistral"} | TEXT,
        "vision_config": {"model_type": "pixtral"} | VISION,
    },
    "t5gemma2": {"encoder": GEMMA, "decoder": TEXT},
}


@pytest.fixture
def saved(tmp_path):
    """Saves a tiny model of a kind with a tokeniser; returns its folder."""

    def save(kind):
        logging.getLogger("transformers").setLevel(logging.ERROR)
        torch.manual_seed(0)
        config = transformers.AutoConfig.for_model(kind, **KINDS[kind])
        transformers.AutoModel.from_config(config).save_pretrained(tmp_path)
        tokeniser = word_piece(lowercase=False)
        options = json.loads((tmp_path / "config.json").read_text())
        write(tmp_path, tokeniser, "PreTrainedTokenizerFast", kind)
        (tmp_path / "config.json").write_text(json.dumps(options))
        return tmp_path

    return save


@pytest.mark.parametrize("kind", first_ones(KINDS, 2))
def test_the_language_model_is_the_encoder(saved, kind):
    """The layers equal the layers of transformers' text model on the same pieces."""
    folder = saved(kind)
    encoder = HfEncoder(weights=str(folder), pooling="first")
    assert (encoder.layers, encoder.dim) == (3, 16)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    text = model.encoder.text_model if kind == "t5gemma2" else model.language_model
    assert {name for name, _ in encoder.model.named_parameters()} == {name for name, _ in text.named_parameters()}
    coded = encoder.words.backend.encode([*WORDS], is_pretokenized=True)
    with torch.no_grad():
        states = text(torch.tensor([coded.ids]), output_hidden_states=True).hidden_states
    firsts = [coded.word_ids.index(number) for number in range(len(WORDS))]
    expected = torch.stack(states)[:, 0, firsts]
    [layers] = encoder.encode([WORDS])
    torch.testing.assert_close(layers, expected, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("where", ["text_config", "vision_config"])
def test_a_part_with_more_layers_than_the_weights_hold_is_refused_before_it_is_built(saved, where):
    folder = saved("gemma3")
    config = json.loads((folder / "config.json").read_text())
    config[where]["num_hidden_layers"] = 10**9
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="not the configuration of these weights"):
        HfEncoder(weights=str(folder))
