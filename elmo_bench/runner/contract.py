"""What a head promises, tried on a few examples: `elmo-bench test`, and the tests of
this repository. What else a task and an encoder promise: contract_parts.py.

Each check returns what it saw. It raises UserError, which says what to write, where a
promise is broken.
"""

import copy
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import pytorch_lightning as pl
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from elmo_bench.base.errors import UserError
from elmo_bench.runner.data import Splits, words_of
from elmo_bench.runner.heads import (
    build_head,
    build_indexer,
    build_stores,
    lexicon_of,
    vocabulary_of,
)
from elmo_bench.runner.prepare import load_frozen
from elmo_bench.spec.conf_files import CONF
from elmo_bench.spec.names import task_class
from elmo_bench.spec.options import guess
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.task_files import task_yaml
from elmo_bench.text.batch import Indexer
from elmo_bench.training.contracts import Data, Metric
from elmo_bench.training.module import HeadTraining, predictions_of

FEW = 4  # examples that a head is trained on
OTHERS = 12  # examples that it is not trained on
MOST = 100  # examples with another gold
# Of Adam, after which the loss of the few is half of what it was.
STEPS = 400
RATE = 0.01


class Trial:
    """A head as a run builds it, what it was built from, and examples."""

    def __init__(
        self,
        run: tuple[RunSpec, Setup],
        data: Data,
        splits: Splits,
        train: list[Any],
    ):
        """train: the training examples.

        The head may look up their words and the words of `others`.
        """
        self.spec, self.setup = run
        self.data = data
        self.splits = splits
        self.train = train
        self.others = splits["dev"][:OTHERS]
        words = {*words_of([*train, *self.others])}
        self.frozen = load_frozen(self.spec, self.setup, words)
        self.metric: Metric = task_class(self.spec.task, "metric")()
        self.head = self.again(seed=0)

    @cached_property
    def index(self) -> Indexer:
        """What turns texts into tensors for this head."""
        setup = replace(self.setup, store={"mode": "ram"})
        stores = build_stores(setup, self.frozen.encoders)
        texts = []
        for example in (*self.train, *self.others):
            texts += example.texts
        for store in stores.values():
            store.fill(texts, threads=1)
        return build_indexer(self.head.embedder, stores)

    def again(self, *, seed: int) -> Any:
        """The same head with other initial weights."""
        pl.seed_everything(seed, verbose=False)
        vocabulary = vocabulary_of(self.spec, self.data, self.train)
        return build_head(self.spec, self.frozen, lexicon_of(self.train), vocabulary)

    def loss(self) -> Tensor:
        """Of the training examples, with the penalty of the mixes. Raises UserError."""
        training = HeadTraining(self.head, self.metric, {}, {})
        return training.objective(self.head.collate(self.train, self.index))

    def loss_in_evaluation(self) -> float:
        """The same without dropout and gradients."""
        self.head.eval()
        with torch.no_grad():
            return self.loss().item()

    def predict(self, examples: Sequence[Any]) -> list[Any]:
        """A prediction for each example. Raises UserError."""
        head = self.head.eval()
        with torch.no_grad():
            batch = head.collate(examples, self.index)
            return predictions_of(head, batch, len(examples))


def check_gradients(trial: Trial) -> str:
    """The loss moves every trainable parameter."""
    trial.head.train().zero_grad()
    loss = trial.loss()
    trained = {}
    for name, parameter in trial.head.named_parameters():
        if parameter.requires_grad:
            trained[name] = parameter
    if not trained or not loss.requires_grad:
        raise UserError(
            "Head.loss: it has no gradient. Compute it from parameters, without "
            ".detach() and .item()."
        )
    loss.backward()
    still = sorted(name for name in trained if not _is_moved(name, trained[name]))
    if still:
        more = " …" if len(still) > 3 else ""
        raise UserError(
            f"Head.loss: no gradient reaches {', '.join(still[:3])}{more}. Use it for "
            "the loss (without .detach(), .data, argmax), or remove it."
        )
    return f"gradients reach all {len(trained)} parameters"


def _is_moved(name: str, parameter: nn.Parameter) -> bool:
    if parameter.grad is None:
        return False
    # A head that brings its input to variance 1 is indifferent to the factor γ of a
    # mix.
    return bool(parameter.grad.any()) or name.endswith(".gamma")


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
        if step % 5:
            continue
        now = trial.loss_in_evaluation()
        if now < 0.5 * before:
            return f"learns {few}: loss {before:.3g}, after {step} steps {now:.3g}"
    raise UserError(
        f"Head.loss: {before:.3g}, and {now:.3g} after {STEPS} steps on the same "
        f"{few}. Look at what collate gives and at what the loss compares."
    )


def check_saving(trial: Trial) -> str:
    """A head that was saved and loaded makes the same predictions.

    Its loss is the same, if it has one.
    """
    state = {}
    for name, tensor in trial.head.state_dict().items():
        state[name] = tensor.contiguous()
    loaded = copy.copy(trial)
    loaded.head = trial.again(seed=1)
    loaded.head.load_state_dict(load(save(state)))
    same_loss = True
    if hasattr(trial.head, "loss"):
        loss = trial.loss_in_evaluation()
        same_loss = abs(loaded.loss_in_evaluation() - loss) <= 1e-4 * abs(loss)
    if loaded.predict(trial.others) != trial.predict(trial.others) or not same_loss:
        raise UserError(
            "Head: a new head with the same state_dict differs. What it learns or "
            "draws must be a parameter or a buffer; all else must follow from the "
            "vocabulary."
        )
    return "saved and loaded, it predicts the same"


