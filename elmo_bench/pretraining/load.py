"""A language model from files: the biLM that a name, folder or file stands for, and the softmax beside it."""

from collections.abc import Mapping

from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.pretrained import load_files, locate_with_softmax
from elmo_bench.encoders.int8 import read_tensors
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.vocabulary import TargetVocabulary

SAMPLES = 2048  # negatives, where the model is trained further and nobody says how many


def load_language_model(weights: str) -> tuple[LanguageModel, TargetVocabulary]:
    """The language model that `weights` (as of `pretrained.locate`) names, in evaluation mode, and its vocabulary.

    Raises UserError where there is no softmax beside the weights, or it does not fit them or its vocabulary.
    """
    options, file, softmax, words = locate_with_softmax(weights)
    bilm, _ = load_files(options, file)
    vocabulary = TargetVocabulary.read(words)
    shape = (len(vocabulary), bilm.options.projection_dim)
    tensors = read_tensors(softmax)
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if found != {"weight": shape, "bias": shape[:1]}:
        raise UserError(
            f"{softmax}: holds {found}; {words.name} and {options.name} ask for weight {shape} and bias {shape[:1]}. "
            "Do they belong together?"
        )
    return with_softmax(bilm, words=len(vocabulary), tensors=tensors).eval(), vocabulary


def with_softmax(
    bilm: BiLM, *, words: int, samples: int = SAMPLES, dropout: float = 0.0, tensors: Mapping[str, Tensor] | None = None
) -> LanguageModel:
    """A language model around this very biLM; its softmax has the values of `tensors`, or else random ones."""
    model = LanguageModel(bilm.options, words=words, samples=samples, dropout=dropout)
    model.bilm = bilm
    if tensors is not None:
        model.softmax.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return model
