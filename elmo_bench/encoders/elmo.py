"""The encoder kind `elmo`: a frozen biLM (see elmo_bench/elmo/).

It reads whole sentences, or one word at a time.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.batches import check_tokens
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.encoders import Encoder


class WordsAlone:
    """ELMo without context, as an `Encoder` (encoders/__init__.py).

    It reads each word as a sentence of one word. A word has all of the layers of that
    sentence, `<S> word </S>` from zero states, so its vectors are the same in every
    sentence. What ELMo adds to these is context. That is an upper bound of what context
    is worth, because ELMo saw few sentences of one word in training.
    """

    def __init__(self, elmo: ElmoEncoder):
        self.elmo = elmo
        self.layers = elmo.layers
        self.dim = elmo.dim
        self.parameters = elmo.parameters
        self.device = elmo.device
        self.files = elmo.files
        self.checksum = f"{elmo.checksum} words alone"

    def __repr__(self) -> str:
        return f"WordsAlone({self.elmo!r})"

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """float32 [L, T, D] of each sentence, on the encoder's device.

        Each distinct word goes through ELMo once. Raises UserError for a sentence that
        is not a list of strings.
        """
        rows: dict[str, int] = {}
        for sentence in check_tokens(sentences, "encode"):
            for word in sentence:
                rows.setdefault(word, len(rows))
        if not rows:
            empty = torch.zeros(self.layers, 0, self.dim, device=self.device)
            return [empty] * len(sentences)
        table = torch.cat(self.elmo.encode([(word,) for word in rows]), dim=1)  # LWD
        results = []
        for sentence in sentences:
            results.append(table[:, [rows[word] for word in sentence]])
        return results


def load(
    *,
    weights: str = "mini",
    options: str | None = None,
    stateful: bool = False,
    device: str = "cpu",
    precision: str = "float32",
    context: bool = True,
) -> Encoder:
    """The encoder of these weights (see `ElmoEncoder`).

    With `context=False`, of one word at a time. Raises UserError.
    """
    if not isinstance(context, bool):
        raise UserError(
            f"encoder.contextual.context={context!r:.60}: give true or false"
        )
    if stateful and not context:
        raise UserError(
            "encoder.contextual.stateful=true: encoder.contextual.context=false starts "
            "each word from zero states. Leave one of them out."
        )
    elmo = ElmoEncoder(
        weights=weights,
        options=options,
        stateful=stateful,
        device=device,
        precision=precision,
    )
    return elmo if context else WordsAlone(elmo)
