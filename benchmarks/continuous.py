"""Compare the search over all thresholds with ConTree: CPU seconds, alternating, one thread.

    python benchmarks/continuous.py [--depth 2 3 4] [--sets bank ...] [--seeds 0 1]
    python benchmarks/continuous.py --threads
    python benchmarks/continuous.py --fixed

Both are timed by their public ``fit``; our compilation is printed first (start with an empty
NUMBA_CACHE_DIR to measure it).  Each set is tried as it is packaged and varied (``turns.py``).

With ``--threads`` one thread is compared with two instead: the CPU seconds of the thread that works
longest, which other processes on the machine do not change as they change wall time.

With ``--fixed`` a fit to twenty rows is compared with scikit-learn's validation of them.

To measure a processor without AVX-512, set NUMBA_CPU_NAME=haswell, NUMBA_CPU_FEATURES to what it
has (+avx2,+fma,+bmi,+bmi2,+popcnt,+lzcnt,+sse4.2 ...) and NUMBA_CACHE_DIR to an empty folder.
"""

import argparse
import time
from functools import partial
from unittest import mock

import numpy as np
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data
from turns import Comparison, add_options, forms, timed, wanted

from odtbook.datasets import load
from odtlib import ContinuousTreeClassifier
from odtlib.continuous import solver

SETS = {
    2: ("bank raisin wilt rice segment bidding fault page occupancy room htru magic eeg "
        "avila").split(),
    3: "bank wilt raisin room segment bidding page rice occupancy".split(),
    4: "bank wilt room raisin".split(),
}
THREADED = [("rice", 3), ("room", 3), ("occupancy", 3), ("segment", 3), ("page", 3), ("wilt", 4),
            ("room", 4), ("raisin", 4)]


def run_ours(X, y, depth):
    model = ContinuousTreeClassifier(depth)
    seconds, _ = timed(model.fit, X, y)
    assert model.report_.status == "optimal"
    return seconds, model.report_.objective


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


def compare_threads(options):
    for depth in (3, 4):
        table = Comparison("errors, all thresholds, two threads", depth, "one thread", options)
        for name, at in THREADED:
            if at == depth:
                X, y = arrays(name)
                table.add(name, X.shape, *(partial(longest_thread, X, y, depth, n) for n in (2, 1)))
        table.summary()


def arrays(name):
    """Return the features of a set and its labels as 0, 1, ..."""
    data = load(f"continuous/{name}")
    return data.X, np.unique(data.y, return_inverse=True)[1]


def run_contree(X, y, depth):
    from pycontree import ConTree
    model = ConTree(max_depth=depth, time_limit=3600)
    seconds, _ = timed(model.fit, X, y)
    return seconds, float((np.asarray(model.predict(X)) != y).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, nargs="+", default=[2, 3, 4])
    add_options(parser, rounds=15)
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--fixed", action="store_true")
    chosen = parser.parse_args()

    X = np.random.default_rng(0).normal(size=(50, 3))
    started = time.process_time()
    for n_classes in (2, 3):
        ContinuousTreeClassifier(3).fit(X, np.arange(50) % n_classes)
        print(f"ready for {n_classes} classes after {time.process_time() - started:.1f} CPU s")

    if chosen.threads or chosen.fixed:
        compare_threads(chosen) if chosen.threads else fixed_cost()
        return
    for depth in chosen.depth:
        table = Comparison("errors, all thresholds", depth, "ConTree", chosen)
        for name in SETS[depth]:
            if wanted(name, chosen):
                for mark, rows, labels in forms(*arrays(name), chosen.seeds):
                    table.add(name + mark, rows.shape, partial(run_ours, rows, labels, depth),
                              partial(run_contree, rows, labels, depth))
        table.summary()


if __name__ == "__main__":
    main()
