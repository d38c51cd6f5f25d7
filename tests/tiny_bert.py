"""A folder with a tiny BERT of random weights, as `save_pretrained` writes it."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

BLOCKS, WIDTH = 2, 16
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##believ", "##able", "Anna", "lives", "here"]


def make_tiny_bert(folder: Path) -> Path:
    """Reads at most 32 positions; letters and the pieces above are all that it knows."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    letters = [chr(code) for code in range(33, 127)]
    pieces = list(dict.fromkeys([*PIECES, *letters, *(f"##{letter}" for letter in letters)]))
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = {"hidden_size": WIDTH, "num_hidden_layers": BLOCKS, "num_attention_heads": 2, "intermediate_size": 32}
        model = BertModel(BertConfig(vocab_size=len(pieces), max_position_embeddings=32, **sizes))
    model.save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=False).save_pretrained(folder)
    return folder


RANK, ALPHA = 2, 8
LORA = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "target_modules": ["query"]}
UNUSED = {"base_model_name_or_path": "x", "task_type": "TOKEN_CLS", "inference_mode": True, "lora_dropout": 0.1}


def lora_matrices(prefix="", *, rank=RANK):
    """The two matrices of each block's query, under the names that `peft` saves."""
    torch.manual_seed(0)
    tensors = {}
    for block in range(BLOCKS):
        name = f"base_model.model.{prefix}encoder.layer.{block}.attention.self.query"
        tensors[f"{name}.lora_A.weight"] = torch.randn(rank, WIDTH)
        tensors[f"{name}.lora_B.weight"] = torch.randn(WIDTH, rank)
    return tensors


def make_adapter(folder: Path, tensors=None, **config) -> Path:
    """A LoRA adapter of the tiny BERT, as `peft` saves it, in a folder that may have the model."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps(LORA | UNUSED | config))
    save_file(lora_matrices() if tensors is None else tensors, folder / "adapter_model.safetensors")
    return folder
