"""The encoder kind `elmo`: a biLM (see elmo_bench/elmo/), frozen or tuned.

It reads whole sentences, or one word at a time.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import used
from elmo_bench.elmo.batches import check_tokens, layers_of_words, zero_states
from elmo_bench.elmo.encoder import END, START, ElmoEncoder
from elmo_bench.elmo.frozen import moved
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.model import State
from elmo_bench.encoders import Encoder
from elmo_bench.encoders.tuning import FROZEN, Tuned, check_way
from elmo_bench.text.vocabulary import LONGEST_WORD


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
        sentences = check_tokens(sentences, "encode")
        rows: dict[str, int] = {}
        for sentence in sentences:
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


class TunedElmo(ElmoEncoder):
    """ELMo whose biLM is trained, all of it.

    Every sentence starts from zero states and `<S>`, as with the frozen one. The biLM
    has no dropout: its options name none. `tuned` and `encode` read with the current
    weights; no other method of `ElmoEncoder` is for a tuned one.
    """

    def __init__(self, *, weights: str, options: str | None, device: str):
        super().__init__(weights=weights, options=options, device=device)
        self.bilm.to(self.device).requires_grad_(True)
        self.tuned = Tuned(self.bilm, self._read_tuned, way="full")

    def _network_on(self, _device: torch.device) -> BatchedBiLM:
        """The network of the numbers that are trained, and no copy of them."""
        used("bilm", "batched float32")
        return BatchedBiLM(self.bilm)

    def encode(
        self, sentences: Sequence[Sequence[str]], *, markers: bool = False
    ) -> list[Tensor]:
        """As `ElmoEncoder.encode`, with the current weights."""
        self._forget()
        return super().encode(sentences, markers=markers)

    def _read_tuned(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """[L, T, D] of each sentence, with gradients.

        float32; under autocast bfloat16, if the network's products are.
        """
        marked = [(*START, *sentence, *END) for sentence in sentences]

        def start(table: Tensor) -> list[State]:
            return zero_states(self.bilm.options, len(marked), table)

        layers, lengths, _ = layers_of_words(self.network, self._vectors, marked, start)
        results = []
        for row, length in zip(layers, lengths, strict=True):
            results.append(row[:, 1 : length - 1])
        return results

    def _vectors(self, words: Sequence[str]) -> Tensor:
        """Vectors [1 + N, P] of N words; row 0 is zeros."""
        cut = [word[:LONGEST_WORD] for word in words]
        [ids] = moved(self.device, torch.from_numpy(self.ids(cut)))
        return functional.pad(self.network.characters(ids), (0, 0, 1, 0))


def load(
    *,
    weights: str = "mini",
    options: str | None = None,
    stateful: bool = False,
    device: str = "cpu",
    precision: str = "float32",
    context: bool = True,
    tune: str = FROZEN,
) -> Encoder:
    """The encoder of these weights (see `ElmoEncoder`).

    With `context=False`, of one word at a time; with `tune=full`, one that is trained.
    Raises UserError.
    """
    if tune == "lora":
        raise UserError(
            "encoder.contextual.tune=lora: ELMo has no attention, which adapters are "
            "for. Choose tune=full."
        )
    check_way(tune, precision=precision)
    if not isinstance(context, bool):
        raise UserError(
            f"encoder.contextual.context={context!r:.60}: give true or false"
        )
    if stateful and not context:
        raise UserError(
            "encoder.contextual.stateful=true: encoder.contextual.context=false starts "
            "each word from zero states. Leave one of them out."
        )
    if tune != FROZEN:
        if stateful or not context:
            how = "carries states (stateful=true)"
            if not context:
                how = "reads one word at a time (context=false)"
            raise UserError(
                f"encoder.contextual.tune={tune}: not for an ELMo that {how}. Choose "
                "tune=none, or encoder=elmo."
            )
        return TunedElmo(weights=weights, options=options, device=device)
    elmo = ElmoEncoder(
        weights=weights,
        options=options,
        stateful=stateful,
        device=device,
        precision=precision,
    )
    return elmo if context else WordsAlone(elmo)
