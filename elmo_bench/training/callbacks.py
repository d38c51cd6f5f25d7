"""Callbacks of the training of a head.

History, progress, a moving average of weights, checkpoints, and the memory of a GPU.
"""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, Checkpoint
from pytorch_lightning.plugins.io import TorchCheckpointIO
from pytorch_lightning.trainer.states import TrainerFn
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn

from elmo_bench.base.files import write_checkpoint
from elmo_bench.base.memory import free_gpu_memory, peak_memory
from elmo_bench.base.metric import measure
from elmo_bench.base.progress import Clock, kernels_used, progress, used


class Ema(Callback):
    """average = decay · average + (1 - decay) · weight after every step.

    The average starts at the initial weights.

    warming: the decay is at most (1 + steps) / (10 + steps), for runs that are too
    short for `decay` alone.

    Between the end of one epoch's training and the start of the next, the module holds
    the averages: they are scored, they are in every checkpoint's `state_dict`, and they
    remain when training ends. The weights are in this callback's state. (Lightning's
    WeightAveraging restores its last average whenever a split is scored, which would
    overwrite a loaded best checkpoint, and restores the weights at the end of an epoch,
    where the mixes are read.)
    """

    def __init__(self, *, decay: float, warming: bool):
        if not 0 <= decay < 1:
            raise ValueError(f"ema.decay={decay}: must be at least 0 and below 1")
        self.decay = decay
        self.warming = warming
        self.steps = 0
        # The averages while the module holds the weights, else the weights.
        self.others: list[Tensor] = []

    def on_train_epoch_start(self, trainer: pl.Trainer, module: Any) -> None:
        self._exchange(module)

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.steps += 1
        decay = self.decay
        if self.warming:
            decay = min(decay, (1 + self.steps) / (10 + self.steps))
        weights = [parameter.detach() for parameter in _trained(module)]
        update = get_ema_multi_avg_fn(decay)
        update(self.others, weights, self.steps)

    def on_validation_start(self, trainer: pl.Trainer, module: Any) -> None:
        if trainer.state.fn == TrainerFn.FITTING:
            self._exchange(module)

    @torch.no_grad()
    def _exchange(self, module: pl.LightningModule) -> None:
        """Exchange the weights and the averages.

        At the very start both are the initial weights.
        """
        parameters = _trained(module)
        before = [parameter.clone() for parameter in parameters]
        others = self.others or before
        for parameter, value in zip(parameters, others, strict=True):
            parameter.copy_(value)
        self.others = before

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps, "weights": self.others}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.steps = state["steps"]
        self.others = state["weights"]


def _trained(module: pl.LightningModule) -> list[torch.nn.Parameter]:
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


CLOCKS = ("whole", "training", "encoding")  # of a History
CURVES = ("dev", "train_loss", "lr", "seconds", "steps")


