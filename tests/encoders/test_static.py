"""Static vectors: every form on disk gives the same table, the cache is never trusted, errors name the line."""

import gzip
import lzma
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save_file

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.encoders import static
from elmo_bench.encoders.static import KNOWN, cache_folder, load_static, read_text

pytestmark = pytest.mark.usefixtures("own_cache")
WORDS = ["the", "Paris", "paris", ". . .", "naïve"]
VECTORS = np.arange(20, dtype=np.float32).reshape(5, 4) / 8 - 1
TEXT = "".join(
    f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, VECTORS.tolist(), strict=True)
).encode()


def _zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


FORMS = {
    "v.txt": TEXT, "v.txt.gz": gzip.compress(TEXT), "v.txt.xz": lzma.compress(TEXT), "header.txt": b"5 4\n" + TEXT,
    "bom.txt": b"\xef\xbb\xbf" + TEXT, "crlf.txt": TEXT.replace(b"\n", b"\r\n"),
}  # fmt: skip


@pytest.fixture(params=[*FORMS, "v.zip", "v.safetensors"])
def file(request, tmp_path):
    path = tmp_path / request.param
    if request.param in FORMS:
        path.write_bytes(FORMS[request.param])
    elif path.suffix == ".zip":
        _zip(path, {"v.txt": TEXT})
    else:
        words = np.frombuffer(lzma.compress("\n".join(WORDS).encode()), np.uint8)
        save_file({"words": words, "vectors": VECTORS}, path)
    return path


def test_a_text_in_place_of_a_list_of_words_is_refused():
    with pytest.raises(UserError, match="keep='house': a text"):
        load_static("glove-6b", "house")


def test_every_form_gives_the_same_table(file):
    table = load_static(str(file))
    assert table.words == WORDS
    assert table.vectors.dtype == np.float32
    assert np.array_equal(table.vectors, VECTORS)
    assert table.dim == 4
    assert len(table.checksum) == 64


def test_only_what_the_vocabulary_can_reach_is_kept_first_and_second_time(file, monkeypatch):
    for _ in range(2):
        table = load_static(str(file), keep=["Paris", "THE", ". . .", "unknown", "half a pair \ud83d"])
        assert table.words == ["the", "Paris", "paris", ". . ."]
        assert np.array_equal(table.vectors, VECTORS[:4])
        monkeypatch.setattr(static, "read_text", None)  # the second time, the text is not read


