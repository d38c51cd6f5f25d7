"""`elmo-bench report`, as a person runs it."""

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from markdown_it import MarkdownIt

from elmo_bench.base.errors import UserError
from elmo_bench.cli import report
from elmo_bench.ledger import RunPaths, digest_of, read_outcomes, read_record, write_record
from elmo_bench.reporting import findings
from elmo_bench.reporting.findings import read_findings
from elmo_bench.reporting.render import END, MINUTES, START
from tests.ledger.records import changed, put
from tests.reporting.ledgers import add, fill, today
from tests.runs import ROOT

FINDINGS = "For writers.\n\n" + "\n\n".join(
    f"## {name}\nclaim: {name.lower()}\nfigure: open-gains\nruns: elmo-bench sweep\n\nIt *gains* <b>: {{gain}}."
    for name in ("True", "Untrue", "Later")
)
CLAIMS = """
from elmo_bench.reporting.findings import points

def _row(tables, ours, theirs):
    gains = tables["gains"].set_index(["our_name", "their_name"])
    return gains.loc[ours, theirs]

def true(tables):
    row = _row(tables, "elmo", "glove")
    assert row.conclusion == "not tested"
    assert row.gain < 100
    return {"gain": points(row)}

def untrue(tables):
    assert _row(tables, "elmo", "glove").verdict == "ahead"

def later(tables):
    assert _row(tables, "elmo", "elmo_word").verdict == "ahead"
"""


@pytest.fixture
def run(tmp_path):
    """`run(*flags) -> text of the README`, on the ledger `runs`."""

    def run(*flags):
        out = tmp_path / "results"
        folders = {"--ledger": tmp_path / "runs", "--out": out}
        if (out / "FINDINGS-open.md").exists():
            folders["--findings"] = out
        given = [*flags]
        for flag, folder in folders.items():
            if flag not in flags:
                given += [flag, str(folder)]
        assert report.main(given) == 0
        return (out / "README.md").read_text(encoding="utf-8")

    return run


def write_findings(folder, text, claims):
    folder.mkdir(exist_ok=True)
    (folder / "FINDINGS-open.md").write_text(text, encoding="utf-8")
    (folder / "findings_open.py").write_text(claims, encoding="utf-8")


