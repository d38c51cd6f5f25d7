"""`benchmarks/overlap.py` on passages and a text that were made by hand."""

import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PASSAGES = [
    "The old mill stands by the river. Nobody has lived there since the flood.",
    "THE RIVER! Nobody has seen the mill-stone.",
    "Too short.",
]


@pytest.fixture
def squad(tmp_path, monkeypatch):
    """A SQuAD file with two questions about the first passage, one about each other passage."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    paragraphs = [
        {"context": text, "qas": [{"id": f"{n}.{k}", "question": "Who?", "answers": []} for k in range(2 - bool(n))]}
        for n, text in enumerate(PASSAGES)
    ]
    path = tmp_path / "dev.json"
    path.write_text(json.dumps({"data": [{"title": "A", "paragraphs": paragraphs}]}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("lines", "tokens", "found"),
    [
        (["Here , an Old Mill stands near it ."], 3, (1, 2)),  # "old mill stands", in any case
        (["Here , an Old Mill stands near it ."], 4, (0, 0)),
        (["the mill - stone ."], 5, (1, 1)),  # tokens of the reader: mill, -, stone
        (["the mill-stone ."], 3, (0, 0)),
        (["by the river", ". nobody has lived"], 5, (0, 0)),  # not across two sentences of the text
        (["by the river . nobody has lived"], 7, (1, 2)),  # but across two of the passage
        (["the river", "too short ."], 2, (3, 4)),
        (["too short ."], 4, (0, 0)),  # a passage shorter than the stretch
    ],
)
def test_passages_that_share_a_stretch_are_counted(squad, capsys, lines, tokens, found):
    import overlap

    text = squad.with_name("text.txt")
    text.write_text("\n".join([*lines, ""]), encoding="utf-8")
    overlap.main([str(text), str(squad), "--tokens", str(tokens)])
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == (
        f"{found[0]} of 3 passages, with {found[1]} of 4 questions, share {tokens} tokens in a row with the text"
    )
    words = [len(line.split()) for line in lines]
    assert second == f"the text: {len(words)} sentences, {sum(words)} tokens, at most {max(words)} a sentence"
    longer = sum(length > max(words) for length in (16, 11, 3))
    assert third == f"a passage: 10 tokens on average, at most 16; {longer} are longer than every sentence of the text"


def test_a_stretch_of_no_tokens_is_refused(squad, capsys):
    import overlap

    with pytest.raises(SystemExit):
        overlap.main(["text.txt", str(squad), "--tokens", "0"])
    assert "--tokens: give a number from 1" in capsys.readouterr().err
