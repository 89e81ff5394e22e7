"""What a fit costs as the table grows: nothing, rows, equal rows, weights, columns: CPU seconds.

    python benchmarks/scaling.py [fixed equal weights cart start columns predict memory]
                                 [--rounds 5]

``fixed``    fits of 336 x 31 at depth three, beside scikit-learn's validation of the table.
``equal``    each row 200 times, and each weight 200, beside the rows once; 1,000 x 50, depth four.
``weights``  weights of classes and of rows, beside none; 1,000 x 50 and 5,000 x 30, depth four.
``cart``     CART of depth three and without a limit, beside scikit-learn's.
``start``    all thresholds with the default warm start, beside ``start=None``; depth two.
``columns``  depth three and depth two over all thresholds; microseconds for each pair of columns.
``predict``  ``predict`` and ``predict_proba`` of 10^6 x 50, beside scikit-learn's tree.
``memory``   peak of resident memory above the table, 10^6 x 50 in bytes (Linux).

Calls of both kinds alternate, the smallest time of each counts, and both have run once before.
"""

import argparse
import subprocess
import sys
import time
from functools import partial

import numpy as np
from lookahead import made
from murtree import resident
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import validate_data
from turns import processor, timed

from odtlib import CARTClassifier, ContinuousTreeClassifier, MurTreeClassifier


def in_turns(rounds, *calls):
    """Return the smallest CPU seconds of each call, which ran once before."""
    for call in calls:
        call()
    runs = [[timed(call)[0] for call in calls] for _ in range(rounds)]
    return np.min(runs, axis=0)


def show(name, ours, other, unit="s"):
    """Print two figures and their ratio."""
    print(f"{name:44s} {ours:10.4f} {other:10.4f} {unit:2s} ratio {ours / other:7.3f}", flush=True)


def fixed(rounds):
    """Time fits so small that the search is nothing."""
    X, y = made(336, 31)
    model = MurTreeClassifier(3)
    fit, check = 1000 * in_turns(100 * rounds, partial(model.fit, X, y),
                                 partial(validate_data, model, X, y))
    show("fit, validate_data", fit, check, "ms")
    print(f"{'above validation':44s} {fit - check:10.4f} ms", flush=True)


def equal(rounds):
    """Time equal rows and equal weights."""
    X, y = made(1000, 50)
    model, rows = MurTreeClassifier(4), (np.tile(X, (200, 1)), np.tile(y, 200))
    once, often, weighed = in_turns(
        rounds, partial(model.fit, X, y), partial(model.fit, *rows),
        partial(model.fit, X, y, sample_weight=np.full(len(y), 200.0)))
    show("each row 200 times", often, once)
    show("each weight 200", weighed, once)


def weights(rounds):
    """Time weights of classes and of rows, with and without a leaf size, for two and more classes.
    """
    for shape in ((1000, 50), (5000, 30)):
        rng = np.random.default_rng(0)
        X, y = made(*shape)
        three, six = y + (rng.random(len(y)) < 0.3), 3 * y + rng.integers(0, 3, len(y))
        for name, labels, least in (("two classes", y, 1), ("three classes", three, 1),
                                    ("six classes", six, 1), ("two classes, leaves of 5", y, 5)):
            fits = [partial(MurTreeClassifier(4, min_samples_leaf=least, **options).fit, X, labels,
                            sample_weight=weight)
                    for options, weight in (({}, None), ({"class_weight": "balanced"}, None),
                                            ({}, rng.integers(1, 21, len(y))),
                                            ({}, rng.random(len(y)) + 0.5))]
            none, *weighed = in_turns(rounds, *fits)
            for kind, seconds in zip(("balanced", "1 to 20", "floats"), weighed, strict=True):
                show(f"{shape[0]} x {shape[1]}, {name}: {kind}", seconds, none)


