"""What a task and an encoder promise, tried on a few examples: `elmo-bench test`, and the tests of this repository.

Each check returns what it saw. It raises UserError, which says what to write, where a promise is broken.
"""

import copy
import inspect
import itertools
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytorch_lightning as pl
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import FRACTION, TYPE, columns, encoded, main_figure, scores_of, sums_of
from elmo_bench.encoders import Encoder
from elmo_bench.encoders.checks import TEXTS
from elmo_bench.ledger.outcomes import AGREES, check_figures
from elmo_bench.ledger.schema import check
from elmo_bench.runner.data import Splits, data_digest, words_of
from elmo_bench.runner.predict import About
from elmo_bench.runner.prepare import (
    build_head,
    build_indexer,
    build_stores,
    lexicon_of,
    load_frozen,
    vocabulary_of,
)
from elmo_bench.spec.config import CONF, task_yaml
from elmo_bench.spec.names import load_encoder, task_class
from elmo_bench.spec.options import guess
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.text.batch import Indexer
from elmo_bench.training.contracts import Data, Metric
from elmo_bench.training.module import HeadTraining, predictions_of

FEW, OTHERS = 4, 12  # examples that a head is trained on, and others
MOST = 100  # examples with another gold
STEPS, RATE = 400, 0.01  # of Adam, after which the loss of the few is half of what it was


class Trial:
    """A head as a run builds it, what it was built from, and examples."""

    def __init__(
        self, run: tuple[RunSpec, Setup], data: Data, splits: Splits, train: list[Any], *, words: Iterable[str] = ()
    ):
        """train: the training examples. The head may look up their words, the words of `others`, and `words`."""
        self.spec, self.setup = run
        self.data, self.splits, self.train = data, splits, train
        self.others = splits["dev"][:OTHERS]
        self.frozen = load_frozen(*run, {*words, *words_of([*train, *self.others])})
        self.metric: Metric = task_class(self.spec.task, "metric")()
        self.head = self.again(seed=0)

    @cached_property
    def index(self) -> Indexer:
        """What turns texts into tensors for this head."""
        stores = build_stores(replace(self.setup, store={"mode": "ram"}), self.frozen.encoders)
        for store in stores.values():
            store.fill([text for example in (*self.train, *self.others) for text in example.texts], threads=1)
        return build_indexer(self.head.embedder, stores)

    def again(self, *, seed: int) -> Any:
        """The same head with other initial weights."""
        pl.seed_everything(seed, verbose=False)
        vocabulary = vocabulary_of(self.spec, self.data, self.train)
        try:
            check(vocabulary, get_type_hints(About)["vocabulary"], "Data.vocabulary")
        except UserError as error:
            raise UserError(f"{error}. Give lists of texts, or numbers above 0: `predict` reads no other.") from None
        return build_head(self.spec, self.frozen, lexicon_of(self.train), vocabulary)

    def loss(self) -> Tensor:
        """Of the training examples, with the penalty of the mixes. Raises UserError."""
        return HeadTraining(self.head, self.metric, {}, {}).objective(self.head.collate(self.train, self.index))

    def loss_in_evaluation(self) -> float:
        """The same without dropout and gradients."""
        self.head.eval()
        with torch.no_grad():
            return self.loss().item()

    def predict(self, examples: Sequence[Any]) -> list[Any]:
        """A prediction for each example. Raises UserError."""
        with torch.no_grad():
            return predictions_of(self.head.eval(), self.head.collate(examples, self.index), len(examples))


def check_gradients(trial: Trial) -> str:
    """The loss moves every trainable parameter."""
    trial.head.train().zero_grad()
    loss = trial.loss()
    trained = {name: p for name, p in trial.head.named_parameters() if p.requires_grad}
    if not trained or not loss.requires_grad:
        raise UserError("Head.loss: it has no gradient. Compute it from parameters, without .detach() and .item().")
    loss.backward()
    # A head that brings its input to variance 1 is indifferent to the factor γ of a mix.
    moved = [name for name, p in trained.items() if p.grad is not None and (p.grad.any() or name.endswith(".gamma"))]
    if still := sorted({*trained} - {*moved}):
        which = f"{', '.join(still[:3])}{' …' * (len(still) > 3)}"
        advice = "Use it for the loss (without .detach(), .data, argmax), or remove it."
        raise UserError(f"Head.loss: no gradient reaches {which}. {advice}")
    return f"gradients reach all {len(trained)} parameters"


