"""Let exercises be answered on the page, and print no hint to an answer that nobody gave."""

from __future__ import annotations

import json
import re
from html import escape

from docutils import nodes

from odtbook.exercises import exercises, on_the_page

CHECK = re.compile(r'(?:from odtbook import check\n\n)?(?:#[^\n]*\n)?check\("([a-z0-9-]+)",[^\n]*')

FORMAT = ("<small>Three decimals are enough. 1,234 and 0,311, 70 % and 3/4 are read as you write "
          "them; put a space or a semicolon between numbers.</small>")


def form(label):
    """Return the form, as HTML, by which an exercise is answered; _static/answers.js judges it."""
    data = on_the_page(label)
    asked = escape(data["answer"].removesuffix("."))
    return (f'<form class="odt-answer" data-exercise="{label}" '
            f'data-judge="{escape(json.dumps(data))}"><label>'
            f"<span>Your answer, {asked}. {FORMAT}</span>"
            '<input name="answer" autocomplete="off" spellcheck="false"></label>'
            "<button>Check</button><output></output></form>")


def add_forms(app, doctree):
    """Put a form into each exercise that has one, in place of the cell with its placeholder."""
    known, here = {f"ex-{label}": label for label in exercises()}, set()
    for node in doctree.findall(nodes.Admonition):
        label = known.get(node.get("label"))
        if label and type(node).__name__.startswith("exercise") and on_the_page(label):
            node.children[-1] += nodes.raw("", form(label), format="html")
            here.add(label)
    for cell in list(doctree.findall(nodes.container)):
        if cell.get("nb_element") != "cell_code":
            continue
        code = next(cell.findall(nodes.literal_block), None)
        found = CHECK.fullmatch(code.astext().strip()) if code else None
        if found and found[1] in here:
            cell.parent.remove(cell)
            continue
        for output in list(cell.findall(nodes.container)):
            if output.get("nb_element") == "cell_code_output" and "Not yet: " in output.astext():
                output.parent.remove(output)


def setup(app):
    app.connect("doctree-read", add_forms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
