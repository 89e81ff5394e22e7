"""Compare exact constrained trees with scikit-learn's tree: CPU seconds, alternating fits.

    OMP_NUM_THREADS=1 python benchmarks/constrained.py [--repeats 9]

Class data (2000 rows, 7 targets) at depth 15, 100,000 rows with 20 features and 5 targets, and
mixed-binary sets with eight binaries.  The data are generated; nothing is read.
"""

import argparse
import time

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from odtbook.datasets.constrained_generators import grades
from odtlib.constrained import ConstrainedTreeRegressor, sets


def seconds(model, X, Y):
    started = time.process_time()
    model.fit(X, Y)
    return time.process_time() - started


def compare(name, feasible, X, Y, repeats, **stopping):
    """Print the ratio of the median times of alternating fits."""
    ours = ConstrainedTreeRegressor(feasible, split="exact", on_infeasible_targets="keep",
                                    **stopping)
    theirs = DecisionTreeRegressor(random_state=0, **stopping)
    ours.fit(X[:100], Y[:100])
    times = np.array([(seconds(ours, X, Y), seconds(theirs, X, Y)) for _ in range(repeats)])
    mine, peer = np.median(times, axis=0)
    counters = ours.report_.counters
    share = ""
    if "children_evaluated" in counters:
        share = f", {counters['children_evaluated'] / counters['candidates'] / 2:.1%} projected"
    print(f"{name:34} {mine:8.4f} s, scikit-learn {peer:8.4f} s, ratio {mine / peer:6.2f}{share}")


def full_time(k):
    """One course, or two for full-time students, whose grades may add up to more."""
    A = np.vstack([np.eye(k), np.zeros(k), np.ones(k)])
    B = np.zeros((k + 2, k + 1))
    B[:k, :k] = -100 * np.eye(k)
    B[k], B[k + 1, k] = [1] * k + [-1], -60
    return sets.MixedBinary(A, B, [0] * k + [1, 100], lower=0)


def random_binary(k, seed):
    rng = np.random.default_rng(seed)
    return sets.MixedBinary(rng.normal(size=(6, k)), 60 * rng.normal(size=(6, 8)),
                            60 * np.abs(rng.normal(size=6)), lower=0, upper=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    data = grades(2000, 7)
    class_rules = dict(max_depth=15, min_samples_split=10, min_samples_leaf=5)
    for count in (1, 2):
        compare(f"class, at most {count}", sets.AtMostKNonzero(count, 0, 100), data.X, data.y,
                repeats, **class_rules)
    compare("eight binaries, full time", full_time(7), data.X, data.y, 3, **class_rules)
    for seed in range(4):
        compare(f"eight binaries, random {seed}", random_binary(7, seed), data.X, data.y, 3,
                **class_rules)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 20))
    Y = np.abs(X[:, :5] + rng.normal(size=(100_000, 5)))
    compare("100,000 x 20 x 5, at most 2", sets.AtMostKNonzero(2, 0, 100), X, Y, 2, **class_rules)


if __name__ == "__main__":
    main()
