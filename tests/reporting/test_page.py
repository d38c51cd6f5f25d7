"""The HTML page as text: self-contained, with links that lead somewhere. test_browser.py reads it in a browser."""

import re
import urllib.parse
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from elmo_bench.cli import report
from tests.reporting.ledgers import add
from tests.runs import first_ones

VOID = {"meta", "link", "br", "input", "hr", "img"}


class Reader(HTMLParser):
    """Elements with their attributes and, of each, the text inside."""

    def __init__(self):
        super().__init__()
        self.elements, self.open, self.comments = [], [], []

    def handle_starttag(self, tag, attributes):
        self.elements.append([tag, dict(attributes), ""])
        if tag not in VOID:
            self.open.append(self.elements[-1])

    def handle_startendtag(self, tag, attributes):
        self.elements.append([tag, dict(attributes), ""])

    def handle_endtag(self, tag):
        assert self.open[-1][0] == tag, f"</{tag}> closes <{self.open[-1][0]}>"
        self.open.pop()

    def handle_comment(self, data):
        self.comments.append(data)

    def handle_data(self, data):
        for element in self.open:
            element[2] += data

    def all(self, *tags):
        return [(attributes, text) for tag, attributes, text in self.elements if tag in tags]


@pytest.fixture(scope="module", params=first_ones(["small_site", "site"], 1))
def folder(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def page(folder):
    reader = Reader()
    reader.feed((folder / "index.html").read_text(encoding="utf-8"))
    assert not reader.open
    return reader


def test_it_loads_nothing_from_elsewhere(page, folder):
    assert not page.all("img", "iframe", "object", "embed", "video", "audio")
    assert [attributes["href"] for attributes, _ in page.all("link")] == ["data:,"]
    assert all("src" not in attributes for attributes, _ in page.all("script"))
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest", text)
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\s\"'<>)]+", text)) <= namespaces


def test_a_corrected_record_says_so(page):
    shown = "corrected" + "seed 0, cost: halved <by> hand"
    cards = [text for _, text in page.all("dl") if shown in text]
    assert "MiB with mapped files, a run" in cards[0]
    assert len(cards) == 1 and "encoder=glove" in cards[0]
    assert any(text.startswith("Corrected records: 1;") for _, text in page.all("li"))


def test_every_link_leads_somewhere(page, folder):
    ids = Counter(attributes["id"] for _, attributes, _ in page.elements if attributes.get("id"))
    assert max(ids.values()) == 1
    targets = [attributes["href"] for attributes, _ in page.all("a", "use") if "href" in attributes]
    targets += [attributes["xlink:href"] for attributes, _ in page.all("use") if "xlink:href" in attributes]
    assert not {target for target in targets if target.startswith("#") and target[1:] not in ids}
    files = {target for target in targets if not target.startswith("#")}
    assert not {target for target in files if not (folder / target).is_file()}
    records = {path.relative_to(folder).as_posix() for path in (folder / "runs").rglob("seed*.json")}
    assert files >= records
    assert len(records) >= 5
    assert len(targets) > 5 * len(records)
    for _, attributes, _ in page.elements:
        for key in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(key, next(iter(ids))) in ids


def test_links_lead_to_a_ledger_of_any_name(tmp_path):
    add(tmp_path / "my runs#1", "ner", "glove", 0)
    assert report.main(["--ledger", str(tmp_path / "my runs#1"), "--out", str(tmp_path / "out")]) == 0
    links = re.findall(r'href="(\.\./[^"]*)"', (tmp_path / "out/index.html").read_text(encoding="utf-8"))
    [record] = {urllib.parse.urljoin((tmp_path / "out/index.html").as_uri(), link) for link in links}
    assert Path(urllib.parse.unquote(urllib.parse.urlsplit(record).path)).is_file()


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_exploratory_and_superseded_runs_are_folded(tmp_path):
    """The best 20 rows of a table are shown; what is folded is text in a comment, which nothing in it ends."""
    runs = []
    for k in range(22):
        settings = {"task.head.dropout": k / 100, "task.note": "--><b>" if k == 21 else "x"}
        runs.append(add(tmp_path / "runs", "ner", "glove", 0, lift=-k / 100, settings=settings))
    old = add(tmp_path / "runs", "ner", "glove", 0, weights="<i>", created="2025-01-01T00:00:00+00:00")
    add(tmp_path / "runs", "ner", "glove", 0)
    assert report.main(["--ledger", str(tmp_path / "runs"), "--out", str(tmp_path)]) == 0
    text, reader = (tmp_path / "index.html").read_text(encoding="utf-8"), Reader()
    reader.feed(text)
    cards = {attributes["id"].rpartition("-")[2] for attributes, _ in reader.all("details") if "id" in attributes}
    assert "<b>" not in text and "<i>" not in text and any("--&gt;&lt;b&gt;" in one for one in reader.comments)
    assert runs[0].hash in cards and runs[21].hash not in cards
    assert any(f'id="run-open-ner-glove-{runs[21].hash}"' in one for one in reader.comments)
    assert any(old.hash in one for one in reader.comments)
    assert len((tmp_path / "tables/open-ner-runs.csv").read_text().splitlines()) == 24
    assert "3 more runs: [CSV](tables/open-ner-runs.csv)." in (tmp_path / "README.md").read_text(encoding="utf-8")
