"""Answers that no cell of a page computes are computed here, by the library or by trying all."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor

from odtbook import check
from odtbook.datasets.constrained_generators import grades
from odtbook.formulations import BinOCTClassifier
from odtbook.published import paper_model
from odtlib import (
    ConstrainedTreeRegressor,
    MurTreeClassifier,
    MurTreeRegressor,
    ProjectedRegressor,
)
from odtlib.binarize import MDLPBinarizer
from odtlib.column_generation.generation import ColumnGeneration
from odtlib.column_generation.master import Master
from odtlib.column_generation.paths import RestrictedProblem
from odtlib.column_generation.pricing import Enumeration
from odtlib.objectives import AdditiveObjective
from odtlib.report import Clock

COMPUTED = {}


def answers(label):
    def register(function):
        COMPUTED[label] = function
        return function
    return register


def two_classes(positive, missed, negative, called):
    """Labels and predictions with so many rows of each class, and errors among them."""
    return (np.repeat([1, 0], [positive, negative]),
            np.repeat([0, 1, 1, 0], [missed, positive - missed, called, negative - called]))


@answers("ch2-own")
def _():
    """What the weights of the classes make of one error of each kind, in the model itself."""
    cost = []
    for wrong in (0, 1):        # equal rows, of which one is of the class that is not predicted
        y = np.array([1 - wrong] * 9 + [wrong])
        model = BinOCTClassifier(1, class_weight={1: 3}).fit(np.zeros((10, 1)), y)
        cost.append(model.report_.objective)
    return cost


@answers("ch4-bound")
def _():
    X, y = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 0]], float), np.array([0, 0, 1])
    problem = RestrictedProblem(X, y, 2, [[(0, 0.5), (1, 0.5), (2, 0.5)]] * 3)
    master = Master(problem, "node")
    master.add_tree(np.zeros(problem.n_nodes, int))
    x = ColumnGeneration(master, [Enumeration()], Clock(), row_cuts="none").solve().relaxation.x
    shares = np.zeros((2, 3, 3))
    for leaf, path, share in zip(master.leaf, master.path, x, strict=True):
        if leaf < 2:
            shares[leaf][tuple(problem.choices(leaf, [path])[0])] += share
    return (abs(shares[0] - shares[1]) > 1e-6).sum()


@answers("ch4-side")
def _():
    return max(n for n in range(30) if f1_score(*two_classes(30, 4, 100, n)) >= 0.8)


@answers("ch5-dominated")
def _():
    rows = two_classes(10, 2, 30, 4)
    return f1_score(*rows), balanced_accuracy_score(*rows)


@answers("ch5-price-bound")
def _():
    errors = np.array([40, 31, 12, 10])
    penalties = np.arange(0, 50, 0.5)
    leaf = [p for p in penalties if (errors + p * np.arange(4)).min() == errors[0]]
    return errors[0], leaf[0]


@answers("own-share")
def _():
    left = np.arange(20) - np.array([[3], [5], [8], [9], [12]])
    return np.where(left > 0, left, -3 * left).sum(axis=0).argmin()


@answers("own-capped")
def _():
    claims = np.array([1, 3, 1, 2, 4, 1, 3, 6.0])
    tests = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [0, 1, 0, 1, 1, 0, 1, 1]]).T
    capped = AdditiveObjective(
        lambda X, y, weight: weight[:, None] * np.stack([y, np.full(len(y), 2.0)], axis=1),
        lambda sums: min(sums[0], sums[1]), lambda sums: float(sums[0] > sums[1]))
    model = MurTreeRegressor(1, loss=capped).fit(tests, claims)
    return (model.predict(tests) == 0).sum(), model.report_.objective


@answers("ch6-median")
def _():
    tried = np.linspace(0, 3, 301)
    cost = abs(tried - np.array([[1], [4], [9]])).sum(axis=0)
    return tried[cost.argmin()], cost.min()


@answers("ch6-baseline")
def _():
    data, two_courses = grades(1000, 5), paper_model("class")
    chosen = []
    for model, name in (
            (ConstrainedTreeRegressor(two_courses, split="exact"), "max_depth"),
            (ProjectedRegressor(DecisionTreeRegressor(), two_courses), "estimator__max_depth")):
        search = GridSearchCV(model, {name: range(1, 9)}, scoring="neg_mean_squared_error")
        chosen.append(search.fit(data.X, data.y).best_params_[name])
    return chosen


@answers("ch8-6")
def _():
    return 5 * np.var([0, 0, 0, 0, 10])


@answers("beyond-without")
def _():
    return sum(left or right for left, right in product([1, 1, 0], [1, 0, 0, 0]))


@answers("beyond-monotone")
def _():
    n, mean = np.array([10, 5, 5]), np.array([1, 4, 2])
    grid = np.linspace(0, 5, 51)
    return min(n @ (np.array(values) - mean) ** 2 for values in product(grid, repeat=3)
               if values[0] <= values[1] <= values[2])


@answers("data-order")
def _():
    cells = list(product(range(1, 5), repeat=2))
    y = np.array([(a in (1, 3)) != (b in (1, 3)) for a, b in cells]).astype(int)
    subsets = np.array([[row[k] in chosen for k in (0, 1) for chosen in (
        {1}, {2}, {3}, {4}, {1, 2}, {1, 3}, {1, 4})] for row in cells]).astype(int)
    named = pd.DataFrame(cells, columns=["a", "b"]).astype(str)
    ordered = MurTreeClassifier(2, binarizer=MDLPBinarizer(ordered_categories=True))
    return (MurTreeClassifier(2).fit(subsets, y).report_.objective,
            ordered.fit(named, y).report_.objective)


@pytest.mark.parametrize("label", COMPUTED)
def test_the_answer_is_what_a_computation_gives(label):
    answer = COMPUTED[label]()
    verdict = check(label, answer)
    assert verdict, (answer, verdict)
