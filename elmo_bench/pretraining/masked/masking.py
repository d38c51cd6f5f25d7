"""A batch for the masked language model, made from rows of pieces on the device where they lie.

Shape letters: B rows, T pieces, M masked pieces (a fixed number, so that every step has the same shapes).
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

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
