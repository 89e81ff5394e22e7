"""Write the same set-up cell for Colab into every notebook of the menu.

The cell installs the library from the repository that ``_config.yml`` names; while none is named
there is no cell, as there is no button that leads to Colab. Anywhere but on Colab the cell does
nothing, and the built page does not show it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import nbformat
import yaml

from odtbook.figure_code import pages
from odtlib.requirements import DISTRIBUTION

ROOT = Path(__file__).resolve().parents[1]
CELL_ID = "colab"


def source() -> str | None:
    """Return the source of the cell, or None while the project has no address."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    url, branch = config["repository"]["url"], config["repository"]["branch"]
    if not url:
        return None
    package = f"{DISTRIBUTION}[solvers,experiments] @ git+{url}@{branch}"
    return ("# Colab installs the library; other places have it.\n"
            "import sys\n\n"
            'if "google.colab" in sys.modules:\n'
            f'    %pip install -q "{package}"')


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    for _, path in pages():
        notebook = nbformat.read(path, as_version=4)
        cells = [cell for cell in notebook.cells if cell.id != CELL_ID]
        if source() is not None:
            cells.insert(1, nbformat.v4.new_code_cell(source(), id=CELL_ID,
                                                      metadata={"tags": ["remove-cell"]}))
        notebook.cells = cells
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
