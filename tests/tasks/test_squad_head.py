"""The head against a plain computation of one question at a time, and spans against brute force."""

import math

import pytest
import torch

from elmo_bench.tasks.squad import head as squad
from elmo_bench.tasks.squad.build import Passage, Question
from elmo_bench.tasks.squad.head import best_spans
from tests import heads
from tests.heads import linear
from tests.runs import GOLDEN, first_ones


def build(*overrides, train=None):
    """See heads.build; on four examples unless told."""
    return heads.build("squad", "data.max_train=4", *overrides, train=train)


def similarity(module, x, y):
    return (module.first.weight[0] @ x + module.second.weight[0] @ y + module.product[0] @ (x * y)).item()


def weighted(scores, tokens, nothing=0.0):
    weights = torch.tensor([math.exp(score) for score in scores])
    return weights @ tokens / (weights.sum() + nothing)


def plainly(head, example, index):
    """The scores of one question's first and last tokens, token by token."""
    question, x = (
        torch.cat([heads.both_ways(head.embedder(text)[0], head.encode), head.embedder.output(text)[0]], dim=1)
        for text in (index([tokens]) for tokens in example.texts)
    )
    scores = [[similarity(head.attend.similarity, token, word) for word in question] for token in x]
    summary = weighted([max(line) for line in scores], x)
    said = [weighted(line, question) for line in scores]
    x = torch.stack([torch.cat([t, s, t * s, t * summary]) for t, s in zip(x, said, strict=True)])
    x = linear(x, head.merge).clamp(min=0)
    y, attended = heads.both_ways(x, head.reread), []
    for place, token in enumerate(y):
        others = torch.cat([y[:place], y[place + 1 :]])
        scores = [similarity(head.self_attend.similarity, token, other) for other in others]
        attended.append(weighted(scores, others, nothing=math.exp(head.self_attend.nothing.item())))
    attended = torch.stack(attended)
    x = x + linear(torch.cat([attended, y, attended * y], dim=1), head.self_merge).clamp(min=0)
    first = heads.both_ways(x, head.first)
    last = heads.both_ways(torch.cat([x, first], dim=1), head.last)
    return first @ head.first_scores.weight[0], last @ head.last_scores.weight[0]


@pytest.mark.parametrize("place", first_ones(["output", "both"], 1))
def test_scores_equal_a_plain_computation_of_each_question(place, monkeypatch):
    if place == "output":  # row by row, as of a long passage
        monkeypatch.setattr(squad, "SCORES_AT_ONCE", 40)
    widths = ("task.sizes.cpu.hidden=[5,7]", "task.sizes.cpu.characters=[[5,6]]")
    passages = ("Ada lives in Paris .", "Bob", "In May 1950 Ada and Bob moved to Selby , a small town .")
    texts = [question([(0, 0)], passage) for passage in passages]
    _, train, head, index = build("encoder=elmo", f"encoder.weights={GOLDEN}", f"place={place}", *widths, train=texts)
    assert head.embedder.dim == 100 + 6 + (0 if place == "output" else 32)
    assert head.merge.weight.shape == (7, 4 * (10 + 32))
    with torch.no_grad():
        for name, parameter in head.named_parameters():
            if not name.startswith("embedder"):
                parameter.uniform_(-0.4, 0.4)  # not the small ones that training starts from
        batch = head.eval().collate(train, index)
        together = head(batch)
        for row, example in enumerate(train):
            size = len(example.passage.tokens)
            for found, expected in zip(together, plainly(head, example, index), strict=True):
                torch.testing.assert_close(found[row, :size], expected, atol=1e-4, rtol=1e-4)
                assert torch.isneginf(found[row, size:]).all()


def test_best_spans_equal_brute_force():
    torch.manual_seed(0)
    for longest in (1, 3, 17):
        first, last = torch.randn(2, 40, 12)
        lengths = [1 + row % 12 for row in range(40)]
        for row, length in enumerate(lengths):
            first[row, length:] = last[row, length:] = -torch.inf
        expected = [
            max(
                ((s, e) for s in range(size) for e in range(s, min(s + longest, size))),
                key=lambda span, row=row: first[row, span[0]] + last[row, span[1]],
            )
            for row, size in enumerate(lengths)
        ]
        assert best_spans(first, last, longest=longest) == expected


def question(answers, passage="one two three four five"):
    tokens = tuple(passage.split())
    offsets, place = [], 0
    for token in tokens:
        offsets.append((place, place + len(token)))
        place += len(token) + 1
    texts = tuple(tokens[first] for first, _ in answers)
    return Question("q", ("which", "?"), Passage(passage, tokens, tuple(offsets)), texts, tuple(answers))


def test_training_draws_among_the_answers_and_scoring_takes_the_first():
    train = [question([(0, 0)]), question([(0, 0)], "which ? five four three two one")]  # no word once
    _, _, head, index = build("encoder=none", "task.head.dropout=0", "task.sizes.cpu.hidden=[4,4]", train=train)
    both, one, other = (head.collate([question(answers)], index) for answers in ([(0, 0), (3, 4)], [(0, 0)], [(3, 4)]))
    with torch.no_grad():
        drawn = [head.train().loss(both).item() for _ in range(40)]
        expected = [head.loss(batch).item() for batch in (one, other)]
        assert head.eval().loss(both).item() == pytest.approx(expected[0])
    near = [[value == pytest.approx(each) for value in drawn] for each in expected]
    assert all(10 < sum(found) < 30 for found in near)
    assert sum(map(sum, near)) == 40


def test_a_question_without_answers_and_very_long_words_are_predicted():
    _, _, head, index = build("encoder=glove", "task.sizes.cpu.hidden=[4,4]")
    batch = head.eval().collate([question([]), question([], "x" * 5000 + " y")], index)
    assert batch["passage"].characters.shape == (8, 14)
    with torch.no_grad():
        answers = head.predict(batch)
    assert answers[0] in "one two three four five"
    assert answers[1]
