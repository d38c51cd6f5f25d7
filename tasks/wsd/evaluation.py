"""The unified evaluation data of Raganato, Camacho-Collados and Navigli (2017): an XML file, and its sense keys."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.parsers import expat

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import is_packed, open_text, read_lines
from elmo_bench.base.notes import note
from elmo_bench.base.reading import reading

# By the first digit of a sense key's second part (WordNet's manual, senseidx(5WN)); 5 is a satellite adjective.
PARTS_OF_SPEECH = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}


@dataclass(frozen=True)
class Target:
    """An ambiguous word or phrase: tokens start to end - 1 of its sentence."""

    name: str  # in the evaluation data, such as senseval2.d000.s000.t000; elsewhere its number
    start: int
    end: int
    lemma: str
    pos: str  # NOUN, VERB, ADJ or ADV
    senses: tuple[str, ...]  # WordNet's sense keys, each of which is right; () if unknown
    first: str = ""  # the lemma's first sense in the list of first senses; empty in training, or if the list lacks it


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
    """(lemma, part of speech) of a sense key: `recent%5:00:00:past:00` gives ("recent", "ADJ")."""
    lemma, _, rest = key.partition("%")
    return lemma.lower(), PARTS_OF_SPEECH.get(rest[:1], "")


LARGEST = 2**27  # bytes of an unpacked file; SemCor 3.0 has 22 MB
DATA, KEYS = ".data.xml", ".gold.key.txt"
_MARKUP = {"corpus", "text", "sentence", "wf", "instance"}


def keys_beside(path: Path) -> Path:
    """The file of keys that belongs to `NAME.data.xml`: `NAME.gold.key.txt` in the same folder, packed alike or not."""
    beside = path.with_name(plain_name(path).removesuffix(DATA) + KEYS)
    packed = beside.with_name(beside.name + path.suffix)
    return packed if is_packed(path) and packed.is_file() else beside


def plain_name(path: Path) -> str:
    """The name of a file without the ending that says how it is packed."""
    return path.stem if is_packed(path) else path.name


def read_keys(path: Path) -> dict[str, tuple[str, ...]]:
    """{target: its sense keys}: a target a line, then its keys, separated by spaces. Raises UserError."""
    senses: dict[str, tuple[str, ...]] = {}
    for number, line in read_lines(path):
        name, *keys = line.split() or [""]
        if name in senses:
            raise UserError(f"{path}:{number}: a second line for {name[:60]}. Keep one of them.")
        if name:
            senses[name] = tuple(keys)
    if not senses:
        raise UserError(f"{path}: no sense keys. Download the file again.")
    return senses


def read_evaluation(path: Path, keys: dict[str, tuple[str, ...]] | None) -> list[Sentence]:
    """The sentences that have a target; a phrase (`took place`) is as many tokens. Raises UserError.

    `keys`: the right senses, without which `senses` of every target is empty.
    """
    parser = _Parser(path, keys)
    with reading(path, "evaluation data in XML"), open_text(path) as handle:
        content = handle.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise UserError(f"{path}: more than {LARGEST:,} bytes unpacked. Use several files.")
        parser.expat.Parse(content, True)
    if not parser.sentences:
        raise UserError(f"{path}: no sentence with a target. Download it again.")
    if skipped := parser.ends - len(parser.sentences):
        note(f"{skipped:,} sentences without a target skipped", path)
    return parser.sentences


class _Parser:
    """Collects sentences. A document type is refused: an entity that it declares could be of any size."""

    def __init__(self, path: Path, keys: dict[str, tuple[str, ...]] | None):
        self.path, self.keys, self.sentences = path, keys, list[Sentence]()
        self.tokens, self.targets, self.word = list[str](), list[Target](), list[str]()
        self.attributes: dict[str, str] = {}
        self.ends = 0
        self.expat = expat.ParserCreate()
        self.expat.StartDoctypeDeclHandler = self._refuse
        self.expat.StartElementHandler = self._start
        self.expat.CharacterDataHandler = self._text
        self.expat.EndElementHandler = self._end

    def _refuse(self, *_: Any) -> None:
        raise UserError(f"{self.path}: has a document type, which this data does not need. Remove it.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name not in _MARKUP:
            raise UserError(f"{self._line()}: unknown element <{name[:40]}>. Download the file again.")
        self.attributes, self.word = attributes, []
        if name == "sentence":
            self.tokens, self.targets = [], []

    def _text(self, text: str) -> None:
        self.word.append(text)

    def _end(self, name: str) -> None:
        self.ends += name == "sentence"
        if name == "sentence" and self.targets:
            self.sentences.append(Sentence(tuple(self.tokens), tuple(self.targets)))
        elif name in ("wf", "instance"):
            words = "".join(self.word).split()
            if not words:
                raise UserError(f"{self._line()}: a word without letters. Download the file again.")
            self.tokens += words
            if name == "instance":
                self.targets.append(self._target(len(words)))
        self.word = []

    def _target(self, width: int) -> Target:
        given = [self.attributes.get(key, "") for key in ("id", "lemma", "pos")]
        if not all(given) or given[2] not in PARTS_OF_SPEECH.values():
            raise UserError(f"{self._line()}: an instance without id, lemma or pos. Download the file again.")
        name, lemma, pos = given
        beside = keys_beside(self.path)
        if self.keys is not None and name not in self.keys:
            raise UserError(f"{self._line()}: {name[:60]} has no line in {beside}. Download both again.")
        senses = self.keys[name] if self.keys is not None else ()
        return Target(name, len(self.tokens) - width, len(self.tokens), lemma.lower(), pos, senses)

    def _line(self) -> str:
        return f"{self.path}:{self.expat.CurrentLineNumber}"
