"""The notebooks of the book, as tests read them."""

from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))


def cells_of(path, kind=""):
    """Return the cells of a notebook, all of them or those of a kind."""
    return [cell for cell in nbformat.read(path, as_version=4).cells if kind in cell.cell_type]


def prose(path):
    """Return the text of a notebook, its folds and comments included."""
    return "\n\n".join(cell.source for cell in cells_of(path, "markdown"))
