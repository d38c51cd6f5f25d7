"""matplotlib's SVG as part of an HTML page: in the page's colours and font, with names that are nobody else's."""

import re

from elmo_bench.reporting.figures.canvas import FAINT, GRID, INK, SERIES, SURFACE, Figure

# Colours that dark mode has its own of; those on the cells of a heat map stay as they are.
_COLOURS = {SURFACE: "surface", INK: "ink", FAINT: "faint", GRID: "line", "#757d87": "none", "#b26a00": "static"}
_COLOURS |= {colour: f"series{index}" for index, colour in enumerate(SERIES)}


def inline(figure: Figure) -> str:
    """The drawing as an element of a page; what it shows is its `aria-label`."""
    svg = figure.svg[figure.svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>|\s*<title>.*?</title>|\s*<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{figure.stem}-", svg)
    svg = re.sub(r"#[0-9a-f]{6}\b", lambda found: _coloured(found[0]), svg)
    svg = re.sub(r"font-family: [^;\"]+;? ?", "", svg)
    return re.sub(
        r"\n\s*", "\n", svg.replace("<svg", f'<svg role="img" aria-labelledby="{figure.stem}-said"', 1)
    ).strip()


def _coloured(colour: str) -> str:
    return f"var(--{_COLOURS[colour]})" if colour in _COLOURS else colour
