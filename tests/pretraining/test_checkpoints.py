"""A training goes on from its own checkpoint alone, and keeps what it has."""

import shutil

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining import CONF, checkpoints, trainer
from elmo_bench.pretraining.encode import ENCODED
from elmo_bench.spec.config import compose
from tests.pretraining.corpora import train, write
from tests.runs import GOLDEN


@pytest.mark.parametrize("kept", [None, {}, {key: 0 for key in checkpoints.KEYS if key != "recipes"}], ids=repr)
def test_only_damaged_checkpoints_are_no_reason_to_start_anew(tmp_path, kept):
    write(tmp_path)
    folder = tmp_path / "out" / "checkpoints"
    folder.mkdir(parents=True)
    torch.save(kept, folder / "00000010.ckpt")
    with pytest.raises(UserError, match=r"00000010\.ckpt: not a checkpoint, or damaged"):
        train(tmp_path, tmp_path / "out")


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("seed=1", "from a training with other seed"),
        ("recipe.cells=50", r"from a training with other recipe\.cells"),
        ("shape.lstm.dim=12", r"from a training with other shape\. .*remove .*out, or give another out="),
        ("tokenizer=treebank", "from a training with other text, tokenizer or recipe.vocabulary"),
    ],
)
def test_another_training_does_not_go_on(tmp_path, option, said):
    write(tmp_path)
    train(tmp_path, tmp_path / "out", "recipe.steps=3")
    text = tmp_path / "out" / "encoded" / ENCODED
    encoded = text.read_bytes()
    with pytest.raises(UserError, match=rf"00000003\.ckpt: {said}"):
        train(tmp_path, tmp_path / "out", "recipe.steps=9", option)
    assert text.read_bytes() == encoded


def test_another_text_is_refused_before_it_is_encoded_where_none_is_stored(tmp_path):
    write(tmp_path)
    train(tmp_path, tmp_path / "out", "recipe.steps=3")
    shutil.rmtree(tmp_path / "out" / "encoded")
    with pytest.raises(UserError, match="from a training with other text"):
        train(tmp_path, tmp_path / "out", "recipe.steps=9", "tokenizer=treebank")
    assert not (tmp_path / "out" / "encoded").exists()


@pytest.mark.parametrize("name", trainer.CHECKPOINTS)
def test_other_weights_are_refused_before_they_are_loaded(tmp_path, monkeypatch, name):
    write(tmp_path)
    state = dict.fromkeys(checkpoints.KEYS, 0) | {"same": {"weights": "others"}}
    checkpoints.write(tmp_path / "out" / name, 3, state)
    monkeypatch.setattr(trainer, "load_language_model", lambda *_, **__: pytest.fail("loaded"))
    options = [f"weights={GOLDEN}", f"corpus={tmp_path}/part-0.txt", f"out={tmp_path}/out", "threads=1"]
    with pytest.raises(UserError, match=r"00000003\.ckpt: from a training with other weights\. Resume with"):
        trainer.finetune(compose("finetune", options, folder=CONF))
