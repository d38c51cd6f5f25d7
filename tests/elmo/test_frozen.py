"""Nothing thaws or stores a frozen biLM: training mode, Lightning, checkpoints, copies, half precision."""

import copy
import io
import pickle

import pytest
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader

from elmo_bench import Elmo, ElmoEncoder, ScalarMix, batch_to_ids
from elmo_bench.training.quiet import quiet
from tests.runs import GOLDEN

FILES = GOLDEN / "options.json", GOLDEN / "weights.hdf5"
SENTENCES = [["A", "first", "sentence", "of", "six", "."], ["Two", "words"]]
OTHERS = [["Words", "that", "none", "has", "seen", "yet", "."], ["Some", "more"]]
IDS, OTHER_IDS = batch_to_ids(SENTENCES), batch_to_ids(OTHERS)


def elmo(**options) -> Elmo:
    return Elmo(*FILES, **{"num_output_representations": 1, "dropout": 0, **options})


def first(module: Elmo, ids: torch.Tensor = IDS) -> torch.Tensor:
    return module(ids)["elmo_representations"][0].detach()


class Model(pl.LightningModule):
    """Both interfaces inside a module, as a user would have them."""

    def __init__(self):
        super().__init__()
        self.elmo = elmo(dropout=0.1)
        self.encoder = ElmoEncoder(weights=str(GOLDEN))
        self.mix = ScalarMix(3)
        self.output = nn.Linear(64, 1)

    def training_step(self, batch, _index):
        ids = IDS if batch.sum() else OTHER_IDS  # validation comes first: training meets words of its own
        outputs = self.encoder.outputs(SENTENCES if batch.sum() else OTHERS, mix=self.mix)
        both = torch.cat([self.elmo(ids)["elmo_representations"][0], outputs["elmo"]], dim=2)
        return self.output(both).square().mean()

    def validation_step(self, batch, index):
        self.training_step(batch * 0, index)

    def train_dataloader(self):
        return DataLoader(torch.ones(4, 1), batch_size=2)

    val_dataloader = train_dataloader

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def weights_of(model: Model) -> dict[str, torch.Tensor]:
    return {
        f"{owner} {name}": value.clone()
        for owner, bilm in (("elmo", model.elmo.frozen.bilm), ("encoder", model.encoder.bilm))
        for name, value in bilm.state_dict().items()
    }


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_lightning_neither_trains_nor_stores_it(tmp_path, precision):
    model = Model()
    before, mix, vectors = weights_of(model), model.elmo.scalar_mix_0.gamma.clone(), model.encoder.encode(SENTENCES)
    model.freeze()
    model.unfreeze()  # requires_grad on all parameters, training mode on all modules
    with quiet():
        trainer = pl.Trainer(
            max_steps=2,
            precision=precision,
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            enable_checkpointing=False,
        )
        trainer.fit(model)
        trainer.save_checkpoint(tmp_path / "model.ckpt")
    assert all(torch.equal(value, before[name]) for name, value in weights_of(model).items())
    assert not torch.equal(model.elmo.scalar_mix_0.gamma, mix)
    for found, wanted in zip(model.encoder.encode(SENTENCES), vectors, strict=True):
        assert torch.equal(found, wanted)

    checkpoint = torch.load(tmp_path / "model.ckpt", weights_only=False)
    own = {"mix.gamma", "mix.scalars", "output.weight", "output.bias", "elmo.scalar_mix_0.gamma"}
    assert checkpoint["state_dict"].keys() == own | {f"elmo.scalar_mix_0.scalar_parameters.{n}" for n in range(3)}
    assert (tmp_path / "model.ckpt").stat().st_size < 20_000  # the biLM's weights are 180,000 bytes
    again = Model.load_from_checkpoint(tmp_path / "model.ckpt")
    again.eval(), model.eval()
    assert torch.equal(first(again.elmo), first(model.elmo))


def test_words_remembered_in_inference_mode_serve_training_and_the_reverse():
    module, encoder = elmo(stateful=True), ElmoEncoder(weights=str(GOLDEN), stateful=True)
    for mode in (True, False, True, False):
        with torch.inference_mode(mode):
            for ids, sentences in ((IDS, SENTENCES), (OTHER_IDS, OTHERS[:1])):
                output = module(ids)["elmo_representations"][0]
                encoder.encode(sentences)
                if not mode:
                    output.sum().backward()


@pytest.mark.parametrize("requires_grad", [False, True])
def test_autocast_leaves_what_is_frozen_or_without_gradients_as_it_is(requires_grad):
    module, encoder = elmo(requires_grad=requires_grad), ElmoEncoder(weights=str(GOLDEN))
    with torch.no_grad():
        exact, alone = first(module), encoder.encode([SENTENCES[1]])[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with torch.no_grad():
            assert torch.equal(first(module), exact)
        assert torch.equal(encoder.encode([SENTENCES[1]])[0], alone)
        with_gradients = module(IDS)["elmo_representations"][0]
    assert with_gradients.dtype == torch.float32
    torch.testing.assert_close(with_gradients, exact, atol=0.2 if requires_grad else 0, rtol=0)
    with_gradients.sum().backward()


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_representations_have_the_dtype_that_the_module_was_given(dtype, requires_grad):
    module = elmo(requires_grad=requires_grad)
    exact = first(module)
    found = first(module.to(dtype))
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), exact, atol=0.1 if dtype == torch.bfloat16 else 1e-5, rtol=0)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_copies_and_pickles_give_the_same_and_go_their_own_ways(requires_grad):
    module = elmo(stateful=True, requires_grad=requires_grad)
    module(OTHER_IDS)
    stream = io.BytesIO()
    torch.save(module, stream)
    stream.seek(0)
    others = [copy.deepcopy(module), torch.load(stream, weights_only=False), pickle.loads(pickle.dumps(module))]
    second, third = first(module), first(module)
    assert not torch.allclose(second, third, atol=1e-3)
    for other in others:
        torch.testing.assert_close(first(other), second, atol=5e-6, rtol=0)
        torch.testing.assert_close(first(other), third, atol=5e-6, rtol=0)


def test_a_module_in_place_of_files():
    encoder = ElmoEncoder(weights=str(GOLDEN))
    wanted = first(elmo())
    shared = Elmo(None, None, 1, dropout=0, module=encoder)
    assert torch.equal(first(shared), wanted)

    bilm = copy.deepcopy(encoder.bilm)
    frozen = Elmo(None, None, 1, dropout=0, module=bilm)
    trained = Elmo(None, None, 1, dropout=0, module=bilm, requires_grad=True)
    of_encoder = Elmo(None, None, 1, dropout=0, module=encoder, requires_grad=True)
    for module in (trained, of_encoder):
        assert all(parameter.requires_grad for parameter in module.parameters())
        module(IDS)["elmo_representations"][0].square().sum().backward()
        torch.optim.SGD(module.parameters(), lr=0.01).step()
        with torch.no_grad():
            assert not torch.allclose(first(module), wanted, atol=1e-3)
    assert trained.bilm is bilm
    assert torch.equal(first(frozen), wanted)  # a copy, as it was
    assert torch.equal(encoder.encode(SENTENCES)[0], ElmoEncoder(weights=str(GOLDEN)).encode(SENTENCES)[0])
    assert not any(parameter.requires_grad for parameter in encoder.bilm.parameters())
