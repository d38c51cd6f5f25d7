"""Text to train on: which files, and the sentences in them.

One sentence a line, UTF-8; plain, `.gz`, `.xz` or `.zst`; CRLF and a BOM are read. Empty lines are left out, and lines
of more than LONGEST characters, with a note. A file that is missing, cut off or not UTF-8 raises a UserError with file
and line. Files are read as streams.
"""

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.notes import note
from elmo_bench.base.reading import reader
from elmo_bench.text.vocabulary import tokeniser

LONGEST = 20_000  # characters


def shard_files(corpus: str | Sequence[str]) -> list[Path]:
    """The files of a path, a pattern, or a list of them, each once. Raises UserError if nothing matches."""
    files: list[Path] = []
    for pattern in [corpus] if isinstance(corpus, str) else corpus:
        paths = sorted(map(Path, glob.glob(str(pattern), recursive=True)))  # noqa: PTH207  absolute patterns too
        if not paths and Path(pattern).is_file():  # notes[1].txt
            paths = [Path(pattern)]
        if not paths:
            raise UserError(f"corpus={pattern}: no file matches. Check the path, and quote a pattern for the shell.")
        files += paths
    return list(dict.fromkeys(files))


@dataclass(frozen=True)
class Corpus:
    """Files of text, and the name of the tokeniser for them (`elmo_bench.text.vocabulary`)."""

    files: tuple[Path, ...]
    tokenizer: str = "spaces"

    def lines(self, file: Path) -> Iterator[str]:
        """The lines of one of the files that are sentences."""
        long: list[int] = []
        for number, line in read_lines(file, longest=LONGEST):
            if len(line) > LONGEST:
                long.append(number)
            elif line and not line.isspace():
                yield line
        if long:
            note(f"{len(long):,} line(s) of over {LONGEST:,} characters left out, the first is line {long[0]}", file)

    @reader
    def sentences(self, file: Path) -> Iterator[list[str]]:
        """The tokenised sentences of one of the files."""
        return filter(None, map(tokeniser(self.tokenizer), self.lines(file)))


def sentences(path: Path) -> Iterator[list[str]]:
    """The sentences of a tokenised file."""
    return Corpus((path,)).sentences(path)
