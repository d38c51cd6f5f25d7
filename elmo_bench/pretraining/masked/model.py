"""The masked language model: a BERT of `transformers`, batches with masked words, and the loss at the masked pieces.

Batches are made on the device that holds the rows. Shape letters: B rows, T pieces, M masked pieces (a fixed number, so
that every step has the same shapes), V vocabulary.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from omegaconf import DictConfig
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.base.progress import console
from elmo_bench.pretraining.masked.text import CLS, MASK, PAD, SPECIAL

IGNORED = -100  # the target of an unused slot; the default of `cross_entropy`


@dataclass(frozen=True)
class Batch:
    """What the model reads and what it must predict."""

    ids: Tensor  # BT
    positions: Tensor  # BT, from 0 at each [CLS]
    sees: Tensor  # bool B1TT: pieces of the same sentence, or of the same row of sentences
    picked: Tensor  # M, places of the masked pieces in the flat batch
    targets: Tensor  # M, IGNORED in unused slots


def capacity(pieces: int, share: float) -> int:
    """Slots for masked pieces: the expected number and six standard deviations of independent draws."""
    mean = share * pieces
    return min(pieces, math.ceil(mean + 6 * math.sqrt(mean)))


def mask_words(rows: Tensor, *, share: float, vocabulary: int, generator: torch.Generator) -> Batch:
    """A batch of rows int16 [B, T] (see `text.py`) with this share of the words masked.

    A word is masked with all its pieces; of them 80 % become [MASK], 10 % a random piece, and 10 % stay (Devlin et al.
    2019, section 3.1). Markers and [UNK] are never masked. The generator is on the device of the rows.
    """
    raw = rows.long()  # BT
    starts = raw >= 0
    ids = torch.where(starts, raw, ~raw)
    place = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    opens = ids == CLS

    draw, kind = (torch.rand(ids.shape, device=ids.device, generator=generator) for _ in range(2))
    other = torch.randint(len(SPECIAL), vocabulary, ids.shape, device=ids.device, generator=generator)
    word = torch.where(starts, place, 0).cummax(dim=1).values  # BT, the place of the first piece of the piece's word
    chosen = (draw.gather(1, word) < share) & (ids >= len(SPECIAL))
    read = torch.where(chosen & (kind < 0.8), MASK, torch.where(chosen & (kind >= 0.9), other, ids))

    sentence = opens.cumsum(dim=1).masked_fill(ids == PAD, 0)  # BT
    picked, targets = _slots(chosen.flatten(), ids.flatten(), capacity(ids.numel(), share))
    return Batch(
        ids=read,
        positions=place - torch.where(opens, place, 0).cummax(dim=1).values,
        sees=(sentence[:, :, None] == sentence[:, None, :])[:, None],
        picked=picked,
        targets=targets,
    )


def _slots(chosen: Tensor, ids: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Places and ids of the chosen pieces in `size` slots. Waits for no device, as `nonzero` would."""
    slot = torch.where(chosen, chosen.cumsum(dim=0) - 1, size).clamp(max=size)  # the last slot is dropped
    picked = torch.zeros(size + 1, dtype=torch.long, device=ids.device)
    targets = torch.full((size + 1,), IGNORED, device=ids.device)
    picked[slot] = torch.arange(len(ids), device=ids.device)
    targets[slot] = ids
    return picked[:size], targets[:size]


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