def test_an_empty_ledger_gives_empty_pages(run, tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    assert "has no finished runs of these suites yet" in run()
    said = capsys.readouterr()
    assert said.err == "" and said.out.startswith(f"{tmp_path / 'results' / 'index.html'}: 0 rows")
    assert {path.name for path in (tmp_path / "results").rglob("*")} == {"README.md", "index.html"}


def test_the_page(run, tmp_path, capsys):
    runs = tmp_path / "runs"
    fill(runs, "ner", "glove elmo", seeds=3)
    add(runs, "ner", "elmo", 0, weights="old", created="2025-01-01T00:00:00+00:00")
    path = next(runs.glob("open/ner/glove/*/seed1.json"))
    record = read_record(path)
    outcomes = read_outcomes(RunPaths.of(runs, record))
    outcomes["cluster"] = np.arange(len(outcomes["gold"]))
    write_record(RunPaths.of(runs, record), changed(record, {"outcomes": digest_of(outcomes)}), outcomes)
    write_findings(tmp_path / "results", FINDINGS, CLAIMS)
    text = run()
    assert (
        'FINDINGS-open.md: Untrue is left out, as this does not hold: _row(tables, "elmo", "glove").verdict =='
        in capsys.readouterr().err
    )
    [gain] = re.findall(r"\| elmo    \| glove \| primary \| +\S+ \(0, 1, 2\) \| +\+(\S+) \|", text)
    for part in (
        "Rendered from the ledger by `elmo-bench report`.",
        "A processor, 2 threads, float32, torch 2.13.0, commit cccccccccc: 6 runs, 0.1 hours",
        "Public data: all of the paper's on sentiment",
        "Named entities (ner): WNUT-17; 3,394 train, 1,287 dev, 1,287 test; size cpu; version ",
        "; size cpu; version {}, protocol {}; digest ".format(*today()),
        "Command: `elmo-bench sweep experiment=table1 suite=open`. Shown here: 6 runs took 0.1 core-hours.",
        "| Named entities (ner) | elmo    | input |",
        "(seed 0) by",
        "changed: weights",
        f"#### True\n\nIt *gains* <b>: {float(gain):.1f}.\n\n[Figure](figures/open-gains.svg)",
        "wait for their runs: Later (`elmo-bench sweep`).",
        "Not tested: open/ner/glove/",
    ):
        assert part in text
    page = (tmp_path / "results/index.html").read_text(encoding="utf-8")
    assert re.search(r'<p>It <em>gains</em> &lt;b&gt;: <a href="#run-open-ner-elmo-\w+">\d', page)
    assert "elmo-bench run task=ner encoder=elmo suite=open size=cpu seed=" in page
    assert str(tmp_path) not in text + page


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_finding_has_several_figures_and_each_is_drawn_once(run, tmp_path):
    fill(tmp_path / "runs", "ner", "glove elmo")
    add(tmp_path / "runs", "ner", "elmo", 0, gamma=False)
    finding = "## Two\nclaim: two\nfigure: open-gamma open-gains open-figure2-elmo open-none\nruns:\n\n**A claim.**"
    write_findings(tmp_path / "results", finding, "def two(tables): return {}")
    text = run()
    assert "[Figure 1](figures/open-gamma.svg)\n\n[Figure 2](figures/open-gains.svg)\n\n[Figure 3](" in text
    page = (tmp_path / "results/index.html").read_text(encoding="utf-8")
    own = page.partition('<article class="finding">')[2].partition("</article>")[0]
    assert re.findall(r'<figure id="figure-([\w-]+)"', own) == ["open-gamma", "open-figure2-elmo"]
    assert re.findall(r'<p class="see"><a href="#figure-([\w-]+)"', own) == ["open-gains"]
    assert page.count('<figure id="figure-open-gamma"') == 1 and own.count("<div") == own.count("</div>")


@pytest.mark.usefixtures("undrawn")
def test_a_page_of_own_data_says_nothing_of_the_suite_open(run, tmp_path):
    made = [("glove", 0), ("glove", 1), ("elmo", 0), ("elmo", 1), ("tfidf", 0)]
    for encoder, seed in made:
        add(tmp_path / "runs", "classification", encoder, seed, suite="reviews")
    text = run()
    assert "Scores and costs, best on dev first" in text and "gain over tfidf" in text
    assert "Table 1, suite reviews" not in text
    assert "What each encoder is, and the licence of its weights." in text and "primary" not in text
    add(tmp_path / "runs", "classification", "tfidf", 0, suite="alone")
    assert "\n## Your data: alone\n" in run()
    open_alone = ("passes over it", "smaller than the paper's", "GloVe 6B", "six tasks")
    assert not [words for words in open_alone if words in text]
    add(tmp_path / "runs", "ner", "glove", 0)
    text = run()
    assert not [words for words in open_alone[:3] if words not in text]


@pytest.mark.usefixtures("undrawn")
def test_html_links_and_images_from_records_are_text(run, tmp_path):
    evil = "\x1b[2J <script>alert(1)</script> <img src=x> ![a](http://b.example/c.png) \\[d](http://b.example)"
    evil += " https://e.example and www.f.example or me@g.example"
    for seed, encoder in enumerate(("glove", "elmo")):
        add(tmp_path / "runs", "ner", encoder, 0, notes=[evil], settings={"task.head.extra": evil})
        record = add(tmp_path / "runs", "snli", encoder, 0)
        paths = RunPaths.of(tmp_path / "runs", record)
        put(paths.record, changed(record, {"environment/cpu": f"{evil}\n# heading {seed}"}))
    text = run()
    assert "<script" not in text
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    names = ("gains", "figure2-elmo", "snli-speed")
    ours = {"index.html", *(f"figures/open-{name}.svg" for name in names)}
    assert set(re.findall(r'(?:href|src)="([^"]*)"', rendered)) == ours
    assert "<script" not in rendered
    assert not re.search(r"://|www\.|@", text)  # GitHub makes links of bare addresses
    assert "https://e.example and www.f.example or me@g.example" in rendered
    assert rendered.count("<h1>") == 1
    assert "\x1b" not in text
    page = (tmp_path / "results/index.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<img" not in page


@pytest.mark.slow
def test_the_same_ledger_gives_the_same_bytes_and_what_is_no_longer_shown_goes(run, tmp_path, request):
    fill(tmp_path / "runs", "ner", "glove elmo")
    run()
    first = {path: path.read_bytes() for path in (tmp_path / "results").rglob("*.*")}
    assert {path.suffix for path in first} == {".md", ".html", ".csv", ".tex", ".svg"}
    run()
    assert {path: path.read_bytes() for path in (tmp_path / "results").rglob("*.*")} == first
    request.getfixturevalue("undrawn")
    own = {tmp_path / "results" / name for name in ("figures/mine.png", "tables/mine.csv", "tables/linked.csv")}
    for path in own:
        path.write_text("a person's")
    finding = "## See\nclaim: see\nfigure:\nruns:\n\n[mine](tables/linked.csv)"
    write_findings(tmp_path / "results", finding, "def see(tables): return {}")
    run()
    shutil.rmtree(tmp_path / "runs/open")
    run()
    left = {path.name for path in (tmp_path / "results").rglob("*.*")}
    assert left == {"README.md", "index.html", "FINDINGS-open.md", "findings_open.py"} | {path.name for path in own}


@pytest.mark.usefixtures("undrawn")
def test_a_mistake_is_one_line_and_leaves_the_page_alone(run, tmp_path):
    add(tmp_path / "runs", "ner", "glove", 0)
    before = run()
    (tmp_path / "file").touch()
    for flags, said in (
        (["--ledger", str(tmp_path / "run")], "run: no such folder"),
        (["--ledger", str(tmp_path / "file")], "file: no such folder"),
        (["--ledger", str(tmp_path)], "no run in it. Give the folder of the records"),
        (["--suite", "open", "opne"], "--suite opne: no run in .*, which has open$"),
        (["--out", str(tmp_path / "file")], "file: File exists"),
        (["--out", str(tmp_path / "file" / "below")], "(file|below): (File exists|Not a directory)"),
    ):
        with pytest.raises(UserError, match=said):
            run(*flags)
    write_findings(tmp_path / "results", ONE, "def one(tables): return {}")
    with pytest.raises(UserError, match=r"One: \{number\} is not among the numbers that its claim returns"):
        run()
    assert (tmp_path / "results/README.md").read_text(encoding="utf-8") == before


ONE = "## One\nclaim: one\nfigure:\nruns:\n\ntext {number}"


@pytest.mark.parametrize(
    ("text", "claims", "said"),
    [
        ("naïve".encode("latin-1"), "", r"FINDINGS-open.md:1: not UTF-8"),
        (b"## One\n\ntext", "", "One: the lines below its name are claim, figure, runs"),
        (ONE.encode(), "", r"findings_open.py: has no function one, which its finding names. Write: def one\(tables\)"),
        (ONE.encode(), "import", "findings_open.py: SyntaxError: "),
        (ONE.encode(), "def one(tables): return tables.gian", "findings_open.py: one: AttributeError: .*gian"),
        (ONE.encode(), "def one(tables): return {}", "One: {number} is not among the numbers that its claim returns"),
        (ONE.encode(), None, r"findings_open.py: no such file"),
    ],
)
def test_a_mistake_in_findings_is_one_line(tmp_path, text, claims, said):
    (tmp_path / "FINDINGS-open.md").write_bytes(text)
    if claims is not None:
        (tmp_path / "findings_open.py").write_text(claims)
    with pytest.raises(UserError, match=said):
        read_findings(tmp_path, "open", [])


@pytest.mark.usefixtures("undrawn")
def test_code_of_findings_runs_only_from_a_folder_that_was_named(tmp_path, monkeypatch, capsys):
    """A ledger may come from strangers, and so may the files next to it, in the default folders too."""
    monkeypatch.chdir(tmp_path)
    for ledger, out in (("theirs/runs", "theirs/runs-report"), ("results/runs", "results")):
        add(tmp_path / ledger, "ner", "glove", 0)
        write_findings(tmp_path / out, "## Mine\nclaim: mine\nfigure:\nruns:\n\nMine.", "def mine(tables): return {}")
        own = ["--ledger", ledger] if ledger != "results/runs" else []
        assert report.main(own) == 0
        assert "#### Mine" not in (tmp_path / out / "README.md").read_text(encoding="utf-8")
        assert f"If you trust it: --findings {out}\n" in capsys.readouterr().out
    assert report.main(["--ledger", "theirs/runs", "--findings", "theirs/runs-report"]) == 0
    assert "#### Mine" in (tmp_path / "theirs/runs-report/README.md").read_text(encoding="utf-8")


def test_a_folder_without_findings_is_refused(tmp_path, refused):
    add(tmp_path / "runs", "ner", "glove", 0)
    command = ["report", "--ledger", tmp_path / "runs", "--out", tmp_path / "out", "--findings"]
    assert "/none: no such folder. Give the folder of FINDINGS-SUITE.md." in refused(*command, tmp_path / "none")
    assert f"--findings {tmp_path}: no findings of open." in refused(*command, tmp_path)
    assert not (tmp_path / "out").exists()


def test_claims_are_compiled_with_their_asserts(tmp_path, monkeypatch):
    levels = []

    def compiled(*code, optimize=-1):
        levels.append(optimize)
        return compile(*code, optimize=optimize)

    monkeypatch.setattr(findings, "compile", compiled, raising=False)
    write_findings(tmp_path, "## One\nclaim: one\nfigure:\nruns:\n\nOne.", "def one(tables):\n    return {}")
    assert len(read_findings(tmp_path, "open", []).shown) == 1
    assert levels == [0]


@pytest.mark.slow
def test_claims_are_checked_where_python_leaves_out_asserts(tmp_path):
    text = "## Wrong\nclaim: wrong\nfigure:\nruns:\n\nWrong."
    write_findings(tmp_path, text, "def wrong(tables):\n    assert 1 > 2\n    return {}")
    code = f"""
from pathlib import Path
from elmo_bench.reporting.findings import read_findings
print(len(read_findings(Path({str(tmp_path)!r}), "open", []).untrue))
"""
    done = subprocess.run([sys.executable, "-O", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_readme_gets_the_main_table_between_its_markers(run, tmp_path):
    fill(tmp_path / "runs", "ner", "glove elmo_word elmo", seeds=2)
    add(tmp_path / "runs", "snli", "glove", 0)  # nothing is compared
    readme = tmp_path / "README.md"
    readme.write_text(f"Before.\n\n{START}\nold\n{END}\n\nAfter.\n", encoding="utf-8")
    run("--readme", str(readme))
    before, block, after = re.split(f"{START}|{END}", readme.read_text(encoding="utf-8"))
    assert (before, after) == ("Before.\n\n", "\n\nAfter.\n")
    sentence, figure, table, notes = block.strip().split("\n\n")
    assert notes.startswith("Seeds: 1 (Inference); 2 (Named entities). ")
    assert sentence.endswith(" named entities.**") and figure.endswith("](results/figures/open-gains.svg)")
    cells = [cell.strip() for cell in table.splitlines()[3].strip("| ").split("|")]
    assert cells[0] == "Named entities (ner), F1"
    assert re.fullmatch(r"\d\d\.\d\d ± \d+\.\d\d", cells[1])
    assert re.fullmatch(r"[+−]\d+\.\d [▲▼=] \(−?\d+\.\d to −?\d+\.\d\)", cells[3])
    evil = {"encoder.weights": "<img src=x> ![a](b) \x1b[2J"}
    fill(tmp_path / "runs", "ner", "elmo", seeds=2, settings=evil)
    run("--readme", str(readme))
    block = readme.read_text(encoding="utf-8").partition(START)[2]
    assert "elmo, encoder.weights='&lt;img src=x> !\\[a\\](b) \\x1b\\[2J'" in block and "<img" not in block
    text = f"{START}\n{END}\n{MINUTES}\nno end\n\nAfter.\n"
    readme.write_text(text, encoding="utf-8")
    run("--readme", str(readme))
    assert readme.read_text(encoding="utf-8").endswith(f"{MINUTES}\nno end\n\nAfter.\n")
    readme.write_text("No markers.\n", encoding="utf-8")
    with pytest.raises(UserError, match="has no <!-- table"):
        run("--readme", str(readme))
