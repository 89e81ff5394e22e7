"""Compare F1 and fairness with STreeD on the same 0/1 columns: CPU seconds, in turns, one thread.

    python benchmarks/objectives.py {f1,fair} [--depth 3 4] [--repeat 3] [--sets anneal ...]

The smallest of the repeats counts; long runs are not repeated.  The optima must agree.  The groups
of fairness are those of the column whose share of ones is nearest to a half, on which neither
program splits; the shares predicted as the second class may differ by 0.05.  Squared error is
compared by ``benchmarks/regression.py``.
"""

import argparse
import time

import numpy as np
from pystreed import STreeDClassifier, STreeDGroupFairnessClassifier
from sklearn.metrics import f1_score

from odtbook.datasets import load
from odtlib import MurTreeClassifier

SETS = {"f1": "anneal heart-cleveland german-credit yeast diabetes hypothyroid kr-vs-kp "
              "australian-credit".split(),
        "fair": "heart-cleveland german-credit diabetes australian-credit tic-tac-toe".split()}
LIMIT = 0.05


def f1_ours(X, y, _, depth):
    report = MurTreeClassifier(depth, objective="f1").fit(X, y).report_
    assert report.status == "optimal"
    return report.objective


def f1_theirs(X, y, _, depth):
    model = STreeDClassifier("f1-score", max_depth=depth, max_num_nodes=2**depth - 1,
                             time_limit=3600)
    return 1 - f1_score(y, model.fit(X, y).predict(X))


def fair_ours(X, y, column, depth):
    model = MurTreeClassifier(depth, max_disparity=LIMIT)
    report = model.fit(np.delete(X, column, axis=1), y, protected=X[:, column]).report_
    assert report.status == "optimal"
    return report.objective


def fair_theirs(X, y, column, depth):
    model = STreeDGroupFairnessClassifier(
        sensitive_feature=int(column), discrimination_limit=LIMIT, max_depth=depth,
        max_num_nodes=2**depth - 1, time_limit=3600)
    return float((model.fit(X, y).predict(X) != y).sum())


def timed(fit, *data):
    """Return the CPU seconds of a fit and its objective."""
    began = time.process_time()
    objective = fit(*data)
    return time.process_time() - began, objective


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=SETS)
    parser.add_argument("--depth", type=int, nargs="+", default=[3])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sets", nargs="+")
    chosen = parser.parse_args()
    ours, theirs = {"f1": (f1_ours, f1_theirs), "fair": (fair_ours, fair_theirs)}[chosen.what]
    for depth in chosen.depth:
        print(f"depth {depth}                 objective      ours    STreeD     ratio")
        ratios = []
        for name in chosen.sets or SETS[chosen.what]:
            data = load(f"murtree/{name}")
            X, y = data.X.astype(np.int32), np.unique(data.y, return_inverse=True)[1]
            column = np.abs(X.mean(axis=0) - 0.5).argmin()
            ours(X, y, column, 2)                       # compiled
            runs = []
            while len(runs) < chosen.repeat and sum(b[0] for _, b in runs) < 5:
                runs.append([timed(fit, X, y, column, depth) for fit in (ours, theirs)])
                (_, a), (_, b) = runs[-1]
                assert np.isclose(a, b, rtol=1e-9), f"{name}: {a} against {b}"
            a, b = (min(run[k][0] for run in runs) for k in range(2))
            ratios.append(b / a)
            print(f"{name:22} {runs[0][0][1]:12.6g} {a:9.3f} {b:9.3f} {b / a:9.1f}", flush=True)
        print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.1f}, "
              f"smallest {min(ratios):.1f}", flush=True)


if __name__ == "__main__":
    main()
