"""`elmo-bench pretrain-fasttext corpus='shards/*.xz' out=my-vectors.safetensors`: fastText on your text."""

import time

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import progress
from elmo_bench.base.threads import check_threads
from elmo_bench.cli.pretrain_static import ELSEWHERE, check_numbers, check_out
from elmo_bench.encoders.vector_files import NGrams, Rows, write_compact
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.corpus import shard_files
from elmo_bench.pretraining.fasttext import heldout_loss, train_fasttext
from elmo_bench.spec.config import compose

WHOLE = ("dim", "min_count", "stored_words", "buckets", "shortest", "longest", "window", "negative", "epochs")
TRAINING = (*(key for key in WHOLE if key != "stored_words"), "sample", "learning_rate", "seed")


def main(arguments: list[str]) -> int:
    """Train, write, and print one line with the figures; 0."""
    config = compose("pretrain-fasttext", arguments, folder=CONF)
    _check(config)
    files, out = shard_files(config.corpus), check_out(config, (".safetensors",))
    heldout = shard_files(config.heldout) if config.heldout else []
    started = time.monotonic()
    with progress("training fastText", config.epochs) as meter:
        numbers = {key: config[key] for key in TRAINING}
        model = train_fasttext(files, threads=check_threads(config.threads) or 1, after_epoch=meter.advance, **numbers)
    stored = min(config.stored_words, len(model.wv))
    figures: dict[str, int | float] = {"tokens": model.corpus_total_words, "trained_words": len(model.wv)}
    figures["words"] = stored
    if heldout:
        figures["heldout_loss"] = round(heldout_loss(model, heldout), 4)
    # No time or folder: the same text and settings give the same file, byte for byte, if threads=1.
    settings = {str(key): config[key] for key in config if key not in ELSEWHERE or key == "threads"}
    metadata = settings | figures | {"corpus": [file.name for file in files]}
    ngrams = NGrams(Rows.of(model.wv.vectors_ngrams, config.dtype), config.shortest, config.longest)
    words, vectors = model.wv.index_to_key[:stored], model.wv.vectors[:stored]
    write_compact(out, words, vectors, metadata, dtype=config.dtype, ngrams=ngrams)
    summary = ", ".join(f"{key} {value:,}" for key, value in figures.items())
    print(f"{out}: {summary}, epochs {config.epochs}, seconds {time.monotonic() - started:.0f}")
    return 0


def _check(config: DictConfig) -> None:
    check_numbers(config, whole=WHOLE, positive=("sample", "learning_rate"))
    if config.shortest > config.longest:
        raise UserError(f"shortest={config.shortest}: above longest={config.longest}. Give a smaller number.")
