"""Every page recommends the same method for the same case: the table of the landing page."""

import re

import pytest
from pages import ROOT, prose

import odtlib
from odtbook import formulations
from odtbook.studies import does_it_pay

KNOWN = {*odtlib.__all__, *formulations.__all__}


def text_of(page):
    return prose(ROOT / f"{page}.ipynb")


def methods_in(text):
    return {name for name in re.findall(r"`([A-Z]\w+)", text) if name in KNOWN}


def rule():
    """The rows of the table: the case, the methods to take, and the page that the row links to."""
    section = text_of("intro").partition("## Which method, when?")[2]
    for line in re.findall(r"^\| \*\*.*\|$", section, re.MULTILINE):
        case, take, sizes = (cell.strip() for cell in line.strip("|").split(" | "))
        yield case.strip("*"), methods_in(take), re.search(r"\]\(([^)]+)\.ipynb\)", sizes)[1]


RULE = list(rule())
LESSONS = [f"chapters/{path.stem}" for path in sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))
           if "10_" not in path.stem]      # a chapter of three methods, each with its own limits


def box(page):
    """What stands in the card *When to use it* of a lesson, and in the card beside it."""
    cards = re.findall(r"^:::\{grid-item-card\} (When .*?)\n(.*?)^:::$", text_of(page),
                       re.MULTILINE | re.DOTALL)
    assert [title for title, _ in cards] == ["When to use it", "When not to use it"], page
    return [text for _, text in cards]


@pytest.mark.parametrize("page", LESSONS)
def test_a_lesson_says_when_to_use_its_method_beside_when_not(page):
    assert all(len(text.split()) >= 20 for text in box(page))


@pytest.mark.parametrize(("case", "methods", "page"), RULE, ids=[row[0] for row in RULE])
def test_the_lesson_recommends_what_the_landing_page_does(case, methods, page):
    assert (ROOT / f"{page}.ipynb").exists()
    if not methods:
        return      # an ensemble of scikit-learn: no lesson of ours
    text = " ".join(box(page)[0].split())
    assert f"**{case}**" in text
    assert methods <= methods_in(text)


def test_no_lesson_recommends_for_a_case_that_the_landing_page_does_not_have():
    cases = {case for case, _, _ in RULE}
    for page in LESSONS:
        named = re.findall(r"\*\*(.*?)\*\*", " ".join(box(page)[0].split()))
        assert set(named) <= cases, page


def test_the_rule_has_the_limit_that_was_tested():
    """The same in the table, in the lessons, and in `odt try`, which takes it from the study."""
    found = re.findall(r"(\d+) points (?:or more|ahead)", " ".join(case for case, _, _ in RULE))
    assert found
    assert {int(points) for points in found} == {does_it_pay.LIMIT}
    named = [case for case, _, _ in RULE if "points" in case]     # with its size, each time
    assert does_it_pay.LEAVES == 8 and all("of eight leaves" in case for case in named)
    sign = does_it_pay.gains(does_it_pay.leaf_table())
    assert (sign["training"] < does_it_pay.LIMIT).mean() > 0.5      # "the usual case"
    assert does_it_pay.choose_limit(sign[sign["half"] == "chosen on"]) == does_it_pay.LIMIT
