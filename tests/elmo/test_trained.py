"""`requires_grad=True`: a step of training and checkpoints as recorded from AllenNLP, and nothing stale."""

import json

import h5py
import numpy as np
import pytest
import torch

from elmo_bench import Elmo, batch_to_ids
from elmo_bench.base.errors import UserError
from elmo_bench.elmo.allennlp import OLD
from tests.runs import GOLDEN

FILES = GOLDEN / "options.json", GOLDEN / "weights.hdf5"
CASES = json.loads((GOLDEN / "sentences.json").read_text(encoding="utf-8"))
IDS = batch_to_ids([CASES["sentences"][n] for n in CASES["batches"][0]])
RECORDED = dict(np.load(GOLDEN.parent / "elmo_trained.npz"))
AFTER = torch.from_numpy(RECORDED.pop("representations"))
STATE = {name: torch.from_numpy(array) for name, array in RECORDED.items()}
TOLERANCE = 2e-5


def elmo(**options) -> Elmo:
    return Elmo(*FILES, **{"num_output_representations": 2, "dropout": 0, **options})


def both(module: Elmo) -> torch.Tensor:
    return torch.stack(module(IDS)["elmo_representations"]).detach()


def test_a_checkpoint_of_the_original_loads_and_gives_what_it_gave():
    module = elmo(requires_grad=True)
    before = both(module)
    assert str(module.load_state_dict(STATE)) == "<All keys matched successfully>"
    torch.testing.assert_close(both(module), AFTER, atol=TOLERANCE, rtol=0)
    with torch.no_grad():
        torch.testing.assert_close(both(module), AFTER, atol=TOLERANCE, rtol=0)
        assert not torch.allclose(AFTER, before, atol=0.1)
    frozen = Elmo(None, None, 2, dropout=0, module=module.bilm)
    frozen.load_state_dict({name: value for name, value in STATE.items() if "scalar" in name})
    torch.testing.assert_close(both(frozen), AFTER, atol=TOLERANCE, rtol=0)


def test_a_step_of_training_is_the_recorded_one():
    """Rows of different lengths; the recorded weights are the first ones less 10 times the gradients."""
    module, recorded = elmo(requires_grad=True), elmo(requires_grad=True)
    recorded.load_state_dict(STATE)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    loss = torch.zeros(())
    for number, representation in enumerate(module(IDS)["elmo_representations"]):
        waves = torch.cos(torch.arange(representation.numel()) + number)
        loss = loss + (representation * waves.view_as(representation)).mean()
    loss.backward()
    torch.optim.SGD(module.parameters(), lr=10.0).step()
    for name, wanted in recorded.state_dict().items():
        assert (wanted - before[name]).abs().max() > 5e-3, name
        torch.testing.assert_close(module.state_dict()[name], wanted, atol=TOLERANCE, rtol=0, msg=name)
    torch.testing.assert_close(both(module), AFTER, atol=TOLERANCE * 2, rtol=0)


def original_state() -> dict[str, torch.Tensor]:
    """AllenNLP's names with the weights of the files: what a model with a frozen biLM left there."""
    cell, characters = "RNN_{}/RNN/MultiRNNCell/Cell{}/LSTMCell", "_token_embedder."
    with h5py.File(FILES[1]) as file:
        read = {}
        file.visititems(lambda name, node: read.update({name: node[()]}) if hasattr(node, "shape") else None)
    state = {f"{characters}_char_embedding_weights": np.pad(read["char_embed"], ((1, 0), (0, 0)))}
    for index in range(4):
        state[f"{characters}char_conv_{index}.weight"] = read[f"CNN/W_cnn_{index}"][0].transpose(2, 1, 0)
        state[f"{characters}char_conv_{index}.bias"] = read[f"CNN/b_cnn_{index}"]
    for kind, name in (("weight", "W"), ("bias", "b")):
        both = [read[f"CNN_high_0/{name}_transform"].T, -read[f"CNN_high_0/{name}_carry"].T]
        state[f"{characters}_highways._layers.0.{kind}"] = np.concatenate(both)
        state[f"{characters}_projection.{kind}"] = read[f"CNN_proj/{name}_proj"].T
    for direction, word in enumerate(("forward", "backward")):
        for layer in (0, 1):
            found, name = cell.format(direction, layer), f"_elmo_lstm.{word}_layer_{layer}"
            i, j, f, o = np.split(read[f"{found}/W_0"].T, 4)
            weight = np.concatenate([i, f, j, o])
            state[f"{name}.input_linearity.weight"], state[f"{name}.state_linearity.weight"] = np.split(weight, 2, 1)
            i, j, f, o = np.split(read[f"{found}/B"], 4)
            state[f"{name}.state_linearity.bias"] = np.concatenate([i, f + 1, j, o])
            state[f"{name}.state_projection.weight"] = read[f"{found}/W_P_0"].T
    tensors = {f"{OLD}{name}": torch.from_numpy(np.ascontiguousarray(array)) for name, array in state.items()}
    assert {name: value.shape for name, value in tensors.items()} == {
        name: value.shape for name, value in STATE.items() if name.startswith(OLD)
    }
    return tensors


@pytest.mark.parametrize("inside", ["", "model.elmo."])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_frozen_bilm_takes_an_old_checkpoint_with_the_same_weights_alone(inside, dtype):
    module = elmo(vocab_to_cache=["<pad>", "a"])
    holder = module
    for name in reversed(inside.split(".")[:-1]):
        holder = torch.nn.ModuleDict({name: holder})
    mixes = {name: value for name, value in STATE.items() if "scalar" in name}
    state = {f"{inside}{name}": value.to(dtype) for name, value in {**original_state(), **mixes}.items()}
    state[f"{inside}{OLD}_word_embedding.weight"] = torch.zeros(2, 16)  # with a vocab_to_cache there
    before = dict(state)
    assert str(holder.load_state_dict(state)) == "<All keys matched successfully>"
    assert state == before
    torch.testing.assert_close(module.scalar_mix_1.gamma, STATE["scalar_mix_1.gamma"], atol=1e-3, rtol=0)
    with pytest.raises(UserError, match=r"its biLM is not this frozen one \(.*embedding differs\)"):
        holder.load_state_dict({f"{inside}{name}": value for name, value in STATE.items()})
    trained = elmo(requires_grad=True)
    trained.load_state_dict(STATE)
    with pytest.raises(UserError, match="is not this frozen one"):  # nor is it passed over without a word
        elmo().load_state_dict(trained.state_dict(), strict=False)


def test_an_old_checkpoint_without_a_tensor_is_refused():
    state = dict(STATE)
    del state[f"{OLD}_elmo_lstm.backward_layer_1.state_linearity.bias"]
    with pytest.raises(UserError, match=r"_elmo_lstm\._elmo_lstm\.backward_layer_1\.state_linearity\.bias is missing"):
        elmo(requires_grad=True).load_state_dict(state)
