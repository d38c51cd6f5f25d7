"""OntoGUM as CoNLL-2012: written documents in the layout of GUM's repository, and the whole of it where it is."""

import io
import tarfile

import pytest

from elmo_bench.tasks.coref import part
from tests.runs import DATA

NAMES = {
    "dev": ["GUM_news_b", "GUM_reddit_d"], "test": ["GUM_bio_c"], "test2": ["GENTLE_poetry_e"],
    "train": ["GUM_academic_a"],
}  # fmt: skip
SPLITS = "# Splits\n" + "".join(
    f"\n## {split}\n\n{''.join(f'  * {name}{chr(10)}' for name in names)}" for split, names in NAMES.items()
)
TALK = (
    # conll: token, word, brackets; conllu: number, word, lemma, tags
    "# begin document\n0\tAnn\t(1)\n1\t's\t_\n2\tdog\t(2(1)\n3\tbarks\t2)(1)\n# end document\n",
    "# newdoc id = GUM_news_b\n# speaker = Ann\n"
    "1-2\tAnn's\t_\t_\t_\n1\tAnn\tAnn\tPROPN\tNNP\n2\t's\t's\tPART\tPOS\n2.1\tx\tx\tX\tXX\n\n"
    "# s_type = decl\n1\tdog\tdog\tNOUN\tNN\n2\tbarks\tbark\tVERB\tVBZ\n",
)
MADE = """#begin document (gum/GUM_news_b); part 000
gum/GUM_news_b\t0\t0\tAnn\tNNP\t*\t-\t-\t-\tAnn\t*\t(1)
gum/GUM_news_b\t0\t1\t's\tPOS\t*\t-\t-\t-\tAnn\t*\t-

gum/GUM_news_b\t0\t0\tdog\tNN\t*\t-\t-\t-\t-\t*\t(2|(1)
gum/GUM_news_b\t0\t1\tbarks\tVBZ\t*\t-\t-\t-\t-\t*\t2)|(1)

#end document
"""


def gum(**changes):
    """The bytes of an archive with a document of each split; `changes` replace files or, with None, remove them."""
    names = [name for own in NAMES.values() for name in own]
    files = {"splits.md": SPLITS, "README.md": "about"}
    files |= {f"coref/ontogum/conll/{name}.conll": TALK[0] for name in names}
    files |= {f"coref/ontogum/conllu/{name}.conllu": TALK[1] for name in names}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in (files | changes).items():
            if text is not None:
                about = tarfile.TarInfo(f"gum-72ce5ac149/{path}")
                about.size = len(text.encode())
                archive.addfile(about, io.BytesIO(text.encode()))
    return packed.getvalue()


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "gum.tar.gz"
    path.write_bytes(gum())
    return path


def test_words_sentences_speakers_and_chains_of_a_split_without_a_genre(source):
    assert part.make(source, split="dev", without="reddit").decode() == MADE
    assert part.make(source, split="dev", without="news").decode() == MADE.replace("news_b", "reddit_d")
    assert part.make(source, split="test", without="reddit").decode() == MADE.replace("news_b", "bio_c")


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "sources").is_dir(), reason="needs GUM's files in $ELMO_BENCH_DATA")
def test_the_whole_source_gives_the_files_behind_the_results(tmp_path):
    """The real files lie in an archive without the first folder, which is added here."""
    source = tmp_path / "gum.tar"
    with tarfile.open(DATA / "sources" / "gum-72ce5ac149-ontogum.tar.xz") as given, tarfile.open(source, "w") as made:
        for member in given:
            if member.isreg():
                made.addfile(
                    member.replace(name=f"gum-72ce5ac149/{member.name.removeprefix('./')}"), given.extractfile(member)
                )
    for split in ("train", "dev", "test"):
        expected = (DATA / "ontogum" / f"{split}.v4_gold_conll").read_bytes()
        assert part.make(source, split=split, without="reddit") == expected