def check_batches(trial: Trial) -> str:
    """No prediction depends on the other examples of a batch."""
    together = trial.predict(trial.others)
    backwards = trial.predict(trial.others[::-1])[::-1]
    for number, example in enumerate(trial.others):
        [alone] = trial.predict([example])
        if not alone == together[number] == backwards[number]:
            raise UserError(
                f"Head.predict: example {number + 1} of dev has another prediction "
                "when alone. Mask padding (batch['text'].mask), and keep the order of "
                "the batch."
            )
    return "a prediction does not depend on its batch"


def check_gold(trial: Trial) -> str:
    """No prediction follows from the gold of its example, and a gold that train lacks
    can be in dev and test.

    The gold of a dataclass is replaced, field by field, by the gold of an example as
    long as it.
    """
    tried = _check_other_golds(trial)
    tried += _check_new_golds(trial, MOST - tried)
    return f"no prediction follows from the gold ({tried} other golds tried)"


def _check_other_golds(trial: Trial) -> int:
    """How many other golds were tried. Raises UserError."""
    tried = 0
    predicted = trial.predict(trial.others)
    for number, example in enumerate(trial.others):
        for other in _with_other_gold(example, trial.splits["dev"]):
            tried += 1
            if trial.predict([other]) != [predicted[number]]:
                raise UserError(
                    f"Head.predict: the prediction of example {number + 1} of dev "
                    "changes with its gold. Read the gold in loss alone."
                )
    return tried


def _check_new_golds(trial: Trial, most: int) -> int:
    """How many golds that train lacks were tried. Raises UserError."""
    seen: set[str] = set()
    for example in trial.splits["train"]:
        seen |= _words_in(example.gold)
    tried = 0
    for example in [*trial.splits["dev"], *trial.splits["test"]]:
        new = _words_in(example.gold) - seen
        if not new or tried >= most:
            continue
        seen |= new
        try:
            trial.predict([example])
        except (ValueError, KeyError, IndexError) as error:
            raise UserError(
                f"Head.collate: {type(error).__name__} ({error}) for the gold "
                f"{example.gold!r:.60}, which train lacks. Give it any number."
            ) from error
        tried += 1
    return tried


def _words_in(gold: Any) -> set[str]:
    return set(re.findall(r"\w+", repr(gold)))


def _with_other_gold(example: Any, others: Iterable[Any]) -> Iterator[Any]:
    """The example with the label, or the label of each token, of the first other of the
    same lengths, if any.

    Any other gold may also say what is to be predicted, such as of which tokens.
    """
    if not is_dataclass(example):
        return
    names = [field.name for field in fields(example)]
    for other in others:
        if _has_other_gold(example, other):
            for name in names:
                gold = getattr(other, name)
                if _is_label(gold, _lengths(other)):
                    yield from _with_field(example, name, gold)
            return


def _has_other_gold(example: Any, other: Any) -> bool:
    """Whether another example has another gold, and texts of the same lengths."""
    return other.gold != example.gold and _lengths(other) == _lengths(example)


def _lengths(example: Any) -> list[int]:
    return [len(text) for text in example.texts]


def _is_label(gold: Any, lengths: Sequence[int]) -> bool:
    """Whether this may be a label, or a label for each token."""
    by_token = isinstance(gold, tuple | list) and len(gold) in lengths
    labels = gold if by_token else [gold]
    return all(isinstance(label, str | int) for label in labels)


def _with_field(example: Any, name: str, gold: Any) -> Iterator[Any]:
    """The example with another gold in this field, if it is possible."""
    with suppress(Exception):  # a class may refuse values that do not fit each other
        other: Any = replace(example, **{name: gold})
        if other.texts == example.texts and other.gold != example.gold:
            yield other


def check_training(trial: Trial) -> str:
    """The options of the training are known, and its optimiser and schedule can be made
    of them."""
    for part in ("training", "report", "mix", "vectors"):
        _check_options(trial.spec.task, part)
    training = trial.spec.part("task.training")
    optimizer = training.get("optimizer") or {}
    module = HeadTraining(trial.head, trial.metric, optimizer, {}, training["schedule"])
    module.configure_optimizers()
    return f"trained by {optimizer['name']} for {training['epochs']} epochs"


def _check_options(task: str, part: str) -> None:
    """Raises UserError for an option of a task's yaml that no task of ours has."""
    offered: set[str] = set()
    for path in (CONF / "task").glob("*.yaml"):
        offered.update(task_yaml(path.stem).get(part) or {})
    options = task_yaml(task).get(part) or {}
    wrong = sorted(options.keys() - offered)
    if wrong:
        choices = ", ".join(sorted(offered))
        raise UserError(
            f"conf/task/{task}.yaml: {part}.{wrong[0]}: nothing reads it"
            f"{guess(wrong[0], offered)}. Give one of: {choices}."
        )
