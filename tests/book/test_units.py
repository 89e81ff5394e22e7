"""Lessons are cut into units of a quarter of an hour, and each says how long it takes to read.

A minute is 130 words of prose, 20 lines of shown code, two formulas on lines of their own, two
pictures, or a live picture to play with.  What is folded, and exercises, whose time the page
states apart, are not in it.  Each unit has an exercise or a quiz.
"""

import re

import nbformat
import pytest

from odtbook.experiments.book import book_root

LESSONS = [*sorted((book_root() / "chapters").glob("[01]*.ipynb")),
           *(book_root() / "chapters" / f"{name}.ipynb" for name in
             ("does_it_pay", "formulations", "murtree_objectives", "murtree_practice",
              "own_objective"))]
END = re.compile(r"^\*\*End of unit (\d+) of (\d+) \((\d+) minutes\)\.\*\* You can ", re.MULTILINE)
HEAD = re.compile(r"\*\*Reading\*\* takes (\d+) minutes(?: in (two|three) units)?[,.]")
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
FOLDED = r"(?ms)^(`{3,}|:{3,}) *\{(?:dropdown|exercise|solution)\}.*?^\1 *$"
GATED = r"(?ms)^(`{3,}|:{3,}) *\{(exercise|solution)-start\}.*?\{\2-end\}.*?^\1 *$"
LIVE = r'(?ms)^<div class="odt-live-picture".*?^</div>$'
DISPLAY = r"(?ms)\$\$.*?\$\$|^```\{(?:math|glue:figure|figure)\}.*?^```"


def units(cells):
    """Return what the end of each unit but the last states, and the minutes of each unit."""
    stated, minutes, gate = [], [0.0], None
    for cell in cells:
        text = cell.source
        if cell.cell_type == "code":
            if gate is None:
                shown = not HIDDEN & set(cell.metadata.get("tags", []))
                minutes[-1] += shown * sum(map(bool, map(str.strip, text.splitlines()))) / 20
                minutes[-1] += ("image" in cell.metadata.get("mystnb", {})) / 2
            continue
        opened = re.search(r"\{(exercise|solution)-start\}", text)
        if gate is not None or opened and f"{{{opened[1]}-end}}" not in text:
            gate = gate or opened[1]        # an exercise or a solution with cells of its own
            if f"{{{gate}-end}}" in text:
                gate = None
            continue
        text = re.sub(FOLDED, "", re.sub(GATED, "", text))
        minutes[-1] += len(re.findall(LIVE, text))
        text = re.sub(LIVE, "", text)
        minutes[-1] += len(re.findall(DISPLAY, text)) / 2
        text = re.sub(r"\$[^$]+\$|\{[\w:-]+\}`[^`]*`", " x ", re.sub(DISPLAY, "", text))
        minutes[-1] += len(re.findall(r"[A-Za-z0-9][\w'’.-]*", text)) / 130
        if end := END.search(text):
            stated.append(tuple(map(int, end.groups())))
            minutes.append(0.0)
    return stated, minutes


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_units_are_a_quarter_of_an_hour(path):
    cells = nbformat.read(path, 4).cells
    stated, minutes = units(cells)
    said, count = HEAD.search(cells[0].source).groups()
    assert len(minutes) == {None: 1, "two": 2, "three": 3}[count]
    assert [line[:2] for line in stated] == [(k, len(minutes)) for k in range(1, len(minutes))]
    for (_, _, about), true in zip(stated, minutes, strict=False):
        assert abs(about - true) <= 1.5
    assert abs(int(said) - sum(minutes)) <= 3
    assert 7 <= min(minutes) and max(minutes) <= 18


DONE = r":label: ex-|\*\*Quiz|quiz-right"


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_unit_has_something_to_do(path):
    text = "\n".join(cell.source for cell in nbformat.read(path, 4).cells)
    parts = re.split(r"\*\*End of unit \d", text)
    assert [k for k, part in enumerate(parts, 1) if not re.search(DONE, part)] == []


PLAN = "".join(nbformat.read(book_root() / "chapters" / "teaching.ipynb", 4).cells[2].source)
WEEKS = re.findall(r"^\| (\d+) \|[^|]*\|([^|]*)\|", PLAN, re.MULTILINE)


@pytest.mark.parametrize(("week", "pages"), WEEKS)
def test_a_lesson_links_to_its_week_of_the_course(week, pages):
    for page in re.findall(r"\]\((\w+)\.ipynb\)", pages):
        head = nbformat.read(book_root() / "chapters" / f"{page}.ipynb", 4).cells[0].source
        assert f"[Week {week}](teaching.ipynb) of the course." in head, page


def test_the_course_has_ten_weeks():
    assert [int(week) for week, _ in WEEKS] == list(range(1, 11))
