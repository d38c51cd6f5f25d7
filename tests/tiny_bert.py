"""A folder with a tiny BERT of random weights, as `save_pretrained` writes it."""

from pathlib import Path

import torch

BLOCKS, WIDTH = 2, 16
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##believ", "##able", "Anna", "lives", "here"]


def make_tiny_bert(folder: Path, *, seed: int = 0) -> Path:
    """Reads at most 32 positions; letters and the pieces above are all that it knows."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    letters = [chr(code) for code in range(33, 127)]
    pieces = list(dict.fromkeys([*PIECES, *letters, *(f"##{letter}" for letter in letters)]))
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        sizes = {"hidden_size": WIDTH, "num_hidden_layers": BLOCKS, "num_attention_heads": 2, "intermediate_size": 32}
        model = BertModel(BertConfig(vocab_size=len(pieces), max_position_embeddings=32, **sizes))
    model.save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=False).save_pretrained(folder)
    return folder
