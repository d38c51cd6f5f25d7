"""`benchmarks/join_propbank.py` on sentences of the real corpora (tests/golden/README.md), and on all of them."""

import shutil
import tarfile
from pathlib import Path

import pytest

from tests.runs import DATA, ROOT

SAMPLE = ROOT / "tests" / "golden" / "propbank"


@pytest.fixture
def join(monkeypatch):
    """`join(propbank, ud, out)`: the script."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import join_propbank

    return lambda *folders: join_propbank.main([*map(str, folders)])


@pytest.fixture
def corpora(tmp_path):
    """Folders of both corpora with the sample as their training split."""
    texts, lists = tmp_path / "propbank" / "data/google/ewt/reviews/00", tmp_path / "propbank" / "docs/evaluation"
    for folder in (texts, lists, tmp_path / "ud"):
        folder.mkdir(parents=True)
    for path in SAMPLE.glob("*.gold_skel"):
        shutil.copy(path, texts)
    for split in ("train", "dev", "test"):
        named = "275919.xml 209465.xml.conllu 1.xml" if split == "train" else "2.xml"  # 1 and 2 are not annotated
        (lists / f"ewt.{split}.txt").write_text("".join(f"reviews/00/{name}\n" for name in named.split()))
        (tmp_path / "ud" / f"en_ewt-ud-{split}.conllu").touch()
    shutil.copy(SAMPLE / "ud.conllu", tmp_path / "ud" / "en_ewt-ud-train.conllu")
    return tmp_path / "propbank", tmp_path / "ud"


def test_sentences_get_their_words_if_the_tokens_are_as_many(join, corpora, tmp_path, capsys):
    """One sentence is two in UD, another has four tokens here and two there."""
    assert join(*corpora, tmp_path / "out") == 0
    assert capsys.readouterr().out.splitlines()[0] == "train: 3 of 4 sentences"
    assert (tmp_path / "out" / "train.conll").read_text() == (SAMPLE / "expected.conll").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "sources").is_dir(), reason="needs both corpora in $ELMO_BENCH_DATA")
def test_the_whole_corpora_give_the_files_behind_the_results(join, tmp_path, capsys):
    with tarfile.open(DATA / "sources" / "propbank-4abade0b53-ewt.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    assert join(tmp_path, DATA / "ud_ewt", tmp_path / "out") == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "train: 12,527 of 12,543 sentences",
        "dev: 1,968 of 1,974 sentences",
        "test: 2,058 of 2,062 sentences",
    ]
    for split in ("train", "dev", "test"):
        expected = Path(DATA, "ewt_propbank", f"{split}.conll").read_bytes()
        assert (tmp_path / "out" / f"{split}.conll").read_bytes() == expected
