"""Which runs make which of the paper's tables, by what they changed; ELMo's encoders are meant by their names."""

from typing import Any

from elmo_bench.reporting.experiments import Experiment
from elmo_bench.reporting.select import BASELINE, Row


def _mix(row: Row) -> dict[str, Any]:
    return row.newest["identity"]["settings"].get("mix") or {}


def _only(row: Row, *keys: str) -> bool:
    return bool(_mix(row)) and row.variation.keys() <= set(keys)


def _plain_baseline(row: Row) -> bool:
    return row.newest["encoder"] == BASELINE and not row.changes


def _layers(row: Row) -> str | None:
    if _plain_baseline(row):
        return BASELINE
    kind, penalty = _mix(row).get("kind"), _mix(row).get("penalty")
    if not _only(row, "mix", "mix.penalty"):
        return None
    if kind in ("last", "mean"):
        return kind
    return f"penalty={penalty:g}" if kind == "scalar" and penalty in (1, 0.001) else None


def _place(row: Row) -> str | None:
    return row.newest["identity"]["settings"].get("place") if _only(row, "place") else None


def _inputs(row: Row) -> str | None:
    if _plain_baseline(row):
        return BASELINE
    first = row.variation == {"mix": "first"}
    spelled = {"elmo": "with_characters", "elmo_only": "characters"} if first else {"elmo_characters": "characters"}
    known = row.encoder in ("elmo", "elmo_only", "elmo_characters") and (first or not row.variation)
    return spelled.get(row.encoder, row.encoder) if known else None


def _gamma(row: Row) -> str | None:
    if not _only(row, "mix", "mix.gamma") or _mix(row).get("kind") not in ("scalar", "last"):
        return None
    return _mix(row)["kind"] + ("" if row.variation.get("mix.gamma", "true") == "true" else " without")


def _penalty(row: Row) -> str | None:
    if not _only(row, "mix.penalty") or _mix(row).get("kind") != "scalar":
        return None
    return f"{_mix(row)['penalty']:g}"


def _single(row: Row) -> str | None:
    if not _only(row, "mix", "mix.layer", "mix.gamma") or _mix(row).get("kind") != "layer":
        return None
    return f"layer={_mix(row)['layer']}"


EXPERIMENTS = (
    Experiment(
        name="table2",
        title="Which layers",
        about="The paper's table 2: the top layer alone, or all of them, their weights held to the mean (λ = 1) or "
        "free (λ = 0.001).",
        variant=_layers,
        reference=BASELINE,
        over=BASELINE,
        needs=lambda found: len(found) > 1,
        spelled={
            BASELINE: "baseline: static vectors",
            "last": "last layer only",
            "mean": "all layers, mean",
            "penalty=1": "all layers, λ = 1",
            "penalty=0.001": "all layers, λ = 0.001",
        },
    ),
    Experiment(
        name="table3",
        title="Where the encoder enters",
        about="The paper's table 3: at the input of the head, behind its first biRNN, or both.",
        variant=_place,
        reference=None,
        over="the task's own place",
        needs=lambda found: len(found) > 1,
        spelled={"input": "input only", "both": "input and output", "output": "output only"},
    ),
    Experiment(
        name="ablation_inputs",
        title="What is in the input",
        about="Section 5 of the NAACL version: is it the sub-words or the context, and are static vectors needed too?",
        variant=_inputs,
        reference=BASELINE,
        over=BASELINE,
        needs=lambda found: bool(found & {"elmo_only", "characters"}),
        spelled={
            BASELINE: "static vectors only",
            "characters": "character layer only",
            "elmo_only": "ELMo only",
            "with_characters": "static vectors and character layer",
            "elmo": "static vectors and ELMo",
        },
        across=True,
    ),
    Experiment(
        name="gamma",
        title="Is γ needed",
        about="The paper's appendix A.2: the factor before the sum of the layers, learned or left at 1.",
        variant=_gamma,
        reference={"scalar without": "scalar", "last without": "last"},
        over="the same with γ",
        needs=lambda found: any("without" in name for name in found),
        spelled={
            "scalar": "all layers, with γ",
            "scalar without": "all layers, without γ",
            "last": "last layer, with γ",
            "last without": "last layer, without γ",
        },
    ),
    Experiment(
        name="regularisation",
        title="How strong λ",
        about="λ holds the layers' weights to their mean; these runs differ in it and in nothing else.",
        variant=_penalty,
        reference=None,
        over="the task's own λ",
        needs=lambda found: len(found) > 2,
        spelled={},
        heading="λ",
    ),
    Experiment(
        name="table6",
        title="One layer at a time",
        about="The paper's table 6: each frozen layer by itself; layer 0 is the lowest.",
        variant=_single,
        encoder="elmo_only",
        reference="layer=0",
        over="layer 0",
        needs=lambda found: len(found) > 1,
        spelled={f"layer={k}": f"layer {k}" for k in range(100)},
    ),
)
