"""`Elmo` and `batch_to_ids` of AllenNLP 2.10.1, `ElmoEmbedder` of 0.9: old code runs after its import is changed."""

from elmo_bench.elmo.allennlp.embedder import ElmoEmbedder
from elmo_bench.elmo.allennlp.ids import batch_to_ids
from elmo_bench.elmo.allennlp.module import Elmo

__all__ = ["Elmo", "ElmoEmbedder", "batch_to_ids"]
