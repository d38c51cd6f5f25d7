"""Every figure that needs a GPU, in at most eight minutes, and the tests that need one; writes OUT/gpu.json.

    PYTHONPATH=. python benchmarks/gpu.py OUT --sentences heldout.txt.xz [--peer PYTHON] [--minutes 8]

Steps, each a process of its own whose last lines are kept: tests; `original` in every precision against AllenNLP
(`--peer`, see `encode.py`) and one sentence at a time against our reference; a network of MiniLM's shape through `hf`
and through plain transformers; the share of each kernel in encoding and in training steps of heads; steps of
pretraining; named entities and inference at the paper's sizes, two runs on the card at once, with random weights of the
original's shape, whose records and ends of logs are kept. A step that does not end in its share of the time left is
stopped, and says so; the others go on. Where AllenNLP cannot be imported, our reference takes its place.

A machine without a network, where torch, transformers and lightning are installed, needs the wheels of hydra-core,
omegaconf, antlr4-python3-runtime, pytorch-crf, seqeval, orjson, pydantic, pydantic-core, annotated-types,
typing-inspection, nltk and, for the peer, allennlp, in a folder that PYTHONPATH names too. A tree that travels can
leave behind results/, docs/, elmo_bench/weights/{elmo-mini-softmax,glove-mini,fasttext-mini}.safetensors and
elmo_bench/data/{ud_ewt,wsd}. With SST-5 and OntoGUM in $ELMO_BENCH_DATA, their heads' steps are measured too.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gemm
import heads
import random_weights
import torch
from lightning_fabric.utilities import move_data_to_device

from elmo_bench import ElmoEncoder
from elmo_bench.encoders.hf import HfEncoder

HERE = Path(__file__).resolve().parent
TAIL = 40  # lines of a step's output
ROUNDS, BATCH = 3, 128
HEADS, MORE, STEPS = ("ner", "snli", "srl", "squad"), ("sst5", "coref"), 9  # data ship, or not; a third warms up


def minilm(folder: Path) -> Path:
    """Random weights in the shape of all-MiniLM-L6-v2, with the pieces of bert-mini."""
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    for file in (HERE.parent / "elmo_bench" / "weights" / "bert-mini").glob("tokenizer*"):
        shutil.copy(file, folder)
    return folder


def transformer(sentences: Sequence[Sequence[str]], folder: Path) -> dict[str, Any]:
    """Tokens a second of `hf` and of plain transformers with sorted batches, in turns, by precision."""
    from transformers import AutoModel, AutoTokenizer

    ordered, tokens = sorted(sentences, key=len), sum(map(len, sentences))
    tokeniser, figures = AutoTokenizer.from_pretrained(folder), {}
    for precision in ("float32", "bfloat16"):
        ours = HfEncoder(weights=str(folder), precision=precision, device="cuda")
        model = AutoModel.from_pretrained(folder, dtype=getattr(torch, precision)).to("cuda").eval()

        @torch.inference_mode()
        def plain(model: Any = model) -> None:
            for start in range(0, len(ordered), BATCH):
                batch = [list(sentence) for sentence in ordered[start : start + BATCH]]
                coded = tokeniser(batch, is_split_into_words=True, padding=True, truncation=True, return_tensors="pt")
                model(**coded.to("cuda"), output_hidden_states=True)

        times = []
        for _ in range(ROUNDS + 1):
            times.append([seconds(side) for side in (lambda ours=ours: ours.encode(sentences), plain)])
            print(precision, times[-1], flush=True)
        rates = [[tokens / each for each in own] for own in times[1:]]  # the first round warms up
        ratios = [mine / theirs for mine, theirs in rates]
        figures[precision] = {"hf and plain, tokens/s": rates, "ratio": statistics.median(ratios), "ratios": ratios}
    return figures


def profiled(command: Sequence[str]) -> None:
    """Print `profile_of` encoding and heads. All prepare at once, then one after the other has the card."""
    parts = ["encoding", *HEADS, *(MORE if os.environ.get("ELMO_BENCH_DATA") else ())]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running: list[Any] = [subprocess.Popen([*command, "--part", part], **pipes) for part in parts]
    for process in running:
        process.stdout.readline()
    for part, process in zip(parts, running, strict=True):
        print(part, process.communicate("\n")[0], sep="\n", flush=True)
    sys.exit(int(any(process.returncode for process in running)))


def profile_of(part: str, weights: Path, sentences: Sequence[Sequence[str]]) -> None:
    """Milliseconds, kernels and calls of bfloat16 encoding, or of training steps of a head at the paper's sizes."""
    if part == "encoding":
        encoder, steps = ElmoEncoder(weights=str(weights), precision="bfloat16", device="cuda"), 1

        def some() -> None:
            encoder.encode(sentences)

        for _ in range(2):  # and a third time below: then every graph is captured
            some()
    else:
        training = heads.Steps([f"task={part}", "data.max_train=640", *sizes(weights)], STEPS)
        training.module.to("cuda")
        training.dataset = [move_data_to_device(training.dataset[batch], "cuda") for batch in training.batches]
        training.batches, steps = [*range(len(training.dataset))], len(training.dataset) // 3

        def some() -> None:
            with torch.autocast("cuda", torch.bfloat16):
                for _ in range(steps):
                    training.step()

    print("ready", flush=True)
    sys.stdin.readline()
    some()
    print(f"{1e3 * seconds(some) / steps:.1f} ms, without the profiler", kernels(some), sep="\n", flush=True)


