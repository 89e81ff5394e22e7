"""Compare the search over all thresholds with ConTree: CPU seconds, alternating, one thread.

    python benchmarks/continuous.py [--depth 2 3 4] [--repeat 3] [--sets bank ...]
    python benchmarks/continuous.py --threads
    python benchmarks/continuous.py --fixed

Both are timed from validated arrays to the checked tree: scikit-learn's validation, the same on
both sides, is left out, preparation is not, and our compilation is printed first (start with an
empty NUMBA_CACHE_DIR to measure it).  The smallest of the repeats counts; long runs are not
repeated.  The optima must agree.

With ``--threads`` one thread is compared with two instead: the CPU seconds of the thread that works
longest, which other processes on the machine do not change as they change wall time.

With ``--fixed`` a fit to twenty rows is compared with scikit-learn's validation of them.

To measure a processor without AVX-512, set NUMBA_CPU_NAME=haswell, NUMBA_CPU_FEATURES to what it
has (+avx2,+fma,+bmi,+bmi2,+popcnt,+lzcnt,+sse4.2 ...) and NUMBA_CACHE_DIR to an empty folder.
"""

import argparse
import time
from unittest import mock

import numpy as np
from pycontree import ConTree
from pycontree.base import solve
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from odtbook.datasets import load
from odtlib import ContinuousTreeClassifier
from odtlib.continuous import solver

SETS = {
    2: ("bank raisin wilt rice segment bidding fault page occupancy room htru magic eeg "
        "avila").split(),
    3: "bank wilt raisin room segment bidding page rice occupancy".split(),
    4: "bank wilt room raisin".split(),
}
GOALS = {2: 20, 3: 40, 4: 40}      # geometric means
LEAST = 4                           # on any set
THREADED = [("rice", 3), ("room", 3), ("occupancy", 3), ("segment", 3), ("page", 3), ("wilt", 4),
            ("room", 4), ("raisin", 4)]


def run_ours(X, y, depth):
    model = ContinuousTreeClassifier(depth)
    model.classes_ = np.unique(y)
    started = time.process_time()
    _, report = model._solve(X, y, None)
    seconds = time.process_time() - started
    assert report.status == "optimal"
    return seconds, int(report.objective)


def longest_thread(X, y, depth, n_jobs):
    """Return the CPU seconds of the longest path through a fit's searches, and the errors."""
    seconds = []
    work = solver._Shared.work

    def timed(shared, search, queue):
        started = time.thread_time()
        work(shared, search, queue)
        seconds.append(time.thread_time() - started)

    with mock.patch.object(solver._Shared, "work", timed):
        report = ContinuousTreeClassifier(depth, n_jobs=n_jobs).fit(X, y).report_
    # the root and its probes come first, on one thread
    return sum(seconds[:2]) + max(seconds[2:], default=0), report.objective


def fixed_cost(repeat=300):
    """Print the CPU seconds of a fit to a few rows, and of scikit-learn's checks of these rows."""
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    for depth in (2, 3):
        model, checks = ContinuousTreeClassifier(depth), DecisionTreeClassifier()
        fits, validations = [], []
        for _ in range(repeat):
            started = time.process_time()
            model.fit(X, y)
            fits.append(time.process_time() - started)
            started = time.process_time()
            checks._validate_params()
            validate_data(checks, X, y, dtype=np.float64, order="C")
            check_classification_targets(y)
            validations.append(time.process_time() - started)
        least, checked = 1e3 * min(fits), 1e3 * min(validations)
        print(f"depth {depth}: a fit takes {least:.3f} ms of CPU, checks {checked:.3f} ms, "
              f"the rest {least - checked:.3f} ms (goal 1)")


def compare_threads():
    ratios = []
    for name, depth in THREADED:
        X, y = arrays(name)
        runs = [[longest_thread(X, y, depth, n_jobs) for n_jobs in (1, 2)] for _ in range(3)]
        assert len({errors for pair in runs for _, errors in pair}) == 1
        one, two = (min(pair[j][0] for pair in runs) for j in range(2))
        ratios.append(one / two)
        print(f"{name:12} depth {depth} {one:9.3f} {two:9.3f} {ratios[-1]:9.2f}", flush=True)
    print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f}")


def arrays(name):
    """Return the features of a set and its labels as 0, 1, ..."""
    data = load(f"continuous/{name}")
    return data.X, np.unique(data.y, return_inverse=True)[1]


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
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--fixed", action="store_true")
    chosen = parser.parse_args()

    X = np.random.default_rng(0).normal(size=(50, 3))
    started = time.process_time()
    for n_classes in (2, 3):
        ContinuousTreeClassifier(3).fit(X, np.arange(50) % n_classes)
        print(f"ready for {n_classes} classes after {time.process_time() - started:.1f} CPU s")

    if chosen.threads or chosen.fixed:
        compare_threads() if chosen.threads else fixed_cost()
        return
    for depth in chosen.depth:
        print(f"\ndepth {depth}      errors      ours   ConTree     ratio")
        ratios = []
        for name in chosen.sets or SETS[depth]:
            X, y = arrays(name)
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
        missed = [word for word, value, goal in (("mean", mean, GOALS.get(depth, 0)),
                                                 ("smallest", min(ratios), LEAST))
                  if value < goal]
        print(f"geometric mean {mean:.1f} times faster (goal {GOALS.get(depth)}), "
              f"smallest {min(ratios):.1f} (goal {LEAST}): "
              + (f"missed: {', '.join(missed)}" if missed else "both met"))


if __name__ == "__main__":
    main()
