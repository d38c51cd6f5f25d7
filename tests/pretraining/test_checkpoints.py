"""A training goes on from its own checkpoint alone, and keeps what it has."""

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining.checkpoints import KEYS
from elmo_bench.pretraining.encode import ENCODED
from tests.pretraining.corpora import train, write


@pytest.mark.parametrize("kept", [None, {}, {key: 0 for key in KEYS if key != "recipes"}], ids=repr)
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
    encoded = (tmp_path / "out" / "encoded" / ENCODED).read_bytes()
    with pytest.raises(UserError, match=rf"00000003\.ckpt: {said}"):
        train(tmp_path, tmp_path / "out", "recipe.steps=9", option)
    assert (tmp_path / "out" / "encoded" / ENCODED).read_bytes() == encoded