class AtomicCheckpoints(TorchCheckpointIO):
    """Writes Lightning's checkpoints atomically.

    Raises UserError if the disk refuses.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None
    ) -> None:
        write_checkpoint(Path(path), checkpoint)


class History(Callback):
    """Curves and mix weights by epoch, the time and memory of the run, the kernels it
    used, and the versions that it was started with.

    They remain across kills and resumptions.

    curves: for each epoch `dev`, the main score; `train_loss`, the mean over its steps,
    weighted by their examples; `lr`, the rate of its first step; `seconds`, of training
    steps and the scoring of dev; `steps`, how many it has.
    """

    def __init__(
        self,
        whole: Clock,
        code: dict[str, str] | None = None,
        *,
        versions: dict[str, str] | None = None,
        on_gpu: bool = False,
    ) -> None:
        """code, versions: of this process. on_gpu: whether memory is a GPU's."""
        # Digests of the included code that the run was started with.
        self.code = code or {}
        self.versions = versions or {}
        self.started_with = self.versions
        self.on_gpu = on_gpu
        self.peak = 0  # bytes that earlier processes took
        # From the start of the run; it stops between a kill and the resumption.
        self.whole = whole
        self.training = Clock()  # of training steps
        self.encoding = Clock()  # of computing or reading frozen layers
        self.curves: dict[str, list[Any]] = {name: [] for name in CURVES}
        self.mixes: list[dict[str, Any]] = []
        self.tokens = 0  # read in training steps

    @property
    def scores(self) -> list[float]:
        """The main dev score of each epoch."""
        return self.curves["dev"]

    @property
    def best_epoch(self) -> int:
        """From 1; the first of equal ones."""
        return self.scores.index(max(self.scores)) + 1

    def peak_memory(self) -> int:
        """The most bytes that one of the run's processes took."""
        if self.on_gpu:
            return max(self.peak, torch.cuda.max_memory_allocated())
        return max(self.peak, peak_memory())

    def on_train_epoch_start(self, trainer: pl.Trainer, module: Any) -> None:
        self.epoch_started = self.whole.read()[0]
        self.training.start()
        self.steps_before = trainer.global_step
        self.rate: float | None = None

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, module: Any, optimizer: Any
    ) -> None:
        if self.rate is None:
            self.rate = float(optimizer.param_groups[0]["lr"])

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.tokens += batch["token count"]

    def on_validation_start(self, trainer: pl.Trainer, module: Any) -> None:
        if trainer.state.fn == TrainerFn.FITTING:
            self.training.stop()

    def on_train_epoch_end(self, trainer: pl.Trainer, module: Any) -> None:
        dev = module.scores["overall"][module.metric.main]
        seconds = self.whole.read()[0] - self.epoch_started
        epoch = {
            "dev": float(dev),
            "train_loss": float(trainer.callback_metrics["loss"]),
            "lr": self.rate or 0.0,
            "seconds": seconds,
            "steps": trainer.global_step - self.steps_before,
        }
        for name in CURVES:
            self.curves[name].append(epoch[name])
        logged = {"lr": epoch["lr"], "seconds": seconds}
        mixes = module.head.embedder.mixes
        if mixes:
            reports = {place: mix.report() for place, mix in mixes.items()}
            self.mixes.append(reports)
            for place, report in reports.items():
                logged[f"{place}.gamma"] = report["gamma"]
                for layer, weight in enumerate(report["weights"]):
                    logged[f"{place}.weight{layer}"] = weight
        module.log_dict(logged, batch_size=1)

    def add_fit(self, dev: float, *, steps: int, loss: float) -> None:
        """Add an epoch of a head that is fitted without a learning rate. Its seconds
        are without the scoring of dev.
        """
        self.curves.pop("lr", None)
        seconds = self.training.read()[0] - sum(self.curves["seconds"])
        epoch = {"dev": dev, "train_loss": loss, "seconds": seconds, "steps": steps}
        for name, value in epoch.items():
            self.curves[name].append(value)

    def state_dict(self) -> dict[str, Any]:
        return {
            "curves": self.curves,
            "mixes": self.mixes,
            "tokens": self.tokens,
            "code": self.code,
            "started_with": self.started_with,
            "peak": self.peak_memory(),
            "clocks": {name: getattr(self, name).read() for name in CLOCKS},
            "kernels": kernels_used(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        state = dict(state)
        for name, seconds in state.pop("clocks").items():
            getattr(self, name).add(seconds)
        for part, how in state.pop("kernels").items():
            used(part, how)
        vars(self).update(state)


class Checkpoints(Checkpoint):
    """Writes `last.ckpt` into a folder after each epoch.

    And `best.ckpt` after an epoch with the best dev score so far. Lightning's
    ModelCheckpoint keeps the folder's path, and in a folder that was moved it forgets
    the best score.
    """

    def __init__(self, folder: Path, history: History) -> None:
        self.folder = folder
        self.history = history

    def on_train_epoch_end(self, trainer: pl.Trainer, module: Any) -> None:
        if self.history.best_epoch == len(self.history.scores):
            trainer.save_checkpoint(self.folder / "best.ckpt")
        trainer.save_checkpoint(self.folder / "last.ckpt")


class GpuMemory(Callback):
    """Says how many examples would fit, if a step fills a GPU's memory.

    It adds this to the error of the step, from the memory that the step took so far.
    """

    examples = 0  # of the step
    before = 0  # bytes before the step

    def on_train_batch_start(
        self, trainer: pl.Trainer, module: Any, batch: Any, batch_idx: int
    ) -> None:
        if module.device.type == "cuda":
            self.examples = len(batch["numbers"])
            self.before = torch.cuda.memory_allocated(module.device)

    def on_validation_start(self, trainer: pl.Trainer, module: Any) -> None:
        self.examples = 0

    def on_exception(
        self, trainer: pl.Trainer, module: Any, exception: BaseException
    ) -> None:
        asked = re.search(r"allocate ([\d.]+) ([KMG])iB", str(exception))
        is_full = isinstance(exception, torch.OutOfMemoryError)
        if not self.examples or not asked or not is_full:
            return
        more = float(asked[1]) * 1024 ** " KMG".index(asked[2])
        # The step's tensors live as long as the traceback.
        needed = torch.cuda.memory_allocated(module.device) - self.before + more
        reserved = torch.cuda.memory_reserved(module.device)
        room = free_gpu_memory(module.device) + reserved - self.before
        fit = min(self.examples - 1, int(self.examples * room / needed))
        if fit > 0:
            advice = f"Give task.training.batch={fit} or less"
        else:
            advice = "Take a GPU with more memory"
        gib = 2**30
        exception.add_note(
            f"{advice}: a step of {self.examples} examples needs "
            f"{needed / gib:.1f} GiB at least, and has {room / gib:.1f}."
        )


class ShowProgress(Callback):
    """Shows a bar over the steps of all epochs (None: all of the trainer's).

    And after each epoch a line with training loss and, if it is scored, the dev score.
    """

    def __init__(self, title: str, *, epochs: int | None = None, scored: bool = True):
        self.title = title
        self.epochs = epochs
        self.scored = scored
        self.shown = ExitStack()

    def on_train_start(self, trainer: pl.Trainer, module: Any) -> None:
        self.epochs = self.epochs or trainer.max_epochs or 1
        steps = int(trainer.num_training_batches) * self.epochs
        meter = progress(self.title, total=steps, done=trainer.global_step)
        self.meter = self.shown.enter_context(meter)

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        epoch = f"epoch {trainer.current_epoch + 1}/{self.epochs}"
        self.meter.advance(batch["token count"], epoch)

    def on_train_epoch_end(self, trainer: pl.Trainer, module: Any) -> None:
        dev = ""
        if self.scored:
            name, overall = module.metric.main, module.scores["overall"]
            dev = f"dev {measure(name, overall)} {overall[name]:.2f}  "
        self.meter.say(
            f"{self.title}  epoch {trainer.current_epoch + 1:>3}/{self.epochs}  "
            f"loss {trainer.callback_metrics['loss']:.3f}  {dev}"
            f"{self.meter.tokens_per_second:,.0f} tokens/s"
        )

    def teardown(self, trainer: pl.Trainer, module: Any, stage: str) -> None:
        self.shown.close()
