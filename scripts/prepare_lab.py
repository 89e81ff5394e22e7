"""Prepare JupyterLab for the book: its settings, and a page to start from; for ``make lab``.

The start page is the landing page as plain Markdown, with the notebooks in reading order.
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
CONTENTS = "```{tableofcontents}\n```\n"


def start_page() -> str:
    """Return the landing page with a list of links in place of the table of contents."""
    text = (ROOT / "intro.md").read_text(encoding="utf-8")
    text = text.replace(CONTENTS, contents())
    text = re.sub(r"```\{figure\} (\S+)\n((?::.*\n)*)\n?((?s:.*?))```\n", _figure, text)
    text = re.sub(r"^:::\{grid-item-card\} (.*)$", r"**\1.**", text, flags=re.MULTILINE)
    text = re.sub(r"^(:::.*|:\w+:.*)\n", "", text, flags=re.MULTILINE)
    return re.sub(r"\]\((chapters/[^)#.]+)\)", lambda link: f"]({_file(link[1])})", text)


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


def _figure(found: re.Match) -> str:
    """Return a figure as an image and its caption."""
    alt = re.search(r"^:alt: (.*)$", found[2], re.MULTILINE)
    return f"![{alt[1] if alt else ''}]({found[1]})\n\n{found[3]}"


def main() -> None:
    target = Path(sys.prefix) / "share" / "jupyter" / "lab" / "settings"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(SETTINGS, target)
    PAGE.write_text(start_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
