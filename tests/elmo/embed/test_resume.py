"""A run that is killed at any moment goes on, and ends with the file that it would have written anyway."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from elmo_bench.__main__ import main
from elmo_bench.elmo.embed import lines, outputs
from tests.elmo.embed import killing
from tests.elmo.embed.golden import GOLDEN, SMALL_PARTS, TEXT

WEIGHTS = ("--weights", str(GOLDEN))
PACKAGE = "elmo_bench.elmo.embed"
ANYWHERE = {
    "before the first values": (f"{PACKAGE}.modes:Mode.__call__", 1),
    "in the middle of a part": (f"{PACKAGE}.modes:Mode.__call__", 8),
    "with values but no record": (f"{PACKAGE}.parts:Parts.commit", 3),
    "with a record": (f"{PACKAGE}.parts:Parts._count", 3),
    "before the parts become one": (f"{PACKAGE}.job:Job._tell_empty", 1),
}
HDF5 = [*ANYWHERE.values(), (f"{PACKAGE}.outputs:_write", 7)]  # while the file is put together
NPZ = [(f"{PACKAGE}.outputs:np.savez", 2), *ANYWHERE.values()]  # while a shard is written


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with `in.txt`, fifteen parts of it."""
    (tmp_path / "in.txt").write_text(3 * TEXT, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str, **keywords) -> int | None:
    return killing.run([*arguments, *WEIGHTS], folder, part_tokens=SMALL_PARTS, **keywords)


def same(one: Path, other: Path) -> None:
    """Two outputs hold the same, bit by bit."""
    if one.is_file():
        assert one.read_bytes() == other.read_bytes()
        return
    assert sorted(file.name for file in one.iterdir()) == sorted(file.name for file in other.iterdir())
    for file in one.glob("*.npz"):
        with np.load(file) as found, np.load(other / file.name) as wanted:
            assert list(found) == list(wanted)
            assert all((found[name] == wanted[name]).all() for name in wanted)
    for file in one.glob("*.json"):
        assert file.read_bytes() == (other / file.name).read_bytes()


@pytest.mark.parametrize(
    ("options", "out", "places"),
    [
        (["in.txt"], "out", NPZ),
        pytest.param(["-"], "out.h5", HDF5, marks=pytest.mark.slow),
        pytest.param(["in.txt", "--stateful", "--batch-size", "2"], "out.h5", HDF5, marks=pytest.mark.slow),
    ],
)
def test_a_killed_run_goes_on_where_it_was(folder, out, places, options):
    source, *rest = options
    assert run(folder, source, f"whole-{out}", *rest) == 0
    done = []
    for place in places:
        assert run(folder, source, out, *rest, die_at=place) == -9
        assert not (folder / out).exists()
        done.append(len([*(folder / f"{out}.parts").glob("0*.json")]))
    assert run(folder, source, out, *rest) == 0
    same(folder / out, folder / f"whole-{out}")
    assert done == sorted(done)
    assert done[0] < done[2] < done[-1]
    assert sorted(path.name for path in folder.iterdir()) == sorted(["in.txt", out, f"whole-{out}"])


@pytest.mark.slow
@pytest.mark.parametrize("out", ["out.h5", "out"])
def test_runs_killed_at_random_times(folder, out):
    assert run(folder, "in.txt", f"whole-{out}", "--average") == 0
    rng = random.Random(0)
    ends: list[int | None] = []
    finished, seconds = 0, 0.4
    while ends.count(-9) < 10 or not finished:
        ends.append(run(folder, "in.txt", out, "--average", kill_after=rng.uniform(seconds / 4, seconds)))
        seconds *= 1.1 if ends[-1] else 0.5  # as long as a run takes, on a machine of any speed
        assert len(ends) < 100
        if (folder / out).exists():
            same(folder / out, folder / f"whole-{out}")
            finished += 1
            shutil.rmtree(folder / f"{out}.parts", ignore_errors=True)  # a kill may come before their end
            shutil.rmtree(folder / out) if (folder / out).is_dir() else (folder / out).unlink()
    assert set(ends) <= {0, -9}


def test_a_kill_between_the_output_and_the_end_of_its_parts(folder, monkeypatch, capsys):
    assert run(folder, "in.txt", "out.h5", die_at=(f"{PACKAGE}.parts:Parts.remove", 1)) == -9
    before = (folder / "out.h5").read_bytes()
    monkeypatch.chdir(folder)
    assert main(["embed", "in.txt", "out.h5", *WEIGHTS]) == 2
    assert (
        "out.h5: exists already. Give another path, or --overwrite to replace it, resuming from out.h5.parts."
        in capsys.readouterr().err
    )
    assert main(["embed", "in.txt", "out.h5", "--overwrite", *WEIGHTS]) == 0
    assert (folder / "out.h5").read_bytes() == before
    assert not (folder / "out.h5.parts").exists()


