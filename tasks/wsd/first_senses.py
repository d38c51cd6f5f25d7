"""Lists of the first sense of each lemma: WordNet's own index, or a table."""

from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.notes import note
from elmo_bench.tasks.wsd.sentence import PARTS_OF_SPEECH, entry

INDEX = "index.sense"  # its name in WordNet's folder dict


def read_first_senses(path: Path) -> dict[tuple[str, str], str]:
    """{(lemma, part of speech): sense key} of WordNet's index.sense, or of lines `lemma<TAB>NOUN<TAB>key`.

    A note says which of the two it was, since WordNet's order has the better first senses. Raises UserError.
    """
    found: dict[tuple[str, str], str] = {}
    known = {*PARTS_OF_SPEECH.values()}
    for number, line in read_lines(path):
        cells = line.split() if path.name == INDEX else line.split("\t")
        if path.name == INDEX:  # key, offset of the synset, number of the sense, how often it was tagged
            if len(cells) != 4 or not all(cell.isdecimal() for cell in cells[1:]) or not all(entry(cells[0])):
                raise UserError(f"{path}:{number}: not a line of WordNet's {INDEX}. Download it again.")
            if int(cells[2]) == 1:
                found[entry(cells[0])] = cells[0]
        elif len(cells) != 3 or cells[1] not in known:
            raise UserError(f"{path}:{number}: expected lemma, part of speech and sense key. Fix this line.")
        else:
            found[cells[0].lower(), cells[1]] = cells[2]
    if not found:
        raise UserError(f"{path}: no senses. Download it again.")
    order = "WordNet's own order" if path.name == INDEX else "not WordNet's own order, whose first senses score higher"
    note(f"first senses of lemmas without training data: {path.name}, {order}")
    return found
