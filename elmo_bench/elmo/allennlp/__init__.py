"""AllenNLP's `Elmo` and `batch_to_ids`: code written for AllenNLP 2.10.1 runs after its import is changed."""

from elmo_bench.elmo.allennlp.module import Elmo, batch_to_ids

__all__ = ["Elmo", "batch_to_ids"]
