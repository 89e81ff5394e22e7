"""Every exercise that can be checked accepts a right answer and refuses wrong ones with a hint."""

import re
from pathlib import Path

import numpy as np
import pytest

from odtbook import check
from odtbook.exercises import exercises, overview
from odtlib.constrained import sets

ROOT = Path(__file__).resolve().parents[2]

def depth_two(table, codes):
    """Fewest errors of a tree of depth two, by trying all of them."""
    def leaf(part):
        return len(part) - np.bincount(part, minlength=1).max() if len(part) else 0

    def stump(rows):
        return min([leaf(codes[rows])] + [
            leaf(codes[rows & (x == 0)]) + leaf(codes[rows & (x == 1)]) for x in table.T])

    return min(stump(x == 0) + stump(x == 1) for x in table.T)


def tie(row, other):
    """The ten points of chapter 8, with one row's second value changed to that of another."""
    X = np.array([[1, 6], [2, 3], [3, 8], [4, 1], [5, 9], [6, 2], [7, 7], [8, 4], [9, 10], [10, 5]])
    X[row, 1] = X[other, 1]
    return X


RIGHT = {
    "ch1-entropy": 1 - 0.75 * 0.91830,
    "ch1-misclassification": [[(300, 100), (100, 300)], [(200, 400), (200, 0)]],
    "ch1-count": 232,
    "ch1-pruning": [1 / 6, 1 / 6],
    "ch1-weights": 6,
    "lp-corner": (0, 3, 15),
    "lp-prices": (0, 2.5),
    "lp-column": (0.25, -0.5),
    "lp-forms": (1, 1, 1.5),
    "lp-search": 3,
    "dp-table": (3, 2, 1),
    "dp-count": (156_849, 400),
    "dp-bound": 1,
    "dp-similar": (7, 12),
    "ch2-relaxation": (3, 3, 1),
    "ch2-bits": ([0, 1, 1], 10),
    "ch2-sizes": (129, 8024, 5309),
    "ch2-branch": 5,
    "ch6-project": [2, 4, 0],
    "ch6-cost": 24.2,
    "ch6-twice": (sets.UnionOf([sets.Box(0, 0, 1), sets.Box(1, 1, 1)]), [0.51], [0.0]),
    "ch3-count": (2160, 10 * 6**14),
    "ch3-reduced": [0, 0.5, 0, 0.5],
    "ch3-appendix": 10,
    "ch4-share": [0.7, 0.8],
    "ch4-costs": lambda y: np.where(y == 1, 5.0, 1.0),
    "ch5-classes": depth_two,
    "ch5-leaf-size": ([[0], [0], [0], [1], [1]], [0, 0, 0, 1, 1], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]),
    "ch7-parts": (4, 3),
    "ch7-choose": lambda validation: min(validation, key=lambda d: (-validation[d], d)),
    "ch7-peek": (86, 89),
    "ch8-2": tie(1, 5),
    "ch8-3": ([1, 2, 3], [0, 1, 0], 2.5, 3.5),
}
WRONG = {
    "ch1-entropy": [(0.9183, "share of the rows"), (0.0817, "share"), (0.5, "entropy 1")],
    "ch1-misclassification": [
        ([[(3, 1), (1, 3)], [(2, 5), (2, 0)]], "sums"),
        ([[(3, 1), (1, 3)], [(4, 0), (0, 4)]], "scores"),
        ([[(200, 400), (200, 0)], [(300, 100), (100, 300)]], "Gini"),
        ([(1, 2)], "could not be read"),
    ],
    "ch1-count": [(2744, "trees"), (233, "frozenset")],
    "ch1-pruning": [([1 / 9, 1 / 6], "both feature nodes"), ([2 / 9], "share")],
    "ch1-weights": [(1, "not err on"), (9, "1 to 8")],
    "lp-corner": [((3, 1.5, 13.5), "old savings"), ((4, 0, 8), "four corners"),
                  ((0, 3, 12), "corner is right")],
    "lp-prices": [((0.75, 0.5), "old savings"), ((1, 0), "left over"), ((0, 2), "15")],
    "lp-column": [((-0.25, 0.5), "negative"), ((5, 6), "first"), ((0.25, 6), "second")],
    "lp-forms": [((2, 1, 1), "open the leaf"), ((1, 1.5, 1.5), "row by row"),
                 ((1, 1, 1), "half a leaf")],
    "lp-search": [(5, "without a start"), (1, "root is 21"), (4, "two parts")],
    "dp-table": [((3, 2), "three numbers"), ((5, 2, 1), "one interval"), ((3, 1, 1), "after row 3"),
                 ((3, 2, 0), "row 1")],
    "dp-count": [((99**3, 400), "order"), ((100, 400), "gaps"), ((156_849, 300), "one entry")],
    "dp-bound": [(2, "not fewer"), (5, "together")],
    "dp-similar": [((5, 12), "missing"), ((8, 12), "3 more"), ((7, 15), "new"),
                   ((7, 10), "2 more")],
    "ch2-relaxation": [((2, 3, 1), "row 6"), ((3, 1, 1), "naive"), ((3, 3, 3), "each way")],
    "ch2-bits": [(([1, 0, 0], 10), "lower half"), (([0, 0, 1], 10), "walk down"),
                 (([0, 1, 1], 9), "logarithm")],
    "ch2-sizes": [((105, 8024, 5309), "five bits"), ((129, 24, 5309), "errors only"),
                  ((129, 8000, 5309), "each leaf"), ((129, 8024, 5379), "30 inner nodes")],
    "ch2-branch": [(7, "without a start"), (3, "is split as well"), (6, "count the root")],
    "ch6-project": [([3, 5, 0], "not in the set"), ([3, 3, 0], "not the nearest"),
                    ([1, 2], "three")],
    "ch6-cost": [(88.2, "other half-axis"), (4.84, "number of rows"), (0, "(4.2, 2.2)")],
    "ch6-twice": [
        ((sets.Box(0, 1, 1), [2.0], [0.5]), "never farther"),
        ((sets.Box(0, 1, 1), [2.0], [3.0]), "not in the set"),
        ((sets.Box(0, 1, 1), [1.0], [1.0]), "must differ"),
    ],
    "ch3-count": [((24, 1), "multiply"), ((216, 1), "three nodes"), ((2160, 7e10), "15 feature")],
    "ch3-reduced": [([1, 0.5, 1, 0.5], "paid by the others"), ([0, 0, 0, 0], "one for the leaf"),
                    ([1], "four paths")],
    "ch3-appendix": [(4, "which rows"), (9, "disjoint")],
    "ch4-share": [([0.7, 0.9], "no tree"), ([0.6, 0.7], "better"), ([0.7], "two of")],
    "ch4-costs": [(lambda y: np.where(y == 1, 1.0, 5.0), "positive"), (lambda y: y, "positive"),
                  (lambda y: [1], "each row"), (lambda y: 1 + y, "five times")],
    "ch5-classes": [(lambda table, codes: 0, "is optimal"), (lambda table, codes: 60, "possible"),
                    (lambda table: 0, "could not be read")],
    "ch5-leaf-size": [(([[0], [1]], [0, 1], [1, 0], [1, 1]), "possible"),
                      ((np.zeros((7, 1)), np.zeros(7), np.ones(7), np.ones(7)), "six rows")],
    "ch7-parts": [((2, 3), "training errors"), ((4, 1), "lost on the way"), ((4, 0), "subtract")],
    "ch7-choose": [(max, "best accuracy"), (lambda v: max(v, key=v.get), "smaller")],
    "ch7-peek": [((0.86, 0.89), "per cent"), ((80, 80), "one method"), ((89, 86), "scatter"),
                 ((84, 90), "largest")],
    "ch8-2": [(tie(0, 0), "share"), (tie(3, 5), "neighbours"), (np.ones((3, 2)), "ten points")],
    "ch8-3": [(([1, 2, 3], [0, 0, 1], 1.5, 2.5), "not all"),
              (([1, 2], [0, 1], 1.2, 1.3), "no rows"),
              (([1, 2], [0], 1, 2), "as many")],
}