def kernels(call: Callable[[], object]) -> str:
    """The longest kernels of a call, and what the processor is longest at."""
    with torch.profiler.profile() as profiler:
        call()
    events, columns = profiler.key_averages(), {"row_limit": 12, "max_name_column_width": 60}
    return "\n".join(events.table(sort_by=f"self_{side}_time_total", **columns) for side in ("cuda", "cpu"))


def sizes(weights: Path) -> list[str]:
    """Options of runs at the paper's sizes."""
    return ["suite=open", "size=paper", "trainer=gpu", "encoder=elmo", f"encoder.weights={weights}"]


def seconds(call: Callable[[], object]) -> float:
    """What a call takes on the GPU."""
    start = gemm.now("cuda")
    call()
    return gemm.now("cuda") - start


def steps(folder: Path, args: argparse.Namespace) -> dict[str, tuple[float, list[str]]]:
    """Every step: its share of the time, and its command."""
    random_weights.write(folder / "original", random_weights.options(*random_weights.SHAPES["original"]), seed=0)
    bench, text = [sys.executable, "benchmarks/encode.py", "--device", "cuda"], ["--sentences", str(args.sentences)]
    first, peer = [*bench, "--shapes", "original", *text], str(args.peer or "none")
    many, one = ["--count", "4096", "--batches", "64"], ["--count", "1024", "--batches", "1"]
    all_of, again = "float32,bfloat16,tf32", [sys.executable, __file__, str(args.out), *text, "--only"]

    def kept(step: str) -> list[str]:
        return ["--json", str(args.out / f"{step}.json")]

    ledger = [f"ledger={folder / 'runs'}", "logger=none", "launcher.jobs=2", f"launcher.logs={folder / 'logs'}"]
    return {
        "tests": (0.1, [sys.executable, "-m", "pytest", "-o", "filterwarnings=default", "-m", "", "-k", "gpu",
                        "tests/elmo", "tests/nn", "tests/pretraining"]),
        "encode": (0.2, [*first, *many, "--precision", all_of, "--rounds", "5", "--peer", peer, *kept("encode")]),
        "one": (0.1, [*first, *one, "--precision", "float32,bfloat16", "--rounds", "3", "--peer", "none",
                      *kept("one")]),
        "transformer": (0.05, [*again, "transformer"]),
        "profile": (0.1, [*again, "profile", "--weights", str(folder / "original")]),
        "pretrain": (0.1, [sys.executable, "benchmarks/pretrain.py", str(args.sentences), "--shape", "wide",
                           "--device", "cuda", "--cells", "32768", "--bfloat16"]),
        "runs": (0.35, [sys.executable, "-m", "elmo_bench", "sweep", "task=ner,snli", *sizes(folder / "original"),
                        *ledger]),
    }  # fmt: skip


def ended(process: subprocess.Popen[bytes], limit: float) -> int | str:
    """Its exit status; after so many seconds it is stopped with the processes that it started."""
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"stopped after {limit:.0f} s"


def end_of(log: Path) -> list[str]:
    """The last lines; of a line that was written over, what it said last."""
    return [line.split("\r")[-1] for line in log.read_text(errors="replace").split("\n")[-TAIL:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sentences", type=Path, required=True, help="one tokenised sentence a line; .txt .gz .xz")
    parser.add_argument("--peer", type=Path, help="a Python that can import AllenNLP's wheel")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--only", nargs="+", help="names of steps")
    parser.add_argument("--weights", type=Path, help="of the step profile alone: a biLM of the original's shape")
    parser.add_argument("--part", help="of the step profile: encoding, or a task")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    with tempfile.TemporaryDirectory() as name:
        if args.only == ["transformer"]:
            import sides

            print(json.dumps(transformer(sides.read_sentences(args.sentences, 4096), minilm(Path(name)))))
            return
        if args.only == ["profile"] and args.weights:
            import sides

            if args.part:
                profile_of(args.part, args.weights, sides.read_sentences(args.sentences, 4096))
            else:
                profiled([sys.executable, *sys.argv])
            return
        end = time.monotonic() + 60 * args.minutes
        test = [args.peer, "-c", "import allennlp_elmo"]
        if args.peer and subprocess.run(test, cwd=HERE / "peer", check=False).returncode:
            results["peer"] = f"{args.peer} cannot import AllenNLP: compared with our reference"
            print(results["peer"], flush=True)
            args.peer = None
        waiting = {step: own for step, own in steps(Path(name), args).items() if not args.only or step in args.only}
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}  # what a stopped step has measured is kept
        while waiting:
            step, (share, command) = next(iter(waiting.items()))
            start = time.monotonic()
            limit = max(1.0, end - start) * share / sum(part for part, _ in waiting.values())
            del waiting[step]
            with (args.out / f"{step}.log").open("w") as log:
                code = ended(subprocess.Popen(command, stdout=log, stderr=log, env=env, start_new_session=True), limit)
            tail = end_of(args.out / f"{step}.log")
            results[step] = {"command": command, "code": code, "seconds": time.monotonic() - start, "output": tail}
            results["logs of runs"] = {path.name: end_of(path) for path in sorted(Path(name, "logs").glob("**/*.log"))}
            results["records"] = [
                json.loads(path.read_text()) for path in sorted(Path(name, "runs").glob("**/seed?.json"))
            ]
            (args.out / "gpu.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            print(f"{step}: {code}, {results[step]['seconds']:.0f} s", *tail, sep="\n", flush=True)


if __name__ == "__main__":
    main()
