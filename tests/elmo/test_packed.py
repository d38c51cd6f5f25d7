"""The packed network against the plain modules, its precisions, and what must not matter to a vector."""

from types import SimpleNamespace

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.elmo.batches import zero_states
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.kernels import PRECISIONS, fastest, packed
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.kernels.packed import PackedBiLM
from elmo_bench.elmo.model import BiLM
from elmo_bench.text.chars import words_ids
from tests.elmo.bilms import TANH, random_bilm
from tests.runs import GOLDEN, first_rows


@pytest.fixture(scope="module")
def bilm() -> BiLM:
    return random_bilm(TANH).eval().requires_grad_(False)


def inputs(rows: int, steps: int):
    torch.manual_seed(rows)
    vectors = torch.randn(1 + 2 * rows, TANH.projection_dim)
    vectors[0] = 0
    words = torch.randint(1, len(vectors), (2, steps, rows))
    sizes = [max(1, rows - 2 * t) for t in range(steps)]
    for t, alive in enumerate(sizes):
        words[:, t, alive:] = 0
    states = [(0.1 * torch.randn_like(h), 0.1 * torch.randn_like(c)) for h, c in zero_states(TANH, rows, vectors)]
    return vectors, words, states, sizes


@pytest.mark.parametrize("rows", [1, 2, 15, 16, 40])
@torch.no_grad()
def test_every_number_of_rows_gives_what_the_module_gives(bilm, rows):
    arguments = inputs(rows, 11)
    with torch.enable_grad():  # the loop for autograd
        expected, expected_last = BatchedBiLM(bilm).contextual(*arguments)
    for network in (BatchedBiLM(bilm), PackedBiLM(bilm, "float32")):
        found, last = network.contextual(*arguments)
        torch.testing.assert_close([*found, *last], [*expected, *expected_last], atol=2e-6, rtol=0)


@pytest.mark.parametrize(("precision", "rms"), first_rows([("bfloat16", 0.01), ("float32", 5e-6), ("int8", 0.06)], 1))
def test_a_precision_is_within_its_bounds_of_the_reference_and_does_not_depend_on_neighbours(precision, rms):
    if not packed.works(precision):
        pytest.skip(f"this CPU has no instructions for {precision}")
    sentences = [["The", "bank", "of", "the", "river", "."], ["A", "dog", "barks"], ["Hi"] * 30]
    encoder = ElmoEncoder(precision=precision)
    assert encoder.checksum == encoder.source + (precision != "float32") * f" {precision}"
    for sentence, layers in zip(sentences, encoder.encode(sentences), strict=True):
        ids = torch.from_numpy(words_ids(["<S>", *sentence, "</S>"]))
        expected = encoder.bilm(ids)[0][:, 1:-1]
        size = expected.square().mean().sqrt()
        assert (layers - expected).square().mean().sqrt() / size < rms
        # rounding alone: a sum in another order may fall on the other side of a step of the coarse numbers
        assert (layers - encoder.encode([sentence])[0]).square().mean().sqrt() / size < rms / 2


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("precision", "rms"), [("float32", 5e-6), ("tf32", 0.005), ("bfloat16", 0.01)])
def test_graphs_on_a_gpu_are_within_their_bounds(precision, rms):
    words = ["the", "bank", "of", "a", "river", "that", "nobody", "has", "seen", "."]
    sentences = [words * (1 + number % 5) + words[: number % 9] for number in range(300)] + [[]]
    encoder, exact = ElmoEncoder(precision=precision, device="cuda"), ElmoEncoder().encode(sentences)
    for _ in range(4):  # graphs are captured in the third call
        pairs = zip(encoder.encode(sentences), exact, strict=True)
        errors, sizes = zip(*((layers.cpu() - right, right) for layers, right in pairs), strict=True)
        spread = [torch.cat([each.flatten() for each in some]).square().mean().sqrt() for some in (errors, sizes)]
        assert spread[0] < rms * spread[1]


@pytest.fixture
def tried_again():
    """The operators are tried again in the test, and after it."""
    packed.works.cache_clear()
    yield
    packed.works.cache_clear()


def missing(*_, **__):
    raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")


def different(x, *_, **__):
    return torch.zeros(len(x), 64)


@pytest.mark.usefixtures("tried_again")
@pytest.mark.parametrize(
    ("precision", "tolerance", "operator"),
    first_rows(
        [
            ("bfloat16", 0.1, missing), ("float32", 5e-6, different),
            ("float32", 5e-6, missing), ("bfloat16", 0.1, different),
        ],
        1,
    ),
)  # fmt: skip
def test_without_torchs_private_operators_the_module_itself_runs(precision, tolerance, operator, monkeypatch):
    """The record has a note, and every product is one of the module's own, as on a GPU."""
    sentences = [["The", "bank"], ["A", "dog", "barks"]]
    expected = ElmoEncoder().encode(sentences)
    packed.works.cache_clear()
    monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace(_linear_pointwise=operator, _reorder_linear_weight=max))
    with noted() as notes:
        encoder = ElmoEncoder(precision=precision)
    assert notes == ["ELMo: oneDNN's operators in torch are missing or differ, so it runs without packed weights"]
    assert isinstance(encoder.network, BatchedBiLM)
    torch.testing.assert_close(encoder.encode(sentences), expected, atol=tolerance, rtol=0)
    with pytest.raises(UserError, match="precision=int8 runs on a CPU with oneDNN"):
        ElmoEncoder(precision="int8")


def test_an_unknown_precision_is_one_line(bilm):
    with pytest.raises(UserError, match="precision=tf32 needs a GPU"):
        fastest(bilm, precision="tf32")
    with pytest.raises(UserError, match=f"precision=fp8: unknown. Choose one of: {', '.join(PRECISIONS)}"):
        fastest(bilm, precision="fp8")


def test_a_vector_depends_on_its_sentence_alone_and_on_no_number_of_cores():
    encoder, sentences = ElmoEncoder(weights=str(GOLDEN)), [[f"w{n % 97}", "of", "x"] * (1 + n % 9) for n in range(150)]
    together = {}
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        together[threads] = encoder.encode(sentences)
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)
    backwards = ElmoEncoder(weights=str(GOLDEN)).encode(sentences[::-1])[::-1]
    for found in (together[2], backwards):
        torch.testing.assert_close(found, together[1], atol=1e-5, rtol=1e-6)
    for number in (0, 1, 8, 77, 149):
        alone = encoder.encode([sentences[number]])[0]
        assert alone.shape == (encoder.layers, len(sentences[number]), encoder.dim)
        torch.testing.assert_close(together[1][number], alone, atol=1e-5, rtol=1e-6)


@torch.no_grad()
def test_few_rows_of_many_steps_are_read_in_pieces(monkeypatch):
    bilm, arguments = random_bilm(TANH).eval().requires_grad_(False), inputs(3, 11)
    expected, expected_last = BatchedBiLM(bilm).contextual(*arguments)
    monkeypatch.setattr(packed, "ROWS_AT_ONCE", 12)  # four steps at a time
    found, last = packed.PackedBiLM(bilm, "float32").contextual(*arguments)
    torch.testing.assert_close([*found, *last], [*expected, *expected_last], atol=2e-6, rtol=0)
