"""A line of a notebook that changes while something runs.

Jupyter has no terminal, in which rich draws a bar, and needs ipywidgets for rich's own.
A displayed text that is updated needs neither, and leaves one line in a notebook that
is kept.
"""

from typing import Any

from rich.console import Console


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    return Console().is_jupyter


class NotebookLine:
    """Appears with the first text."""

    def __init__(self) -> None:
        self._handle: Any = None

    @property
    def is_shown(self) -> bool:
        return self._handle is not None

    def show(self, text: str) -> None:
        """Show this text in place of the one before."""
        # IPython is there: this process is its kernel.
        from IPython.display import display

        bundle = {"text/plain": text}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)
