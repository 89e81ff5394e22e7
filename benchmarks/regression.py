"""Compare regression trees with STreeD, and time the search over all thresholds: CPU seconds.

    python benchmarks/regression.py [--depth 3 4 5] [--cuts 7]
    python benchmarks/regression.py --thresholds [--depth 2 3]

The first form gives both programs the same 0/1 columns, quantile cuts of each feature, and times
their public ``fit`` in turns on one thread, for each set as it is and varied (``turns.py``).  The
second times ContinuousTreeRegressor alone.
"""

import argparse
import time
from functools import partial

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from turns import Comparison, add_options, forms, timed, wanted

from odtbook.datasets import load
from odtlib import ContinuousTreeRegressor, MurTreeRegressor


def numbers(name):
    """Return the features and targets of a data set; marks of wines count as numbers."""
    data = load(name)
    return np.asarray(data.X, float), np.asarray(data.y, float).ravel()


SETS = {"diabetes": load_diabetes(return_X_y=True),
        "Friedman 1, 1000 rows": make_friedman1(1000, 10, noise=1.0, random_state=0),
        **{name: numbers(name) for name in (
            "quantbnb/concrete", "quantbnb/fish", "quantbnb/qsar", "quantbnb/query1",
            "winequality-red", "winequality-white")}}
LARGE = {"Friedman 1, 5000 rows": make_friedman1(5000, 10, noise=1.0, random_state=0)}


def columns(X, cuts):
    """Return the distinct 0/1 columns of some quantile cuts of each feature."""
    shares = np.linspace(0, 1, cuts + 2)[1:-1]
    found = [column <= cut for column in X.T for cut in np.unique(np.quantile(column, shares))]
    return np.unique([c for c in found if not c.all()], axis=0).T.astype(np.uint8)


def run_ours(B, y, depth):
    model = MurTreeRegressor(depth)
    seconds, _ = timed(model.fit, B, y)
    assert model.report_.status == "optimal"
    return seconds, model.report_.objective


def run_streed(B, y, depth):
    from pystreed import STreeDRegressor
    model = STreeDRegressor(max_depth=depth, max_num_nodes=2**depth - 1, cost_complexity=0.0,
                            time_limit=3600)
    seconds, _ = timed(model.fit, B, y)
    return seconds, ((model.predict(B) - y) ** 2).sum()


def compare(depths, options):
    for depth in depths:
        table = Comparison("squared error", depth, "STreeD", options)
        for name, (X, y) in SETS.items():
            if not wanted(name, options):
                continue
            for mark, B, targets in forms(columns(X, options.cuts), y, options.seeds):
                run_ours(B, targets, 2)                     # compiled
                table.add(name + mark, B.shape, partial(run_ours, B, targets, depth),
                          partial(run_streed, B.astype(np.int32), targets, depth))
        table.summary()


def over_thresholds(depths, repeat):
    ContinuousTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])       # compiled
    for name, (X, y) in {**SETS, **LARGE}.items():
        for depth in depths:
            seconds = []
            while len(seconds) < repeat and sum(seconds) < 10:
                began = time.process_time()
                report = ContinuousTreeRegressor(depth).fit(X, y).report_
                seconds.append(time.process_time() - began)
                assert report.status == "optimal"
            print(f"{name:22} depth {depth} {min(seconds):9.3f}  {report.objective:.6g}  "
                  f"{report.counters}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, nargs="+")
    add_options(parser)
    parser.add_argument("--cuts", type=int, default=7)
    parser.add_argument("--thresholds", action="store_true")
    chosen = parser.parse_args()
    if chosen.thresholds:
        over_thresholds(chosen.depth or (2, 3), chosen.rounds)
    else:
        compare(chosen.depth or (3, 4, 5), chosen)


if __name__ == "__main__":
    main()
