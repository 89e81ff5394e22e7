"""Deep trees: CART, local search and looking ahead; errors, held-out errors and CPU seconds.

    python benchmarks/lookahead.py [--sets murtree/german-credit ...] [--depth 6 8 10]
    python benchmarks/lookahead.py --made 100000 100 --depth 8 --ahead 2 3

All work on the same 0/1 columns of 70 % of the rows; the held-out errors are a share of the others.
Local search ends after ``--local-search`` seconds of wall, if it does not end before; 0 leaves it
out.  ``--made`` makes training rows, and as many others, with independent columns and labels from a
random tree of depth eight, a tenth of them wrong: independent columns are the hardest case for the
bounds of the search.  Seconds are without compilation.
"""

import argparse
import time

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from odtbook.datasets import load
from odtlib import LocalSearchTreeClassifier, MurTreeClassifier, MurTreeSearch

SETS = ["murtree/german-credit", "murtree/diabetes", "murtree/tic-tac-toe", "murtree/yeast",
        "murtree/biodeg_categorical_bin", "murtree/magic04_categorical_bin",
        "murtree/default_credit_categorical_bin"]
NOISE = 0.1


def made(n_rows, n_columns, depth=8):
    """Return independent columns, with labels from a random tree."""
    rng = np.random.default_rng(0)
    X = (rng.random((n_rows, n_columns)) < rng.uniform(0.1, 0.9, n_columns)).astype(np.uint8)
    columns = rng.integers(0, n_columns, 2 ** depth - 1)
    at = np.zeros(n_rows, np.int64)
    for _ in range(depth):
        at = 2 * at + 1 + X[np.arange(n_rows), columns[at]]
    y = rng.integers(0, 2, 2 ** (depth + 1))[at]
    return X, np.where(rng.random(n_rows) < NOISE, 1 - y, y)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--made", type=int, nargs=2, metavar=("ROWS", "COLUMNS"))
    parser.add_argument("--depth", type=int, nargs="+", default=[6, 8, 10])
    parser.add_argument("--ahead", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--local-search", type=float, default=10.0, metavar="SECONDS")
    options = parser.parse_args()
    if options.made:
        data = {"made": made(2 * options.made[0], options.made[1])}
    else:
        data = {name: (np.asarray(load(name).X).astype(np.uint8),
                       np.unique(load(name).y, return_inverse=True)[1]) for name in options.sets}
    for name, (X, y) in data.items():
        X, X_held, y, y_held = train_test_split(X, y, random_state=0,
                                                       test_size=0.5 if options.made else 0.3)
        for depth in options.depth:
            models = {"CART": DecisionTreeClassifier(max_depth=depth, random_state=0)}
            if options.local_search:
                models["local search"] = LocalSearchTreeClassifier(
                    depth, random_state=0, time_limit=options.local_search)
            for ahead in options.ahead:
                models[f"look-ahead {ahead}"] = MurTreeClassifier(
                    depth, search=MurTreeSearch(lookahead=ahead))
            for method, model in models.items():
                clone(model).set_params(max_depth=1).fit(X, y)   # compiles
                begin = time.process_time()
                model.fit(X, y)
                seconds = time.process_time() - begin
                report = getattr(model, "report_", None)
                print(f"{name:40s} {len(y):6d} x {X.shape[1]:<4d} depth {depth:2d} {method:13s} "
                      f"{(model.predict(X) != y).sum():6d} errors "
                      f"{(model.predict(X_held) != y_held).mean():7.4f} held out "
                      f"{seconds:8.3f} s  {report.status if report else ''}", flush=True)


if __name__ == "__main__":
    main()