def cart(rounds):
    """Time CART on tables of numbers, few of them different or many, and of zeros and ones."""
    tables = [("iris", *load_iris(return_X_y=True)), ("wine", *load_wine(return_X_y=True)),
              ("breast cancer", *load_breast_cancer(return_X_y=True)),
              ("digits", *load_digits(return_X_y=True)),
              *((f"made, {rows} x {columns}", *made(rows, columns))
                for rows, columns in ((300, 10), (2000, 50), (20_000, 30)))]
    for name, X, y in tables:
        for depth in (3, None):
            fits = [partial(kind(max_depth=depth, random_state=0).fit, X, y)
                    for kind in (CARTClassifier, DecisionTreeClassifier)]
            show(f"CART, {name}, depth {depth}", *in_turns(4 * rounds, *fits))


def start(rounds):
    """Time the default warm start of the search over all thresholds."""
    for n_rows in (200_000, 1_000_000):
        rng = np.random.default_rng(0)
        X = rng.random((n_rows, 10))
        y = (((X[:, 0] > 0.3).astype(int) ^ (X[:, 1] > 0.6)) + (X[:, 2] > 0.5)) % 2
        noisy = rng.random(n_rows) < 0.15
        y[noisy] = rng.integers(0, 2, noisy.sum())
        fits = [partial(ContinuousTreeClassifier(2, **options).fit, X, y)
                for options in ({}, {"start": None})]
        show(f"default start, {n_rows} x 10", *in_turns(rounds, *fits))


def columns(rounds):
    """Time more and more columns."""
    for n_columns in (500, 1000, 2000, 3000, 4000):
        taken, = in_turns(1, partial(MurTreeClassifier(3).fit, *made(1000, n_columns)))
        print(f"depth 3, 1000 x {n_columns:<5d} {taken:9.3f} s, a triple "
              f"{1e9 * taken / n_columns ** 3:8.3f} ns", flush=True)
    for n_columns in (50, 100, 200, 300, 350):
        X, y = np.random.default_rng(0).random((1000, n_columns)), made(1000, 2)[1]
        taken, = in_turns(rounds, partial(ContinuousTreeClassifier(2).fit, X, y))
        print(f"all thresholds, depth 2, 1000 x {n_columns:<4d} {taken:9.3f} s, a pair "
              f"{1e6 * taken / n_columns ** 2:8.3f} us", flush=True)


def predict(rounds):
    """Time predictions for both types of table."""
    X, y = made(1_000_000, 50)
    ours = MurTreeClassifier(3).fit(X[:5000], y[:5000])
    theirs = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:5000], y[:5000])
    for rows in (X, X.astype(np.float32)):
        for method in ("predict", "predict_proba"):
            calls = [partial(getattr(model, method), rows) for model in (ours, theirs)]
            show(f"{method}, {rows.dtype}", *in_turns(rounds, *calls))


def memory(rounds):
    """Measure one fit in each of several fresh processes."""
    grown = [float(subprocess.run([sys.executable, __file__, "grown"], capture_output=True,
                                  check=True, text=True).stdout.split()[-1])
             for _ in range(rounds)]
    print(f"memory above the table: {np.median(grown):.0f} MB (least {min(grown):.0f}, "
          f"most {max(grown):.0f})", flush=True)


def grown():
    """Print what one fit adds to the peak memory of this process."""
    MurTreeClassifier(2).fit(*made(100, 50))
    X, y = made(1_000_000, 50)
    before = resident("VmRSS")
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    MurTreeClassifier(2).fit(X, y)
    print(resident("VmHWM") - before)


QUESTIONS = [fixed, equal, weights, cart, start, columns, predict, memory]


def main():
    """Answer the questions that were asked, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", nargs="*", default=[f.__name__ for f in QUESTIONS])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.questions == ["grown"]:
        grown()
        return
    print(f"{processor()}; CPU seconds", flush=True)
    for question in options.questions:
        began = time.perf_counter()
        {f.__name__: f for f in QUESTIONS}[question](options.rounds)
        print(f"({question}: {time.perf_counter() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
