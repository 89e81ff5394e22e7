"""Prepare JupyterLab for the book: its settings, and a page to start from; for ``make lab``.

The start page lists the notebooks in reading order.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = ROOT / ".binder" / "overrides.json"
PAGE = ROOT / "lab.md"      # at the root, so that the file browser starts there


def start_page() -> str:
    """Return links to the landing page and to all other pages, in reading order."""
    return ("# Optimal decision trees\n\n[The landing page](intro.ipynb) has the evidence, a "
            "rule for the choice of a method, and three ways in.\n\nA yellow sign with a name in "
            "the text stands for a paper or a figure. In the built book it is a link.\n\n"
            f"## Contents\n\n{contents()}")


def contents() -> str:
    """Return the pages of the book in reading order, as nested lists of links."""
    lines = []
    for part in yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]:
        lines += [f"- {part['caption']}"]
        for chapter in part["chapters"]:
            lines += [f"  - {_link(chapter)}"]
            lines += [f"    - {_link(section)}" for section in chapter.get("sections", ())]
    return "\n".join(lines) + "\n"


def _link(page: dict) -> str:
    path = _file(page["file"])
    return f"[{page.get('title') or _title(ROOT / path)}]({path})"


def _file(page: str) -> str:
    """Return the path of a page with its suffix."""
    paths = (page + suffix for suffix in (".ipynb", ".md"))
    return next((path for path in paths if (ROOT / path).exists()), page)


def _title(path: Path) -> str:
    """Return the first heading of a notebook or Markdown file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells
                         if cell["cell_type"] == "markdown")
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1]


def main() -> None:
    target = Path(sys.prefix) / "share" / "jupyter" / "lab" / "settings"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(SETTINGS, target)
    PAGE.write_text(start_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
