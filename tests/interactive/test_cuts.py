"""The first cut that a reader drags: its trees are the best, and CART's is CART's."""

import re

import numpy as np
import pytest
from browser import phone

from odtbook.interactive import drag_first_cut
from odtbook.interactive.cuts import best_stump, cuts_of
from odtlib import CARTClassifier, ContinuousTreeClassifier


def rows(seed, n=60, values=12):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, 2)).astype(float)
    y = ((X[:, 0] > 5) ^ (X[:, 1] > 6)).astype(int)
    return X, y ^ (rng.random(n) < 0.1)


@pytest.mark.parametrize("seed", range(20))
def test_second_cuts_are_the_best_ones(seed):
    X, y = rows(seed, n=3 + 4 * seed, values=2 + seed % 7)
    best = ContinuousTreeClassifier(1).fit(X, y).report_.objective if len(set(y)) > 1 else 0
    assert best_stump(X, y)[0] == best
    cuts = cuts_of(X, y, 0) + cuts_of(X, y, 1)
    if len(set(y)) > 1 and cuts:
        one = min(y.sum(), len(y) - y.sum())
        optimum = ContinuousTreeClassifier(2).fit(X, y).report_.objective
        assert min(one, *(cut["errors"] for cut in cuts)) == optimum


@pytest.mark.parametrize("seed", range(5))
def test_the_coloured_leaves_make_the_errors_that_are_said(seed):
    X, y = rows(seed)
    low, high = X.min(axis=0), X.max(axis=0)
    for j in (0, 1):
        for cut in cuts_of(X, y, j):
            share = ((X - low) / (high - low))[:, [j, 1 - j]]
            told = np.full(len(y), -1)
            for a, c, b, d, label in cut["leaves"]:
                inside = ((share >= [a - 1e-4, c - 1e-4])
                          & (share <= [b + 1e-4, d + 1e-4])).all(axis=1)
                told[inside] = label
            assert (told != y).sum() == cut["errors"]


@pytest.fixture(scope="module")
def page():
    with phone() as page:
        yield page


def errors_said(page):
    return int(re.search(r"begins so makes (\d+) error", page.inner_text("output"))[1])


def test_it_begins_with_carts_cut_and_finds_the_best_by_keyboard_pointer_and_button(page):
    X, y = rows(3)
    page.set_content(drag_first_cut(X, y, ["age", "dose"], ["well", "ill"]).html)
    greedy = CARTClassifier(2, random_state=0).fit(X, y)
    said = page.inner_text("output")
    assert f"≤ {greedy.tree_.threshold[0]:g} first" in said and "CART begins here" in said
    assert f"its own tree makes {int((greedy.predict(X) != y).sum())} error" in said
    at = int(page.input_value("input"))
    page.focus("input")
    page.keyboard.press("ArrowLeft" if at else "ArrowRight")
    assert abs(int(page.input_value("input")) - at) == 1
    cuts = {f: cuts_of(X, y, f) for f in (0, 1)}
    for f in (0, 1):
        page.select_option("select", str(f))
        for k, cut in enumerate(cuts[f]):
            page.eval_on_selector("input", "(e, v) => { e.value = v; "
                                  "e.dispatchEvent(new Event('input')); }", str(k))
            assert errors_said(page) == cut["errors"]
    page.click("text=Best cut")
    best = min(cut["errors"] for f in (0, 1) for cut in cuts[f])
    assert errors_said(page) == best and "this is the optimum" in page.inner_text("output")
    page.click("text=CART's cut")
    assert "CART begins here" in page.inner_text("output")
    frame = page.locator("svg[role]").bounding_box()
    page.mouse.move(frame["x"] + 5, frame["y"] + 100)
    page.mouse.down()
    page.mouse.move(frame["x"] + frame["width"] - 5, frame["y"] + 100)
    page.mouse.up()
    assert page.input_value("input") == page.get_attribute("input", "max")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
