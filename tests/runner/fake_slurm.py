"""sbatch, srun, sacct and scancel of a cluster that is this machine; each is a link to this file.

sbatch starts every task of an array in the background, as many at once as `--array=…%N` says. A script without it is a
job of its own, task 0.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

JOB = "4242"
STATES = Path(os.environ["FAKE_SLURM"])  # a folder: a file for each task, with its state


def sbatch(script: str) -> None:
    text = Path(script).read_text(encoding="utf-8")
    (STATES / "script").write_text(text, encoding="utf-8")
    array = re.search(r"--array=(\d+)-(\d+)%(\d+)", text)
    first, last, at_once = map(int, array.groups()) if array else (0, 0, 1)
    for task in range(first, last + 1):
        (STATES / str(task)).write_text("PENDING")
    if os.fork() == 0:
        os.setsid()
        for number in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        running: dict[subprocess.Popen, int] = {}
        waiting = list(range(first, last + 1))
        while waiting or running:
            while waiting and len(running) < at_once:
                task = waiting.pop(0)
                about = {"JOB_ID": JOB, "NTASKS": 1, "JOB_NUM_NODES": 1}
                about |= {"ARRAY_JOB_ID": JOB, "ARRAY_TASK_ID": task} if array else {}
                about |= {"PROCID": 0, "LOCALID": 0, "NODEID": 0, "JOB_NODELIST": "here"}
                environment = os.environ | {f"SLURM_{name}": str(value) for name, value in about.items()}
                (STATES / str(task)).write_text("RUNNING")
                running[subprocess.Popen(["bash", script], env=environment, start_new_session=True)] = task
                (STATES / f"{task}.pid").write_text(str(next(reversed(running)).pid))
            for process in [process for process in running if process.poll() is not None]:
                state = "COMPLETED" if process.returncode == 0 else "FAILED"
                (STATES / str(running.pop(process))).write_text(state)
            time.sleep(0.05)
        os._exit(0)
    print(f"Submitted batch job {JOB}")


def srun(*arguments: str) -> None:
    rest = list(arguments)
    names = {"%j": JOB, "%A": JOB, "%a": os.environ.get("SLURM_ARRAY_TASK_ID", ""), "%t": "0"}
    while rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("--output", "--error"):
            path = rest.pop(0)
            for name, value in names.items():
                path = path.replace(name, value)
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), 1 if option == "--output" else 2)
    os.execvp(rest[0], rest)


def sacct(*_: str) -> None:
    print("JobID|State|NodeList")
    array = "--array" in (STATES / "script").read_text(encoding="utf-8")
    for path in sorted(path for path in STATES.iterdir() if path.name.isdigit()):
        print(f"{JOB}{f'_{path.name}' if array else ''}|{path.read_text()}|here")
        if not array:
            break


def scancel(*arguments: str) -> None:
    task = arguments[-1].partition("_")[2] or "0"
    os.killpg(int((STATES / f"{task}.pid").read_text()), signal.SIGKILL)


if __name__ == "__main__":
    {"sbatch": sbatch, "srun": srun, "sacct": sacct, "scancel": scancel}[Path(sys.argv[0]).name](*sys.argv[1:])
