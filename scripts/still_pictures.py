"""Write into each page how its live pictures begin: what is seen without JavaScript and in print.

    python scripts/still_pictures.py

Run it after a change of a live picture; ``tests/interactive/test_live.py`` says when.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ("solver.js", "live.js", "live_pictures.js", "live_programs.js", "own_table.js")
PICTURE = re.compile(
    r'(<div class="odt-live-picture" data-picture="([\w-]+)">\n)(.*?)(\n</div>\n\n)', re.S)
STILL = """(name) => {
  const box = document.createElement("div");
  box.className = "odt-live-picture";
  box.dataset.picture = name;
  box.innerHTML = "<p></p>";
  document.body.replaceChildren(box);
  live.start();
  const still = box.firstChild.cloneNode(true);
  for (const part of still.querySelectorAll(".odt-controls, .odt-steps")) part.remove();
  for (const part of still.querySelectorAll("output")) {
    const words = document.createElement("p");
    words.textContent = part.textContent;
    part.replaceWith(words);
  }
  for (const part of still.querySelectorAll("button")) part.replaceWith(part.textContent);
  for (const part of still.querySelectorAll("*")) {
    for (const name of ["tabindex", "style"]) {
      if (name !== "style" || part.matches("svg")) part.removeAttribute(name);
    }
    if (part.getAttribute("role") === "button") part.removeAttribute("role");
    part.classList.remove("odt-movable");
  }
  return still.innerHTML;
}"""


def pages():
    """Yield the notebooks with live pictures."""
    for path in [ROOT / "intro.ipynb", *sorted((ROOT / "chapters").glob("*.ipynb"))]:
        if "data-picture" in path.read_text(encoding="utf-8"):
            yield path


def still(page, name):
    """Return how a picture begins, as HTML of a few lines, on an open page with the scripts."""
    html = page.evaluate(STILL, name)
    return re.sub(r"(</(?:g|tr|li|svg)>)", r"\1\n", html).strip()


def with_stills(path, page):
    """Return a notebook whose pictures stand as they begin; the own table has a sentence."""
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        text = PICTURE.sub(lambda found: found[0] if found[2] == "own-table" else
                           found[1] + still(page, found[2]) + found[4], "".join(cell["source"]))
        cell["source"] = text.splitlines(keepends=True)
    return book


def main():
    sys.path.insert(0, str(ROOT / "tests"))
    from browser import chromium
    with chromium() as browser:
        page = browser.new_page()
        for name in SCRIPTS:
            page.add_script_tag(path=ROOT / "_static" / name)
        for path in pages():
            text = json.dumps(with_stills(path, page), indent=1, ensure_ascii=False)
            path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
