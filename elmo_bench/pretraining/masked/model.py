"""The masked language model: a BERT of `transformers`, and its loss at the masked pieces alone."""

from collections.abc import Callable
from typing import Any

import torch
from omegaconf import DictConfig
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.base.progress import console
from elmo_bench.pretraining.masked.masking import IGNORED, Batch, mask_words
from elmo_bench.pretraining.masked.text import PAD

Loss = Callable[..., Tensor]  # of the fields of a `Batch`


def new_model(config: DictConfig) -> Any:
    """A `BertForMaskedLM` with random weights, in the shape of the options of `conf/pretrain-masked.yaml`."""
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(config.seed)
    return BertForMaskedLM(
        BertConfig(
            vocab_size=config.vocabulary,
            hidden_size=config.hidden,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            intermediate_size=4 * config.hidden,
            max_position_embeddings=config.width,
            type_vocab_size=1,
            hidden_dropout_prob=config.dropout,
            attention_probs_dropout_prob=config.dropout,
            layer_norm_eps=1e-12,
            pad_token_id=PAD,
        )
    )


class MaskedLoss(nn.Module):
    """The mean loss at the masked pieces; logits [M, V] are computed there alone."""

    def __init__(self, model: Any):
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, positions: Tensor, sees: Tensor, picked: Tensor, targets: Tensor) -> Tensor:
        """The fields of a `Batch`; a scalar."""
        hidden = self.model.bert(input_ids=ids, position_ids=positions, attention_mask=sees).last_hidden_state  # BTH
        logits = self.model.cls(hidden.flatten(0, 1).index_select(0, picked))  # MV
        return functional.cross_entropy(logits.float(), targets, ignore_index=IGNORED)


def compiled(loss: MaskedLoss, example: Batch, autocast: Callable[[], Any]) -> Loss:
    """The loss under torch.compile, tried forward and backward on a batch; if that fails, the loss itself."""
    try:
        faster: Loss = torch.compile(loss, dynamic=False)
        with autocast():
            value = faster(**vars(example))
        value.backward()
        if not torch.isfinite(value):
            raise RuntimeError(f"the compiled loss is {value.item()}")
    except Exception as error:
        why = next(iter(str(error).strip().splitlines()), type(error).__name__)
        console.print(f"not compiled, which is slower: {why}", highlight=False)
        faster = loss
    loss.zero_grad()
    return faster


@torch.no_grad()
def heldout_loss(
    loss: MaskedLoss, rows: Tensor, *, batch: int, share: float, vocabulary: int, autocast: Callable[[], Any]
) -> float:
    """The mean loss over the masked pieces of all rows [R, T], with masks that depend on the rows alone."""
    generator = torch.Generator(rows.device).manual_seed(0)
    loss.eval()
    total = torch.zeros(2, dtype=torch.float64, device=rows.device)  # sum of losses, masked pieces
    for some in rows.split(batch):
        made = mask_words(some, share=share, vocabulary=vocabulary, generator=generator)
        masked = (made.targets != IGNORED).sum()
        with autocast():
            mean = loss(**vars(made))
        total += torch.stack([torch.where(masked > 0, mean.double() * masked, 0.0), masked.double()])
    loss.train()
    return float(total[0] / total[1])
