"""Text that is not UTF-8: the advice converts it to the text that it was, or names no encoding."""

import gzip
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines

TEXTS = {
    "gb18030": "这部电影很好看，我们都喜欢它。演员的表演非常出色",
    "big5": "這部電影很好看，我們都喜歡它。演員的表演非常出色",
    "shift_jis": "この映画はとても面白かったです。俳優の演技も素晴らしい",
    "euc_jp": "この映画はとても面白かったです。俳優の演技も素晴らしい",
    "cp949": "이 영화는 정말 재미있었습니다. 배우들의 연기도 훌륭했어요",
    "cp1251": "Этот фильм был очень хорошим, и актёры играли прекрасно",
    "koi8_r": "Этот фильм был очень хорошим, и актёры играли прекрасно",
    "cp1253": "Αυτή η ταινία ήταν πολύ καλή και οι ηθοποιοί έπαιξαν υπέροχα",
    "cp1255": "הסרט הזה היה טוב מאוד והשחקנים שיחקו נפלא",
    "cp1252": "The café was très bien, and the naïve waiter said so to all of us at once",
    "utf-16-le": "This film was good, and the café next door was open",
    "utf-16-be": "This film was good, and the café next door was open",
    "utf-16": "This film was good 电影",
}


@pytest.mark.skipif(shutil.which("iconv") is None, reason="no iconv")
@pytest.mark.parametrize("encoding", TEXTS)
def test_the_advice_converts_a_file_to_its_text_or_names_no_encoding(tmp_path, encoding):
    text = "text,label\n" + "".join(f"{TEXTS[encoding]} {n},{'good' if n % 2 else 'bad'}\n" for n in range(20))
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode(encoding))
    with pytest.raises(UserError, match=r"^\S+/x\.csv:\d+: not UTF-8 text \(") as caught:
        list(read_lines(path))
    command = re.search(r"Convert it: (iconv -f \S+ -t UTF-8 \S+/x\.csv) > NEW\.csv$", str(caught.value))
    assert command, caught.value
    done = subprocess.run(command[1].split(), cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout.decode().removeprefix("\ufeff") == text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"caf\xc3\xa9\ncaf\xe9\n",
            r"x:2: not UTF-8 text \(mixed: other lines are UTF-8; .*\)\. Save it as UTF-8 in the",
        ),
        (b"\xff\xfe\xfd\xfc\n", r"x:1: not UTF-8 text \(UTF-16, as Excel writes;"),
        (
            b"a\n" * 9 + b"caf\xe9 au lait\n",
            r"x:10: not UTF-8 text \(perhaps Windows-1252, as Excel writes; .*iconv -f CP1",
        ),
        (b"\x81\x8d\x8f\x90\x9d\n", r"x:1: not UTF-8 text \("),
        (
            b"a\0b\0\n\0",
            r"x:1: not UTF-8 text \(UTF-16LE without a mark at its start\)\. Convert it: iconv -f UTF-16LE -t",
        ),
        ("ab\n".encode("utf-32"), r"x:1: not UTF-8 text \(UTF-32\)\. Convert it: iconv -f UTF-32 -t UTF-8"),
        (b"\0\0\xfe\xff" + "ab\n".encode("utf-32-be"), r"x:1: not UTF-8 text \(UTF-32\)"),
        (b"\0a\0b\0\n", r"x:1: not UTF-8 text \(UTF-16BE without a mark"),
        (random.Random(0).randbytes(4096), r"x:1: not UTF-8 text \(binary data; .*\)\. Give a file of text\.$"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\4\0", r"x:1: not UTF-8 text \(binary data; .*\)\. Give a file"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "x: a pointer of Git LFS in place of the file.",
        ),
    ],
)
def test_what_is_no_utf8_is_one_line(tmp_path, content, message):
    path = Path(tmp_path / "x")
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        list(read_lines(path))


@pytest.mark.parametrize("name", ["my film.csv", "x.csv.gz"])
def test_the_advice_has_the_whole_path_in_quotes_and_the_ending(tmp_path, name):
    path = tmp_path / name
    content = "text,label\nbien sûr,good\n".encode("utf-16")
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(UserError) as caught:
        list(read_lines(path))
    _, command = str(caught.value).split("Convert it: ")
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    assert [line for _, line in read_lines(tmp_path / "NEW.csv")] == ["text,label", "bien sûr,good"]


def test_lines_that_end_in_cr_alone_are_no_single_line(tmp_path):
    path = tmp_path / "old.txt"
    path.write_bytes(b"Anna O\rlives O\r")
    with pytest.raises(UserError) as error:
        [*read_lines(path)]
    assert str(error.value) == f"{path}: its lines end in CR alone. Convert them: tr '\\r' '\\n'"
