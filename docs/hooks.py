"""Hooks of mkdocs: Markdown files outside docs/ and the files of results/ become part
of the site, and links follow.
"""

import os.path
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s#]+)(#[^)\s]*)?\)")
# How README.md begins: what this is; then the table, and how to read it.
BEGINNING = re.compile(r"^# .*?\n(.*?)<!-- table:.*?-->(.*?)^## ", re.DOTALL | re.M)
TABLE_END = "<!-- /table -->"
# Spaces in a cell at which no line breaks: before a mark, around ± and in an interval.
WITHIN = re.compile(
    r" (?=[±▲▼=†](?: |$))|(?<=±) |(?<=\d) (?=to )|(?<=\d to) |(?<=above) "
)
# In docs/index.md.
WHAT = "<!-- README.md: what this is -->"
TABLE = "<!-- README.md: the table -->"
RESULTS = (
    "index.html",
    "figures/*.svg",
    "tables/*",
    "runs/**/seed*[0-9].json",
)


def repository_pages() -> dict[str, str]:
    """Repository path -> page, for every Markdown file that the site shows."""
    pages = {
        "CONTRIBUTING.md": "contributing.md",
        "CHANGELOG.md": "changelog.md",
        "benchmarks/README.md": "benchmarks.md",
        "conf/experiment/README.md": "experiment-list.md",
        "elmo_bench/data/NOTICE.md": "data.md",
        "results/README.md": "results.md",
        "results/RUNS.md": "runs.md",
        "tasks": "tasks/index.md",
    }
    pages |= {
        f"tasks/{card.parent.name}/README.md": f"tasks/{card.parent.name}.md"
        for card in cards()
    }
    return pages | {
        f"docs/{path.name}": path.name for path in (ROOT / "docs").glob("*.md")
    }


def cards() -> list[Path]:
    """The card of every task."""
    return sorted(ROOT.glob("tasks/*/README.md"))


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from outside docs/, the list of tasks, and the interactive page
    with its figures and records.
    """
    for source, page in repository_pages().items():
        if files.get_file_from_path(page) is None and (ROOT / source).is_file():
            files.append(
                File.generated(
                    config, page, content=(ROOT / source).read_text(encoding="utf-8")
                )
            )
    rows = [
        f"| [`{card.parent.name}`]({card.parent.name}.md) | {_title(card)} |"
        for card in cards()
    ]
    index = "\n".join(
        [
            "# Tasks",
            "",
            "Each task has a card.",
            "",
            "| task | card |",
            "|---|---|",
            *rows,
            "",
        ]
    )
    files.append(File.generated(config, "tasks/index.md", content=index))
    for pattern in RESULTS:
        for path in sorted((ROOT / "results").glob(pattern)):
            files.append(
                File.generated(
                    config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)
                )
            )
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrite each relative link: to the page or file that shows its target, or to
    plain text where none does.
    """
    pages = repository_pages()
    name = page.file.src_uri
    if name == "tasks/index.md":
        return markdown
    if name == "index.md":
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        for folder in ("results", "docs"):
            readme = readme.replace(f"]({folder}/", f"](../{folder}/")
        beginning = BEGINNING.search(readme)
        assert beginning is not None
        what, table = beginning.groups()
        markdown = markdown.replace(WHAT, what)
        markdown = markdown.replace(TABLE, table.replace(TABLE_END, ""))
    source = next((path for path, shown in pages.items() if shown == name), name)

    def follow(link: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(source), link[3]))  # noqa: PTH118, PTH120
        shown = pages.get(target, target)
        if files.get_file_from_path(shown) is None:
            return link[0] if link[1] else link[2]
        path = os.path.relpath(shown, os.path.dirname(name))  # noqa: PTH120
        return f"{link[1]}[{link[2]}]({path}{link[4] or ''})"

    return _unbroken(LINK.sub(follow, markdown))


def _unbroken(markdown: str) -> str:
    """The text with spaces in the numbers of tables at which no line breaks."""
    lines = []
    for line in markdown.split("\n"):
        if not line.startswith("|"):
            lines.append(line)
            continue
        cells = line.split(" | ")
        lines.append(" | ".join(WITHIN.sub("\u00a0", cell) for cell in cells))
    return "\n".join(lines)


def _title(card: Path) -> str:
    return card.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
