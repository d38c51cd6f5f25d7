"""Training a biLM on a corpus: config in, a folder of weights out."""

import json
import math
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig
from pytorch_lightning.callbacks import Callback, ModelCheckpoint
from safetensors.torch import save
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from elmo_bench.checkpoints import read_checkpoint
from elmo_bench.encoders.bilm import zero_states
from elmo_bench.encoders.options import BiLMOptions
from elmo_bench.encoders.weights import save_safetensors
from elmo_bench.errors import UserError
from elmo_bench.files import atomic_write
from elmo_bench.pretraining.corpus import Corpus, count_words, shard_files
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.stream import Stream
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.pretraining.windows import Batch, Position
from elmo_bench.progress import console, progress


class Pretraining(pl.LightningModule):
    """The language model under its optimiser, LSTM states carried from window to window."""

    def __init__(self, model: LanguageModel, recipe: DictConfig, seed: int):
        super().__init__()
        self.model, self.recipe, self.seed = model, recipe, seed
        self.states: list[tuple[Tensor, Tensor]] | None = None
        self.position: Position | None = None  # of the data behind the last step

    def training_step(self, batch: Batch, _index: int) -> Tensor:
        torch.manual_seed(self.seed * 1_000_003 + self.global_step)  # the draws of a step depend on nothing before it
        ids, words, targets, keep = (
            torch.as_tensor(array, device=self.device) for array in (batch.ids, batch.words, batch.targets, batch.keep)
        )
        keep = keep[0]  # the directions share their sentences
        steps, rows = keep.shape
        states = self.states or zero_states(self.model.bilm.options, rows, keep)
        top, states = self.model.features(ids, words, states, [rows] * steps, keep)
        self.states = [(h.detach(), c.detach()) for h, c in states]
        self.position = batch.position
        forward, backward = self.model.loss(top, targets)
        self.log_dict({"forward": forward.detach(), "backward": backward.detach()}, logger=True)
        return (forward + backward) / 2

    def configure_optimizers(self) -> Any:
        recipe = self.recipe
        optimizer = torch.optim.AdamW(
            self.parameters(), lr=recipe.learning_rate, betas=tuple(recipe.betas), weight_decay=recipe.weight_decay
        )
        decay_from = recipe.steps * (1 - recipe.decay)

        def rate(step: int) -> float:
            # up, flat, and down to a twentieth: a run can be ended early by a shorter `steps` while it is flat
            return min(1, (step + 1) / recipe.warmup, max(0.05, 1 - (step - decay_from) / (recipe.steps - decay_from)))

        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": torch.optim.lr_scheduler.LambdaLR(optimizer, rate), "interval": "step"},
        }

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["states"], checkpoint["position"] = self.states, self.position

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.states = checkpoint["states"]

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        return batch


class Windows(IterableDataset):
    """The stream, as the DataLoader wants it."""

    def __init__(self, stream: Stream):
        self.stream = stream

    def __iter__(self):
        return iter(self.stream)


class Meter(Callback):
    """Progress: step, tokens/s, loss, learning rate."""

    def on_train_start(self, trainer, module) -> None:
        self.context = progress("pretrain", total=trainer.max_steps, done=trainer.global_step)
        self.meter = self.context.__enter__()
        self.loss: float | None = None

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx) -> None:
        loss = float(outputs["loss"])
        if not math.isfinite(loss):
            raise UserError(
                f"step {trainer.global_step}: the loss is {loss}; the last checkpoint is good, "
                "go on from it with a lower recipe.learning_rate"
            )
        self.loss = loss if self.loss is None else 0.99 * self.loss + 0.01 * loss
        self.meter.advance(batch.tokens, f"loss {self.loss:.3f}  lr {trainer.optimizers[0].param_groups[0]['lr']:.2e}")

    def teardown(self, trainer, module, stage) -> None:
        if hasattr(self, "context"):
            self.context.__exit__(None, None, None)


def pretrain(config: DictConfig) -> Path:
    """Train by `conf/pretrain.yaml`, on from `<out>/last.ckpt` where there is one; the folder of the weights."""
    if config.accelerator == "gpu" and not torch.cuda.is_available():
        raise UserError("accelerator=gpu: no CUDA device here; use accelerator=cpu")
    torch.set_num_threads(config.threads or torch.get_num_threads())
    out, recipe = Path(config.out), config.recipe
    corpus = Corpus(tuple(shard_files(config.corpus)))
    try:
        options = BiLMOptions.from_json(config.shape)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"shape: {error}; see pretraining/conf/shape") from None
    last = out / "last.ckpt"
    checkpoint = read_checkpoint(last) if last.exists() else {}
    done = checkpoint.get("global_step", 0)
    vocabulary = _vocabulary(corpus, recipe.vocabulary, out / "vocabulary.txt")
    torch.manual_seed(config.seed)
    model = LanguageModel(options, words=len(vocabulary), samples=recipe.samples, dropout=recipe.dropout)
    if done:
        console.print(f"going on from {last} at step {done}", highlight=False)
    stream = Stream(
        corpus,
        vocabulary,
        rows=recipe.rows,
        steps=recipe.window,
        seed=config.seed,
        shared=True,
        position=checkpoint.get("position"),
    )
    trainer = pl.Trainer(
        max_steps=recipe.steps,
        accelerator=config.accelerator,
        devices=1,
        precision=recipe.precision,
        gradient_clip_val=recipe.clip,
        callbacks=[
            Meter(),
            ModelCheckpoint(
                dirpath=out,
                filename="last",
                every_n_train_steps=config.checkpoint_every,
                enable_version_counter=False,
            ),
        ],
        logger=pl.loggers.CSVLogger(out, name="", version=f"curves-from-{done}"),
        log_every_n_steps=50,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module = Pretraining(model, recipe, config.seed)
    trainer.fit(
        module, DataLoader(Windows(stream), batch_size=None), ckpt_path=last if done else None, weights_only=True
    )
    steps = trainer.global_step
    save_weights(model, out, about={"steps": steps, "tokens": steps * recipe.rows * recipe.window})
    return out


def save_weights(model: LanguageModel, out: Path, *, about: dict[str, Any]) -> None:
    """`options.json`, `weights.safetensors` (fp16, published names) and the softmax beside them."""
    with atomic_write(out / "options.json", "w") as handle:
        json.dump(model.bilm.options.to_json(), handle, indent=1)
    save_safetensors(model.bilm, out / "weights.safetensors", about=about)
    with atomic_write(out / "softmax.safetensors") as handle:
        handle.write(
            save({name: value.detach().half().contiguous() for name, value in model.softmax.named_parameters()})
        )


def _vocabulary(corpus: Corpus, size: int, path: Path) -> TargetVocabulary:
    """The vocabulary in `path`, or a new one counted from the corpus and written there."""
    if path.exists():
        return TargetVocabulary.read(path)
    counts = count_words(corpus)
    vocabulary = TargetVocabulary.of(counts.words, size, sentences=counts.sentences)
    vocabulary.write(path)
    return vocabulary
