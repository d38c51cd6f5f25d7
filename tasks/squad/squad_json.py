"""The JSON format of SQuAD 1.1: articles of paragraphs of questions."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.json import MAX_BYTES, parse_json


class Entry(NamedTuple):
    """A question of a file; answers are (text, its first character in the passage)."""

    article: str
    passage: str
    id: str
    question: str
    answers: list[tuple[str, int]]


def read_json(path: Path) -> Any:
    """The value of a JSON file.

    Raises UserError with file and line if it is empty, cut off or not JSON.
    """
    lines = []
    size = 0
    for _, line in read_lines(path):
        lines.append(line)
        size += len(line)
        if size > MAX_BYTES:
            raise UserError(
                f"{path}: more than {MAX_BYTES:,} characters of JSON. "
                "Use several files."
            )
    text = "\n".join([*lines, ""])  # JSON has no line ends within its strings
    if not text.strip():
        raise UserError(f"{path}: the file is empty. Download it again.")
    return parse_json(text, path)


def entries(data: Any, path: Path) -> Iterator[Entry]:
    """The questions in the value that `read_json` returned, in order.

    Answers may be missing. An answer without `answer_start`, which the official scorer
    does not need, starts at -1. Raises UserError with the position in the file if the
    layout differs from SQuAD 1.1.
    """
    questions = 0
    for number, article in enumerate(_get(data, "data", list, path, "the file")):
        where = f"data[{number}]"
        title = article.get("title", where) if isinstance(article, dict) else where
        paragraphs = _get(article, "paragraphs", list, path, where)
        for place, paragraph in enumerate(paragraphs):
            inside = f"{where}.paragraphs[{place}]"
            passage = _get(paragraph, "context", str, path, inside)
            for item in _get(paragraph, "qas", list, path, inside):
                yield _entry(str(title), passage, item, path, inside)
                questions += 1
    if not questions:
        raise UserError(f"{path}: no questions. Download the file again.")


def _entry(article: str, passage: str, item: Any, path: Path, inside: str) -> Entry:
    """The question of a value of `qas`, which is in the paragraph `inside`."""
    name = _get(item, "id", str, path, f"a question of {inside}")

    def get(node: Any, key: str, kind: type) -> Any:
        return _get(node, key, kind, path, f"question {name}", id=name)

    question = get(item, "question", str)
    answers = []
    if "answers" in item:
        for answer in get(item, "answers", list):
            text = get(answer, "text", str)
            has_start = "answer_start" in answer
            start = get(answer, "answer_start", int) if has_start else -1
            answers.append((text, start))
    return Entry(article, passage, name, question, answers)


def line_of(path: Path, question: str, *, occurrence: int = 1) -> int:
    """The line of a question's id in a SQuAD file, from 1.

    occurrence: which question with this id, from 1.
    """
    spellings = [json.dumps(question), json.dumps(question, ensure_ascii=False)]
    either = "|".join(map(re.escape, spellings))
    written = re.compile(rf'"id"\s*:\s*({either})')
    count = 0
    for number, line in read_lines(path):
        count += len(written.findall(line))
        if count >= occurrence:
            return number
    return 1


def _get(
    node: Any, key: str, kind: type, path: Path, where: str, *, id: str | None = None
) -> Any:
    value = node.get(key) if isinstance(node, dict) else None
    if not isinstance(value, kind):
        names = {list: "a list", str: "text", int: "a whole number"}
        line = f":{line_of(path, id)}" if id is not None else ""
        raise UserError(
            f"{path}{line}: {where}: {key!r} is not {names[kind]}, "
            "so this is not a SQuAD 1.1 file. Fix it."
        )
    return value
