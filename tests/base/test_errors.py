"""Addresses in errors, notes, cards and the ledger carry no secret."""

import os
import time
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from elmo_bench.base.errors import UserError, plain, redacted
from elmo_bench.base.markdown import literal
from elmo_bench.base.notes import note, noted
from elmo_bench.cli import run
from elmo_bench.encoders.static import NUMBERED
from elmo_bench.pretraining.trainer import command_line
from elmo_bench.reporting.figures import Drawing
from elmo_bench.reporting.findings import Finding
from elmo_bench.reporting.pages import inline
from elmo_bench.runner.plan import PlannedRun
from elmo_bench.spec.settings import name_of
from elmo_bench.tasks.coref.conll import _BEGIN as BEGIN
from elmo_bench.tasks.srl.brackets import _CELL as CELL
from elmo_bench.tasks.wsd.data import _ATTRIBUTE as ATTRIBUTE
from elmo_bench.text.sentences import sentences


def inline_text(text):
    """A drawing with this text, as on the page."""
    drawing = Drawing("x", "", "", lambda axes, phone: None, size=(1, 1))
    drawing.__dict__["_files"] = (f"<svg>{text}</svg>", b"")
    return inline(drawing)


SECRET = "https://me:pa@ss@host.org:8080/folder/x-weights.hdf5?token=abc.def&v=1#part"
PLAIN = "https://host.org:8080/folder/x-weights.hdf5"


def test_a_note_has_the_names_of_files_as_text():
    """A record is UTF-8, and a name may be any bytes."""
    name = os.fsdecode(b"caf\xe9.csv")
    with noted() as notes:
        note("an odd file", Path(name))
        note(f"files: train={name}")
    assert notes == ["caf\\udce9.csv: an odd file", "files: train=caf\\udce9.csv"]


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        (f"{SECRET}: HTTP 404. Or put it there.", f"{PLAIN}: HTTP 404. Or put it there."),
        (f"weights={SECRET} seed=1", f"weights={PLAIN} seed=1"),
        ("s3://key:secret@bucket", "s3://bucket"), ("a://b:it's-secret@c/d?e=f'g", "a://c/d"),
        ("'a://b?c', d", "'a://b', d"),
        ("a://b?x.", "a://b."), ("a://b?x.y).", "a://b)."), ("(a://b?x=1,2): c", "(a://b): c"), ("a://b#", "a://b"),
        ("write to me@host.org? Yes: user/repo@main, a://b", "write to me@host.org? Yes: user/repo@main, a://b"),
    ],
)  # fmt: skip
def test_user_password_query_and_fragment_are_left_out_and_the_sentence_around_stays(text, safe):
    assert redacted(text) == safe
    assert str(UserError(text)) == safe


def test_nothing_prints_or_stores_them(capsys, monkeypatch):
    note(f"{SECRET} is slow")
    texts = [command_line("finetune", [f"weights={SECRET}"])]
    texts += [PlannedRun(None, 0, (f"encoder.weights={SECRET}",), {}).title, name_of(SECRET)]
    monkeypatch.setattr(run, "compose", lambda *_: OmegaConf.create({"weights": SECRET}))
    assert run.main(["--cfg", "job"]) == 0
    said = capsys.readouterr()
    for text in (*texts, said.out, said.err):
        assert "x-weights.hdf5" in text.replace("\n", "")
        assert not [secret for secret in ("pa@ss", "me:", "token", "abc", "?") if secret in text]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("می\u200cخواهم", "می\u200cخواهم"), ("क्\u200dष", "क्\u200dष"),
        ("👩\u200d👧", "👩\u200d👧"), ("👍🏽\u200d❤\ufe0f\u200d👍", "👍🏽\u200d❤\ufe0f\u200d👍"),
        ("\u200ca", r"\u200ca"), ("a\u200d", r"a\u200d"), ("a\u200d\u200db", r"a\u200d\u200db"),
        ("1\u200d2", r"1\u200d2"), ("a\u202eb", r"a\u202eb"),
    ],
)  # fmt: skip
def test_what_parts_or_joins_letters_stays_and_nothing_else_that_is_invisible(text, shown):
    assert plain(text) == shown


LONG = 100_000


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("read", "text"),
    [
        (redacted, "a." * (LONG // 2)),
        (redacted, "a://?" + ")" * LONG + "x"),
        (redacted, "a://?" + ".x" * LONG),
        (literal, "\\" * LONG),
        (inline_text, " " * LONG + "x"),
        (lambda text: Finding("", "", text).text, "[" * LONG),
        (ATTRIBUTE.findall, "a" * LONG),
        (BEGIN.fullmatch, "#begin document (x);" + " " * LONG + "x"),
        (BEGIN.fullmatch, "#begin document (" + "); " * LONG + "x"),
        (lambda text: NUMBERED.fullmatch(text.encode()), " 1" * LONG + "x"),
        (CELL.fullmatch, "(a" * LONG + "x"),
        (lambda text: list(sentences(text)), "a" * LONG + "(. " + "a(. " * LONG),
    ],
)
def test_no_line_of_a_file_takes_long(read, text):
    """What takes the square of a length takes minutes here."""
    started = time.process_time()
    read(text)
    assert time.process_time() - started < 2
