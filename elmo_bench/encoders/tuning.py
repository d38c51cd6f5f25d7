"""An encoder that a run trains further, in place of one that is frozen.

Its layers are not stored: a batch has texts, and the embedder turns them into layers
in the head's forward pass, so that gradients reach the network. The trained weights are
a part of the head, so the optimiser, checkpoints and the file of the head contain them,
and nothing else of the network.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import console
from elmo_bench.elmo.frozen import moved
from elmo_bench.encoders import Encoder, Sentence
from elmo_bench.encoders.cache import LayerStore
from elmo_bench.encoders.checks import TEXTS

FROZEN = "none"  # encoder.contextual.tune for an encoder that is not trained
WAYS = (FROZEN, "lora", "full")
# Texts that a transformer of a tuned run reads at once on a CPU, at most. A frozen one
# reads many texts by length; a batch has few, so large pools would have much padding.
TRAINED_TEXTS = 8
# [L, T, D] of each sentence, with gradients: float32, or an ELMo's bfloat16 under
# autocast.
Read = Callable[[Sequence[Sequence[str]]], list[Tensor]]


def check_way(tune: str, *, precision: str) -> None:
    """Raises UserError for a value of encoder.contextual.tune that is not one of WAYS.

    Also for an encoder whose numbers are to be trained in less than float32.
    """
    if tune not in WAYS:
        raise UserError(
            f"encoder.contextual.tune={tune}: unknown. "
            f"Choose one of: {', '.join(WAYS)}."
        )
    if tune != FROZEN and precision != "float32":
        raise UserError(
            f"encoder.contextual.precision={precision}: for a frozen encoder. "
            "To tune one on a GPU, give trainer.precision=bf16-mixed."
        )


class Tuned(nn.Module):
    """The numbers of an encoder that are trained, and how it reads with them.

    Its parameters are the network's parameters that need gradients, named with `/` for
    `.`; frozen ones are neither in `parameters()` nor in `state_dict()`. They are kept
    whole, since a difference from the original would not give the same numbers back.
    The network uses dropout while it learns, and is in evaluation mode otherwise.
    """

    def __init__(self, network: nn.Module, read: Read, *, way: str):
        """way: `lora` or `full`. Parameters that no layer depends on are frozen."""
        super().__init__()
        self.way = way
        # In a tuple: not a child, whose frozen numbers would be in a checkpoint.
        self._network = (network,)
        self._read = read
        # Whether the head learns alone, with the encoder unchanged.
        self.rests = False
        _freeze_unread(network, read)
        trained = {}
        for name, parameter in network.named_parameters():
            if parameter.requires_grad:
                trained[name.replace(".", "/")] = parameter
        self.numbers = nn.ParameterDict(trained)

    @property
    def network(self) -> nn.Module:
        """The whole network, frozen parameters included."""
        [network] = self._network
        return network

    @property
    def count(self) -> int:
        """How many numbers are trained."""
        return sum(parameter.numel() for parameter in self.parameters())

    @property
    def frozen(self) -> int:
        """How many numbers of the network stay as they are."""
        numbers = sum(parameter.numel() for parameter in self.network.parameters())
        return numbers - self.count

    def forward(self, sentences: Sequence[Sentence]) -> Tensor:
        """[B, L, T, D] of B sentences, of the type of `Read`; zeros after an end."""
        learns = self.training and not self.rests
        self.network.train(learns)
        with torch.set_grad_enabled(learns and torch.is_grad_enabled()):
            return _padded(self._read(sentences))


def _padded(layers: Sequence[Tensor]) -> Tensor:
    """Layers [L, T, D] of each of B sentences -> [B, L, T, D], zeros after an end.

    torch's `pad_sequence` has the same numbers, but its backward pass copies the
    gradient of the whole batch once for each sentence.
    """
    lengths = [of_text.shape[1] for of_text in layers]
    longest = max(lengths)
    tokens = torch.cat([of_text.transpose(0, 1) for of_text in layers])  # NLD
    inside = torch.arange(longest) < torch.tensor(lengths)[:, None]  # BT
    [places] = moved(tokens.device, inside.flatten().nonzero()[:, 0])  # N
    padded = tokens.new_zeros(inside.numel(), *tokens.shape[1:])
    padded = padded.index_copy(0, places, tokens)
    return padded.unflatten(0, inside.shape).transpose(1, 2)


def _freeze_unread(network: nn.Module, read: Read) -> None:
    """Freeze the parameters that no layer of a few texts depends on.

    Prints how many numbers these are, unless they are a pooler's alone.
    """
    with torch.enable_grad():
        total = sum(layers.sum() for layers in read(TEXTS))
    assert isinstance(total, Tensor)
    total.backward()
    unread = 0
    for name, parameter in network.named_parameters():
        if parameter.grad is None:
            if parameter.requires_grad and "pooler" not in name:
                unread += parameter.numel()
            parameter.requires_grad_(False)
        parameter.grad = None
    if unread:
        console.print(
            f"encoder.contextual.tune: {unread:,} numbers stay frozen, because no "
            "layer of a few short sentences depends on them",
            highlight=False,
        )


class Texts:
    """The texts of a batch, in place of their layers: `layers` computes these once."""

    def __init__(self, sentences: Sequence[Sentence]):
        self.sentences = sentences
        self._layers: Tensor | None = None

    def layers(self, tuned: Tuned) -> Tensor:
        """Layers [B, L, T, D]; the same ones in every call."""
        if self._layers is None:
            self._layers = tuned(self.sentences)
        return self._layers

    def __getitem__(self, index: tuple[Any, ...]) -> "Texts":
        """`texts[rows, :, :longest]`: those rows (bool [B]), as of a tensor of layers.

        They are read anew, and the longest of them gives the length.
        """
        rows: Tensor = index[0]
        chosen = []
        for sentence, is_chosen in zip(self.sentences, rows.tolist(), strict=True):
            if is_chosen:
                chosen.append(sentence)
        return Texts(chosen)


class TextSource:
    """What a tuned encoder has in place of a `LayerStore`: nothing is kept."""

    def __init__(self, encoder: Encoder):
        self.encoder = encoder

    def fill(
        self, sentences: Iterable[Sentence], *, threads: int | None = None
    ) -> None:
        """Nothing: layers change with every step."""

    def batch(self, sentences: Sequence[Sentence]) -> Texts:
        """The texts of a batch."""
        return Texts(sentences)


Source = LayerStore | TextSource


def tuned_of(encoder: Any) -> Tuned | None:
    """What a run trains of an encoder; None of a frozen one."""
    tuned: Tuned | None = getattr(encoder, "tuned", None)
    return tuned


def tuned_part(encoders: Mapping[str, Encoder]) -> Tuned | None:
    """What a run trains of its encoders; None if they are frozen.

    Raises UserError for a stack with an encoder that is tuned.
    """
    trained = [tuned_of(encoder) for encoder in encoders.values()]
    if len(trained) > 1 and any(trained):
        raise UserError(
            "encoder.contextual.tune: an encoder of a stack cannot be tuned. "
            "Choose the encoder alone."
        )
    return trained[0] if trained else None


def source_of(encoder: Encoder, **store: Any) -> Source:
    """Where a head gets the layers of an encoder. store: options of `LayerStore`."""
    if tuned_of(encoder) is not None:
        return TextSource(encoder)
    return LayerStore(encoder, **store)
