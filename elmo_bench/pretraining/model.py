"""The bidirectional language model: the biLM, a softmax shared by both directions, and loading."""

from collections.abc import Mapping

from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.base.int8 import read_tensors
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.model import BiLM, State
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.pretrained import load_files, locate_with_softmax
from elmo_bench.elmo.weights import initialise
from elmo_bench.pretraining.softmax import SampledSoftmax
from elmo_bench.pretraining.vocabulary import TargetVocabulary


class LanguageModel(nn.Module):
    """Forward and backward language model with shared characters and softmax (Peters et al. 2018, section 3.1)."""

    def __init__(self, options: BiLMOptions, *, words: int, samples: int, dropout: float):
        super().__init__()
        self.bilm = BiLM(options)
        self.softmax = SampledSoftmax(words=words, features=options.projection_dim, samples=samples)
        self.dropout = dropout
        initialise(self.bilm)

    def features(self, ids: Tensor, words: Tensor, states: list[State], sizes: list[int], keep: Tensor | None):
        """Characters [N, C] of distinct words, rows of them [2, T, B] -> top layer [2, T, B, P] and the last states."""
        network = BatchedBiLM(self.bilm)
        vectors = network.characters(ids)  # NP
        outputs, states = network.contextual(vectors, words, states, sizes, keep=keep, dropout=self.dropout)
        return functional.dropout(outputs[-1], self.dropout, self.training), states

    def loss(self, x: Tensor, targets: Tensor) -> Tensor:
        """Sampled loss [2] of the two directions, negatives drawn for each; x [2, T, B, P], targets [2, T, B]."""
        return self.softmax.sampled(x.flatten(1, 2), targets.flatten(1))


SAMPLES = 2048  # negatives in further training, by default


def load_language_model(weights: str) -> tuple[LanguageModel, TargetVocabulary]:
    """The language model that `weights` (as of `pretrained.locate`) names, in evaluation mode, and its vocabulary.

    Raises UserError if no softmax is next to the weights, or if it does not fit them or its vocabulary.
    """
    options, file, softmax, words = locate_with_softmax(weights)
    bilm, _ = load_files(options, file)
    vocabulary = TargetVocabulary.read(words)
    shape = (len(vocabulary), bilm.options.projection_dim)
    tensors = read_tensors(softmax)
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if found != {"weight": shape, "bias": shape[:1]}:
        raise UserError(
            f"{softmax}: has {found}; {words.name} and {options.name} need weight {shape} and bias {shape[:1]}. "
            "Give files of one training."
        )
    return with_softmax(bilm, words=len(vocabulary), tensors=tensors).eval(), vocabulary


def with_softmax(
    bilm: BiLM, *, words: int, samples: int = SAMPLES, tensors: Mapping[str, Tensor] | None = None
) -> LanguageModel:
    """A language model that contains this biLM object; its softmax has the values of `tensors`, or random ones."""
    model = LanguageModel(bilm.options, words=words, samples=samples, dropout=0.0)
    model.bilm = bilm
    if tensors is not None:
        model.softmax.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return model
