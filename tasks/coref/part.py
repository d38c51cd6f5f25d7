"""OntoGUM as CoNLL-2012, made of the archive of GUM's repository.

There a document is two files with the same tokens: `coref/ontogum/conll/NAME.conll` has
the brackets of chains, and `coref/ontogum/conllu/NAME.conllu` sentences, parts of
speech and speakers. `splits.md` lists the documents of each split.
"""

import re
import tarfile
from pathlib import Path, PurePosixPath

from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import reader, reading
from elmo_bench.tasks.coref.conll import BEGIN, END, genre_of

LARGEST = 2**26  # bytes of the files that are read; OntoGUM has 27 MB
AGAIN = "Delete it to download it again."
SPEAKER = "# speaker = "


def make(source: Path, *, split: str, without: str) -> bytes:
    """The documents of a split in the order of `splits.md`, without one genre.

    Raises UserError.
    """
    files = read_members(source)
    lines: list[str] = []
    with reading(source, "an archive of GUM", AGAIN):
        section = files["splits.md"].split(f"## {split}\n")[1].split("## ")[0]
        for name in re.findall(r"^\s*\* (\w+)$", section, re.MULTILINE):
            if genre_of(name) != without:
                conll, conllu = files[f"{name}.conll"], files[f"{name}.conllu"]
                lines += _document(name, conll, conllu)
    return "".join(lines).encode()


@reader
def read_members(source: Path) -> dict[str, str]:
    """The texts of `splits.md` and of OntoGUM's documents, by the names of the files.

    Raises UserError.
    """
    files: dict[str, str] = {}
    with reading(source, "an archive of GUM", AGAIN), tarfile.open(source) as archive:
        size = 0
        for member in archive:
            # The first folder is named after the commit.
            parts = PurePosixPath(member.name).parts[1:]
            needed = parts == ("splits.md",) or parts[:2] == ("coref", "ontogum")
            if not (needed and member.isreg()):
                continue
            size += member.size
            if size > LARGEST:
                raise UserError(
                    f"{source}: more than {LARGEST:,} bytes of OntoGUM. {AGAIN}"
                )
            file = archive.extractfile(member)
            assert file is not None
            files[parts[-1]] = file.read().decode()
    return files


def _document(name: str, conll: str, conllu: str) -> list[str]:
    """The lines of a document.

    Raises ValueError if its two files have different numbers of tokens.
    """
    chains = [
        line.split("\t")[2]
        for line in conll.splitlines()
        if line and not line.startswith("#")
    ]
    tokens = 0
    lines = [f"{BEGIN} (gum/{name}); part 000\n"]
    for sentence in conllu.split("\n\n"):
        speaker = "-"
        place = 0
        for line in sentence.splitlines():
            cells = line.split("\t")
            if line.startswith(SPEAKER):
                speaker = line.removeprefix(SPEAKER).strip()
            elif cells[0].isdigit():  # neither a comment nor a range such as 3-4
                text = chains[tokens] if tokens < len(chains) else ""
                column = "|".join(re.findall(r"\(?\d+\)?", text)) or "-"
                first = [f"gum/{name}", "0", str(place), cells[1], cells[4], "*"]
                last = ["-", "-", "-", speaker, "*", column]
                lines.append("\t".join([*first, *last]) + "\n")
                place += 1
                tokens += 1
        if place:
            lines.append("\n")
    if tokens != len(chains):
        raise ValueError(
            f"{name}.conll has {len(chains)} tokens, {name}.conllu {tokens}"
        )
    return [*lines, f"{END}\n"]
