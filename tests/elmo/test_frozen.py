"""Nothing thaws or stores a frozen biLM: training mode, Lightning, checkpoints, copies, half precision."""

import copy
import io
import pickle
import threading

import pandas as pd
import pytest
import torch

from elmo_bench import Elmo, ElmoEncoder, batch_to_ids
from elmo_bench.base.errors import UserError
from elmo_bench.elmo.frozen import float32_products, frozen
from elmo_bench.elmo.kernels import packed
from elmo_bench.encoders import hf
from elmo_bench.runner.prepare import prepare
from tests.elmo.recorded import elmo
from tests.runs import GOLDEN, described, first_ones

SENTENCES = [["A", "first", "sentence", "of", "six", "."], ["Two", "words"]]
OTHERS = [["Words", "that", "none", "has", "seen", "yet", "."], ["Some", "more"]]
IDS, OTHER_IDS = batch_to_ids(SENTENCES), batch_to_ids(OTHERS)


def first(module: Elmo, ids: torch.Tensor = IDS) -> torch.Tensor:
    return module(ids)["elmo_representations"][0].detach()


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


@pytest.mark.parametrize("given", ["ieee", "tf32"])
def test_torchs_settings_of_float32_are_exact_inside_and_restored(given):
    backends = torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn
    before = [each.fp32_precision for each in backends]
    try:
        for each in backends:
            each.fp32_precision = given
        assert frozen(lambda: [each.fp32_precision for each in backends])() == ["ieee"] * 3
        assert [each.fp32_precision for each in backends] == [given] * 3
    finally:
        for each, earlier in zip(backends, before, strict=True):
            each.fp32_precision = earlier


def test_a_card_that_cannot_multiply_in_bfloat16_is_one_line(monkeypatch, tiny_bert):
    for name, value in (
        ("is_available", True), ("get_device_capability", (7, 5)), ("get_device_name", "Tesla T4"), ("device_count", 1),
    ):  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, lambda *_, value=value: value)
    with pytest.raises(UserError, match=r"^precision=bfloat16: Tesla T4 cannot multiply in it"):
        ElmoEncoder(weights=str(GOLDEN), precision="bfloat16", device="cuda")
    with pytest.raises(UserError, match=r"^encoder.contextual.precision=bfloat16: Tesla T4 cannot multiply in it"):
        hf.load(weights=str(tiny_bert), precision="bfloat16", device="cuda")
    with pytest.raises(UserError, match=r"^trainer.precision=bf16-mixed: Tesla T4 cannot multiply in it"):
        prepare(*described("task=ner", "encoder=glove", "trainer=gpu"))


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
    assert torch.equal(first(frozen), wanted)  # a copy, unchanged
    assert torch.equal(encoder.encode(SENTENCES)[0], ElmoEncoder(weights=str(GOLDEN)).encode(SENTENCES)[0])
    assert not any(parameter.requires_grad for parameter in encoder.bilm.parameters())


def test_training_mode_gradients_and_checkpoints_do_not_reach_it():
    module = torch.nn.ModuleDict({"elmo": elmo()})
    wanted = first(module["elmo"])
    module.train().requires_grad_(True).apply(lambda each: each.register_buffer("seen", torch.ones(1)))
    assert not any(parameter.requires_grad for parameter in module["elmo"].encoder.bilm.parameters())
    assert not [name for name in module.state_dict() if "scalar" not in name and not name.endswith("seen")]
    assert torch.equal(first(module["elmo"]), wanted)


def test_threads_leave_the_users_choice_as_it_was():
    place, encoder = torch.backends.mkldnn.matmul, ElmoEncoder(weights=str(GOLDEN))
    before, threads = place.fp32_precision, torch.get_num_threads()
    try:
        place.fp32_precision = "bf16"
        torch.set_num_threads(2)
        for size in range(2, 5):
            encoder.encode([[f"w{size}{k}"] * k for k in range(1, 40)])
            assert place.fp32_precision == "bf16"
    finally:
        place.fp32_precision = before
        torch.set_num_threads(threads)


def test_a_series_of_pandas_is_read_in_its_order():
    encoder, texts = ElmoEncoder(weights=str(GOLDEN)), pd.Series(SENTENCES, index=[1, 0])
    assert all(map(torch.equal, encoder.encode(texts), encoder.encode(SENTENCES)))


def test_a_full_memory_of_words_starts_over_and_gives_the_same_vectors():
    calls = [["a", "b", "c"], ["b", "c", "d", "e"], ["a", "e"]]
    encoder = ElmoEncoder(weights=str(GOLDEN))
    expected = [encoder.vectors(words) for words in calls]
    encoder.to("cpu")
    encoder.vectors.limit = 4
    for words, wanted in zip(calls, expected, strict=True):
        torch.testing.assert_close(encoder.vectors(words), wanted, atol=2e-6, rtol=0)
        assert len(encoder.vectors._rows) <= 4


