"""`requires_grad=True`: a step of training as recorded from AllenNLP, and nothing stale."""

import numpy as np
import torch

from elmo_bench import Elmo, batch_to_ids
from tests.elmo.recorded import CASES, SENTENCES, TOLERANCE, elmo
from tests.runs import GOLDEN

IDS = batch_to_ids([SENTENCES[n] for n in CASES["batches"][0]])
RECORDED = dict(np.load(GOLDEN.parent / "elmo_trained.npz"))
AFTER = torch.from_numpy(RECORDED.pop("representations"))


def recorded_state() -> dict[str, torch.Tensor]:
    """The recorded `state_dict()` under the names of here.

    In AllenNLP, id 0 has a character vector, the gates come in the order i, f, j, o with the 1 of the forget gate in
    the bias, and a highway layer has one matrix: the transform, then the carry with the opposite sign.
    """
    old = {name: torch.from_numpy(array) for name, array in RECORDED.items()}
    new = {name: value for name, value in old.items() if "scalar" in name}
    old = {name.removeprefix("_elmo_lstm."): value for name, value in old.items()}
    new["bilm.characters.embedding"] = old["_token_embedder._char_embedding_weights"][1:]
    for kind in ("weight", "bias"):
        new[f"bilm.characters.projection.{kind}"] = old[f"_token_embedder._projection.{kind}"]
        for index in range(4):
            new[f"bilm.characters.convolutions.{index}.{kind}"] = old[f"_token_embedder.char_conv_{index}.{kind}"]
        transform, carry = old[f"_token_embedder._highways._layers.0.{kind}"].chunk(2)
        new[f"bilm.characters.highways.0.transform.{kind}"] = transform
        new[f"bilm.characters.highways.0.carry.{kind}"] = -carry
    for layer in (0, 1):
        weights, biases, projections = [], [], []
        for direction in ("forward", "backward"):
            cell = f"_elmo_lstm.{direction}_layer_{layer}"
            both = [old[f"{cell}.{part}_linearity.weight"] for part in ("input", "state")]
            i, f, j, o = torch.cat(both, dim=1).chunk(4)
            weights.append(torch.cat([i, j, f, o]).T)
            i, f, j, o = old[f"{cell}.state_linearity.bias"].chunk(4)
            biases.append(torch.cat([i, j, f - 1, o]))
            projections.append(old[f"{cell}.state_projection.weight"].T)
        for name, parts in (("weight", weights), ("bias", biases), ("projection", projections)):
            new[f"bilm.lstms.{layer}.{name}"] = torch.stack(parts)
    return new


STATE = recorded_state()


def both(module: Elmo) -> torch.Tensor:
    return torch.stack(module(IDS)["elmo_representations"]).detach()


def test_trained_weights_give_what_they_gave_in_the_original():
    module = elmo(num_output_representations=2, requires_grad=True)
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
    module, recorded = (elmo(num_output_representations=2, requires_grad=True) for _ in range(2))
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
