"""A trained head in a folder of its own, which moves to another machine."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.markdown import literal
from elmo_bench.base.refusals import make_folder
from elmo_bench.encoders import hf_files
from elmo_bench.encoders.kinds import kind_of
from elmo_bench.encoders.static import KNOWN
from elmo_bench.ledger import Record, RunPaths, read_record, score_of
from elmo_bench.runner.head_files import AGAIN
from elmo_bench.runner.named_parts import flags_to_give, parts_to_give
from elmo_bench.runner.trained import check_predicts, head_of
from elmo_bench.spec.names import task_class, tasks
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.tuning import tuned_name

PACKAGE = "elmo-bench"
CARD = """# A head of {task} on {encoder}

It was trained by elmo-bench {version} on {examples:,} examples ({suite}), and has
{metric} {score:.2f} on test{refit}. The folder has all that was trained:

| file | what |
|---|---|
| `{record}` | the record of the run: settings, scores, data digest |
| `{head}` | the weights{tuned}, the labels and the words of the training data |

The other parts are loaded from elsewhere, and compared by their checksums:

{parts}

## Use

Install elmo-bench {version} (Python 3.11 to 3.13), from a clone of that version
(`pip install {clone}`) or from its wheel. Then:

{use}
"""
PYTHON = """    import elmo_bench
    head = elmo_bench.load("{record}"{options})
    head.predict(texts)

Texts are a list of strings; for pairs of tuples of two, for tags of lists of tokens.
For a file there is `elmo-bench predict {record} FILE OUT{flags}`."""
FILES_ALONE = """    elmo-bench predict {record} FILE OUT{flags}

FILE has the format of the task's card."""
NO_TEXTS = " From Python, this task takes no texts."
HERE = "elmo-bench has or downloads it"
BRING = "not published: bring the file, and give its path"
YOURS = "the folder that was included: --include FOLDER, or $ELMO_BENCH_INCLUDE"
_INSTALLED = Path(__file__).parents[1]


def export_head(record_file: Path, folder: Path, *, overwrite: bool) -> list[Path]:
    """Copy a record, its head and a README to a folder; the files.

    Raises UserError if the head is not there or cannot predict, or if the folder has
    other files.
    """
    record = read_record(record_file)
    head_file = record_file.with_suffix("") / "head.safetensors"
    check_predicts(RunSpec.of_record(record), record_file)
    head_of(record, record_file, head_file)
    RunPaths.of(folder, record)  # refuses names that no run has
    version = _version(record, record_file)
    new_record = folder / record_file.name
    new_head = folder / record_file.stem / head_file.name
    card = folder / "README.md"
    files = [new_record, new_head, card]
    taken = [path for path in files if path.exists()]
    if taken and not overwrite:
        raise UserError(f"{taken[0]}: exists. Add --overwrite, or give a new folder.")
    make_folder(new_head.parent)
    copies = {new_record: record_file, new_head: head_file}
    for new, old in copies.items():
        with atomic_write(new) as handle:
            handle.write(old.read_bytes())
    with atomic_write(card, "w") as handle:
        handle.write(_card(record, new_record.name, version))
    return files


def _version(record: Record, record_file: Path) -> str:
    """The elmo-bench that made a record; "" if it does not say. Raises UserError."""
    version = record.environment.packages.get(PACKAGE, "")
    if version and not re.fullmatch(r"[\w.+-]+", version):
        raise UserError(
            f"{record_file}: {version!r:.60} is no version of {PACKAGE}. {AGAIN}"
        )
    return version


def _card(record: Record, name: str, version: str) -> str:
    """The README of the folder; `name` is the record's."""
    spec = RunSpec.of_record(record)
    lines = [*_task(spec), *_encoders(spec), *_vectors(spec)]
    parts = [literal(line) for line in lines]
    return CARD.format(
        task=literal(spec.task),
        encoder=literal(tuned_name(spec.encoder, spec.settings)),
        tuned=" of head and encoder" if record.parameters.tuned else "",
        version=version,
        examples=record.data.counts.train,
        suite=literal(spec.suite),
        metric=literal(record.metric),
        score=score_of(record, "test"),
        refit=_refit(record),
        record=literal(name),
        head=literal(f"{Path(name).stem}/head.safetensors"),
        parts="\n".join(parts) or "- none: the words' vectors were trained",
        clone=_clone(spec),
        use=_use(record, name),
    )


