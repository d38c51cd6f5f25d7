"""What the yaml of an encoder, and the card of its weights, say of it."""

import re
from pathlib import Path

from elmo_bench.spec.conf_files import choices, config_file
from elmo_bench.spec.run_spec import RunSpec

WEIGHTS = Path("elmo_bench/weights")  # in the repository


def about(spec: RunSpec) -> str:
    """The sentence after the command at the top of the encoder's yaml; of one that has
    no yaml, of its kind's.
    """
    text = re.sub(r"\n# ", " ", _yaml(spec))
    sentence = re.search(
        r"elmo-bench run [^:\n]*encoder=[^:\n]*: (.+?)(?:\.(?:\s|$)|\n)", text
    )
    return f"{sentence[1][0].upper()}{sentence[1][1:]}." if sentence else ""


def _yaml(spec: RunSpec) -> str:
    """The yaml of an encoder, or of its kind if the encoder lacks one."""
    kind = str(spec.settings.get("encoder.contextual.kind"))
    name = spec.encoder if spec.encoder in choices("encoder") else kind
    return config_file("encoder", name).read_text(encoding="utf-8")


def licence(spec: RunSpec) -> str:
    """The licence of its weights, or of its static vectors: by the card that ships,
    else by its yaml; empty if neither says.
    """
    path = card(spec)
    if path:
        text = (Path(__file__).parents[2] / path).read_text(encoding="utf-8")
        match = re.search(r"^\| licence \| \[?([^\]|,(]+)", text, re.MULTILINE)
    elif spec.encoder in choices("encoder"):
        match = re.search(r"^# Licence: (.+?)\.?$", _yaml(spec), re.MULTILINE)
    else:
        match = None
    return match[1].strip() if match else ""


def trained_on(spec: RunSpec) -> dict[str, str]:
    """Examples of which tasks its weights were trained on, and of which data, by task;
    empty if its yaml names none.

    Its line begins so: `# Trained on: TASK (which data), TASK (which data)`.
    """
    if spec.encoder not in choices("encoder"):
        return {}
    match = re.search(r"^# Trained on: (.+)$", _yaml(spec), re.MULTILINE)
    return dict(re.findall(r"(\w+) \(([^()]+)\)", match[1])) if match else {}


def card(spec: RunSpec) -> str:
    """The card of its weights, or of its static vectors: a path in the repository;
    empty if none ships.
    """
    settings = spec.settings
    kind = settings.get("encoder.contextual.kind", settings.get("encoder.words", ""))
    options = {
        "elmo": "encoder.weights",
        "hf": "encoder.contextual.weights",
        "static": "encoder.vectors",
    }
    prefix = "elmo-" if kind == "elmo" else ""
    name = f"{prefix}{settings.get(options.get(kind, ''))}.md"
    # Listed, as the name in a record may be longer than a file's can be.
    shipped = {path.name for path in (Path(__file__).parents[2] / WEIGHTS).glob("*.md")}
    return (WEIGHTS / name).as_posix() if name in shipped else ""
