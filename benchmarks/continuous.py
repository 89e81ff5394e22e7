"""Compare the search over all thresholds with ConTree: CPU seconds, alternating, one thread.

    ODTLIB_DATA=... python benchmarks/continuous.py [--depth 2 3 4] [--repeat 3] [--sets bank ...]

Both are timed from validated arrays to the checked tree: scikit-learn's validation, the same on
both sides, is left out, preparation is not, and our compilation is printed first (start with an
empty NUMBA_CACHE_DIR to measure it).  The smallest of the repeats counts; long runs are not
repeated.  The optima must agree.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from pycontree import ConTree
from pycontree.base import solve

from odtlib import ContinuousTreeClassifier

SETS = {
    2: ("bank raisin wilt rice segment bidding fault page occupancy room htru magic eeg "
        "avila").split(),
    3: "bank wilt raisin room segment bidding page rice occupancy".split(),
    4: "bank wilt room raisin".split(),
}
GOALS = {2: 12, 3: 25, 4: 20}


def run_ours(X, y, depth):
    model = ContinuousTreeClassifier(depth)
    model.classes_ = np.unique(y)
    started = time.process_time()
    _, report = model._solve(X, y, None)
    seconds = time.process_time() - started
    assert report.status == "optimal"
    return seconds, int(report.objective)


def run_contree(X, y, depth):
    model = ConTree(max_depth=depth)
    model._initialize_config()
    labels = y.astype(np.intc)
    started = time.process_time()
    tree = solve(X, labels, model._config, 3600.0)
    seconds = time.process_time() - started
    return seconds, int((np.asarray(tree.predict(X)) != y).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--sets", nargs="+")
    chosen = parser.parse_args()
    folder = Path(os.environ["ODTLIB_DATA"]) / "continuous"

    X = np.random.default_rng(0).normal(size=(50, 3))
    started = time.process_time()
    for n_classes in (2, 3):
        ContinuousTreeClassifier(3).fit(X, np.arange(50) % n_classes)
        print(f"ready for {n_classes} classes after {time.process_time() - started:.1f} CPU s")

    for depth in chosen.depth:
        print(f"\ndepth {depth}      errors      ours   ConTree     ratio")
        ratios = []
        for name in chosen.sets or SETS[depth]:
            table = np.load(folder / f"{name}.npz")
            X = np.ascontiguousarray(table["X"], dtype=np.float64)
            y = np.unique(table["y"], return_inverse=True)[1]
            ours, theirs = [], []
            while len(ours) < chosen.repeat and sum(theirs) < 3:
                seconds, errors = run_ours(X, y, depth)
                ours.append(seconds)
                seconds, their_errors = run_contree(X, y, depth)
                theirs.append(seconds)
                assert errors == their_errors, f"{name}: {errors} against {their_errors} errors"
            ratios.append(min(theirs) / min(ours))
            print(f"{name:12} {errors:8d} {min(ours):9.4f} {min(theirs):9.4f} {ratios[-1]:9.1f}",
                  flush=True)
        mean = np.exp(np.mean(np.log(ratios)))
        print(f"geometric mean {mean:.1f} times faster (goal {GOALS.get(depth)}), "
              f"smallest {min(ratios):.1f}")


if __name__ == "__main__":
    main()
