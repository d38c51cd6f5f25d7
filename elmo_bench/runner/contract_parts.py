"""What data, a metric and an encoder promise, tried on a few examples: as contract.py.

Each check returns what it saw. It raises UserError, which says what to write, where a
promise is broken.
"""

import inspect
import itertools
import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import (
    FRACTION,
    TYPE,
    columns,
    encoded,
    main_figure,
    scores_of,
    summed_names,
    sums_of,
)
from elmo_bench.encoders import Encoder
from elmo_bench.encoders.checks import TEXTS, check_layers
from elmo_bench.ledger.outcomes import AGREES, check_split
from elmo_bench.ledger.record import SplitScores
from elmo_bench.runner.data import Splits, data_digest
from elmo_bench.spec.names import load_encoder
from elmo_bench.training.contracts import Data, Metric

ANY_TOKENS = ("", "é😀", "a" * 300)  # all of them occur in data of users


def check_data(data: Data, splits: Splits, again: Splits) -> str:
    """`canonical` is JSON, tells examples apart, and is the same when the files are
    read `again`."""
    digest = data_digest(data, splits)
    if data_digest(data, again) != digest:
        raise UserError(
            "Data.canonical: another digest when the files are read again. "
            "Use nothing but their content."
        )
    seen: dict[str, tuple[Any, Any]] = {}
    for example in itertools.chain.from_iterable(splits.values()):
        key = json.dumps(data.canonical(example), sort_keys=True)
        value = (example.texts, example.gold)
        if seen.setdefault(key, value) != value:
            raise UserError(
                "Data.canonical: equal for examples that differ. "
                "Put all that a score can depend on in it."
            )
    counts = [f"{len(examples):,} {split}" for split, examples in splits.items()]
    return f"reads {', '.join(counts)}; digest {digest[:12]}"


def check_files(
    data: Data, metric: Metric, examples: list[Any], predicted: list[Any], path: Path
) -> str:
    """What `write` writes, at `path`, is scored, and `read_file` reads its texts, if no
    second file holds the gold."""
    if isinstance(metric.files, str):
        raise UserError(f"Metric.files: a text. Give a tuple: ('{metric.files}',).")
    data.write(path, examples, predicted)
    if not path.is_file():
        raise UserError(
            "Data.write: no file. Write the predictions to the path that it gets."
        )
    if len(metric.files) > 1:
        return (
            f"predictions are written as {data.ending}; their gold is a file of its own"
        )
    counts = metric.counts([example.gold for example in examples], predicted)
    wanted = scores_of(metric, counts)["overall"]
    scored = metric.score_files(path)["overall"]
    if scored != wanted:
        raise UserError(
            f"Metric.score_files: {scored} for a file of Data.write; Metric.figures "
            f"says {wanted}. Write and read the gold and the prediction of each item."
        )
    texts = [example.texts for example in examples]
    if [example.texts for example in data.read_file(path)] != texts:
        raise UserError(
            "Data.read_file: other texts than Data.write was given. "
            "Read all that it writes."
        )
    return f"predictions are written as {data.ending}, scored and read"


def check_metric(metric: Metric, examples: list[Any], predicted: list[Any]) -> str:
    """The counts of predictions give the figures, of one sum and of many at once."""
    counts = metric.counts([example.gold for example in examples], predicted)
    for name, values in counts.items():
        if not _is_counts(name, values, len(examples)):
            raise UserError(
                f"Metric.counts: '{name}': give an array with a whole number for each "
                "item."
            )
    scores, sums = scores_of(metric, counts), sums_of(metric, counts)
    main = scores["overall"][metric.main]
    if not math.isfinite(main):
        raise UserError(
            f"Metric.figures: {metric.main} is {main}. "
            "Give 0 where there is nothing to divide by."
        )
    missing = [name for name in metric.summed if name not in sums]
    if missing:
        raise UserError(
            f"Metric.counts has no {', '.join(missing)}, which Metric.summed names."
        )
    _check_main(metric, counts)
    names = summed_names(metric, [counts])
    six = columns(metric, counts, names).sum(axis=0) * np.ones((2, 3, 1))
    several = main_figure(metric, names)(six)
    is_same = np.shape(several) == (2, 3)
    if not is_same or not np.allclose(several, main, rtol=0, atol=AGREES):
        raise UserError(
            f"Metric.figures: {metric.main} {main:.4f}, and {several!s:.60} of the "
            "sums of Metric.summed, six times each. Compute it from these and `items` "
            "alone, number by number."
        )
    stored = ledger.joined({"dev": {}, "test": encoded(counts)})
    reported = SplitScores.read(scores, "Metric.figures")
    check_split(stored, metric, "test", reported)
    return (
        f"{metric.main} {main:.2f}, by {metric.formula} from the counts of "
        f"{len(examples)} items"
    )


def _check_main(metric: Metric, counts: Mapping[str, np.ndarray]) -> None:
    """Raise UserError unless the main figure can be had from the sums of Metric.summed
    and of Metric.summed_types: a mean over labels, such as macro-F1, needs the latter.
    """
    of_types = [name for name in metric.summed if name.startswith(TYPE)]
    if of_types:
        raise UserError(
            f"Metric.summed has {of_types[0]}: the types of other data have other "
            "names. Name the count in `summed_types`, as text.figures.LabelMacroF1 "
            "does: it stands for that of each type."
        )
    names = summed_names(metric, [counts])
    try:
        main_figure(metric, names)(columns(metric, counts, names).sum(axis=0))
    except (KeyError, UserError):
        summed = ", ".join([*metric.summed, "items"])
        advice = "Name what it needs in `summed`"
        if any(name.startswith(TYPE) for name in counts):
            advice += (
                " and `summed_types`, as text.figures.LabelMacroF1 does for a mean "
                "over labels"
            )
        raise UserError(
            f"Metric.figures: {metric.main} does not follow from the sums of {summed}, "
            f"which `formula`={metric.formula} is about. {advice}, and give its "
            "formula a name of its own, or choose a main figure that does."
        ) from None