def _clone(spec: RunSpec) -> str:
    """What `pip install` gets in a clone: its folder, with the needed extras."""
    extras = set()
    for options in spec.encoders().values():
        extras.update(_extras(options))
    return f"'.[{','.join(sorted(extras))}]'" if extras else "."


def _extras(options: Mapping[str, Any]) -> list[str]:
    """The extra of elmo-bench that an encoder needs, if any."""
    extra = "adapters" if options.get("tune") == "lora" else kind_of(options).extra
    return [extra] if extra else []


def _use(record: Record, name: str) -> str:
    """How to predict with the head, of texts in memory if its task takes them."""
    spec = RunSpec.of_record(record)
    parts = parts_to_give(spec)
    options = [f', {option}="{value}"' for option, value in parts.items()]
    flags = [f" {word}" for word in flags_to_give(record)]
    use = FILES_ALONE
    if spec.task in tasks():  # else it is unknown whether the task takes texts
        takes_texts = hasattr(task_class(spec.task, "data"), "of_texts")
        use = PYTHON if takes_texts else FILES_ALONE + NO_TEXTS
    return use.format(
        record=literal(name), options="".join(options), flags="".join(flags)
    )


def _refit(record: Record) -> str:
    """The note that the head is not the scored one, or nothing."""
    if record.refit is None:
        return ""
    return (
        ", before it was trained once more, on train and dev "
        f"({record.refit.examples:,} examples)"
    )


def _task(spec: RunSpec) -> Iterator[str]:
    """A line about the task, if its code is the user's."""
    if spec.task not in {path.name for path in _INSTALLED.glob("tasks/*")}:
        yield f"- the code of the task {spec.task}: bring {YOURS}"


def _encoders(spec: RunSpec) -> Iterator[str]:
    """A line about each encoder, and one about the vectors that it reads, if any."""
    contents = (spec.contents or {}).get("weights")
    for part, options in spec.encoders().items():
        checksum = contents.get(part) if isinstance(contents, dict) else contents
        kind = str(options.get("kind"))
        title = f"the encoder {part or spec.encoder} (kind {kind})"
        yield _line(title, options.get("weights"), checksum, _whence(options))
        inputs = options.get("inputs")
        if inputs is not None:
            whence = HERE if inputs in KNOWN else BRING
            yield f"- the vectors that {kind} reads: {inputs}; {whence}"


def _whence(options: Mapping[str, Any]) -> str:
    """Where the weights and the code of an encoder come from."""
    kind = str(options.get("kind"))
    name = options.get("weights")
    needed = []
    if kind == "hf" and name in list(hf_files.PUBLISHED):
        needed.append(f"run {hf_files.commands_for(str(name))}")
    elif name in kind_of(options).names:
        needed.append(HERE)
    elif name is not None:
        needed.append(BRING)
    for extra in _extras(options):
        needed.append(f"needs the extra {extra} of elmo-bench")
    if kind not in {path.stem for path in _INSTALLED.glob("encoders/*.py")}:
        needed.append(f"bring {YOURS}")
    return "; ".join(needed)


def _vectors(spec: RunSpec) -> Iterator[str]:
    """A line about the static vectors, if the head reads them."""
    if spec.settings.get("encoder.words") == "static":
        name = spec.settings.get("encoder.vectors")
        checksum = (spec.contents or {}).get("vectors")
        whence = HERE if name in KNOWN else BRING
        yield _line("the static vectors", name, checksum, whence)


def _line(title: str, name: Any, checksum: Any, whence: str) -> str:
    return f"- {title}: {name or 'without weights'}, checksum `{checksum}`; {whence}"