def check_learning(trial: Trial) -> str:
    """A few examples can be learned: their loss falls to a half."""
    pl.seed_everything(0, verbose=False)
    optimizer = torch.optim.Adam(trial.head.parameters(), lr=RATE)
    before = now = trial.loss_in_evaluation()
    few = f"{len(trial.train)} examples"
    for step in range(1, STEPS + 1):
        trial.head.train()
        optimizer.zero_grad()
        trial.loss().backward()
        optimizer.step()
        if step % 5 == 0 and (now := trial.loss_in_evaluation()) < 0.5 * before:
            return f"learns {few}: loss {before:.3g}, after {step} steps {now:.3g}"
    advice = "Look at what collate gives and at what the loss compares."
    raise UserError(f"Head.loss: {before:.3g}, and {now:.3g} after {STEPS} steps on the same {few}. {advice}")


def check_saving(trial: Trial) -> str:
    """A head that was saved and loaded makes the same predictions, and has the same loss if it has one."""
    loaded = copy.copy(trial)
    loaded.head = trial.again(seed=1)
    loaded.head.load_state_dict(load(save({name: each.contiguous() for name, each in trial.head.state_dict().items()})))
    same_loss = True
    if hasattr(trial.head, "loss"):
        loss = trial.loss_in_evaluation()
        same_loss = abs(loaded.loss_in_evaluation() - loss) <= 1e-4 * abs(loss)
    if loaded.predict(trial.others) != trial.predict(trial.others) or not same_loss:
        advice = "What it learns or draws must be a parameter or a buffer; all else must follow from the vocabulary."
        raise UserError(f"Head: a new head with the same state_dict differs. {advice}")
    return "saved and loaded, it predicts the same"


def check_batches(trial: Trial) -> str:
    """No prediction depends on the other examples of a batch."""
    together, backwards = trial.predict(trial.others), trial.predict(trial.others[::-1])[::-1]
    for number, example in enumerate(trial.others):
        if not trial.predict([example])[0] == together[number] == backwards[number]:
            advice = "Mask padding (batch['text'].mask), and keep the order of the batch."
            raise UserError(f"Head.predict: example {number + 1} of dev has another prediction when alone. {advice}")
    return "a prediction does not depend on its batch"


def check_gold(trial: Trial) -> str:
    """No prediction follows from the gold of its example, and a gold that train lacks can be in dev and test.

    The gold of a dataclass is replaced, field by field, by the gold of an example as long as it.
    """
    tried, dev = 0, trial.splits["dev"]
    for number, (example, predicted) in enumerate(zip(trial.others, trial.predict(trial.others), strict=True), 1):
        for other in _with_other_gold(example, dev):
            tried += 1
            if trial.predict([other]) != [predicted]:
                raise UserError(
                    f"Head.predict: the prediction of example {number} of dev changes with its gold. Read the gold in "
                    "loss alone."
                )
    known = {word for example in trial.splits["train"] for word in re.findall(r"\w+", repr(example.gold))}
    for example in [*dev, *trial.splits["test"]]:
        if (new := {*re.findall(r"\w+", repr(example.gold))} - known) and tried < MOST:
            known |= new
            try:
                trial.predict([example])
            except (ValueError, KeyError, IndexError) as error:
                said = f"{type(error).__name__} ({error}) for the gold {example.gold!r:.60}, which train lacks"
                raise UserError(f"Head.collate: {said}. Give it any number.") from error
            tried += 1
    return f"no prediction follows from the gold ({tried} other golds tried)"


