"""Hooks of mkdocs: Markdown files outside docs/ become pages of the site, and their relative links follow them."""

import os.path
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s#]+)(#[^)\s]*)?\)")


def repository_pages() -> dict[str, str]:
    """Repository path -> page of the site, for every Markdown file that the site shows."""
    pages = {
        "CONTRIBUTING.md": "contributing.md",
        "CHANGELOG.md": "changelog.md",
        "benchmarks/README.md": "benchmarks.md",
        "results/README.md": "results/index.md",
    }
    pages |= {f"tasks/{card.parent.name}/README.md": f"tasks/{card.parent.name}.md" for card in cards()}
    return pages | {f"docs/{path.name}": path.name for path in (ROOT / "docs").glob("*.md")}


def cards() -> list[Path]:
    """The card of every task."""
    return sorted(ROOT.glob("tasks/*/README.md"))


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from outside docs/, the list of tasks, and the figures of the leaderboard."""
    for source, page in repository_pages().items():
        if not source.startswith("docs/"):
            files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    rows = [f"| [`{card.parent.name}`]({card.parent.name}.md) | {_title(card)} |" for card in cards()]
    index = "\n".join(["# Tasks", "", "Each task has a card.", "", "| task | card |", "|---|---|", *rows, ""])
    files.append(File.generated(config, "tasks/index.md", content=index))
    for figure in sorted((ROOT / "results" / "figures").glob("*.svg")):
        files.append(File.generated(config, f"results/figures/{figure.name}", abs_src_path=str(figure)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrite each relative link: to the page that shows its target, or to plain text where no page does."""
    pages = repository_pages()
    source = next((path for path, name in pages.items() if name == page.file.src_uri), f"docs/{page.file.src_uri}")
    if page.file.src_uri == "tasks/index.md":
        return markdown

    def follow(link: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(source), link[3]))  # noqa: PTH118, PTH120
        if link[1]:  # an image
            return link[0]
        if target not in pages:
            return link[2]
        return f"[{link[2]}]({os.path.relpath(pages[target], os.path.dirname(page.file.src_uri))}{link[4] or ''})"  # noqa: PTH120

    return LINK.sub(follow, markdown)


def _title(card: Path) -> str:
    return card.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
