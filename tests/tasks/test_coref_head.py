"""The head against plain loops over spans and pairs; its gradients; windows."""

import itertools
import math
from functools import partial

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.tasks.coref.antecedents import marginal_loss
from elmo_bench.tasks.coref.batch import document_batch
from elmo_bench.tasks.coref.conll import Document
from elmo_bench.tasks.coref.head import gold_clusters
from elmo_bench.tasks.coref.spans import SpanVectors
from tests import heads
from tests.runs import GOLDEN

build = partial(heads.build, "coref")
ELMO = ("encoder=elmo", f"encoder.weights={GOLDEN}")
TINY = ("task.sizes.cpu.hidden=[4]", "task.sizes.cpu.scored=[5,3]", "task.sizes.cpu.characters=[[3,2]]")


def double(batch):
    """The batch with its layers in double precision."""
    for item in batch["documents"].items:
        for pool in item.pools:
            pool.layers = {part: layers.double() for part, layers in pool.layers.items()}
    return batch


def feed(x, first, rest):
    """A scorer of two layers, a vector at a time."""
    x = (first.weight @ x + first.bias).clamp(min=0)
    inner, last = rest[2][0], rest[3]
    return (last.weight @ (inner.weight @ x + inner.bias).clamp(min=0) + last.bias)[0]


def test_scores_equal_a_plain_computation_of_each_span_and_each_pair():
    _, train, head, index = build(*ELMO, "place=both", "task.sizes.cpu.antecedents=9", "data.max_train=2", *TINY)
    head.double().eval()
    for example in train:
        [document] = double(head.collate([example], index))["documents"].items
        with torch.no_grad():
            starts, ends, scores = head(document)
            context, lexical = [], []
            for sentence in example.sentences:
                text = double({"documents": head.collate([example_of(sentence)], index)["documents"]})
                [text] = text["documents"].items[0].pools
                x = head.embedder(text)
                lexical.append(x[0, :, : head.lexical])
                lstm = head.lstms[0](x, text.mask)
                context.append(torch.cat([lstm, head.embedder.output(text)], dim=2)[0])
            context, lexical = torch.cat(context), torch.cat(lexical)
            assert lexical.shape[1] == 100 + 2
            lengths = list(itertools.accumulate(map(len, example.sentences), initial=0))
            spans = [
                (a, b) for n, m in itertools.pairwise(lengths) for a in range(n, m) for b in range(a, min(a + 10, m))
            ]
            vectors = {}
            for a, b in spans:
                given = torch.tensor([[a], [b]])
                vectors[a, b] = head.spans(context, lexical, *given, widths=head.spans.widths.weight[[b - a]])[0]
            mention = {span: feed(vector, head.mention, head.mention_rest) for span, vector in vectors.items()}
            kept = []
            for span in sorted(spans, key=lambda span: -mention[span]):
                crossing = any(
                    a < c <= b < d for a, b, c, d in [(*sorted([span, o])[0], *sorted([span, o])[1]) for o in kept]
                )
                if len(kept) < math.floor(0.4 * lengths[-1]) and not crossing:
                    kept.append(span)
            kept.sort()
            assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == kept
            assert scores.shape == (len(kept), 10)
            assert not scores[:, 0].any()
            pairs = head.antecedents
            genre = pairs.genre.weight[head.genres[example.genre]]
            for number, distance in itertools.product(range(len(kept)), range(1, 10)):
                if number < distance:
                    assert scores[number, distance] == -math.inf
                    continue
                i, j = kept[number], kept[number - distance]
                same = int(example.speakers[i[0]] == example.speakers[j[0]])
                bucket = distance if distance < 5 else 5 if distance < 8 else 6
                features = [pairs.same_speaker.weight[same], genre, pairs.distance.weight[bucket]]
                pair = torch.cat([vectors[i], vectors[j], vectors[i] * vectors[j], *features])
                plain = mention[i] + mention[j] + feed(pair, pairs.first, pairs.rest)
                torch.testing.assert_close(scores[number, distance], plain, atol=1e-6, rtol=1e-6)  # ELMo: float32


def example_of(sentence):
    return Document("st/x", "000", "st", (sentence,), ("-",) * len(sentence), ())


