"""The nearest tokens in context: the search by itself, and `elmo-bench neighbours`."""

import pytest
import torch

from elmo_bench.__main__ import main
from elmo_bench.encoders.nearest import nearest
from tests.runs import first_rows
from tests.word_encoder import WordEncoder, sentences

TEXT = "the dog ran .\nthe cat sat .\nthe dog ran .\na king and a dog met .\nKing of the hill .\n"


def encode(texts, *, asked=None, encoder=WordEncoder()):  # noqa: B008
    if asked is not None:
        asked.append(texts)
    return [layers[1] for layers in encoder.encode(texts)]


def by_hand(texts, query, position):
    """All tokens compared at once; the best of each distinct sentence."""
    vector = encode([query])[0][position]
    found = {}
    for words in texts:
        cosines = torch.cosine_similarity(encode([words])[0], vector[None], dim=1)
        found[words] = (cosines.max().item(), words, int(cosines.argmax()))
    return sorted(found.values(), reverse=True)


def test_it_finds_what_comparing_everything_finds():
    texts, query = sentences(1_100, longest=3), ("a", "b", "c")
    found = nearest(encode, [*texts, *texts, query], query, 1, show=7)
    wanted = by_hand(texts, query, 1)[:7]
    assert [(near.sentence, near.position) for near in found] == [(words, at) for _, words, at in wanted]
    assert [near.cosine for near in found] == pytest.approx([cosine for cosine, _, _ in wanted], abs=1e-5)


def test_vectors_without_context_give_each_word_once():
    table = {"dog": (1.0, 0.0), "cat": (0.9, 0.1), "king": (0.0, 1.0)}

    def static(texts):
        return [torch.tensor([table.get(word.lower(), (0.0, 0.0)) for word in words]) for words in texts]

    texts = [tuple(line.split()) for line in TEXT.splitlines()]
    found = nearest(static, texts, ("dog",), 0, show=9, each_word_once=True)
    assert [near.sentence[near.position].lower() for near in found] == ["cat", "king"]
    found = nearest(static, [*texts, ("Dog",)], ("DOG",), 0, show=9, each_word_once=True)
    assert [near.word.lower() for near in found] == ["cat", "king"]
    assert nearest(static, texts, ("unknown",), 0, show=9) == []


@pytest.fixture
def neighbours(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT)

    def neighbours(*arguments):
        code = main(["neighbours", *arguments])
        said = capfd.readouterr()
        return code, said.out.splitlines(), said.err

    return neighbours


@pytest.mark.parametrize(
    ("options", "said"),
    first_rows(
        [
            ([], "elmo_only, layer 2"),
            (["encoder=elmo", "--layer", "0"], "elmo, layer 0"),
            (["encoder=fasttext"], "fasttext, fasttext-mini"),
        ],
        1,
    ),
)
def test_the_command_with_any_encoder_and_layer(neighbours, options, said):
    code, lines, _ = neighbours("king", "--in", "the king and the cat met .", "text.txt", "--show", "2", *options)
    assert (code, lines[0]) == (0, f"the king and the cat met .    ({said})")
    assert len(lines) == 3
    assert all(line.count("[") == 1 for line in lines[1:])
    assert float(lines[1].split()[0]) >= float(lines[2].split()[0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["queen", "--in", "the king .", "text.txt"], "--in: no token of the sentence is 'queen'"),
        (["king", "--in", "the king .", "encoder=glove"], "no text to search"),
        (["king", "--in", "the king .", "nothing.txt"], "no file matches"),
        (["king", "--in", "the king .", "text.txt", "--layer", "3"], "--layer 3: encoder=elmo_only has none"),
        (
            ["king", "--in", "the king .", "text.txt", "mix=layer", "mix.layer=3"],
            "mix.layer=3: encoder=elmo_only has none",
        ),
        (["king", "--in", "the king .", "text.txt", "encoder=glove", "--layer", "0"], "encoder=glove has no layers"),
        (["king", "--in", "the king .", "text.txt", "encoder=none"], "encoder=none: has no frozen vectors"),
        (["king", "--in", "the king .", "text.txt", "encoder=elmo_bert_mini"], "a stack of "),
        (["king", "--in", "the king .", "text.txt", "--show", "0"], "--show 0: too few"),
    ],
)
def test_a_mistake_is_one_line(neighbours, arguments, said):
    code, lines, error = neighbours(*arguments)
    assert (code, lines) == (2, [])
    assert said in error.strip().splitlines()[-1]
