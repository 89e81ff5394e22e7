"""A deck of slides for each lesson, from the cells of its notebook that have the tag ``slide``.

A slide shows the cell's heading, pictures, formulas and lists, and how each long paragraph begins,
which is its point; the whole text stands in the speaker's notes.  A tagged code cell shows its
code, if the page does, and its result on the slide of the text before it.  A live picture at the
top of the page has the second slide.  The deck lies beside its page, takes numbers and links from
it, and is shown by reveal.js (from the package sphinx-revealjs).
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path

from bs4 import BeautifulSoup, Comment, NavigableString, Tag
from jinja2 import Template

BEGIN, END = " slide ", " end of slide "
PARTS = Path(__file__).with_name("deck")
DECK = Template((PARTS / "deck.html").read_text(encoding="utf-8"), autoescape=True)
REVEAL = ("LICENSE", "dist/reset.css", "dist/reveal.css", "dist/reveal.js", "plugin/notes/notes.js")
LEFT_OUT = "a.headerlink, form, details, .dropdown"
HEADINGS = ("h1", "h2", "h3", "h4")
SENTENCE = re.compile(r"[.?!](?=\s+[^a-z]|\s*$)")
ABBREVIATION = re.compile(r"(\b(al|e\.g|i\.e|vs|cf|Eq|Fig|No)|\b[A-Z])\.$")
SHORT, LEAST = 30, 12     # words of a paragraph that is not cut, and of what is left of another


def mark_cells(app, docname, source):
    """Mark the text cells with the tag by comments, which the page keeps where they stand."""
    if not source[0].startswith("{") or '"slide"' not in source[0]:
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and "slide" in cell["metadata"].get("tags", ()):
            text = "".join(cell["source"])
            cell["source"] = f"<!--{BEGIN}-->\n\n{text}\n\n<!--{END}-->"
    source[0] = json.dumps(notebook)


def slides_of(page: BeautifulSoup) -> list[list[Tag]]:
    """Return the parts of each slide of a page, the heading first."""
    slides, heading, within, joined = [], None, False, False

    def read(parent):
        nonlocal heading, within, joined
        for part in parent.children:
            if isinstance(part, Comment) and part == BEGIN:
                slides.append([heading])
                within = joined = True
            elif isinstance(part, Comment) and part == END:
                within = False
            elif not isinstance(part, Tag):
                continue
            elif part.name == "section":
                read(part)
            elif part.name in HEADINGS:
                heading = part
                if within and len(slides[-1]) == 1:
                    slides[-1] = [heading]
                elif within:
                    slides.append([heading])
            elif within:
                slides[-1].append(part)
            elif "tag_slide" in part.get("class", ()):
                if not joined:
                    slides.append([heading])
                    joined = True
                slides[-1].append(part)
            elif "cell" not in part.get("class", ()):
                joined = False

    read(page)
    return slides


def cut_to_point(paragraph: Tag) -> None:
    """Cut a long paragraph behind the sentence that makes it long enough.

    One that leads on to a formula or a list stays, and an aside in parentheses goes.
    """
    text = paragraph.get_text().strip()
    if text.startswith("(") and text.endswith(")"):
        paragraph.decompose()
        return
    if len(text.split()) <= SHORT or text.endswith(":"):
        return
    before = ""
    for text in list(paragraph.find_all(string=True)):
        closed = text.find_parent(["code", "a"]) or text.find_parent(class_="math")
        for found in () if closed else SENTENCE.finditer(text):
            so_far = before + text[:found.end()]
            if len(so_far.split()) >= LEAST and not ABBREVIATION.search(so_far):
                rest = NavigableString(text[:found.end()])
                text.replace_with(rest)
                _drop_behind(rest, paragraph)
                return
        before += text


def _drop_behind(node, paragraph):
    """Remove what follows a node within a paragraph."""
    while node is not paragraph:
        for later in list(node.next_siblings):
            later.extract()
        node = node.parent


def slide(parts: list[Tag], page: str) -> dict[str, str]:
    """Return heading, content and notes of a slide as HTML."""
    shown = BeautifulSoup("".join(map(str, parts)), "html.parser")
    for part in shown.select(LEFT_OUT):
        part.decompose()
    for wrapper in shown.select("div.cell, .cell_input, .cell_output"):
        wrapper.unwrap()        # a cell's results are parts of their own, for different slides
    for link in shown.select("a[href]"):
        link["target"] = "_blank"
        if link["href"].startswith("#"):
            link["href"] = page + link["href"]
    for part in shown.select("[id]"):
        if not part.find_parent(class_="output"):
            del part["id"]
    heading = shown.find(HEADINGS)
    heading.extract()
    texts = [p for p in shown.find_all("p") if not p.find_parent(class_=["admonition", "output"])
             and not p.find_parent(["figure", "table"])
             and not p.find_parent(class_="odt-live-picture")]
    notes = "".join(map(str, texts))
    for paragraph in texts if heading.name != "h1" else ():
        cut_to_point(paragraph)
    empty = not (shown.get_text(strip=True) or shown.find(["img", "svg"]))
    return {"heading": heading.decode_contents(), "content": "" if empty else str(shown),
            "notes": notes}


def write_deck(app, page, template, context, doctree):
    """Write the deck of a page that has tagged cells, and give the page a button that opens it."""
    if app.builder.format != "html" or f"<!--{BEGIN}-->" not in context.get("body", ""):
        return
    body = BeautifulSoup(context["body"], "html.parser")
    file = Path(app.outdir) / f"{page}-slides.html"
    address = f"{file.name.removesuffix('-slides.html')}.html"
    title = body.find("h1")
    first = [title, title.find_next_sibling("p")]
    live = title.parent.find(class_="odt-live-picture", recursive=False)
    if live:
        first += [title, live.find_previous_sibling("p"), live]
    deck = [slide(parts, address) for parts in [first[:2], first[2:], *slides_of(body)] if parts]
    deck = [one for one in deck if one["content"]]
    to_static = context["pathto"]("_static", 1)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(DECK.render(slides=deck, static=to_static, page=address, title=title.get_text(),
                                language=app.config.language), encoding="utf-8")
    context["header_buttons"].append({
        "type": "link", "url": file.name, "icon": "fas fa-display", "label": "slides-button",
        "tooltip": "Slides of this lesson", "text": ""})


def copy_reveal(app, exception):
    """Copy the part of the packaged reveal.js that decks load, so that they need no network."""
    if exception is None and app.builder.format == "html":
        spec = importlib.util.find_spec("sphinx_revealjs")
        source = Path(spec.origin).parent / "_static" / "revealjs"
        target = Path(app.outdir) / "_static" / "slides"
        target.mkdir(exist_ok=True)
        own = PARTS / "slides.js", PARTS / "slides.css"
        for file in (*(source / name for name in REVEAL), *own):
            shutil.copy2(file, target)


def setup(app):
    app.connect("source-read", mark_cells)
    app.connect("html-page-context", write_deck, priority=600)
    app.connect("build-finished", copy_reveal)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