@pytest.fixture
def half(folder, monkeypatch, capsys):
    """`half(*arguments) -> (exit code, standard error)`: a start behind a run that was killed in its third part."""
    assert run(folder, "in.txt", "out.h5", die_at=(f"{PACKAGE}.parts:Parts.commit", 3)) == -9
    monkeypatch.chdir(folder)
    monkeypatch.setattr(lines, "PART_TOKENS", SMALL_PARTS)

    def start(*arguments: str):
        code = main(["embed", "in.txt", "out.h5", *WEIGHTS, *arguments])
        return code, capsys.readouterr().err

    return start


@pytest.mark.parametrize(
    ("options", "differs"),
    [
        (["--top"], "made with mode all, now mode top"),
        (["--batch-size", "3"], "made with batch-size None, now batch-size 3"),
        (["--stateful"], "made with batch-size None, stateful False, now batch-size 64, stateful True"),
    ],
)
def test_other_options_do_not_go_on(half, options, differs):
    code, error = half(*options)
    assert (code, error.count("\n")) == (2, 1)
    assert f"out.h5.parts: {differs}. Give the same options to resume, or --overwrite to start again." in error
    code, error = half(*options, "--overwrite")
    assert (code, "resuming" in error) == (0, False)


def test_the_same_options_go_on_with_overwrite_too(half):
    code, error = half("--overwrite")
    assert (code, "resuming after 9 sentences" in error) == (0, True)


@pytest.mark.parametrize("text", [3 * TEXT.replace("ferry", "fairy"), "Frost\n"])
def test_another_text_does_not_go_on(half, folder, text):
    (folder / "in.txt").write_text(text, encoding="utf-8")
    code, error = half()
    assert (code, error.count("\n")) == (2, 1)
    assert "in.txt: lines 1 to 4 differ from those in out.h5.parts" in error


def test_a_text_that_has_grown_goes_on(half, folder):
    with (folder / "in.txt").open("a", encoding="utf-8") as file:
        file.write("one more\n")
    code, error = half()
    assert (code, "resuming after 9 sentences" in error) == (0, True)


def test_a_disk_that_fills_up_at_the_end_costs_no_part(half, folder, monkeypatch):
    plain = outputs._write

    def full(file, index, array):
        if index == 20:
            raise OSError(28, "Can't write data (errno = 28, error message = 'No space left on device')")
        plain(file, index, array)

    monkeypatch.setattr(outputs, "_write", full)
    code, error = half()
    assert (code, error.splitlines()[-1]) == (
        2,
        "elmo-bench embed: out.h5: not written (No space left on device). Make room and give the same command "
        "again: all parts in out.h5.parts are complete.",
    )
    assert not (folder / "out.h5.parts" / "assembled.h5").exists()
    monkeypatch.setattr(outputs, "_write", plain)
    code, error = half()
    assert (code, "resuming after 36 sentences" in error) == (0, True)


def test_a_part_cut_off_is_made_again(half, folder):
    assert run(folder, "in.txt", "whole.h5") == 0
    values = folder / "out.h5.parts" / "data" / "00000.f32"
    values.write_bytes(values.read_bytes()[:-4])
    code, error = half()
    assert (code, "resuming" in error) == (0, False)
    assert (folder / "out.h5").read_bytes() == (folder / "whole.h5").read_bytes()


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 10**5, b"\xff", b'{"first": 0, "lengths": [-1]}'])
def test_a_damaged_record_of_a_part_is_one_line_and_the_part_is_made_again(half, folder, content):
    assert run(folder, "in.txt", "whole.h5") == 0
    (folder / "out.h5.parts" / "00001.json").write_bytes(content)
    code, error = half()
    assert code == 0
    assert "out.h5.parts/00001.json" in error
    assert "resuming after 4 sentences" in error
    assert (folder / "out.h5").read_bytes() == (folder / "whole.h5").read_bytes()


@pytest.mark.parametrize("content", [b"", b"[1]", b"[" * 10**5])
def test_damaged_settings_of_parts_are_one_line(half, folder, content):
    (folder / "out.h5.parts" / "settings.json").write_bytes(content)
    code, error = half()
    assert (code, error.count("\n")) == (2, 1)
    assert "out.h5.parts to start again" in error or "not valid JSON" in error or "levels" in error


def test_one_process_at_a_time(half, folder):
    with FileLock(folder / "out.h5.parts" / "lock"):
        code, error = half()
    assert (code, error.count("\n")) == (2, 1)
    assert "out.h5.parts: another process is writing this output" in error
    assert half()[0] == 0


def test_a_folder_of_parts_that_is_somebody_elses_is_left_alone(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    (folder / "out.h5.parts").mkdir()
    (folder / "out.h5.parts" / "thesis.tex").touch()
    assert main(["embed", "in.txt", "out.h5", *WEIGHTS, "--overwrite"]) == 2
    assert "out.h5.parts: this folder is needed, but has thesis.tex" in capsys.readouterr().err
    assert (folder / "out.h5.parts" / "thesis.tex").exists()
