"""Reading text for pretraining: tokens/s of the batches built, and the seconds to go on from far into a pass.

    python benchmarks/stream.py 'wikipedia/train-*.txt.xz'
    python benchmarks/stream.py 'wikipedia/train-*.txt.xz' --separate --rows 128 --steps 20

Batches are built and thrown away, in one process and one thread: what is left of a core while a model trains. The
shuffle buffer is filled before the clock starts. Rates are medians of the rounds, with their range, by the clock and by
the processor's time, which other programs on the machine disturb less. Tokens are the cells of one direction.
"""

import argparse
import resource
import statistics
import time
from itertools import islice

from elmo_bench.pretraining.corpus import Corpus, count_words, shard_files
from elmo_bench.pretraining.stream import Stream
from elmo_bench.pretraining.vocabulary import TargetVocabulary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--vocabulary", type=int, default=50_000)
    parser.add_argument("--tokenizer", default="spaces")
    parser.add_argument("--separate", action="store_true", help="two shuffles, one for each direction")
    parser.add_argument("--windows", type=int, default=1000, help="of a round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    corpus = Corpus(tuple(shard_files(options.corpus)), options.tokenizer)
    started = time.perf_counter()
    counts = count_words(corpus)
    seconds = time.perf_counter() - started
    vocabulary = TargetVocabulary.of(counts.words, options.vocabulary, sentences=counts.sentences)
    del counts
    print(
        f"{len(corpus.files)} files, {vocabulary.sentences:,} sentences, {vocabulary.tokens:,} tokens; counted in "
        f"{seconds:.1f} s ({vocabulary.tokens / seconds:,.0f} tokens/s)"
    )
    settings = {"rows": options.rows, "steps": options.steps, "seed": 0, "shared": not options.separate}
    windows = iter(Stream(corpus, vocabulary, **settings))
    started = time.perf_counter()
    batch = next(windows)
    print(f"first window after {time.perf_counter() - started:.1f} s")
    rates = []
    for _ in range(options.rounds):
        clock, processor = time.perf_counter(), time.process_time()
        tokens = sum(batch.tokens for batch in islice(windows, options.windows))
        rates.append((tokens / (time.perf_counter() - clock), tokens / (time.process_time() - processor)))
    for name, some in zip(("clock", "processor"), zip(*rates, strict=True), strict=True):
        print(f"windows, {name}: {statistics.median(some):,.0f} ({min(some):,.0f} to {max(some):,.0f}) tokens/s")

    far = batch.position
    far["readers"] = [place | {"drawn": vocabulary.sentences - 1} for place in far["readers"]]
    clock, processor = time.perf_counter(), time.process_time()
    next(iter(Stream(corpus, vocabulary, position=far, **settings)))
    print(
        f"going on from the end of a pass: clock {time.perf_counter() - clock:.1f} s, "
        f"processor {time.process_time() - processor:.1f} s"
    )
    print(
        f"memory at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB, the word counts included"
    )


if __name__ == "__main__":
    main()
