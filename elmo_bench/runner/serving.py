"""What it takes to use a head: the size of its files, and the time of a text."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import Clock
from elmo_bench.encoders.kinds import inputs_of
from elmo_bench.encoders.static import path_of
from elmo_bench.runner.heads import build_indexer, build_stores
from elmo_bench.runner.prepare import Prepared
from elmo_bench.runner.train import Trained
from elmo_bench.training.batches import DataModule
from elmo_bench.training.module import predictions_of

MOST = 200  # examples of test that are timed, evenly from all


def serving_of(prepared: Prepared, trained: Trained) -> dict[str, Any]:
    """What a record says of it; on a GPU nothing is timed."""
    setup = prepared.setup
    serving: dict[str, Any] = {"frozen_bytes": frozen_bytes(prepared)}
    if setup.device == "cpu":
        serving["text_ms"] = round(text_ms(prepared, trained), 3)
    return serving


def frozen_bytes(prepared: Prepared) -> int:
    """The size of the files of the frozen encoder and of the static vectors."""
    setup = prepared.setup
    files: set[Path] = set()
    for part, options in setup.encoders.items():
        files.update(_files_of(options, prepared.frozen.encoders.get(part)))
    if prepared.spec.settings.get("encoder.words") == "static":
        files.add(path_of(str(setup.vectors)))
    return sum(file.stat().st_size for file in files)


def _files_of(options: Mapping[str, Any], encoder: Any) -> Iterable[Path]:
    """The files that the options of an encoder name.

    An encoder of the user's own may resolve a name by itself: the `files` that it
    states, if it does.
    """
    try:
        return inputs_of(options).files
    except UserError:
        stated = map(Path, getattr(encoder, "files", ()))
        return [file for file in stated if file.is_file()]


def text_ms(prepared: Prepared, trained: Trained) -> float:
    """Processor milliseconds to encode an example of test and predict it, in batches.

    No layers come from a store. All threads count.
    """
    test = prepared.splits["test"]
    count = min(MOST, len(test))
    examples = [test[number * len(test) // count] for number in range(count)]
    module = trained.module
    head = module.head
    setup = replace(prepared.setup, store={"mode": "off"})
    index = build_indexer(head.embedder, build_stores(setup, prepared.frozen.encoders))
    batches = DataModule(
        {"test": examples},
        head.collate,
        index,
        batch=trained.loaders.batch,
        tokens=trained.loaders.tokens,
        seed=setup.seed,
    )
    module.eval()
    clock = Clock().start()
    with torch.no_grad():
        for batch in batches.loader("test"):
            predictions_of(head, batch, len(batch["numbers"]))
    _, seconds = clock.read()
    return 1000 * seconds / len(examples)
