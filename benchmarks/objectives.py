"""Compare objectives with STreeD on the same 0/1 columns: CPU seconds, in turns, one thread.

    python benchmarks/objectives.py QUESTION [--depth 3 4] [--sets anneal ...]

QUESTION is f1, fair, opportunity, survival, line (one of two regressors in each leaf) or lines
(both).

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
from sklearn.metrics import f1_score
from turns import Comparison, add_options, forms, timed, wanted

from odtbook.datasets import load
from odtbook.studies.survival import TABLES, columns_of, survival_table
from odtlib import MurTreeClassifier, MurTreeRegressor, SurvivalTree
from odtlib.binarize import QuantileBinarizer
from odtlib.objectives import LinearLeaves

F1_SETS = ("anneal heart-cleveland german-credit yeast diabetes hypothyroid kr-vs-kp "
           "australian-credit").split()
FAIR_SETS = "heart-cleveland german-credit diabetes australian-credit tic-tac-toe".split()
NAMES = {"fair": ("demographic-parity", "group-fairness"),       # ours and the peer's
         "opportunity": ("equal-opportunity", "equality-of-opportunity")}
QUESTIONS = {"f1": "F1", "fair": "demographic parity", "opportunity": "equal opportunity"}
LIMIT = 0.05


def run_ours(X, y, what, depth):
    if what == "f1":
        model = MurTreeClassifier(depth, objective="f1")
        seconds, _ = timed(model.fit, X, y)
    else:
        model = MurTreeClassifier(depth, max_disparity=LIMIT, disparity=NAMES[what][0])
        column = sensitive(X)
        rows, groups = np.delete(X, column, axis=1), X[:, column]
        seconds, _ = timed(partial(model.fit, protected=groups), rows, y)
    assert model.report_.status == "optimal"
    return seconds, model.report_.objective


def run_streed(X, y, what, depth):
    options = {"max_depth": depth, "max_num_nodes": 2**depth - 1, "time_limit": 3600}
    if what == "f1":
        model = STreeDClassifier("f1-score", **options)
        seconds, _ = timed(model.fit, X, y)
        return seconds, 1 - f1_score(y, model.predict(X))
    model = STreeDGroupFairnessClassifier(NAMES[what][1], sensitive_feature=sensitive(X),
                                          discrimination_limit=LIMIT, **options)
    seconds, _ = timed(model.fit, X, y)
    return seconds, float((model.predict(X) != y).sum())


def sensitive(X):
    """Return the column of the groups."""
    return int(np.abs(X.mean(axis=0) - 0.5).argmin())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["f1", *NAMES])
    parser.add_argument("--depth", type=int, nargs="+", default=[3])
    add_options(parser)
    chosen = parser.parse_args()
    for depth in chosen.depth:
        table = Comparison(QUESTIONS[chosen.what], depth, "STreeD", chosen)
        for name in F1_SETS if chosen.what == "f1" else FAIR_SETS:
            if not wanted(name, chosen):
                continue
            data = load(f"murtree/{name}")
            for mark, X, y in forms(data.X, np.unique(data.y, return_inverse=True)[1],
                                    chosen.seeds):
                run_ours(X, y, chosen.what, 2)                       # compiled
                problem = X.astype(np.int32), y, chosen.what, depth
                table.add(name + mark, X.shape, partial(run_ours, *problem),
                          partial(run_streed, *problem))
        table.summary()


if __name__ == "__main__":
    main()
