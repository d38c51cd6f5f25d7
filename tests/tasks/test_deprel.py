"""Dependency relations: reading, the softmax on a word and its head."""

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.tasks.deprel.data import ROOT, Data, Sentence
from elmo_bench.tasks.deprel.head import Head
from elmo_bench.text.batch import Indexer

CONLLU = """# text = I can't.
1\tI\tI\tPRON\tPRP\t_\t3\tnsubj\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\t_\t3\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t0\troot\t_\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_
"""
READ = Sentence(("I", "ca", "n't", "."), (2, 2, ROOT, 2), ("nsubj", "aux", "root", "punct"))


def test_conllu(tmp_path):
    path = tmp_path / "x.conllu"
    path.write_text(CONLLU)
    assert Data().read_file(path) == [READ]
    path.write_text(CONLLU.replace("\t3\tpunct", "\t9\tpunct"))
    with pytest.raises(UserError, match=r"x\.conllu:7: head '9' is not a word of the sentence"):
        Data().read_file(path)


class Numbered(torch.nn.Module):
    """An embedder whose vector of a word is its number in its sentence, from 1."""

    probe_dim = 1

    def for_probe(self, text):
        return (torch.arange(text.mask.shape[1])[None, :, None] + 1.0) * text.mask[:, :, None]


def test_the_softmax_reads_a_word_and_its_head_and_zeros_for_a_root():
    head = Head(Numbered(), labels=["a", "b"])
    read = []
    head.probe.register_forward_pre_hook(lambda _module, given: read.extend(given))
    short = Sentence(("No", "."), (ROOT, 0), ("root", "punct"))
    batch = head.collate([READ, short], Indexer(words=None, characters=None, layers={}))
    head(batch)
    assert read[0].tolist() == [[1, 3], [2, 3], [3, 0], [4, 3], [1, 0], [2, 1]]
    assert batch["labels"][4:].tolist() == [0, 0]


def test_a_word_without_a_label_is_not_in_the_loss():
    torch.manual_seed(0)
    head = Head(Numbered(), labels=["a", "b"])
    index = Indexer(words=None, characters=None, layers={})
    losses = [head.loss(head.collate([Sentence(("x", "y"), (ROOT, 0), ("a", other))], index)) for other in "ab_"]
    scores = head(head.collate([Sentence(("x", "y"), (ROOT, 0), ("a", "a"))], index))
    alone = torch.nn.functional.cross_entropy(scores[:1], torch.tensor([0]))
    assert losses[2] == alone not in losses[:2]
