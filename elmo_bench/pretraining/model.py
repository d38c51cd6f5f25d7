"""The bidirectional language model: the biLM, a softmax shared by both directions, and loading."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from elmo_bench.base.errors import UserError
from elmo_bench.base.int8 import read_tensors
from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.pretrained import locate_with_softmax
from elmo_bench.elmo.weights import initialise, load_files
from elmo_bench.pretraining.encode import TargetVocabulary


class LanguageModel(nn.Module):
    """Forward and backward language model with shared characters and softmax (Peters et al. 2018, section 3.1)."""

    def __init__(self, bilm: BiLM, *, words: int, dropout: float = 0.0, tensors: Mapping[str, Tensor] | None = None):
        """`tensors` are the softmax's `weight` [words, P] and `bias` [words]; without them its numbers are random."""
        super().__init__()
        self.bilm, self.dropout = bilm, dropout
        self.softmax = nn.Linear(bilm.options.projection_dim, words, device="meta").to_empty(device="cpu")
        if tensors is None:
            nn.init.normal_(self.softmax.weight, std=1 / math.sqrt(self.softmax.in_features))
            nn.init.zeros_(self.softmax.bias)
        else:
            self.softmax.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})


def new_language_model(options: BiLMOptions, *, words: int, dropout: float, seed: int) -> LanguageModel:
    """A model with the initial values of a seed."""
    torch.manual_seed(seed)
    bilm = BiLM(options)
    initialise(bilm)
    return LanguageModel(bilm, words=words, dropout=dropout)


def load_language_model(weights: str) -> tuple[LanguageModel, TargetVocabulary]:
    """The language model that `weights` (as of `pretrained.locate`) names, in evaluation mode, and its vocabulary.

    Raises UserError if no softmax is next to the weights, or if it does not fit them or its vocabulary.
    """
    options, file, softmax, words = locate_with_softmax(weights)
    bilm, _ = load_files(options, file)
    vocabulary = TargetVocabulary.read(words)
    shape = (len(vocabulary), bilm.options.projection_dim)
    tensors = read_tensors(softmax)
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if shapes != {"weight": shape, "bias": shape[:1]}:
        raise UserError(
            f"{softmax}: has {shapes}; {words.name} and {options.name} need weight {shape} and bias {shape[:1]}. "
            "Give files of one training."
        )
    return LanguageModel(bilm, words=len(vocabulary), tensors=tensors).eval(), vocabulary
