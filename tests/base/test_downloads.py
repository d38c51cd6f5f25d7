"""Downloads by the real code from a server on this machine: whole or absent, checked, clear when they fail."""

import errno
import hashlib
import io
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from elmo_bench.base import downloads
from elmo_bench.base.downloads import fetch, mirrored
from elmo_bench.base.errors import UserError
from tests.loopback import loopback

CONTENT = random.Random(0).randbytes(400_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def site(online):
    with loopback() as site:
        site.files["/folder/file"] = CONTENT
        yield site


@pytest.fixture
def path(tmp_path):
    return tmp_path / "elmo" / "file"


def test_the_cache_may_be_in_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("ELMO_BENCH_CACHE", "~/scratch")
    assert downloads.cache_folder() == Path("/home/me/scratch")
    monkeypatch.setenv("ELMO_BENCH_CACHE", "")
    assert downloads.cache_folder() == Path("/home/me/.cache/elmo-bench")


def fails(site, path, **keywords) -> str:
    with pytest.raises(UserError) as raised:
        fetch(f"{site if isinstance(site, str) else site.address}/folder/file", path, **keywords)
    assert not path.exists()
    assert str(path) in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("checksum", [None, SHA256])
def test_a_cut_connection_starts_over_and_nothing_half_is_left(site, path, checksum):
    site.cuts = [250_000, 100_000]
    fetch(f"{site.address}/folder/file", path, sha256=checksum)
    assert path.read_bytes() == CONTENT
    assert len(site.asked) == 3
    path.unlink()
    site.cuts = [250_000] * 5
    assert "after 5 tries. Or put" in fails(site, path, sha256=checksum)
    left = [".file.part.unfinished", "file.lock"] if checksum else ["file.lock"]
    assert sorted(file.name for file in path.parent.iterdir()) == left


def ranges(site):
    return [headers.get("Range") for _, headers in site.asked]


@pytest.mark.parametrize("proof", ["checksum", "version"])
def test_a_cut_connection_goes_on_where_it_ended(site, path, proof):
    """A published checksum, or the server's mark of a version, proves that the parts belong together."""
    site.ranges = True
    site.cuts = [250_000, 100_000]
    site.headers = {"ETag": '"v1"'} if proof == "version" else {}
    fetch(f"{site.address}/folder/file", path, sha256=SHA256 if proof == "checksum" else None)
    assert path.read_bytes() == CONTENT
    pieces = 2**16  # bytes, of which the last one is lost with the connection
    assert ranges(site) == [None, f"bytes={3 * pieces}-", f"bytes={4 * pieces}-"]
    assert sorted(file.name for file in path.parent.iterdir()) == ["file"]


@pytest.mark.parametrize(
    ("etag", "can"), [(None, True), ('W/"weak"', True), ('"v1"', False)], ids=["no mark", "weak", "no ranges"]
)
def test_without_proof_or_ranges_a_cut_connection_starts_over(site, path, etag, can):
    site.ranges = can
    site.cuts = [250_000]
    site.headers = {"ETag": etag} if etag else {}
    fetch(f"{site.address}/folder/file", path)
    assert path.read_bytes() == CONTENT
    assert len(site.asked) == 2


def test_a_file_that_changes_between_two_tries_is_not_mixed(site, path, monkeypatch):
    site.ranges = True
    site.cuts = [250_000]
    site.headers = {"ETag": '"v1"'}

    def change(_):
        site.files["/folder/file"] = CONTENT[::-1]
        site.headers["ETag"] = '"v2"'

    monkeypatch.setattr(downloads.time, "sleep", change)
    fetch(f"{site.address}/folder/file", path)
    assert path.read_bytes() == CONTENT[::-1]
    assert site.asked[1][1]["If-Range"] == '"v1"'


@pytest.mark.parametrize(
    ("part", "asked"),
    [
        (CONTENT[:250_000], ["bytes=250000-"]),
        (CONTENT, ["bytes=400000-"]),
        (CONTENT + b"more", ["bytes=400004-", None]),
        (b"x" * 1000, ["bytes=1000-", None]),
        (b"", [None]),
    ],
    ids=["a part", "all", "too much", "other bytes", "nothing"],
)
def test_after_a_kill_a_download_goes_on(site, path, part, asked):
    site.ranges = True
    path.parent.mkdir(parents=True)
    path.with_name(".file.part.unfinished").write_bytes(part)
    fetch(f"{site.address}/folder/file", path, sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert ranges(site) == asked
    assert sorted(file.name for file in path.parent.iterdir()) == ["file"]


def test_after_a_kill_a_download_without_a_checksum_starts_over(site, path):
    site.ranges = True
    path.parent.mkdir(parents=True)
    path.with_name(".file.part.unfinished").write_bytes(b"x" * 1000)
    fetch(f"{site.address}/folder/file", path)
    assert path.read_bytes() == CONTENT
    assert ranges(site) == [None]


def test_a_busy_server_is_asked_again(site, path):
    site.statuses = [503] * 5
    assert "HTTP 503, after 5 tries. Or put that file at" in fails(site, path)
    site.statuses = [503, 429, 500]
    fetch(f"{site.address}/folder/file", path)
    assert path.read_bytes() == CONTENT


def test_no_redirect_leaves_tls(site, path, monkeypatch):
    def redirect(adapter, request, **_):
        response = requests.Response()
        response.status_code, response.url, response.request = 302, request.url, request
        response.headers["Location"] = f"{site.address}/folder/file"
        response.raw = io.BytesIO()
        return response

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", redirect)
    assert "redirected away from https" in fails("https://127.0.0.1:1", path)
    assert site.asked == []


def test_offline_nothing_is_asked(site, path, monkeypatch):
    for switch in ("ELMO_BENCH_OFFLINE", "HF_HUB_OFFLINE"):
        with monkeypatch.context() as set_:
            set_.setenv(switch, "1")
            assert "OFFLINE" in fails(site, path)
    assert site.asked == []


def test_a_password_in_the_address_is_not_shown(site, path):
    site.statuses = [403]
    with pytest.raises(UserError) as raised:
        fetch(f"{site.address.replace('//', '//me:hunter2@')}/folder/file?key=hunter2", path)
    assert "hunter2" not in str(raised.value)
    assert f"{site.address}/folder/file: HTTP 403." in str(raised.value)


def test_a_published_checksum_is_verified(site, path):
    assert "does not have the SHA-256 published" in fails(site, path, sha256="0" * 64)
    fetch(f"{site.address}/folder/file", path, sha256=SHA256)
    assert path.read_bytes() == CONTENT


def test_a_mirror_stands_in_for_scheme_and_host(monkeypatch):
    assert mirrored("https://example.org/a/b") == "https://example.org/a/b"
    monkeypatch.setenv("ELMO_BENCH_MIRROR", "http://inside:8080/copies/")
    assert mirrored("https://example.org/a/b") == "http://inside:8080/copies/a/b"


def test_two_at_once_download_once_and_the_lock_of_a_killed_process_is_free(site, path):
    path.parent.mkdir()
    path.with_name("file.lock").touch()
    site.delay = 1.0
    with ThreadPoolExecutor(2) as both:
        assert [*both.map(lambda _: fetch(f"{site.address}/folder/file", path), range(2))] == [path, path]
    assert path.read_bytes() == CONTENT
    assert len(site.asked) == 1
    assert not path.with_name("file.lock").exists()


def test_a_disk_without_locks_is_one_line(site, path, monkeypatch):
    class NoLocks:
        def __init__(self, lock, *, fallback_to_soft):
            assert not fallback_to_soft  # it would leave a file that blocks the next process after a kill

        def __enter__(self):
            raise OSError(errno.ENOLCK, "No locks available")

        def __exit__(self, *_):
            raise AssertionError

    monkeypatch.setattr(downloads, "FileLock", NoLocks)
    assert fails(site, path).endswith("file.lock: cannot be locked (No locks available)")


def test_without_a_home_the_variables_are_named(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("ELMO_BENCH_CACHE")
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(UserError, match=r"^no home folder is known. Set \$HOME or \$ELMO_BENCH_CACHE.$"):
        downloads.cache_folder()
