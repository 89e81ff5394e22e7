"""Compare regression trees with STreeD, and time the search over all thresholds: CPU seconds.

    python benchmarks/regression.py [--depth 3 4 5] [--repeat 5] [--cuts 7]
    python benchmarks/regression.py --thresholds [--depth 2 3]

The first form gives both programs the same 0/1 columns, quantile cuts of each feature, and runs
them in turn on one thread; the smallest of the repeats counts, and the optima must agree.  The
second times ContinuousTreeRegressor alone.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1

from odtbook.datasets import load
from odtlib import ContinuousTreeRegressor, MurTreeRegressor


def quality(name):
    """Return the features of a set of wines, and their marks as numbers."""
    data = load(name)
    return data.X, data.y.astype(float)


SETS = {"diabetes": load_diabetes(return_X_y=True),
        "Friedman 1, 1000 rows": make_friedman1(1000, 10, noise=1.0, random_state=0)}
LARGE = {"Friedman 1, 5000 rows": make_friedman1(5000, 10, noise=1.0, random_state=0),
         **{name: quality(name) for name in ("winequality-red", "winequality-white")}}


def columns(X, cuts):
    """Return the distinct 0/1 columns of some quantile cuts of each feature."""
    shares = np.linspace(0, 1, cuts + 2)[1:-1]
    found = [column <= cut for column in X.T for cut in np.unique(np.quantile(column, shares))]
    return np.unique([c for c in found if not c.all()], axis=0).T.astype(np.uint8)


def timed(fit, depth):
    """Return the CPU seconds of a fit and its squared error."""
    began = time.process_time()
    error = fit(depth)
    return time.process_time() - began, error


def compare(depths, repeat, cuts):
    from pystreed import STreeDRegressor
    for name, (X, y) in SETS.items():
        B = columns(X, cuts)
        B32 = B.astype(np.int32)

        def ours(depth, B=B, y=y):
            report = MurTreeRegressor(depth, binarizer=None).fit(B, y).report_
            assert report.status == "optimal"
            return report.objective

        def theirs(depth, B=B32, y=y):
            model = STreeDRegressor(max_depth=depth, max_num_nodes=2**depth - 1,
                                    cost_complexity=0.0, time_limit=3600)
            model.fit(B, y)
            return ((model.predict(B) - y) ** 2).sum()

        ours(2)                                     # compiled
        for depth in depths:
            runs = []
            while len(runs) < repeat and sum(b[0] for _, b in runs) < 10:
                runs.append((timed(ours, depth), timed(theirs, depth)))
                (_, a), (_, b) = runs[-1]
                assert np.isclose(a, b, rtol=1e-6), f"{name}: {a} against {b}"
            a, b = (min(run[k][0] for run in runs) for k in range(2))
            print(f"{name:22} depth {depth} {B.shape[1]:4} columns {a:9.3f} {b:9.3f} "
                  f"{b / a:7.1f}", flush=True)


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
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cuts", type=int, default=7)
    parser.add_argument("--thresholds", action="store_true")
    chosen = parser.parse_args()
    if chosen.thresholds:
        over_thresholds(chosen.depth or (2, 3), chosen.repeat)
    else:
        compare(chosen.depth or (3, 4, 5), chosen.repeat, chosen.cuts)


if __name__ == "__main__":
    main()
