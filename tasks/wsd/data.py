"""Word senses: the suites as sentences with targets; SemCor.

Answers are written as the evaluation framework reads them.
"""

import io
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
    """The sentences with a target of every tag file in a tar archive.

    The archive is .tar, .tar.gz or .tar.xz. Nothing is unpacked to the disk, and a
    member's name decides only whether it is read. Raises UserError.
    """
    with reading(path, "a tar archive of SemCor's tag files"):
        with open_text(path) as handle:
            content = handle.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise UserError(
                f"{path}: more than {LARGEST:,} bytes unpacked. Download it again."
            )
        sentences: list[Sentence] = []
        ends = 0
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                is_plain = member.isreg() and not member.issparse()
                if name.parent.name != "tagfiles" or not is_plain:
                    continue
                file = archive.extractfile(member)
                assert file is not None
                text = file.read().decode("latin-1")
                ends += text.count("\n</s>")
                sentences += parse(text, f"{path}: {name.name[:40]!a}")
    if not sentences:
        raise UserError(
            f"{path}: no annotated sentence in a folder named tagfiles. "
            "Download it again."
        )
    skipped = ends - len(sentences)
    if skipped:
        note(f"{skipped:,} sentences without a target skipped", path)
    return sentences


def parse(text: str, where: str) -> list[Sentence]:
    """The sentences of one tag file.

    A word that is a phrase (`took_place`) is as many tokens.
    """
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
                raise UserError(
                    f"{where}: line {number} is not a word of a tag file. "
                    "Download it again."
                )
            word = element[2]
            start = len(tokens)
            tokens += word.split("_") if word.strip("_") else [word]
            senses = _senses(element[1] or "", f"{where}: line {number}")
            if senses:
                name, end = str(len(targets)), len(tokens)
                targets.append(Target(name, start, end, *entry(senses[0]), senses))
    return sentences


def _senses(attributes: str, where: str) -> tuple[str, ...]:
    """The sense keys of a word, from its attributes; () without. Raises UserError."""
    values = dict(_ATTRIBUTE.findall(attributes))
    if "lexsn" not in values or "lemma" not in values:
        return ()
    numbers = values["lexsn"].split(";")
    if not all(map(_SENSE.fullmatch, numbers)):
        problem = f"{values['lexsn'][:40]!a} is not a sense of WordNet"
        raise UserError(f"{where}: {problem}. Download it again.")
    return tuple(f"{values['lemma']}%{sense}" for sense in numbers)


FILES = ("train", "evaluation", "first")
INDEX = "index.sense"  # its name in WordNet's folder dict
FIRST_SENSES = (INDEX, "first_sense.tsv.xz")  # names of lists of first senses


