"""The unified evaluation data: an XML file, and its sense keys.

Source: Raganato, Camacho-Collados and Navigli (2017).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import is_packed, open_text, read_lines
from elmo_bench.base.notes import note
from elmo_bench.base.reading import reading

# By the first digit of a sense key's second part (WordNet's manual, senseidx(5WN)); 5
# is a satellite adjective.
PARTS_OF_SPEECH = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}


@dataclass(frozen=True)
class Target:
    """An ambiguous word or phrase: tokens start to end - 1 of its sentence."""

    # in the evaluation data, such as senseval2.d000.s000.t000; elsewhere its number
    name: str
    start: int
    end: int
    lemma: str
    pos: str  # NOUN, VERB, ADJ or ADV
    senses: tuple[
        str, ...
    ]  # WordNet's sense keys, each of which is right; () if unknown
    # the lemma's first sense in the list of first senses; empty in training, or if the
    # list lacks it
    first: str = ""


@dataclass(frozen=True)
class Sentence:
    """A sentence and its targets, of which it has at least one."""

    tokens: tuple[str, ...]
    targets: tuple[Target, ...]

    @property
    def texts(self) -> tuple[tuple[str, ...]]:
        return (self.tokens,)

    @property
    def gold(self) -> tuple[Target, ...]:
        return self.targets


def entry(key: str) -> tuple[str, str]:
    """(lemma, part of speech) of a sense key.

    `recent%5:00:00:past:00` gives ("recent", "ADJ").
    """
    lemma, _, rest = key.partition("%")
    return lemma.lower(), PARTS_OF_SPEECH.get(rest[:1], "")


LARGEST = 2**27  # bytes of an unpacked file; SemCor 3.0 has 22 MB
DATA, KEYS = ".data.xml", ".gold.key.txt"


def keys_beside(path: Path) -> Path:
    """The file of keys that belongs to `NAME.data.xml`.

    It is `NAME.gold.key.txt` in the same folder, packed alike or not.
    """
    beside = path.with_name(plain_name(path).removesuffix(DATA) + KEYS)
    packed = beside.with_name(beside.name + path.suffix)
    return packed if is_packed(path) and packed.is_file() else beside


def plain_name(path: Path) -> str:
    """The name of a file without the ending that says how it is packed."""
    return path.stem if is_packed(path) else path.name


def read_keys(path: Path) -> dict[str, tuple[str, ...]]:
    """{target: its sense keys}: a target a line, then its keys, separated by spaces.

    The keys are () on a line without any. Lines of one target are joined, as in the
    scorer of the framework, with a note. Raises UserError.
    """
    senses: dict[str, list[str]] = {}
    lines = 0
    for _, line in read_lines(path):
        name, *keys = line.split() or [""]
        if name:
            lines += 1
            senses.setdefault(name, []).extend(keys)
    if not senses:
        line = "Each line must have a target and its sense keys"
        raise UserError(f"{path}: no sense keys. {line}.")
    repeated = lines - len(senses)
    if repeated:
        note(f"lines joined to an earlier line of their target: {repeated:,}", path)
    return {name: tuple(keys) for name, keys in senses.items()}


class _Builder(ElementTree.TreeBuilder):
    """Refuses a document type, in any encoding.

    An entity that it declares could be of any size.
    """

    def __init__(self, path: Path):
        super().__init__()
        self.path = path

    def doctype(self, *_: Any) -> None:
        raise UserError(
            f"{self.path}: has a document type, which this data does not need. "
            "Remove it."
        )


def read_evaluation(
    path: Path, keys: dict[str, tuple[str, ...]] | None
) -> list[Sentence]:
    """The sentences that have a target; a phrase (`took place`) is as many tokens.

    `keys`: the right senses, without which `senses` of every target is empty. Raises
    UserError.
    """
    with reading(path, "evaluation data in XML"), open_text(path) as handle:
        content = handle.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise UserError(
                f"{path}: more than {LARGEST:,} bytes unpacked. Use several files."
            )
        parser = ElementTree.XMLParser(target=_Builder(path))
        parser.feed(content)
        nodes = list(parser.close().iter("sentence"))
    sentences = [_sentence(path, node, keys) for node in nodes]
    with_targets = [sentence for sentence in sentences if sentence.targets]
    if not with_targets:
        raise UserError(f"{path}: no sentence with a target. Download it again.")
    skipped = len(sentences) - len(with_targets)
    if skipped:
        note(f"{skipped:,} sentences without a target skipped", path)
    return with_targets


def _sentence(
    path: Path, node: ElementTree.Element, keys: dict[str, tuple[str, ...]] | None
) -> Sentence:
    where = f"{path}: sentence {node.get('id', '')[:60]}"
    tokens: list[str] = []
    targets: list[Target] = []
    for element in node:
        words = (element.text or "").split()
        if element.tag not in ("wf", "instance") or not words:
            raise UserError(
                f"{where}: <{element.tag[:40]}> is not a word with letters. "
                "Download the file again."
            )
        start = len(tokens)
        tokens += words
        if element.tag == "instance":
            name, lemma, pos = (element.get(key, "") for key in ("id", "lemma", "pos"))
            if not (name and lemma) or pos not in PARTS_OF_SPEECH.values():
                raise UserError(
                    f"{where}: an instance without id, lemma or pos. "
                    "Download the file again."
                )
            if keys is not None and name not in keys:
                raise UserError(
                    f"{path}: {name[:60]} has no line in {keys_beside(path)}. "
                    "Download both again."
                )
            senses = keys[name] if keys is not None else ()
            targets.append(Target(name, start, len(tokens), lemma.lower(), pos, senses))
    return Sentence(tuple(tokens), tuple(targets))
