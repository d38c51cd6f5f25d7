"""A trained head on new text: the head that a run kept, built again around the frozen encoder of its record."""

import json
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import progress
from elmo_bench.encoders.cache import LayerStore
from elmo_bench.ledger import Record
from elmo_bench.runner.parts import Frozen, Lexicon, build_indexer, embedder_for, load_frozen_for, words_of
from elmo_bench.spec.config import build
from elmo_bench.text.pools import by_length, pools


def predict(record_file: Path, text: Path, out: Path, *, weights: str | None = None, vectors: str | None = None) -> int:
    """Write the predictions of a record's head for a file in its task's native format; the number of examples.

    `weights` and `vectors` say where the frozen parts lie on this machine, if not where the record's config has them.
    Raises UserError, also where they are not those that the head was trained with.
    """
    record = ledger.read_record(record_file)
    head_file = record_file.with_suffix("") / "head.safetensors"
    about = _about(head_file)
    config: DictConfig = OmegaConf.create(about["config"])
    if weights and config.encoder.contextual:
        config.encoder.contextual.weights = weights
    if vectors:
        config.encoder.vectors = vectors
    data = build(config.task.data)
    examples = data.read_file(text)
    lexicon = Lexicon(**about["lexicon"])
    frozen = load_frozen_for(config, [*lexicon.words, *words_of(examples)])
    _check(frozen, record, record_file)
    embedder = embedder_for(config, frozen, lexicon)
    head = build(config.task.head)(embedder, **about["vocabulary"])
    try:
        head.load_state_dict(load_file(head_file))
    except RuntimeError:
        raise UserError(
            f"{head_file}: kept by another version of this program, whose {record['task']} head has other parts; "
            "run it again with overwrite=true"
        ) from None
    head.eval()
    index = build_indexer(embedder, LayerStore(frozen.encoder, mode="off") if frozen.encoder else None)
    lengths = [max(map(len, example.texts), default=1) for example in examples]
    predicted: list[Any] = [None] * len(examples)
    training = config.task.training
    with torch.no_grad(), progress(f"predict {record['task']}", total=len(examples)) as meter:
        for pool in pools(by_length(lengths), lengths, size=training.batch, tokens=training.tokens):
            found = head.predict(head.collate([examples[number] for number in pool], index))
            for number, prediction in zip(pool, found, strict=True):
                predicted[number] = prediction
            meter.advance(sum(lengths[number] for number in pool), steps=len(pool))
    data.write(out, examples, predicted)
    return len(examples)


def _about(head_file: Path) -> dict[str, Any]:
    """What the run wrote beside the head's parameters."""
    try:
        with safe_open(head_file, framework="numpy") as kept:
            about = json.loads(kept.metadata()["about"])
    except (OSError, SafetensorError, KeyError, TypeError, json.JSONDecodeError):
        about = {}
    if "lexicon" not in about:
        raise UserError(
            f"{head_file}: the head of this run is not here; run it again with overwrite=true (heads are not committed)"
        )
    return about


def _check(frozen: Frozen, record: Record, record_file: Path) -> None:
    for name, checksum in frozen.checksums.items():
        if checksum != (trained := record["checksums"].get(name)):
            raise UserError(
                f"{record_file}: the head was trained with {name} of checksum {trained}, those here have {checksum}; "
                f"give the right ones with --{name}"
            )
