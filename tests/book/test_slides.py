"""Decks of slides: what a slide shows of a lesson's cells."""

import json
import sys

import pytest
from pages import ROOT, cells_of

bs4 = pytest.importorskip("bs4")
pytest.importorskip("sphinx")
sys.path.insert(0, str(ROOT / "_ext"))

import slides  # noqa: E402

WEEKS = ["01_trees_and_cart", "primer_linear_programs", "02_binary_linear_programs",
         "03_column_generation", "04_revisiting_column_generation", "primer_dynamic_programming",
         "05_murtree", "murtree_objectives", "06_output_constrained_trees", "07_head_to_head",
         "08_continuous_features"]


def html(text):
    return bs4.BeautifulSoup(text, "html.parser")


MORE = " This sentence has eight words and some more." * 4


@pytest.mark.parametrize("text, left", [
    ("A tree of depth four over a hundred columns has fifteen tests. There are many.",
     "A tree of depth four over a hundred columns has fifteen tests."),
    ("<b>Upper bound.</b> The best tree so far makes only <i>U</i> errors on its rows. A subtree.",
     "<b>Upper bound.</b> The best tree so far makes only <i>U</i> errors on its rows."),
    ("And how <i>far is CART on all of these many data sets? We</i> look.",
     "And how <i>far is CART on all of these many data sets?</i>"),
    ("In the year of their paper it was proved by Aghaei et al. Their model is a flow. Tight.",
     "In the year of their paper it was proved by Aghaei et al. Their model is a flow."),
    ("See the page with the name <a href='#'>What is it? Then ask</a> and stop there. Now.",
     "See the page with the name <a href='#'>What is it? Then ask</a> and stop there."),
    ("The value of the whole tree <span class='math'>a. B</span> is the bound that we want. More.",
     "The value of the whole tree <span class='math'>a. B</span> is the bound that we want."),
    ("It takes .5 seconds of time on one core of this small machine. Or more.",
     "It takes .5 seconds of time on one core of this small machine."),
])
def test_a_long_paragraph_is_cut_to_its_point(text, left):
    paragraph = html(f"<p>{text}{MORE}</p>").p
    slides.cut_to_point(paragraph)
    assert str(paragraph) == str(html(f"<p>{left}</p>"))


@pytest.mark.parametrize("text", [
    "Two sentences. Short ones.", f"We write D for the rows.{MORE} Then:", "no sentence " * 40])
def test_other_paragraphs_stay_whole(text):
    paragraph = html(f"<p>{text}</p>").p
    slides.cut_to_point(paragraph)
    assert paragraph.get_text() == text


def test_an_aside_in_parentheses_goes():
    page = html(f"<p>One.</p><p>(An aside.{MORE})</p>")
    slides.cut_to_point(page.find_all("p")[1])
    assert str(page) == "<p>One.</p>"


def test_text_cells_with_the_tag_are_marked_and_others_stay():
    cells = [{"cell_type": "markdown", "metadata": {"tags": ["slide"]}, "source": ["# A\n", "b"]},
             {"cell_type": "markdown", "metadata": {}, "source": ["c"]},
             {"cell_type": "code", "metadata": {"tags": ["slide"]}, "source": ["d"]}]
    source = [json.dumps({"cells": cells})]
    slides.mark_cells(None, "page", source)
    read = json.loads(source[0])["cells"]
    assert read[0]["source"] == "<!-- slide -->\n\n# A\nb\n\n<!-- end of slide -->"
    assert read[1:] == cells[1:]
    assert slides.mark_cells(None, "page", text := ['# "slide"']) is None
    assert text == ['# "slide"']


PAGE = """<section><h1>T</h1><p>Q?</p><p>long</p>
<section><h2>A</h2><p>not shown</p><!-- slide --><p id="x">One thing. More.</p>
<!-- end of slide --><div class="cell tag_slide">
<div class="cell_input"><details>code</details></div>
<div class="cell_output"><div class="output"><img id="i" src="a.png"></div></div></div>
<div class="cell tag_hide-input"><pre>other</pre></div>
<div class="cell tag_slide"><pre>joins</pre></div><p>other</p>
<div class="cell tag_slide"><pre>alone</pre></div>
<!-- slide --></section><section><h2>B<a class="headerlink" href="#b">#</a></h2>
<p>See <a href="#x">x</a>. Yes.</p><details>hidden</details><section><h3>C</h3><p>Last.</p>
<!-- end of slide --><p>not shown</p></section></section></section>"""


def test_a_result_joins_the_text_before_it_and_each_heading_begins_a_slide():
    parts = slides.slides_of(html(PAGE))
    assert [[part.get_text(strip=True) for part in slide] for slide in parts] == [
        ["A", "One thing. More.", "code", "joins"], ["A", "alone"],
        ["B#", "Seex. Yes.", "hidden"], ["C", "Last."]]


def test_a_slide_has_points_and_notes_the_whole_text():
    long = PAGE.replace("Last.", f"The last paragraph of the page is a very long one indeed.{MORE}")
    first, _, third, last = [slides.slide(parts, "05.html")
                             for parts in slides.slides_of(html(long))]
    assert first["heading"] == "A"
    assert "<p>One thing. More.</p>" in first["notes"]
    assert "<p>One thing. More.</p>" in first["content"]
    assert "code" not in first["content"] and "joins" in first["content"]
    assert slides.slide([html("<h2>A</h2>").h2, html("<span></span>")], "")["content"] == ""
    assert '<div class="output"><img id="i" src="a.png"/></div>' in first["content"]
    assert "very long one indeed.</p>" in last["content"] and MORE in last["notes"]
    assert third["heading"] == "B"
    assert "hidden" not in third["content"]
    assert 'href="05.html#x" target="_blank"' in third["content"]


@pytest.mark.parametrize("name", WEEKS)
def test_each_lesson_of_the_ten_weeks_has_slides(name):
    tagged = [cell for cell in cells_of(ROOT / "chapters" / f"{name}.ipynb")
              if "slide" in cell.metadata.get("tags", ())]
    assert len(tagged) >= 8
    assert not [cell["id"] for cell in tagged if "hide-cell" in cell["metadata"]["tags"]]
    plan = (ROOT / "chapters" / "teaching.ipynb").read_text(encoding="utf-8")
    assert f"({name}.ipynb)" in plan
