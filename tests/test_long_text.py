"""A sentence of 5,000 tokens is predicted at the paper's sizes in 4 GiB."""

import subprocess
import sys

import pytest

from tests.runs import ROOT

PREDICT = """
import resource, sys, torch
from tests.heads import built
from tests.runs import GOLDEN
task, example = sys.argv[1], eval(sys.argv[2], {"words": tuple(f"word{n}" for n in range(5000))})
made = built(task, "size=paper", "encoder=elmo", f"encoder.weights={GOLDEN}", "data.max_train=50")
with torch.no_grad():
    [found] = made.head.eval().predict(made.head.collate([example], made.index))
assert task in ("coref", "snli", "squad", "sst5") or len(found) == 5000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
EXAMPLES = {
    "coref": "__import__('elmo_bench.tasks.coref.document').tasks.coref.document.Document("
    "'nw/x', '000', 'nw', tuple(words[at : at + 40] for at in range(0, 5000, 40)), ('-',) * 5000, ())",
    "snli": "__import__('elmo_bench.tasks.snli.pair').tasks.snli.pair.Pair(words, words[:9], '-')",
    "ner": "__import__('elmo_bench.text.sentence').text.sentence.TaggedSentence(words, ('O',) * 5000)",
    "srl": "(lambda m: m.Proposition(m.Sentence(words, 0, (), ()), 2500, 'word', None))"
    "(__import__('elmo_bench.tasks.srl.proposition').tasks.srl.proposition)",
    "squad": "(lambda m: m.Question('q', ('who', '?'), m.Passage(' '.join(words), words, tuple((at * 10, at * 10 + 8) "
    "for at in range(5000))), (), ()))(__import__('elmo_bench.tasks.squad.question').tasks.squad.question)",
    "sst5": "__import__('elmo_bench.tasks.sst5.phrase').tasks.sst5.phrase.Phrase(words, None)",
}


@pytest.mark.slow
@pytest.mark.parametrize("task", EXAMPLES)
def test_a_sentence_of_5000_tokens_is_predicted_within_4_gib(task):
    command = [sys.executable, "-c", PREDICT, task, EXAMPLES[task]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(f"{task}: {float(done.stdout):.0f} MiB")
    assert float(done.stdout) < 4096
