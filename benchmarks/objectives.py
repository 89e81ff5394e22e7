"""Compare objectives with STreeD on the same 0/1 columns: CPU seconds, in turns, one thread.

    python benchmarks/objectives.py QUESTION [--depth 3 4] [--sets anneal ...]

QUESTION is f1, fair, opportunity, survival, line (one of two regressors in each leaf), lines (both)
or own (an objective of the reader's against the built-in one of its formula, ours both).

Each set is tried as it is packaged and varied (``turns.py``), by public ``fit``.  The groups of
fairness are those of the column whose share of ones is nearest to a half, on which neither program
splits; the shares predicted as the second class, of all rows or (opportunity) of those of that
class, may differ by 0.05.  The tables of survival times are those of scikit-survival and lifelines;
the regressors of lines are the two features that correlate most with the target.  Squared error is
compared by ``benchmarks/regression.py``.
"""

import argparse
from functools import partial

import numpy as np
from pystreed import (
    STreeDClassifier,
    STreeDGroupFairnessClassifier,
    STreeDPiecewiseLinearRegressor,
    STreeDSurvivalAnalysis,
)
from regression import SETS as REGRESSION
from regression import columns
from sklearn.metrics import f1_score
from turns import Comparison, add_options, forms, timed, wanted

from odtbook.datasets import load
from odtbook.studies.survival import TABLES, numbers, survival_table
from odtlib import MurTreeClassifier, MurTreeRegressor, SurvivalTree
from odtlib.binarize import QuantileBinarizer
from odtlib.objectives import AdditiveObjective, LinearLeaves, SquaredError

F1_SETS = ("anneal heart-cleveland german-credit yeast diabetes hypothyroid kr-vs-kp "
           "australian-credit").split()
FAIR_SETS = "heart-cleveland german-credit diabetes australian-credit tic-tac-toe".split()
NAMES = {"fair": ("demographic-parity", "group-fairness"),       # ours and the peer's
         "opportunity": ("equal-opportunity", "equality-of-opportunity")}
QUESTIONS = {"f1": "F1", "fair": "demographic parity", "opportunity": "equal opportunity",
             "survival": "survival", "line": "a line on one regressor",
             "lines": "a line on two regressors", "own": "squared error of the reader's own"}
LIMIT = 0.05
BINS = QuantileBinarizer(5)
EARLY = {"lines": 1e-3}     # STreeD ends the iterations of a regression early


class Survival(STreeDSurvivalAnalysis):
    """STreeD's survival tree, which indexes a list with events: as booleans that fails today."""

    def _compute_baseline_cumulative_hazard_function(self, events, times):
        return super()._compute_baseline_cumulative_hazard_function(events.astype(int), times)


def statistics(X, y, weight):
    """Squared error as a reader writes it; the built-in one centres the targets, too."""
    y = y - y.mean()
    return np.column_stack([weight, weight * y, weight * y * y])


def leaf_cost(sums):
    return sums[2] - sums[1] * sums[1] / max(sums[0], 1e-300)


def leaf_value(sums):
    return sums[1] / sums[0]


def run_ours(X, y, what, depth):
    rows, options = X, {}
    if what == "f1":
        model = MurTreeClassifier(depth, objective="f1")
    elif what == "survival":
        model = SurvivalTree(depth)
    elif what in ("line", "lines"):
        model = MurTreeRegressor(depth, binarizer=BINS, loss=LinearLeaves(
            regressors(X, y), single=what == "line"))
    elif what == "own":
        model = MurTreeRegressor(depth, loss=AdditiveObjective(
            statistics, leaf_cost, leaf_value, SquaredError.row_bound, adds_last=True))
    else:
        model = MurTreeClassifier(depth, max_disparity=LIMIT, disparity=NAMES[what][0])
        column = sensitive(X)
        rows, options = np.delete(X, column, axis=1), {"protected": X[:, column]}
    seconds, _ = timed(partial(model.fit, **options), rows, y)
    assert model.report_.status == "optimal"
    return seconds, model.report_.objective


def run_peer(X, y, what, depth):
    options = {"max_depth": depth, "max_num_nodes": 2**depth - 1, "time_limit": 3600}
    if what == "own":
        model = MurTreeRegressor(depth)
        seconds, _ = timed(model.fit, X, y)
        return seconds, model.report_.objective
    if what == "survival":
        model = Survival(**options)
        seconds, _ = timed(model.fit, X, y)
        _, leaves = np.unique(model.predict(X), return_inverse=True)
        return seconds, SurvivalTree.loss._cost_of_leaves(leaves, X, y, np.ones(len(y)))
    if what in ("line", "lines"):
        given = X[:, regressors(X, y)]
        B = BINS.fit(X).transform(X).astype(np.int32)
        model = STreeDPiecewiseLinearRegressor(
            simple=what == "line", cost_complexity=0.0, **options)
        seconds, _ = timed(model.fit, B, y, given)
        return seconds, float(((model.predict(B, given) - y) ** 2).sum())
    if what == "f1":
        model = STreeDClassifier("f1-score", **options)
        seconds, _ = timed(model.fit, X, y)
        return seconds, 1 - f1_score(y, model.predict(X))
    model = STreeDGroupFairnessClassifier(NAMES[what][1], sensitive_feature=sensitive(X),
                                          discrimination_limit=LIMIT, **options)
    seconds, _ = timed(model.fit, X, y)
    return seconds, float((model.predict(X) != y).sum())


def regressors(X, y):
    """Return the two features that correlate most with the target."""
    return np.argsort([-abs(np.corrcoef(x, y)[0, 1]) for x in X.T])[:2].tolist()


def problems(what):
    """Yield name, features and targets of the data sets of a question."""
    if what == "survival":
        for name in TABLES:
            X, y = survival_table(name)
            yield name, columns(numbers(X, X)[0], 7), y
    elif what in ("line", "lines"):
        for name, (X, y) in REGRESSION.items():
            yield name, X, y
    elif what == "own":
        for name, (X, y) in REGRESSION.items():
            yield name, columns(X, 7), y
    else:
        for name in F1_SETS if what == "f1" else FAIR_SETS:
            data = load(f"murtree/{name}")
            yield name, data.X, np.unique(data.y, return_inverse=True)[1]


def sensitive(X):
    """Return the column of the groups."""
    return int(np.abs(X.mean(axis=0) - 0.5).argmin())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=list(QUESTIONS))
    parser.add_argument("--depth", type=int, nargs="+", default=[3])
    add_options(parser)
    chosen = parser.parse_args()
    peer = "built-in" if chosen.what == "own" else "STreeD"
    for depth in chosen.depth:
        table = Comparison(QUESTIONS[chosen.what], depth, peer, chosen,
                           slack=EARLY.get(chosen.what, 1e-6))
        for name, features, targets in problems(chosen.what):
            if not wanted(name, chosen):
                continue
            for mark, X, y in forms(features, targets, chosen.seeds):
                if X.dtype.kind != "f":
                    X = X.astype(np.int32)
                run_ours(X, y, chosen.what, 2)                       # compiled
                problem = X, y, chosen.what, depth
                table.add(name + mark, X.shape, partial(run_ours, *problem),
                          partial(run_peer, *problem))
        table.summary()


if __name__ == "__main__":
    main()
