"""Word senses: the suites as sentences with targets, and the evaluation framework's file of answers; SemCor."""

import io
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path, PurePosixPath
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, open_text, read_lines
from elmo_bench.base.notes import note
from elmo_bench.base.reading import reading
from elmo_bench.base.sources import SuiteData, data_file
from elmo_bench.tasks.wsd.evaluation import (
    LARGEST,
    PARTS_OF_SPEECH,
    Sentence,
    Target,
    entry,
    keys_beside,
    plain_name,
    read_evaluation,
    read_keys,
)
from elmo_bench.tasks.wsd.metric import Answers

_TOKEN = re.compile(r"<(?:wf ([^<>]*)|punc)>([^<>]+)</(?:wf|punc)>")
_ATTRIBUTE = re.compile(r"\b(\w+)=(\S+)")
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
        sentences: list[Sentence] = []
        ends = 0
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                if PurePosixPath(member.name).parent.name != "tagfiles" or not member.isreg() or member.issparse():
                    continue
                file = archive.extractfile(member)
                assert file is not None
                text = file.read().decode("latin-1")
                ends += text.count("\n</s>")
                sentences += parse(text, f"{path}: {PurePosixPath(member.name).name[:40]!a}")
    if not sentences:
        raise UserError(f"{path}: no annotated sentence in a folder named tagfiles. Download it again.")
    if skipped := ends - len(sentences):
        note(f"{skipped:,} sentences without a target skipped", path)
    return sentences


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
            element = _TOKEN.fullmatch(line.strip())
            if element is None:
                raise UserError(f"{where}: line {number} is not a word of a tag file. Download it again.")
            start = len(tokens)
            tokens += element[2].split("_") if element[2].strip("_") else [element[2]]
            given = dict(_ATTRIBUTE.findall(element[1] or ""))
            if "lexsn" in given and "lemma" in given:
                numbers = given["lexsn"].split(";")
                if not all(map(_SENSE.fullmatch, numbers)):
                    shown = f"{given['lexsn'][:40]!a} is not a sense of WordNet"
                    raise UserError(f"{where}: line {number}: {shown}. Download it again.")
                senses = tuple(f"{given['lemma']}%{sense}" for sense in numbers)
                targets.append(Target(str(len(targets)), start, len(tokens), *entry(senses[0]), senses))
    return sentences


FILES = ("train", "evaluation", "first")
INDEX = "index.sense"  # its name in WordNet's folder dict
FIRST_SENSES = (INDEX, "first_sense.tsv.xz")  # names of lists of first senses


class Data(SuiteData):
    """Reads the suites that `conf/task/wsd.yaml` names.

    `files` has `folder`; `train`, SemCor's archive; `evaluation`, the XML of the evaluation framework, with its keys in
    the same folder; `first`, first senses; `dev` and `test`, names of its data sets.
    """

    schema = "wsd-1"
    ending = ".key.txt"
    sources = ("files",)

    def read(self, suite: str, root: Path | None) -> dict[str, list[Sentence]]:
        options = self.options(suite)
        train, evaluation, first = self._paths(options, root)
        known = read_evaluation(evaluation, read_keys(keys_beside(evaluation)))
        known = _with_first(known, read_first_senses(first))
        splits = {split: [each for each in known if _set_of(each) in options[split]] for split in ("dev", "test")}
        for split, sentences in splits.items():
            if not sentences:
                sets = ", ".join(sorted({_set_of(each) for each in known}))
                raise UserError(f"task.data.{suite}.{split}={options[split]}: not in {evaluation}, which has {sets}.")
        return {"train": read_semcor(train), **splits}

    def files(self, suite: str, root: Path | None) -> list[Path]:
        options = self.options(suite)
        train, evaluation, first = self._paths(options, root)
        return [train, evaluation, keys_beside(evaluation), first]

    def canonical(self, example: Sentence) -> dict[str, Any]:
        return {"tokens": example.tokens, "targets": [vars(target) for target in example.targets]}

    def vocabulary(self, train: Sequence[Sentence]) -> dict[str, list[str]]:
        """{"senses": every sense key of the training data}, a lemma's senses together, the most frequent first."""
        counts = Counter(key for sentence in train for target in sentence.targets for key in target.senses)
        return {"senses": sorted(counts, key=lambda key: (entry(key), -counts[key], key))}

    def read_file(self, path: Path) -> list[Sentence]:
        """The sentences of an XML file of the framework, with its keys and first senses if they are next to it."""
        keys = keys_beside(path)
        known = read_evaluation(path, read_keys(keys) if keys.is_file() and keys != path else None)
        lists = (path.with_name(name) for name in FIRST_SENSES)
        first = next((each for each in lists if each.is_file()), None)
        return _with_first(known, read_first_senses(first)) if first else known

    def write(self, path: Path, examples: Sequence[Sentence], predicted: Sequence[Sequence[Answers]]) -> None:
        """Write target and sense key on a line each, as the scorer reads them; no line without an answer."""
        with atomic_write(path, "w") as handle:
            for sentence, answers in zip(examples, predicted, strict=True):
                for target, answer in zip(sentence.targets, answers, strict=True):
                    if answer:
                        handle.write(" ".join([target.name, *answer]) + "\n")

    def within(
        self, example: Sentence, predicted: Sequence[Answers], keeps: Callable[[Sequence[str]], bool]
    ) -> tuple[list[Target], list[Answers]] | None:
        """The targets whose words `keeps` accepts, and their answers; None if there are none."""
        kept = [keeps(example.tokens[target.start : target.end]) for target in example.targets]
        return (list(compress(example.targets, kept)), list(compress(predicted, kept))) if any(kept) else None

    def _paths(self, options: Mapping[str, Any], root: Path | None) -> list[Path]:
        return [data_file(root, options["folder"], options[name]) for name in FILES]


def _set_of(sentence: Sentence) -> str:
    return sentence.targets[0].name.partition(".")[0]


def _with_first(sentences: Sequence[Sentence], first: Mapping[tuple[str, str], str]) -> list[Sentence]:
    return [
        replace(each, targets=tuple(replace(t, first=first.get((t.lemma, t.pos), "")) for t in each.targets))
        for each in sentences
    ]


def read_first_senses(path: Path) -> dict[tuple[str, str], str]:
    """{(lemma, part of speech): sense key} of WordNet's index.sense, or of lines `lemma<TAB>NOUN<TAB>key`.

    A note says which of the two it was, since WordNet's order has the better first senses. Raises UserError.
    """
    first: dict[tuple[str, str], str] = {}
    known = {*PARTS_OF_SPEECH.values()}
    index = plain_name(path) == INDEX
    for number, line in read_lines(path):
        cells = line.split() if index else line.split("\t")
        if index:  # key, offset of the synset, number of the sense, how often it was tagged
            if len(cells) != 4 or not all(cell.isdecimal() for cell in cells[1:]) or not all(entry(cells[0])):
                raise UserError(f"{path}:{number}: not a line of WordNet's {INDEX}. Download it again.")
            if cells[2] == "1":
                first[entry(cells[0])] = cells[0]
        elif len(cells) != 3 or cells[1] not in known:
            raise UserError(f"{path}:{number}: expected lemma, part of speech and sense key. Fix this line.")
        else:
            first[cells[0].lower(), cells[1]] = cells[2]
    if not first:
        raise UserError(f"{path}: no senses. Download it again.")
    order = "WordNet's own order" if index else "not WordNet's own order, whose first senses score higher"
    note(f"first senses of lemmas without training data: {path.name}, {order}")
    return first