def test_the_marginal_loss_equals_a_plain_loop():
    torch.manual_seed(0)
    scores = torch.randn(12, 6, dtype=torch.float64)
    scores[:, 0] = 0
    for row in range(12):
        scores[row, row + 1 :] = -torch.inf
    clusters = [0, 1, 0, 1, 2, 1, 0, 2, 1, 3, 0, 1]
    total = 0.0
    for i, row in enumerate(scores.tolist()):
        right = [row[d] for d in range(1, 6) if i - d >= 0 and clusters[i] and clusters[i - d] == clusters[i]] or [0.0]
        total -= math.log(sum(map(math.exp, right)) / sum(map(math.exp, row)))
    assert marginal_loss(scores, torch.tensor(clusters)).item() == pytest.approx(total, rel=1e-12)


@pytest.mark.slow
def test_gradients_agree_with_finite_differences():
    _, train, head, index = build(*ELMO, "data.max_train=1", "task.head.kept=1.5", *TINY)
    head.double().eval()
    batch = double(head.collate([cut(train[0], 5)], index))
    with torch.no_grad():
        head.lstms[0].first.normal_()
        for name, parameter in head.named_parameters():
            if name.endswith("bias"):  # a ReLU of zeros, where all features below are zero, has no gradient
                parameter.normal_(std=0.1)
        starts, ends, _ = head(batch["documents"].items[0])
        found = gold_clusters(batch["documents"].items[0], starts, ends).tolist()
        assert max(map(found.count, {*found} - {0})) > 1  # there is a gold antecedent to be found
    head.loss(batch).backward()
    tables = ("embedder.characters.embedding", "embedder.words.table", "antecedents.genre")
    frozen = [f"{table}.weight" for table in tables]  # row 0
    with torch.no_grad():
        for name, parameter in head.named_parameters():
            direction = torch.randn_like(parameter)
            if name in frozen:
                direction[0] = 0
            step = 1e-7 * direction / direction.norm()
            parameter.add_(step)
            above = head.loss(batch)
            parameter.sub_(2 * step)
            below = head.loss(batch)
            parameter.add_(step)
            found = ((above - below) / 2e-7).item()
            wanted = (parameter.grad * direction).sum().item() / direction.norm().item()
            assert found == pytest.approx(wanted, rel=1e-4, abs=1e-5), name


def cut(document, sentences):
    """The first sentences of a document, with the chains that are left in them."""
    tokens = sum(map(len, document.sentences[:sentences]))
    clusters = [tuple(span for span in cluster if span[1] < tokens) for cluster in document.clusters]
    return Document(
        document.name, document.part, document.genre, document.sentences[:sentences], document.speakers[:tokens],
        tuple(cluster for cluster in clusters if len(cluster) > 1),
    )  # fmt: skip


def test_training_reads_a_window_of_whole_sentences():
    _, train, head, index = build(*ELMO, "task.head.window=3", "data.max_train=2", *TINY)
    head.double().eval()
    whole = document_batch(train[0], index, genre=1)
    sizes = [len(sentence) for sentence in train[0].sentences]
    for first in range(len(sizes) - 2):
        begin, length = sum(sizes[:first]), sum(sizes[first : first + 3])
        window = whole.window(first, 3)
        part = document_batch(
            Document("", "", "", train[0].sentences[first : first + 3], train[0].speakers[begin : begin + length], ()),
            index, genre=1,
        )  # fmt: skip
        assert window.mask.sum() == length
        assert window.sentences.tolist() == part.sentences.tolist()
        double({"documents": type("D", (), {"items": [window, part]})})
        with torch.no_grad():
            torch.testing.assert_close(head(window), head(part))
        inside = [
            (start - begin, end - begin, number)
            for number, cluster in enumerate(train[0].clusters, start=1)
            for start, end in cluster
            if begin <= start and end < begin + length
        ]
        assert list(zip(*(t.tolist() for t in (window.starts, window.ends, window.clusters)), strict=True)) == inside
        whole = document_batch(train[0], index, genre=1)


def test_a_genre_that_training_lacked_says_nothing():
    _, train, head, index = build("encoder=glove", "data.max_train=2", *TINY)
    new = Document(**{**vars(train[0]), "genre": "new"})
    [document] = head.collate([new], index)["documents"].items
    assert int(document.genre) == 0
    assert not head.antecedents.genre.weight[0].any()
    assert head.predict(head.collate([new], index)) is not None


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"longest": 10**9, "feature": 1}, "task.head.width=1000000000: a span has 1 to 1,000 tokens"),
        ({"longest": 0, "feature": 1}, "task.head.width=0"),
        ({"longest": 10, "feature": 0}, "task.head.feature=0: the size of a vector"),
    ],
)
def test_sizes_that_no_head_can_have_are_refused(sizes, said):
    with pytest.raises(UserError, match=said):
        SpanVectors(context=2, lexical=2, dropout=0.0, **sizes)
