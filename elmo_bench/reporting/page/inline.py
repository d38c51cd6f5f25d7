"""matplotlib's SVG as part of an HTML page: in the page's colours and font, with unique ids."""

import re

from elmo_bench.reporting.figures.canvas import FAINT, GRID, INK, SERIES, SURFACE, Drawing

# Colours that differ in dark mode. The colours of a heat map's cells are the same in both modes.
_COLOURS = {SURFACE: "surface", INK: "ink", FAINT: "faint", GRID: "line", "#757d87": "none", "#b26a00": "static"}
_COLOURS |= {colour: f"series{index}" for index, colour in enumerate(SERIES)}


def inline(figure: Drawing) -> str:
    """The drawing as an element of a page, labelled by its description."""
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
