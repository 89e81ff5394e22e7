"""Print the built book to one PDF with headless Chromium; called by ``make pdf``.

The pages of ``_build/html``, or of the folder in ODT_HTML, are joined to one page, in the order of
the table of contents. Anchors get the name of their page, so that links within the book stay links
within the PDF.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / os.environ.get("ODT_HTML", "_build/html")
TARGET = ROOT / "dist" / "optimal-decision-trees.pdf"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
STYLE = """
.bd-article { break-before: page; padding: 0 !important; }
body { font-size: 10pt; }
.headerlink { display: none !important; }
"""


def pages() -> list[str]:
    """Return the names of all pages in the order of the table of contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(page["file"] for part in toc["parts"] for entry in part["chapters"]
                           for page in (entry, *entry.get("sections", ())))]


def anchor(page: str, name: str = "") -> str:
    """Return the anchor of a page, or of one of its sections, in the joined page."""
    return page.replace("/", "-") + (f"--{name}" if name else "")


def joined() -> str:
    """Return all pages as one page that lies beside the landing page."""
    names = pages()
    whole = BeautifulSoup((HTML / f"{names[0]}.html").read_text(encoding="utf-8"), "html.parser")
    body = whole.body
    body.clear()
    whole.head.append(whole.new_tag("style", string=STYLE))
    for script in whole.head.find_all("script", string=re.compile("window.MathJax")):
        script.string = script.string.replace('"ui/lazy"', "")   # nobody scrolls through paper
    for page in names:
        text = (HTML / f"{page}.html").read_text(encoding="utf-8")
        article = BeautifulSoup(text, "html.parser").select_one(".bd-article")
        for script in article.find_all("script"):
            script.decompose()     # a drawing stands without its script
        for element in article.find_all(id=True):
            element["id"] = anchor(page, element["id"])
        for folded in article.find_all("details"):
            if "toggle" not in folded.get("class", []):    # the code of a figure stays folded
                folded["open"] = ""
        folder = PurePosixPath(page).parent
        for element in article.find_all(["a", "img"]):
            key = "href" if element.name == "a" else "src"
            parts = urlsplit(element.get(key, ""))
            if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
                continue
            target = (HTML / folder / unquote(parts.path)).resolve() if parts.path else (
                HTML / f"{page}.html")
            linked = target.relative_to(HTML).with_suffix("").as_posix()
            if target.suffix == ".html" and linked in names:
                element[key] = "#" + anchor(linked, parts.fragment)
            else:
                element[key] = target.as_uri()
        article["id"] = anchor(page)
        body.append(article)
    return str(whole)


def main() -> int:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"A browser prints the PDF; install one of {', '.join(BROWSERS)}.", file=sys.stderr)
        return 1
    TARGET.parent.mkdir(exist_ok=True)
    whole = HTML / "print.html"
    whole.write_text(joined(), encoding="utf-8")
    try:
        with tempfile.TemporaryDirectory() as profile:
            status = subprocess.run([
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--timeout=120000",
                f"--user-data-dir={profile}", "--no-pdf-header-footer",
                "--virtual-time-budget=120000",     # for MathJax, on the clock of the page
                f"--print-to-pdf={TARGET}", whole.as_uri()]).returncode
    finally:
        whole.unlink()
    if status == 0:
        print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size / 1e6:.1f} MB")
    return status


if __name__ == "__main__":
    sys.exit(main())
