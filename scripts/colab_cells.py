"""Write the same set-up cell for Colab into every chapter.

The cell installs the library from the repository that ``_config.yml`` names, never from the name
of a distribution that may be somebody else's. While no repository is named, it says what to do.
Anywhere but on Colab it does nothing, and the built page does not show it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import nbformat
import yaml

from odtlib.requirements import DISTRIBUTION

ROOT = Path(__file__).resolve().parents[1]
CELL_ID = "colab"


def source() -> str:
    """Return the source of the cell."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    url, branch = config["repository"]["url"], config["repository"]["branch"]
    package = f"{DISTRIBUTION}[milp,experiments] @ git+{url}@{branch}"
    install = f'%pip install -q "{package}"' if url else (
        'print("Clone the repository and install it with"\n'
        '          " %pip install .[milp,experiments]")')
    return ("# Colab installs the library; other places have it.\n"
            "import sys\n\n"
            'if "google.colab" in sys.modules:\n'
            f"    {install}")


def chapters() -> list[Path]:
    """Return the notebooks that a reader may open on Colab."""
    return sorted((ROOT / "chapters").glob("*.ipynb"))


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    for path in chapters():
        notebook = nbformat.read(path, as_version=4)
        cells = [cell for cell in notebook.cells if cell.id != CELL_ID]
        cell = nbformat.v4.new_code_cell(source(), id=CELL_ID, metadata={"tags": ["remove-cell"]})
        notebook.cells = [cells[0], cell, *cells[1:]]
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
