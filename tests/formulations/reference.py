"""Small problems, slow references, and what every answer of a program must satisfy."""

from __future__ import annotations

import os
import signal
from itertools import product

import numpy as np
import pytest
from naive import best_tree_cost, cuts

from odtbook.formulations import run


def instance(random, n_rows, n_features, n_classes, n_values=4):
    """Draw rows with ties, repeated rows and, now and then, a constant or 0/1 feature."""
    X = random.integers(0, n_values, (n_rows, n_features)).astype(float)
    for j in range(n_features):
        kind = random.random()
        if kind < 0.15:
            X[:, j] = 1.0
        elif kind < 0.4:
            X[:, j] = X[:, j] > 0
    if random.random() < 0.3:
        X = X * 1e-7 + 5
    y = random.integers(0, n_classes, n_rows)
    y[:2] = 0, 1
    return X, np.unique(y, return_inverse=True)[1]


def check(model, X, y, weight=None):
    """Fit, and check what every answer must satisfy; return the report."""
    model.fit(X, y, weight)
    report, tree = model.report_, model.tree_
    w = np.ones(len(y)) if weight is None else weight
    wrong = w[model.predict(X) != y].sum()
    assert wrong + model.split_penalty * tree.n_splits == pytest.approx(report.objective)
    assert model.verify(X, y, weight) == pytest.approx(report.objective)
    assert report.lower_bound <= report.objective + 1e-9
    assert tree.depth <= model.max_depth
    smallest = np.unique(model.apply(X[w > 0]), return_counts=True)[1].min()
    assert smallest >= model.min_samples_leaf or tree.n_splits == 0
    return report


def kill_the_solver(monkeypatch):
    """Let every solver in a process of its own be killed as soon as it has started."""
    class Killed(run.InChild):
        def start(self):
            super().start()
            os.kill(self.process.pid, signal.SIGKILL)

    monkeypatch.setattr(run, "InChild", Killed)


def midpoints(X):
    """Return all thresholds of every feature."""
    return [(v[:-1] + v[1:]) / 2 for v in map(np.unique, X.T)]


def boundary(X, y):
    """Return the thresholds that are not between two values of one and the same class."""
    found = []
    for column in X.T:
        values = np.unique(column)
        classes = [set(y[column == v]) for v in values]
        found.append([(a + b) / 2 for a, b, here, there in zip(
            values, values[1:], classes, classes[1:], strict=False)
            if not (len(here) == 1 and here == there)])
    return found


def optimum(X, y, cost, thresholds, depth, nodes=None):
    """Return the least cost of a tree over the thresholds, or over all if they are None."""
    return best_tree_cost(cuts(X, thresholds), y, cost, y.max() + 1, depth, nodes)


def fair_optimum(X, y, thresholds, group, limit, weight):
    """Return the least errors within the limit on disparity, over trees of depth two."""
    best = np.inf
    splits = [X[:, j] <= t for j, own in enumerate(thresholds) for t in own]
    splits.append(np.ones(len(y), bool))
    for root, left, right in product(splits, repeat=3):
        leaf = np.where(root, np.where(left, 0, 1), np.where(right, 2, 3))
        for labels in product((0, 1), repeat=4):
            given = np.array(labels)[leaf]
            gap = abs(np.average(given[group == 0], weights=weight[group == 0])
                      - np.average(given[group == 1], weights=weight[group == 1]))
            if gap <= limit + 1e-9:
                best = min(best, weight[given != y].sum())
    return best