def test_threads_inside_and_outside_a_frozen_call_share_one_choice():
    """A begins, B begins, A ends, B ends: exact for both to their ends, and the user's choice afterwards."""
    setting = torch.backends.mkldnn.matmul
    before = setting.fp32_precision
    events = {name: threading.Event() for name in ("a inside", "b inside", "a may end", "b may end")}
    seen = {}

    @frozen
    def stay(name):
        events[f"{name} inside"].set()
        assert events[f"{name} may end"].wait(10)
        seen[name] = setting.fp32_precision

    threads = {name: threading.Thread(target=stay, args=(name,)) for name in "ab"}
    try:
        setting.fp32_precision = "bf16"
        for name, thread in threads.items():
            thread.start()
            assert events[f"{name} inside"].wait(10)
        for name, thread in threads.items():
            events[f"{name} may end"].set()
            thread.join(10)
            seen[f"after {name}"] = setting.fp32_precision
    finally:
        setting.fp32_precision = before
    assert seen == {"a": "ieee", "after a": "ieee", "b": "ieee", "after b": "bf16"}


def test_blocks_of_another_precision_wait_for_each_other():
    """Otherwise the second one takes the first one's precision for the user's, and restores it."""
    setting = torch.backends.cuda.matmul
    before = setting.fp32_precision
    inside, may_end = threading.Event(), threading.Event()

    def other():
        with float32_products("ieee"):
            inside.set()
            assert may_end.wait(10)

    thread = threading.Thread(target=other)
    with float32_products("tf32"), float32_products("tf32"):  # a thread may nest them
        thread.start()
        assert not inside.wait(0.05)
        assert setting.fp32_precision == "tf32"
    assert inside.wait(10)
    may_end.set()
    thread.join(10)
    assert setting.fp32_precision == before


def test_an_error_inside_a_frozen_call_restores_the_choice():
    setting = torch.backends.mkldnn.matmul
    before = setting.fp32_precision
    try:
        setting.fp32_precision = "bf16"
        with pytest.raises(ZeroDivisionError):
            frozen(lambda: 1 / 0)()
        assert setting.fp32_precision == "bf16"
    finally:
        setting.fp32_precision = before


@pytest.mark.parametrize("precision", first_ones(["float32", "bfloat16", "int8", "tf32"], 2))
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda encoder: pickle.loads(pickle.dumps(encoder))])
def test_an_encoder_of_any_precision_can_be_copied(precision, copied):
    """tf32 needs a GPU when it encodes, not when it is sent to a process."""
    encoder = ElmoEncoder(weights=str(GOLDEN))
    if precision != "tf32" and not packed.works(precision):
        pytest.skip(f"this CPU has no {precision}")
    encoder.precision = precision
    encoder._forget()
    if precision != "tf32":
        encoder.encode(SENTENCES)
        kept = encoder.__getstate__()
        assert kept["_after_markers"] is None and "network" not in kept
    other = copied(encoder)
    assert (other.precision, other.checksum, other.device) == (precision, encoder.checksum, encoder.device)
    if precision == "tf32":
        with pytest.raises(UserError, match="precision=tf32 needs a GPU"):
            other.encode(SENTENCES)
    else:
        for layers, expected in zip(other.encode(SENTENCES), encoder.encode(SENTENCES), strict=True):
            assert layers.equal(expected)


@pytest.mark.slow  # importing the compiler takes seconds
@pytest.mark.filterwarnings("ignore")  # of the compiler
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_model_with_elmo_can_be_compiled(requires_grad):
    """ELMo runs uncompiled in the compiled model, with gradients to its mix, and without."""
    module = elmo(requires_grad=requires_grad)
    output = torch.nn.Linear(module.get_output_dim(), 2)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.elmo, self.output = module, output

        def forward(self, ids):
            return self.output(self.elmo(ids)["elmo_representations"][0])

    model = Model()
    compiled = torch.compile(model, backend="eager")
    for ids in (IDS, OTHER_IDS):
        with torch.no_grad():
            torch.testing.assert_close(compiled(ids), model(ids))
        compiled(ids).sum().backward()
        gradients = [parameter.grad.clone() for parameter in model.parameters()]
        model.zero_grad()
        model(ids).sum().backward()
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            torch.testing.assert_close(gradient, parameter.grad)
        model.zero_grad()
    encoder = ElmoEncoder(weights=str(GOLDEN))
    encode = torch.compile(lambda: encoder.encode(SENTENCES)[0], backend="eager")
    torch.testing.assert_close(encode(), encoder.encode(SENTENCES)[0])


@pytest.mark.parametrize("device", ["cuda:99", "nowhere", torch.device("meta")])
def test_a_device_that_is_not_here_is_refused_and_the_encoder_stays(device):
    encoder = ElmoEncoder(weights=str(GOLDEN))
    before = encoder.network
    with pytest.raises(UserError, match=f"^device={device}: no such device here"):
        encoder.to(device)
    assert (encoder.device.type, encoder.network) == ("cpu", before)
    encoder.precision = "tf32"
    with pytest.raises(UserError, match="tf32 needs a GPU"):
        encoder.to("cpu")
    assert encoder.network is before