def _with_other_gold(example: Any, others: Iterable[Any]) -> Iterator[Any]:
    """The example with the label, or the label of each token, of the first other of the same lengths, if any.

    Any other gold may also say what is to be predicted, such as of which tokens.
    """
    for other in others if is_dataclass(example) else ():
        if other.gold != example.gold and [*map(len, other.texts)] == [*map(len, example.texts)]:
            for field in fields(example):
                gold = getattr(other, field.name)
                tags = isinstance(gold, tuple | list) and len(gold) in map(len, other.texts)
                if not all(isinstance(each, str | int) for each in (gold if tags else [gold])):
                    continue
                with suppress(Exception):  # a class may refuse values that do not fit each other
                    made: Any = replace(example, **{field.name: gold})
                    if made.texts == example.texts and made.gold != example.gold:
                        yield made
            return


def check_training(trial: Trial) -> str:
    """The options of the training are known, and its optimiser and schedule can be made of them."""
    task = trial.spec.task
    for part in ("training", "report", "mix", "vectors"):
        known = {key for path in (CONF / "task").glob("*.yaml") for key in task_yaml(path.stem).get(part) or {}}
        if wrong := sorted((task_yaml(task).get(part) or {}).keys() - known):
            said = f"{part}.{wrong[0]}: nothing reads it{guess(wrong[0], known)}"
            raise UserError(f"conf/task/{task}.yaml: {said}. Give one of: {', '.join(sorted(known))}.")
    training = trial.spec.part("task.training")
    optimizer, schedule = training.get("optimizer") or {}, training["schedule"]
    HeadTraining(trial.head, trial.metric, optimizer, {}, schedule).configure_optimizers()
    return f"trained by {optimizer['name']} for {training['epochs']} epochs"


def check_data(data: Data, splits: Splits, again: Splits) -> str:
    """`canonical` is JSON, tells examples apart, and is the same when the files are read `again`."""
    digest = data_digest(data, splits)
    if data_digest(data, again) != digest:
        raise UserError("Data.canonical: another digest when the files are read again. Use nothing but their content.")
    seen: dict[str, tuple[Any, Any]] = {}
    for example in itertools.chain.from_iterable(splits.values()):
        key, value = json.dumps(data.canonical(example), sort_keys=True), (example.texts, example.gold)
        if seen.setdefault(key, value) != value:
            raise UserError("Data.canonical: equal for examples that differ. Put all that a score can depend on in it.")
    return f"reads {', '.join(f'{len(each):,} {split}' for split, each in splits.items())}; digest {digest[:12]}"


def check_files(data: Data, metric: Metric, examples: list[Any], predicted: list[Any], path: Path) -> str:
    """What `write` writes, at `path`, is scored, and `read_file` reads its texts, if no second file holds the gold."""
    data.write(path, examples, predicted)
    if not path.is_file():
        raise UserError("Data.write: no file. Write the predictions to the path that it gets.")
    if len(metric.files) > 1:
        return f"predictions are written as {data.ending}; their gold is a file of its own"
    wanted = scores_of(metric, metric.counts([each.gold for each in examples], predicted))["overall"]
    if (scored := metric.score_files(path)["overall"]) != wanted:
        said = f"{scored} for a file of Data.write; Metric.figures says {wanted}"
        raise UserError(f"Metric.score_files: {said}. Write and read the gold and the prediction of each item.")
    if [each.texts for each in data.read_file(path)] != [each.texts for each in examples]:
        raise UserError("Data.read_file: other texts than Data.write was given. Read all that it writes.")
    return f"predictions are written as {data.ending}, scored and read"


