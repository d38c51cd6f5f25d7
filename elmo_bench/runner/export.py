"""A trained head in a folder of its own, which moves to another machine."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.markdown import literal
from elmo_bench.base.refusals import make_folder
from elmo_bench.encoders.static import KNOWN
from elmo_bench.ledger import Record, RunPaths, read_record, score_of
from elmo_bench.runner.heads import AGAIN
from elmo_bench.runner.named_parts import WEIGHTS
from elmo_bench.runner.trained import head_of
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

Install elmo-bench {version} (Python 3.11 or newer). Then:

    import elmo_bench
    head = elmo_bench.load("{record}"{options})
    head.predict(texts)

Texts are a list of strings; for pairs of tuples of two, for tags of lists of tokens.
For a file there is `elmo-bench predict {record} FILE OUT{flags}`.
"""


def export_head(record_file: Path, folder: Path, *, overwrite: bool) -> list[Path]:
    """Copy a record, its head and a README to a folder; the files.

    Raises UserError if the head is not there, or if the folder has other files.
    """
    record = read_record(record_file)
    head_file = record_file.with_suffix("") / "head.safetensors"
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
    needed = [*_encoders(spec), *_vectors(spec)]
    options = [part.option for part in needed if part.option]
    lines = [literal(part.line) for part in needed]
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
        parts="\n".join(lines) or "- none: the words' vectors were trained",
        options="".join(f', {option}="PATH"' for option in options),
        flags="".join(f" --{option} PATH" for option in options),
    )


def _refit(record: Record) -> str:
    """The note that the head is not the scored one, or nothing."""
    if record.refit is None:
        return ""
    return (
        ", before it was trained once more, on train and dev "
        f"({record.refit.examples:,} examples)"
    )


class Needed(NamedTuple):
    """A frozen part that is loaded from elsewhere."""

    line: str  # of the README
    option: str  # that gives its path; "" if elmo-bench knows it by name


def _encoders(spec: RunSpec) -> Iterator[Needed]:
    contents = (spec.contents or {}).get("weights")
    for part, options in spec.encoders().items():
        checksum = contents.get(part) if isinstance(contents, dict) else contents
        kind = options.get("kind")
        published = WEIGHTS.get(str(kind), ())
        title = f"the encoder {part or spec.encoder} (kind {kind})"
        yield _needed(title, options.get("weights"), published, checksum, "weights")


def _vectors(spec: RunSpec) -> Iterator[Needed]:
    if spec.settings.get("encoder.words") == "static":
        name = spec.settings.get("encoder.vectors")
        checksum = (spec.contents or {}).get("vectors")
        yield _needed("the static vectors", name, KNOWN, checksum, "vectors")


def _needed(
    title: str, name: Any, published: Sequence[str], checksum: Any, option: str
) -> Needed:
    """A line of the README about one part, and its option."""
    line = f"- {title}: {name or 'without weights'}, checksum `{checksum}`"
    if name is None or name in published:
        return Needed(f"{line}; elmo-bench has or downloads it", "")
    return Needed(f"{line}; not published: bring the file, and give its path", option)
