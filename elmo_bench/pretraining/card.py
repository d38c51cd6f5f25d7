"""The card (README.md) of trained weights: what they are, what they read, how, where, and how to make them again."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.machine import processor
from elmo_bench.elmo.export import ABOUT, model_card

FILES = """\
| file | |
|---|---|
| `options.json` | the shape, in the published schema |
| `weights.safetensors` | the arrays under their published names |
| `softmax.safetensors` | the output layer of the language model: for perplexity and further training |
| `vocabulary.txt` | its words, `word<TAB>count` a line |"""
STORED = {"int8": "int8 with a scale for each output", "float16": "float16", "float32": "float32"}  # in cards


def card(about: Mapping[str, Any]) -> str:
    """The card as Markdown, with YAML for the Hugging Face Hub. Its keys:

    options: BiLMOptions
    checksum: of the weights, as `pretrained.checksum_of` gives it
    title: a name
    licence: of the text, a code of the Hub (`cc-by-sa-3.0`) or words of your own; "not stated" if there is none
    files: the files of text, a list of paths; the card has their names
    tokens, sentences: of the text
    words: of the softmax
    stored: the type of the numbers in the files
    recipe: mapping of settings
    steps, tokens_read: predictions of one direction, the ends of sentences included
    hours, hardware, threads, torch: of the run (see `hardware`)
    perplexity: list of mappings with the fields of `perplexity.Perplexity`, and `corpus`, a name
    command: makes the weights again
    """
    code, named = licence_of(about["licence"])
    found = model_card(
        about["options"],
        checksum=about["checksum"],
        license=code,
        about={**ABOUT, **named},
        rows=_rows(about),
        description=f"To make them again:\n\n    {about['command']}",
        files=FILES,
        title=about["title"],
    )
    return f"{found}\n"


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
    """The model name of the processor, or of the GPU."""
    return torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else processor()


def _rows(about: Mapping[str, Any]) -> dict[str, str]:
    """The rows of the table."""
    names = [Path(file).name for file in about["files"]]
    files = ", ".join(names) if len(names) <= 4 else f"{len(names)} files, {names[0]} to {names[-1]}"
    tokens, sentences, read, hours = (about[key] for key in ("tokens", "sentences", "tokens_read", "hours"))
    passes = read / (tokens + sentences)  # a sentence of n words has n + 1 predictions
    spent = f"{hours:.2f} hours" if hours >= 1 else f"{60 * hours:.1f} minutes"
    return {
        "text": f"{files}, {tokens:,} tokens, {sentences:,} sentences",
        "licence of the text": about["licence"],
        "softmax": f"{about['words']:,} words",
        "stored": about["stored"],
        "recipe": ", ".join(f"{name} {value}" for name, value in about["recipe"].items()),
        "read": f"{about['steps']:,} steps, {read:,} predictions in each direction, {passes:.2f} passes over the text",
        "cost": f"{spent}, {about['hardware']}, {about['threads']:,} threads, torch {about['torch']}",
        **{f"perplexity, {each['corpus']}": _perplexity(each) for each in about["perplexity"]},
    }


def _perplexity(figures: Mapping[str, Any]) -> str:
    both = f"forward {figures['forward']:.2f}, backward {figures['backward']:.2f}"
    return (
        f"{both}, average **{figures['average']:.2f}**, each sentence alone from zero state, full softmax; `<UNK>` is "
        f"{figures['unknown_percent']:.2f} % of "
        f"{figures['targets']:,} targets, without them {figures['average_without_unknown']:.2f}"
    )
