"""Record reference figures with the peer: `tests/golden/bilm2` and `tests/golden/elmo_module.npz`.

    benchmarks/.peer/bin/python benchmarks/peer/make_golden.py          # writes both
    benchmarks/.peer/bin/python benchmarks/peer/make_golden.py --check  # only compares with what is recorded

Before anything is written the peer must reproduce tests/golden/bilm, recorded with the same library on another machine.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from allennlp_elmo import Elmo, _ElmoBiLm, batch_to_ids

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import random_weights  # noqa: E402

GOLDEN = ROOT / "tests" / "golden"
CELL, PROJECTION, HIGHWAYS, FILTERS, CHARACTER_DIM = 56, 24, 2, [[1, 8], [2, 16], [3, 24], [5, 32]], 12
SEED = 20180215
# Large enough that both clips work often (the script says how often); BIAS_NOISE keeps that from being chaotic.
GAINS, BIAS_NOISE = {"W_cnn": 8.0, "W_0": 1.2, "W_P_0": 3.0}, 0.7
ROUNDING = 5e-6  # one CPU against another, at values up to 6
# Between the peer's float32 and its float64, as in tests/golden/bilm: weights with more than that amplify rounding so
# much that a tolerance of 2e-5 says nothing about the code under test.
WELL_POSED = 4.4e-6

LONG = "electroencephalographically-über-" * 3
SENTENCES = [
    "Yes",
    "A naïve Straße café in Łódź sold żurek .",
    "",  # 120 tokens, filled in below
    "« Ça alors ! » , s'écria-t-elle — “ 何 ? ” — и ушла … 🙂 👩‍🚀",
    "مرحبا بالعالم , said the sign at Ὀλυμπία .",
    f"{LONG} is one word , {'z' * 48} fits , {'z' * 49} does not .",
    f"Cut inside a letter : {'x' * 47}é and {'ab' * 23}😀 .",
    "!",
    "e\u0301 is not é ; <S> and </S> are markers",
    "3,141.59 % of http://example.org/?a=b&c=d",
]
BATCHES = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
# Of a sentence of 3,000 tokens these alone are kept: both ends, and where an encoder may cut it into pieces.
LONG_POSITIONS = [
    0,
    1,
    *(edge + side for edge in (256, 512, 1000, 1024, 2000, 2048, 2560) for side in (-1, 0, 1)),
    2999,
]


def sentences() -> list[list[str]]:
    found = [text.split() for text in SENTENCES]
    words = distinct(found)
    random = np.random.default_rng(SEED)
    found[2] = [words[n] for n in random.integers(len(words), size=120)]
    return found


def distinct(cases: list[list[str]]) -> list[str]:
    return sorted({word for sentence in cases for word in sentence})


def layers(bilm: _ElmoBiLm, batch: list[list[str]]) -> list[np.ndarray]:
    """Of each sentence float32 [L, T + 2, 2P], the markers included."""
    with torch.no_grad():
        activations = torch.stack(bilm(batch_to_ids(batch))["activations"], dim=1).numpy()  # BLTD
    return [found[:, : len(sentence) + 2] for found, sentence in zip(activations, batch, strict=True)]


def record(
    folder: Path, cases: list[list[str]], batches: list[list[int]], kind: torch.dtype = torch.float32
) -> tuple[dict, dict]:
    """(stateless, stateful): as in tests/golden/README.md."""

    def keep(into: dict, number: int, found: np.ndarray) -> None:
        into[f"s{number:02d}"] = found[:, 1:-1]
        into[f"s{number:02d}_markers"] = found[:, [0, -1]]

    stateless: dict[str, np.ndarray] = {}
    stateful: dict[str, np.ndarray] = {}
    bilm = _ElmoBiLm(folder / "options.json", folder / "weights.hdf5").eval().to(kind)
    for number, sentence in enumerate(cases):
        bilm._elmo_lstm.reset_states()
        keep(stateless, number, layers(bilm, [sentence])[0])
    bilm._elmo_lstm.reset_states()
    for index, batch in enumerate(batches):
        for number, found in zip(batch, layers(bilm, [cases[n] for n in batch]), strict=True):
            keep(stateful, number, found)
        h, c = bilm._elmo_lstm._states
        stateful[f"state_h_after_batch{index}"], stateful[f"state_c_after_batch{index}"] = h.numpy(), c.numpy()
    return stateless, stateful


def record_long(folder: Path, cases: list[list[str]], kind: torch.dtype = torch.float32) -> dict[str, np.ndarray]:
    """A sentence of 3,000 tokens from zero state, at LONG_POSITIONS."""
    words = distinct(cases)
    chosen = np.random.default_rng(SEED + 1).integers(len(words), size=3000)
    bilm = _ElmoBiLm(folder / "options.json", folder / "weights.hdf5").eval().to(kind)
    found = layers(bilm, [[words[n] for n in chosen]])[0][:, 1:-1]
    return {"words": chosen.astype(np.uint8), "positions": np.array(LONG_POSITIONS), "layers": found[:, LONG_POSITIONS]}


def module_figures() -> dict[str, Any]:
    """`Elmo` in evaluation mode with golden/bilm: name of the call, then `.0`, `.1` (representations) or `.mask`."""
    folder = GOLDEN / "bilm"
    cases = json.loads((folder / "sentences.json").read_text(encoding="utf-8"))
    first, second = (batch_to_ids([cases["sentences"][n] for n in batch]) for batch in cases["batches"][:2])
    figures: dict[str, Any] = {}

    def elmo(representations: int = 1, **options) -> Elmo:
        files = folder / "options.json", folder / "weights.hdf5"
        return Elmo(*files, representations, dropout=0, **options).eval()

    def call(name: str, module: Elmo, ids: torch.Tensor) -> None:
        with torch.no_grad():
            found = module(ids)
        figures[f"{name}.mask"] = found["mask"].numpy()
        for number, representation in enumerate(found["elmo_representations"]):
            figures[f"{name}.{number}"] = representation.numpy()

    stateful = elmo(2)
    call("default", stateful, first)
    call("then_batch1", stateful, second)
    call("then_two_rows_of_batch0", stateful, first[:2])
    call("then_batch0_again", stateful, first)
    call("layer_norm", elmo(do_layer_norm=True), first)
    call("scalars_1_2_0.5", elmo(scalar_mix_parameters=[1.0, 2.0, 0.5]), first)
    call("boundaries", elmo(keep_sentence_boundaries=True), first)
    call("boundaries_layer_norm", elmo(keep_sentence_boundaries=True, do_layer_norm=True), first)
    call("four_dimensions", elmo(), first.view(2, 2, *first.shape[1:]))
    call("empty_row", elmo(), first * torch.tensor([1, 0, 1, 1])[:, None, None])
    return figures


def differ(found: dict[str, np.ndarray], path: Path) -> float:
    """The largest absolute difference from the recorded arrays; both have the same names."""
    recorded = np.load(path)
    assert set(recorded.files) == set(found)
    return max(float(np.abs(recorded[name].astype(np.float64) - found[name]).max()) for name in recorded.files)


def check(path: Path, found: dict[str, np.ndarray], limit: float, what: str) -> None:
    difference = differ(found, path)
    print(f"{path.relative_to(GOLDEN)}: {what} differs by at most {difference:.1e}")
    if difference > limit:
        sys.exit(f"the limit is {limit}")


def check_set(name: str) -> None:
    folder = GOLDEN / name
    cases = json.loads((folder / "sentences.json").read_text(encoding="utf-8"))
    modes = zip(("stateless", "stateful"), record(folder, cases["sentences"], cases["batches"]), strict=True)
    for mode, found in modes:
        check(folder / f"expected_{mode}.npz", found, ROUNDING, "a new run")
    if (file := folder / "expected_long.npz").exists():
        check(file, record_long(folder, cases["sentences"]), ROUNDING, "a new run")


def count_clips() -> tuple[dict[int, list[int]], object]:
    """({width: [clipped, values]}, patch of torch.clamp): the LSTM clamps cells of width H, outputs of width P."""
    counts: dict[int, list[int]] = {CELL: [0, 0], PROJECTION: [0, 0]}
    clamp = torch.clamp

    def counting(x, low, high):
        counts[x.shape[-1]][0] += int(((x < low) | (x > high)).sum())
        counts[x.shape[-1]][1] += x.numel()
        return clamp(x, low, high)

    return counts, mock.patch("torch.clamp", counting)


def make_bilm2() -> None:
    folder = GOLDEN / "bilm2"
    shape = random_weights.options(CELL, PROJECTION, HIGHWAYS, FILTERS, CHARACTER_DIM)
    random_weights.write(folder, shape, SEED, gains=GAINS, bias_noise=BIAS_NOISE)
    cases = sentences()
    (folder / "sentences.json").write_text(
        json.dumps({"sentences": cases, "batches": BATCHES}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )
    counts, patch = count_clips()
    with patch:  # type: ignore[attr-defined]
        stateless, stateful = record(folder, cases, BATCHES)
    for name, width in (("cell", CELL), ("projection", PROJECTION)):
        clipped, values = counts[width]
        print(f"bilm2: the {name} clip changed {clipped:,} of {values:,} values ({clipped / values:.1%})")
    recorded = {"stateless": stateless, "stateful": stateful, "long": record_long(folder, cases)}
    exact = (*record(folder, cases, BATCHES, torch.float64), record_long(folder, cases, torch.float64))
    for (mode, found), precise in zip(recorded.items(), exact, strict=True):
        file = folder / f"expected_{mode}.npz"
        np.savez_compressed(file, **found)
        check(file, precise, WELL_POSED, "float64")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    torch.set_num_threads(1)
    checking = parser.parse_args().check
    check_set("bilm")
    if not checking:
        make_bilm2()
        np.savez_compressed(GOLDEN / "elmo_module.npz", **module_figures())
    check_set("bilm2")
    check(GOLDEN / "elmo_module.npz", module_figures(), ROUNDING, "a new run")


if __name__ == "__main__":
    main()