def _is_counts(name: str, values: Any, items: int) -> bool:
    """Whether these are numbers of each item; fractions may have decimals."""
    if not isinstance(values, np.ndarray) or values.shape != (items,):
        return False
    kinds = "biuf" if name.endswith(FRACTION) else "biu"
    return values.dtype.kind in kinds


def check_weights(encoder: Encoder, options: Mapping[str, Any]) -> str:
    """It is frozen, and other weights have another checksum: computed, written down, or
    made by `load` from a seed.

    options: of `load_encoder`, for other encoders of this kind.
    """
    parameters = _parameters(encoder)
    ours = _check_frozen(encoder)
    same = load_encoder(**options)
    if same.checksum != encoder.checksum or not torch.equal(_vectors(same), ours):
        raise UserError(
            "encoder: loaded again it has another checksum or other vectors. "
            "Draw nothing without a seed."
        )
    advice = "Compute it from the weights, such as with hashlib.sha256 of their bytes."
    other = load_encoder(**options, run_seed=1)
    draws = not torch.equal(_vectors(other), ours)
    if draws and other.checksum == encoder.checksum:
        raise UserError(f"encoder: one checksum for the weights of two seeds. {advice}")
    if draws and not _share_identity(encoder, other):
        raise UserError(
            "encoder: its vectors depend on the seed, so each seed of a run would have "
            "a hash of its own. Give it an identity, equal for all seeds, and its yaml "
            "draws: true."
        )
    with torch.no_grad():
        for parameter in _parameters(same):
            parameter.view(-1)[:1].add_(1.0)
    source = inspect.getsource(sys.modules[f"elmo_bench.encoders.{options['kind']}"])
    stays = same.checksum == encoder.checksum
    if parameters and stays and encoder.checksum in source:
        raise UserError(
            f"encoder: its checksum '{encoder.checksum}' stays when a weight changes. "
            f"{advice}"
        )
    count = sum(parameter.numel() for parameter in parameters)
    return f"frozen: {count:,} parameters; checksum {encoder.checksum:.24}"


def _share_identity(encoder: Encoder, other: Encoder) -> bool:
    ours = getattr(encoder, "identity", None)
    return ours is not None and ours == getattr(other, "identity", None)


def _check_frozen(encoder: Encoder) -> Tensor:
    """The vectors of a few texts. Raises UserError if encoding or training could change
    the encoder."""
    if any(module.training for module in _modules(encoder)):
        raise UserError(
            "encoder: its network is in training mode. Call .eval() in load."
        )
    if any(parameter.requires_grad for parameter in _parameters(encoder)):
        raise UserError(
            "encoder: its parameters need gradients. "
            "Call .requires_grad_(False) in load."
        )
    before = [tensor.clone() for tensor in _tensors(encoder)]
    vectors = _vectors(encoder)
    if not all(map(torch.equal, before, _tensors(encoder))):
        raise UserError(
            "encoder: encode changes its weights or buffers. Change nothing there."
        )
    return vectors


def check_tokens(encoder: Encoder) -> str:
    """A token may be any text: vectors of an empty, a long and a foreign one.

    Raises UserError for other vectors than `check_layers` wants, and the error of
    `encode`, unless the encoder's `check_texts` refuses such a text.
    """
    check_texts = getattr(encoder, "check_texts", None)
    if check_texts is not None:
        try:
            check_texts([ANY_TOKENS])
        except UserError:
            return "check_texts refuses an empty, a long and a foreign token"
    expect = getattr(encoder, "expect", None)
    if expect is not None:
        words = {word for text in TEXTS for word in text}
        expect(words | {*ANY_TOKENS})
    shape = (encoder.layers, encoder.dim)
    layers = encoder.encode([ANY_TOKENS])
    check_layers(layers, [len(ANY_TOKENS)], shape, name="encoder, rare tokens")
    return "an empty token, a long one and one of other letters have vectors"


def _modules(encoder: Any) -> list[nn.Module]:
    """The encoder if it is a module, and all modules that its attributes have."""
    attributes = dict(getattr(encoder, "__dict__", {}))
    for base in type(encoder).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            attributes[name] = getattr(encoder, name, None)
    modules = list(_modules_in(attributes))
    if isinstance(encoder, nn.Module):
        modules.append(encoder)
    return modules


def _modules_in(value: Any) -> Iterator[nn.Module]:
    """A value if it is a module, or the modules in a list, a tuple or a mapping."""
    if isinstance(value, nn.Module):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _modules_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _modules_in(item)


def _parameters(encoder: Any) -> list[nn.Parameter]:
    """Each parameter once, also of modules that share it."""
    parameters: dict[nn.Parameter, None] = {}
    for module in _modules(encoder):
        # An encoder's own `parameters` is a number.
        for _, parameter in module.named_parameters():
            parameters[parameter] = None
    return list(parameters)


def _tensors(encoder: Any) -> list[Tensor]:
    tensors: list[Tensor] = []
    for module in _modules(encoder):
        tensors += module.state_dict().values()
    return tensors


def _vectors(encoder: Encoder) -> Tensor:
    return torch.cat([layers.flatten() for layers in encoder.encode(list(TEXTS))])
