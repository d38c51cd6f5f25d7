"""TF-IDF and logistic regression, compared with scikit-learn's own classes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from torch import nn

from elmo_bench.base.errors import UserError
from elmo_bench.nn.logistic import LogisticHead, LogisticLayer
from elmo_bench.nn.tfidf import TfIdf, character_counter, terms_of, token_counter

TEXTS = ["The cat sat on the mat .", "the CAT saw a dog", "a dog , a cat", "", "mats and dogs ."]
NEW = ["the mat saw the unseen dog", "nothing of it ?", ""]


@pytest.mark.parametrize(
    ("counter", "usual"),
    [
        (lambda **some: token_counter(2, **some),
         {"tokenizer": str.split, "token_pattern": None, "ngram_range": (1, 2)}),
        (lambda **some: character_counter([2, 4], **some), {"analyzer": "char_wb", "ngram_range": (2, 4)}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("limits", [{}, {"min_df": 2}, {"max_features": 3}])
def test_vectors_are_those_of_scikit_learn(counter, usual, limits):
    theirs = TfidfVectorizer(sublinear_tf=True, **usual, **limits).fit(TEXTS)
    texts = [tuple(text.split()) for text in TEXTS]
    terms = terms_of(texts, counter(**limits))
    assert terms == theirs.get_feature_names_out().tolist()
    ours = TfIdf(counter(), terms)
    ours.fit(texts)
    found = ours([tuple(text.split()) for text in NEW]).toarray()
    assert np.allclose(found, theirs.transform(NEW).toarray(), atol=1e-6)
    assert found.any()


@pytest.mark.parametrize(
    "count", [lambda: character_counter([5, 2]), lambda: character_counter([0, 2]), lambda: character_counter([3]),
              lambda: token_counter(0), lambda: token_counter(1.5),
              lambda: terms_of([("a",)], token_counter(1, min_df=-1))]
)  # fmt: skip
def test_lengths_that_count_nothing_are_refused(count):
    with pytest.raises(UserError, match="the floor"):
        count()


def items(classes):
    rng = np.random.default_rng(0)
    y = rng.choice(classes, 80)
    x = rng.normal(size=(80, 6)) + np.eye(6)[y % 6] * 2
    return sparse.csr_array(x), y


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2], [0, 2], [1, 3, 4]])
def test_answers_are_those_of_scikit_learn_also_without_some_classes(classes):
    x, y = items(classes)
    layer = LogisticLayer(6, 5)
    fits = list(layer.fits(x, y, c=0.5, factor=4, times=2))
    theirs = LogisticRegression(C=2.0, max_iter=1000).fit(x, y)
    known = sorted(classes)
    ours = np.exp(layer.scores(x)[:, known])
    assert np.allclose(ours / ours.sum(1, keepdims=True), theirs.predict_proba(x), atol=0.01)
    assert np.mean(np.array(layer.best(x)) == theirs.predict(x)) == 1
    assert fits[1].loss < fits[0].loss


def test_what_cannot_be_learned_is_the_most_frequent_class():
    x, _ = items([0, 1])
    one = LogisticLayer(6, 3)
    [fit] = one.fits(x, np.full(80, 2), c=1, factor=1, times=1)
    assert (one.best(x), fit.steps) == ([2] * 80, 1)
    empty = LogisticLayer(0, 3)
    [_] = empty.fits(x[:, :0], np.array([0] * 30 + [1] * 50), c=1, factor=1, times=1)
    assert empty.best(x[:, :0]) == [1] * 80


@pytest.mark.parametrize(("c", "factor"), [(0, 10.0), (0.1, -1.0), (float("nan"), 10.0)])
def test_c_and_its_factor_are_above_zero(c, factor):
    with pytest.raises(UserError, match=r"^task\.head\.c=.*: give numbers above 0\.$"):
        LogisticHead(nn.Identity(), features=1, classes=2, c=c, factor=factor)