def test_lookup_prefers_the_exact_word_then_the_lower_cased_and_the_first_of_two_rows(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(TEXT + b"the 9 9 9 9\n")
    table = load_static(str(path))
    assert [table.lookup(word) for word in ("Paris", "paris", "PARIS", "The", "nowhere")] == [1, 2, 2, 0, None]


def test_a_damaged_cache_entry_is_made_again(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(TEXT)
    load_static(str(path), keep=["the"])
    (entry,) = (cache_folder() / "trimmed").iterdir()
    whole = entry.read_bytes()
    flipped = whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:]
    for damaged in (flipped, whole[:-5], b""):
        entry.write_bytes(damaged)
        assert np.array_equal(load_static(str(path), keep=["the"]).vectors, VECTORS[:1])
        assert entry.read_bytes() == whole


def test_rows_of_more_words_are_added_without_a_copy_in_the_cache(tmp_path):
    (path := tmp_path / "v.txt").write_bytes(TEXT)
    table = load_static(str(path), keep=["Paris"], cached=False)
    assert table.words == ["Paris", "paris"]
    more = load_static(str(path), keep=["THE", "PARIS", "unknown"], cached=False)
    both = table.with_rows(more)
    assert both.words == ["Paris", "paris", "the"]
    assert np.array_equal(both.vectors, VECTORS[[1, 2, 0]])
    assert both.with_rows(more) is both
    assert not (cache_folder() / "trimmed").exists()


def test_what_another_version_kept_is_not_read(tmp_path, monkeypatch):
    (path := tmp_path / "v.txt").write_bytes(TEXT)
    load_static(str(path), keep=["the"])
    monkeypatch.setattr(static, "VERSION", static.VERSION + 1)
    load_static(str(path), keep=["the"])
    assert len([*(cache_folder() / "trimmed").iterdir()]) == 2


def test_changed_vectors_are_not_answered_from_the_cache(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(TEXT)
    first = load_static(str(path), keep=["the"])
    path.write_bytes(TEXT.replace(b"the -1.0", b"the 5.0"))
    second = load_static(str(path), keep=["the"])
    assert second.vectors[0, 0] == 5
    assert first.checksum != second.checksum


def test_known_names_are_found_in_the_cache_folder(tmp_path):
    with pytest.raises(UserError, match=r"^https://nlp\.stanford.*\.zip: not downloaded yet.* put that file at"):
        load_static("glove.840B.300d")
    (cache_folder() / "vectors").mkdir(parents=True)
    _zip(cache_folder() / "vectors" / "glove.840B.300d.zip", {"glove.840B.300d.txt": TEXT})
    assert load_static("glove.840B.300d").words == WORDS


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UserError) as caught:
        load_static("glov")
    assert all(name in str(caught.value) for name in ["glov:", "glove-mini", *KNOWN])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT + b"short 1 2 3\n", r"v\.txt:6: 3 numbers, expected 4"),
        (b"short 1 2 3\n" + TEXT, r"v\.txt:1: 3 numbers, expected 4"),
        (TEXT + b"word 1 2 x 4\n", r"v\.txt:6: could not convert string to float: b'x'"),
        (TEXT + b"word 1 2 nan 4\n", r"v\.txt:6: a number is not finite"),
        (TEXT + b"word 1 2\0 3 4\n", r"v\.txt:6: a NUL byte in a number"),
        (TEXT + b"word 1 2 3 4\0\n", r"v\.txt:6: a NUL byte in a number"),
        (TEXT + b"word 1 2 3 4 5\n", r"v\.txt:6: 5 numbers, expected 4"),
        (TEXT + b"\xff\xfe 1 2 3 4\n", r"v\.txt:6: 'utf-8' codec can't decode"),
        (TEXT[:-1], r"v\.txt: not GloVe text.*the last line has no end"),
        (b"6 4\n" + TEXT, r"v\.txt: .*the first line says '6 4', but 5 words of 4 numbers follow"),
        (b"5 5\n" + TEXT, r"says '5 5', but 5 words of 4 numbers follow"),
        (b"", r"v\.txt: .*no numbers in line 1"),
        (b"5 4\n", r"v\.txt: .*no numbers in line 2"),
        (b"only\nwords\n", r"v\.txt: .*no numbers in line 1"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, message):
    path = tmp_path / "v.txt"
    path.write_bytes(text)
    with pytest.raises(UserError, match=message):
        load_static(str(path))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (TEXT, []),
        (TEXT + b"wo\0rd 1 2 3 4\n", ["line 6 has a NUL byte"]),
        (b"\0 1 2 3 4\n" + TEXT + b"a\0 1 2 3 4\n", ["2 lines have NUL bytes, the first is line 1"]),
    ],
)
@pytest.mark.parametrize("keep", [None, ["the"]])
def test_nul_bytes_in_words_are_noted(tmp_path, text, lines, keep):
    path = tmp_path / "v.txt"
    path.write_bytes(text)
    with noted() as notes:
        read_text(path, keep)
    assert notes == [f"v.txt: {line}: the file may be damaged, or no text" for line in lines]


def test_a_zip_of_several_files_and_a_missing_file_are_named(tmp_path):
    _zip(tmp_path / "v.zip", {"a.txt": TEXT, "b.txt": TEXT})
    with pytest.raises(UserError, match=r"has 2 files\. Unpack it"):
        load_static(str(tmp_path / "v.zip"))
    with pytest.raises(UserError, match="no such file"):
        read_text(tmp_path / "missing.txt")


def test_words_with_a_line_end_take_no_other_words_place(tmp_path):
    (path := tmp_path / "v.txt").write_text("a 1\nb 2\n")
    assert load_static(str(path), {"a\nb"}).words == []
    for _ in range(2):  # computed, then from the cache
        assert load_static(str(path), {"a", "b"}).words == ["a", "b"]
