"""A sentence of 5,000 tokens is predicted at the paper's sizes in 4 GiB."""

import subprocess
import sys

import pytest

from tests.runs import ROOT

PREDICT = """
import resource, sys, torch
from importlib import import_module
from tests.heads import built
from tests.runs import GOLDEN
task, module, example = sys.argv[1:]
names = {"m": import_module(f"elmo_bench.tasks.{module}"), "words": tuple(f"word{n}" for n in range(5000))}
example = eval(example, names)
made = built(task, "size=paper", "encoder=elmo", f"encoder.weights={GOLDEN}", "data.max_train=50")
with torch.no_grad():
    [found] = made.head.eval().predict(made.head.collate([example], made.index))
assert task in ("coref", "snli", "squad", "sst5") or len(found) == 5000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
EXAMPLES = {  # (a module, an example of its classes)
    "coref": ("coref.conll", "m.Document('nw/x', '000', 'nw', tuple(words[at : at + 40] for at in range(0, 5000, 40)),"
    " ('-',) * 5000, ())"),
    "snli": ("snli.data", "m.Pair(words, words[:9], '-')"),
    "ner": ("ner.data", "m.TaggedSentence(words, ('O',) * 5000)"),
    "srl": ("srl.columns", "m.Proposition(m.Sentence(words, 0, (), ()), 2500, 'word', None)"),
    "squad": ("squad.build", "m.Question('q', ('who', '?'), m.Passage(' '.join(words), words,"
    " tuple((at * 10, at * 10 + 8) for at in range(5000))), (), ())"),
    "sst5": ("sst5.data", "m.Phrase(words, None)"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("task", EXAMPLES)
def test_a_sentence_of_5000_tokens_is_predicted_within_4_gib(task):
    command = [sys.executable, "-c", PREDICT, task, *EXAMPLES[task]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(f"{task}: {float(done.stdout):.0f} MiB")
    assert float(done.stdout) < 4096
