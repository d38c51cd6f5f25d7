"""Addresses in errors, notes, cards and the ledger carry no secret."""

import pytest
from omegaconf import OmegaConf

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.notes import note
from elmo_bench.cli import run
from elmo_bench.pretraining.trainer import command_line
from elmo_bench.runner.sweep import PlannedRun
from elmo_bench.spec.settings import name_of

SECRET = "https://me:pa@ss@host.org:8080/folder/x-weights.hdf5?token=abc.def&v=1#part"
PLAIN = "https://host.org:8080/folder/x-weights.hdf5"


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        (f"{SECRET}: HTTP 404. Or put it there.", f"{PLAIN}: HTTP 404. Or put it there."),
        (f"weights={SECRET} seed=1", f"weights={PLAIN} seed=1"),
        ("s3://key:secret@bucket", "s3://bucket"),
        ("write to me@host.org? Yes: user/repo@main, a://b", "write to me@host.org? Yes: user/repo@main, a://b"),
    ],
)
def test_user_password_query_and_fragment_are_left_out(text, safe):
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