def test_every_exercise_is_tested():
    assert set(RIGHT) == set(WRONG) == set(exercises())


@pytest.mark.parametrize("label", sorted(RIGHT))
def test_a_right_answer_passes(label):
    verdict = check(label, RIGHT[label])
    assert verdict, verdict
    assert repr(verdict).startswith("Right: ")


@pytest.mark.parametrize(("label", "answer", "says"), [
    (label, answer, says) for label in sorted(WRONG) for answer, says in WRONG[label]])
def test_a_wrong_answer_gets_its_hint(label, answer, says):
    verdict = check(label, answer)
    assert not verdict
    assert says in verdict.message
    assert repr(verdict).startswith("Not yet: ")


@pytest.mark.parametrize("label", sorted(RIGHT))
def test_the_exercise_is_in_its_chapter(label):
    page = overview().set_index("label").page[label]
    text = (ROOT / "chapters" / f"{page}.ipynb").read_text(encoding="utf-8")
    assert f":label: ex-{label}" in text
    assert f'check(\\"{label}\\"' in text


def test_the_overview_names_every_exercise_on_its_page():
    table = overview()
    assert table["label"].is_unique
    assert set(exercises()) == set(table["label"][table["checked"]])
    assert set(table["kind"]) == {"by hand", "code", "proof", "open"}
    assert (table["points"] > 0).all()
    for notebook in (ROOT / "chapters").glob("*.ipynb"):
        text = notebook.read_text(encoding="utf-8")
        found = set(re.findall(r":label: ex-([a-z0-9-]+)", text))
        assert found == set(table["label"][table["page"] == notebook.stem]), notebook.name


def test_an_unknown_exercise_is_named():
    with pytest.raises(ValueError, match="did you mean 'ch1-count'"):
        check("ch1-cuont", 1)
