"""Time and memory of the commands on one very long text: do they grow linearly?  (Linux)

    python benchmarks/long_text.py                                     # everything, at 1,000 and 10,000 tokens
    python benchmarks/long_text.py embed ner --sizes 1000,10000,100000

`embed`, a task's name (its `predict`, encoder=elmo, one sentence, pair, passage or document of so many tokens),
`score-ner` (one sentence of so many tokens), `score-coref` (one document with so many chains), and `word` (training NER
on a file with one token of so many characters). Each is a process of its own, on one thread; a row has its processor
time and its largest resident memory, the start of Python and torch included.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

TASKS = ("ner", "pos", "srl", "sst5", "snli", "squad", "coref")
LONGEST = 600.0  # seconds, after which a command is stopped
RUN = ("encoder=elmo", "data.max_train=8", "task.training.epochs=1", "trainer.threads=1", "logger=none", "store=off")


def words(number: int) -> list[str]:
    """Words as in a language: few of them often, half of them seen before."""
    rng = random.Random(0)
    return [f"{'w' * (n % 7)}{n}" for n in (int(rng.paretovariate(0.5)) % 20_000 for _ in range(number))]


def write_text(task: str, size: int, path: Path) -> None:
    """One item of `size` tokens in the task's native format, without gold."""
    tokens = words(size)
    rows: Iterator[str] = iter(())
    if task in ("ner", "pos"):
        rows = (f"{token}\n" for token in tokens)
    elif task == "srl":
        rows = (f"d 0 {n} {token} NN * {token} {'x.01' if n == 5 else '-'}\n" for n, token in enumerate(tokens))
    elif task == "sst5":
        rows = iter([" ".join(tokens) + "\n"])
    elif task == "snli":
        text = " ".join(tokens)
        rows = iter([json.dumps({"sentence1": text, "sentence2": text}) + "\n"])
    elif task == "squad":
        question = {"id": "1", "question": "Which word is the first ?"}
        paragraph = {"context": " ".join(tokens), "qas": [question]}
        rows = iter([json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]}) + "\n"])
    elif task == "coref":
        body = (f"d 0 {n} {token} - * - - - - * -\n" + "\n" * (n % 25 == 24) for n, token in enumerate(tokens))
        rows = iter(["#begin document (nw/d); part 000\n", *body, "\n#end document\n"])
    path.write_text("".join(rows) + ("" if task == "coref" else "\n"), encoding="utf-8")


def write_chains(size: int, path: Path, *, seed: int) -> None:
    """A document of two mentions for each of `size` chains, in an order that depends on the seed."""
    mentions = [n // 2 for n in range(2 * size)]
    random.Random(seed).shuffle(mentions)
    rows = (f"d 0 {n} w - * - - - - * ({chain})\n" for n, chain in enumerate(mentions))
    path.write_text("".join(["#begin document (nw/d); part 000\n", *rows, "\n#end document\n"]), encoding="utf-8")


def write_word(size: int, folder: Path) -> None:
    """WNUT-17's three files with 200 short sentences each and one token of `size` characters."""
    folder.mkdir(parents=True)
    for name in ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"):
        sentences = ["Anna\tB-person\nsailed\tO\nto\tO\nOslo\tB-location\n"] * 199 + ["x" * size + "\tO\nends\tO\n"]
        (folder / name).write_text("\n".join(sentences) + "\n", encoding="utf-8")


def command(*arguments: str, cwd: Path) -> tuple[float, float, str]:
    """Run `elmo-bench` with these arguments: seconds of the processor, MB at most, and its last line if it failed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "ELMO_BENCH_CACHE": str(cwd / "cache")}
    full = ["timeout", str(LONGEST), sys.executable, "-m", "elmo_bench", *arguments]
    with (cwd / "said").open("w+") as said:
        process = subprocess.Popen(full, cwd=cwd, env=environment, stdout=said, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        lines = said.read().splitlines()
    failed = lines[-1] if process.returncode and lines else ""
    failed = f"stopped after {LONGEST:.0f} s" if process.returncode == 124 else failed
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3, failed


def jobs(what: str, folder: Path) -> Callable[[int], list[str]]:
    """What to run for each size; a head is trained first for a task."""
    if what in TASKS:
        command("run", f"task={what}", *RUN, f"ledger={folder / 'runs'}", cwd=folder)
        [record] = (folder / "runs" / "open" / what).glob("*/*/seed0.json")

    def job(size: int) -> list[str]:
        text, out = folder / f"{what}-{size}.txt", folder / "out"
        if what == "embed":
            text.write_text(" ".join(words(size)) + "\n", encoding="utf-8")
            return ["embed", str(text), f"{out}.h5", "--top", "--overwrite"]
        if what == "score-ner":
            tags = random.Random(0).choices(("O O", "B-X B-X", "I-X O"), k=size)
            text.write_text("".join(f"w {tag}\n" for tag in tags), encoding="utf-8")
            return ["score", "ner", str(text)]
        if what == "score-coref":
            for seed in (0, 1):
                write_chains(size, folder / f"{seed}.conll", seed=seed)
            return ["score", "coref", str(folder / "0.conll"), str(folder / "1.conll")]
        if what == "word":
            write_word(size, folder / f"{size}" / "wnut17")
            place = [f"data.root={folder / str(size)}", f"ledger={folder / 'runs'}", "overwrite=true"]
            return ["run", "task=ner", "suite=open", *RUN, "data.max_train=null", *place]
        write_text(what, size, text)
        return ["predict", str(record), str(text), str(out)]

    return job


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", default=["embed", *TASKS, "score-ner", "score-coref", "word"])
    parser.add_argument("--sizes", default="1000,10000")
    options = parser.parse_args()
    print("| what | size | seconds | MB |\n|---|---:|---:|---:|", flush=True)
    for what in options.what:
        with tempfile.TemporaryDirectory(prefix="long-text-") as name:
            job = jobs(what, Path(name))
            for size in map(int, options.sizes.split(",")):
                seconds, memory, failed = command(*job(size), cwd=Path(name))
                print(f"| {what} | {size:,} | {seconds:.1f} | {memory:,.0f} | {failed}", flush=True)


if __name__ == "__main__":
    main()