class Data(SuiteData):
    """Reads the suites that `conf/task/wsd.yaml` names.

    `files` has `folder`; `train`, SemCor's archive; `evaluation`, the XML of the
    evaluation framework, with its keys in the same folder; `first`, first senses; `dev`
    and `test`, names of its data sets.
    """

    schema = "wsd-1"
    ending = ".key.txt"
    sources = ("files",)

    def read(self, suite: str, root: Path | None) -> dict[str, list[Sentence]]:
        options = self.options(suite)
        train, evaluation, first = self._paths(options, root)
        every = read_evaluation(evaluation, read_keys(keys_beside(evaluation)))
        every = _with_first(every, read_first_senses(first))
        splits = {}
        for split in ("dev", "test"):
            wanted = options[split]
            splits[split] = [s for s in every if _set_of(s) in wanted]
            if not splits[split]:
                sets = ", ".join(sorted({_set_of(s) for s in every}))
                raise UserError(
                    f"task.data.{suite}.{split}={wanted}: not in {evaluation}, "
                    f"which has {sets}."
                )
        return {"train": read_semcor(train), **splits}

    def files(self, suite: str, root: Path | None) -> list[Path]:
        options = self.options(suite)
        train, evaluation, first = self._paths(options, root)
        return [train, evaluation, keys_beside(evaluation), first]

    def canonical(self, example: Sentence) -> dict[str, Any]:
        return {
            "tokens": example.tokens,
            "targets": [vars(target) for target in example.targets],
        }

    def vocabulary(self, train: Sequence[Sentence]) -> dict[str, list[str]]:
        """{"senses": every sense key of the training data}.

        A lemma's senses are together, the most frequent first.
        """
        counts: Counter[str] = Counter()
        for sentence in train:
            for target in sentence.targets:
                counts.update(target.senses)
        senses = sorted(counts, key=lambda key: (entry(key), -counts[key], key))
        return {"senses": senses}

    def read_file(self, path: Path) -> list[Sentence]:
        """The sentences of an XML file of the framework.

        They have their keys and first senses if these are in the same folder.
        """
        beside = keys_beside(path)
        has_keys = beside.is_file() and beside != path
        sentences = read_evaluation(path, read_keys(beside) if has_keys else None)
        for name in FIRST_SENSES:
            first = path.with_name(name)
            if first.is_file():
                return _with_first(sentences, read_first_senses(first))
        return sentences

    def write(
        self,
        path: Path,
        examples: Sequence[Sentence],
        predicted: Sequence[Sequence[Answers]],
    ) -> None:
        """Write target and sense key on a line each, as the scorer reads them.

        Targets without an answer get no line.
        """
        with atomic_write(path, "w") as handle:
            for sentence, answers in zip(examples, predicted, strict=True):
                for target, answer in zip(sentence.targets, answers, strict=True):
                    if answer:
                        handle.write(" ".join([target.name, *answer]) + "\n")

    def within(
        self,
        example: Sentence,
        predicted: Sequence[Answers],
        keeps: Callable[[Sequence[str]], bool],
    ) -> tuple[list[Target], list[Answers]] | None:
        """The targets whose words `keeps` accepts, and their answers.

        None if there are none.
        """
        targets, answers = [], []
        for target, answer in zip(example.targets, predicted, strict=False):
            if keeps(example.tokens[target.start : target.end]):
                targets.append(target)
                answers.append(answer)
        return (targets, answers) if targets else None

    def _paths(self, options: Mapping[str, Any], root: Path | None) -> list[Path]:
        return [data_file(root, options["folder"], options[name]) for name in FILES]


def _set_of(sentence: Sentence) -> str:
    return sentence.targets[0].name.partition(".")[0]


def _with_first(
    sentences: Sequence[Sentence], first: Mapping[tuple[str, str], str]
) -> list[Sentence]:
    """The sentences with the first sense of each target's lemma."""
    completed = []
    for sentence in sentences:
        targets = [
            replace(target, first=first.get((target.lemma, target.pos), ""))
            for target in sentence.targets
        ]
        completed.append(replace(sentence, targets=tuple(targets)))
    return completed


FirstSenses = dict[tuple[str, str], str]  # sense key by (lemma, part of speech)


def read_first_senses(path: Path) -> FirstSenses:
    """The first senses of WordNet's index.sense, or of lines `lemma<TAB>NOUN<TAB>key`.

    A note says which of the two it was, since WordNet's order has the better first
    senses. Raises UserError.
    """
    if plain_name(path) == INDEX:
        first = _read_index(path)
        order = "WordNet's own order"
    else:
        first = _read_list(path)
        order = "not WordNet's own order, whose first senses score higher"
    if not first:
        raise UserError(f"{path}: no senses. Download it again.")
    note(f"first senses of lemmas without training data: {path.name}, {order}")
    return first


def _read_index(path: Path) -> FirstSenses:
    """Of lines with a key, its synset's offset, its number, how often it was tagged."""
    first: FirstSenses = {}
    for number, line in read_lines(path):
        key, *numbers = line.split() or [""]
        are_numbers = len(numbers) == 3 and all(text.isdecimal() for text in numbers)
        if not (are_numbers and all(entry(key))):
            raise UserError(
                f"{path}:{number}: not a line of WordNet's {INDEX}. Download it again."
            )
        if numbers[1] == "1":
            first[entry(key)] = key
    return first


def _read_list(path: Path) -> FirstSenses:
    first: FirstSenses = {}
    parts_of_speech = set(PARTS_OF_SPEECH.values())
    for number, line in read_lines(path):
        cells = line.split("\t")
        if len(cells) != 3 or cells[1] not in parts_of_speech:
            raise UserError(
                f"{path}:{number}: expected lemma, part of speech and sense key. "
                "Fix this line."
            )
        lemma, part_of_speech, key = cells
        first[lemma.lower(), part_of_speech] = key
    return first
