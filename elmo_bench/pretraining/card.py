"""The card (README.md) of trained weights: what they are, what they read, how, where, and how to make them again."""

import platform
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.elmo.model_card import ABOUT, model_card

FILES = """\
| file | |
|---|---|
| `options.json` | the shape, in the published schema |
| `weights.safetensors` | the arrays under their published names |
| `softmax.safetensors` | the output layer of the language model: for perplexity and further training |
| `vocabulary.txt` | its words, `word<TAB>count` a line |"""


STORED = {"int8": "int8 with a scale for each output", "float16": "float16", "float32": "float32"}  # in cards


def card(about: Mapping[str, Any]) -> str:
    """The card as Markdown, with YAML for the Hugging Face Hub. Only the first two keys are required:

    options: BiLMOptions
    checksum: of the weights, as `pretrained.checksum_of` gives it
    title: a name
    licence: of the text, a code of the Hub (`cc-by-sa-3.0`) or words of your own; "not stated" if there is none
    language: a code of the Hub, or a list of them
    files: the files of text, a list of paths; the card has their names
    tokens, sentences, skipped: of the text, skipped in lines
    words: of the softmax
    stored: the type of the numbers in the files
    recipe: mapping of settings
    steps, tokens_read: predictions of one direction, the ends of sentences included
    hours, hardware, threads, torch: of the run (see `hardware`)
    perplexity: mapping or list of mappings with the fields of `perplexity.Perplexity`, and `corpus`, a name
    command: makes the weights again
    """
    licence = str(about.get("licence") or "not stated")
    code, named = licence_of(licence)
    command = about.get("command")
    return "{}\n".format(
        model_card(
            about["options"],
            checksum=about["checksum"],
            license=code,
            language=about.get("language"),
            about={**ABOUT, **named},
            rows={name: text for name, text in _rows(about, licence).items() if text},
            description=f"To make them again:\n\n    {command}" if command else "",
            files=FILES,
            title=str(about.get("title") or ""),
        )
    )


def check_dtype(dtype: str) -> None:
    """Raise UserError for an unknown `dtype=`, before the long work."""
    if dtype not in STORED:
        raise UserError(f"dtype={dtype}: unknown. Choose {', '.join(STORED)}.")


def licence_of(licence: str) -> tuple[str, dict[str, Any]]:
    """The Hub's code of a licence (`cc-by-sa-3.0`, or `other` for words of your own), and more YAML for the card."""
    if licence == "not stated":
        return "unknown", {}
    if licence.islower() and " " not in licence:
        return licence, {}
    return "other", {"license_name": licence}


def command_line(command: str, arguments: Sequence[str]) -> str:
    """The command with its arguments, as a shell reads it; addresses are redacted."""
    return redacted(shlex.join(["python", "-m", "elmo_bench", command, *arguments]))


def hardware(device: str = "cpu") -> str:
    """The model name of the processor, or of the GPU; the bare architecture if the system does not name it."""
    if torch.device(device).type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (models and models[0]) or platform.processor() or platform.machine()


def _rows(about: Mapping[str, Any], licence: str) -> dict[str, str]:
    """The rows of the table; empty if nothing is known."""
    files = [Path(file).name for file in about.get("files", ())]
    text = [_some(files)] + [_count(about, key, unit) for key, unit in _TEXT.items()]
    read = [_count(about, "steps", "steps"), _count(about, "tokens_read", "predictions in each direction")]
    if about.get("tokens") and about.get("tokens_read"):
        whole = about["tokens"] + about.get("sentences", 0)  # a sentence of n words has n + 1 predictions
        read.append(f"{about['tokens_read'] / whole:.2f} passes over the text")
    hours = about.get("hours", 0.0)
    spent = f"{hours:.2f} hours" if hours >= 1 else f"{60 * hours:.1f} minutes" if hours else ""
    cost = [spent, about.get("hardware", ""), _count(about, "threads", "threads")]
    measured = about.get("perplexity") or []
    return {
        "text": _joined(text),
        "licence of the text": licence,
        "softmax": _count(about, "words", "words"),
        "stored": about.get("stored", ""),
        "recipe": ", ".join(f"{name} {value}" for name, value in about.get("recipe", {}).items()),
        "read": _joined(read),
        "cost": _joined([*cost, f"torch {about['torch']}" if "torch" in about else ""]),
        **{
            f"perplexity, {each.get('corpus', 'held-out text')}": _perplexity(each)
            for each in ([measured] if isinstance(measured, Mapping) else measured)
        },
    }


_TEXT = {"tokens": "tokens", "sentences": "sentences", "skipped": "lines skipped"}


def _perplexity(figures: Mapping[str, Any]) -> str:
    both = f"forward {figures['forward']:.2f}, backward {figures['backward']:.2f}"
    return (
        f"{both}, average **{figures['average']:.2f}**, each sentence alone from zero state, full softmax; `<UNK>` is "
        f"{figures['unknown_percent']:.2f} % of "
        f"{figures['targets']:,} targets, without them {figures['average_without_unknown']:.2f}"
    )


def _count(about: Mapping[str, Any], key: str, unit: str) -> str:
    return f"{about[key]:,} {unit}" if about.get(key) is not None else ""


def _some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} files, {names[0]} to {names[-1]}"


def _joined(parts: Sequence[str]) -> str:
    return ", ".join(filter(None, parts))
