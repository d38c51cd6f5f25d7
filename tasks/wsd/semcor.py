"""SemCor's tag files, as they are in the archive of version 3.0."""

import io
import re
import tarfile
from pathlib import Path, PurePosixPath

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import open_text
from elmo_bench.base.reading import reading
from elmo_bench.tasks.wsd.evaluation import Sentence, Target, entry

LARGEST = 2**27  # bytes of the unpacked archive; SemCor 3.0 has 22 MB
_TOKEN = re.compile(r"<(?:wf ([^<>]*)|punc)>([^<>]+)</(?:wf|punc)>")
_ATTRIBUTE = re.compile(r"(\w+)=(\S+)")
_SENSE = re.compile(r"[1-5]:\d\d:\d\d:[^:;\s]*:\d*")


def read_semcor(path: Path) -> list[Sentence]:
    """The sentences of every tag file in a tar archive (.tar, .tar.gz, .tar.xz) that have a target.

    Nothing is unpacked to the disk, and a member's name decides only whether it is read. Raises UserError.
    """
    with reading(path, "a tar archive of SemCor's tag files"):
        with open_text(path) as handle:
            content = handle.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise UserError(f"{path}: more than {LARGEST:,} bytes unpacked. Download it again.")
        found: list[Sentence] = []
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                if PurePosixPath(member.name).parent.name != "tagfiles" or not member.isreg() or member.issparse():
                    continue
                file = archive.extractfile(member)
                assert file is not None
                found += parse(file.read().decode("latin-1"), f"{path}: {PurePosixPath(member.name).name[:40]!a}")
    if not found:
        raise UserError(f"{path}: no annotated sentence in a folder named tagfiles. Download it again.")
    return found


def parse(text: str, where: str) -> list[Sentence]:
    """The sentences of one tag file. A word that is a phrase (`took_place`) is as many tokens."""
    sentences: list[Sentence] = []
    tokens: list[str] = []
    targets: list[Target] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("</s>"):
            if targets:
                sentences.append(Sentence(tuple(tokens), tuple(targets)))
            tokens, targets = [], []
        elif line.startswith(("<wf", "<punc")):
            found = _TOKEN.fullmatch(line.strip())
            if found is None:
                raise UserError(f"{where}: line {number} is not a word of a tag file. Download it again.")
            start = len(tokens)
            tokens += found[2].split("_") if found[2].strip("_") else [found[2]]
            given = dict(_ATTRIBUTE.findall(found[1] or ""))
            if "lexsn" in given and "lemma" in given:
                senses = tuple(f"{given['lemma']}%{sense}" for sense in _senses(given["lexsn"], where, number))
                targets.append(Target(str(len(targets)), start, len(tokens), *entry(senses[0]), senses))
    return sentences


def _senses(given: str, where: str, number: int) -> list[str]:
    senses = given.split(";")
    if not all(map(_SENSE.fullmatch, senses)):
        raise UserError(f"{where}: line {number}: {given[:40]!a} is not a sense of WordNet. Download it again.")
    return senses