def check_metric(metric: Metric, examples: list[Any], predicted: list[Any]) -> str:
    """The counts of predictions give the figures, of one sum and of many at once."""
    counts = metric.counts([example.gold for example in examples], predicted)
    for name, values in counts.items():
        kinds = "biuf" if name.endswith(FRACTION) else "biu"
        if not isinstance(values, np.ndarray) or values.shape != (len(examples),) or values.dtype.kind not in kinds:
            raise UserError(f"Metric.counts: '{name}': give an array with a whole number for each item.")
    scores, sums = scores_of(metric, counts), sums_of(metric, counts)
    if not math.isfinite(main := scores["overall"][metric.main]):
        raise UserError(f"Metric.figures: {metric.main} is {main}. Give 0 where there is nothing to divide by.")
    if lacking := [name for name in metric.summed if name not in sums]:
        raise UserError(f"Metric.counts has no {', '.join(lacking)}, which Metric.summed names.")
    _check_main(metric, counts)
    several = main_figure(metric)(columns(metric, counts).sum(axis=0) * np.ones((2, 3, 1)))
    if np.shape(several) != (2, 3) or not np.allclose(several, main, rtol=0, atol=AGREES):
        said = f"{metric.main} {main:.4f}, and {several!s:.60} of the sums of Metric.summed, six times each"
        raise UserError(f"Metric.figures: {said}. Compute it from these and `items` alone, number by number.")
    check_figures(ledger.joined({"dev": {}, "test": encoded(counts)}), metric, {"test": scores})
    return f"{metric.main} {main:.2f}, by {metric.formula} from the counts of {len(examples)} items"


def _check_main(metric: Metric, counts: Mapping[str, np.ndarray]) -> None:
    """Raise UserError unless the main figure can be had from the sums of Metric.summed alone.

    A mean over labels, such as macro-F1, cannot be, unless the counts of each label are named there.
    """
    sums = columns(metric, counts).sum(axis=0)
    try:
        main_figure(metric)(sums)
    except (KeyError, UserError):
        named = ", ".join([*metric.summed, "items"])
        types = sorted(name for name in counts if name.startswith(TYPE))
        advice = f"Name what it needs in `summed`, such as {', '.join(types[:2])}" if types else "Name what it needs"
        why = f"{metric.main} does not follow from the sums of {named}, which `formula`={metric.formula} is about"
        how = "and give its formula a name of its own, or choose a main figure that does"
        raise UserError(f"Metric.figures: {why}. {advice}, {how}.") from None


def check_weights(encoder: Encoder, options: Mapping[str, Any]) -> str:
    """It is frozen, and other weights have another checksum: computed, written down, or made by `load` from a seed.

    options: of `load_encoder`, for other encoders of this kind.
    """

    def modules(encoder: Any) -> list[nn.Module]:
        return [each for each in vars(encoder).values() if isinstance(each, nn.Module)]

    def tensors() -> list[Tensor]:
        return [tensor for module in modules(encoder) for tensor in module.state_dict().values()]

    def vectors(encoder: Encoder) -> Tensor:
        return torch.cat([layers.flatten() for layers in encoder.encode(list(TEXTS))])

    if any(module.training for module in modules(encoder)):
        raise UserError("encoder: its network is in training mode. Call .eval() in load.")
    parameters = [p for module in modules(encoder) for p in module.parameters()]
    if any(p.requires_grad for p in parameters):
        raise UserError("encoder: its parameters need gradients. Call .requires_grad_(False) in load.")
    before, ours = [tensor.clone() for tensor in tensors()], vectors(encoder)
    if not all(map(torch.equal, before, tensors())):
        raise UserError("encoder: encode changes its weights or buffers. Change nothing there.")
    same, other = load_encoder(**options), load_encoder(**options, run_seed=1)
    if same.checksum != encoder.checksum or not torch.equal(vectors(same), ours):
        raise UserError("encoder: loaded again it has another checksum or other vectors. Draw nothing without a seed.")
    advice = "Compute it from the weights, such as with hashlib.sha256 of their bytes."
    if other.checksum == encoder.checksum and not torch.equal(vectors(other), ours):
        raise UserError(f"encoder: one checksum for the weights of two seeds. {advice}")
    with torch.no_grad():
        for parameter in (p for module in modules(same) for p in module.parameters()):
            parameter.view(-1)[:1].add_(1.0)
    source = inspect.getsource(sys.modules[f"elmo_bench.encoders.{options['kind']}"])
    if parameters and same.checksum == encoder.checksum and encoder.checksum in source:
        raise UserError(f"encoder: its checksum '{encoder.checksum}' stays when a weight changes. {advice}")
    return f"frozen: {sum(p.numel() for p in parameters):,} parameters; checksum {encoder.checksum:.24}"
