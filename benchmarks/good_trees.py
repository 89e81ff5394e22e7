"""Count all good trees, against ArborEnum on the same 0/1 columns: CPU seconds, in turns.

    python benchmarks/good_trees.py [--sets compas-binary ...] [--depth 3 4]

Both are timed with the search for the optimum, by public calls, for each set as it is packaged and
varied (``turns.py``), without compilation.  Columns that split the rows alike are left out first,
all but one.  A tree costs its errors plus ``--price`` of the rows for each leaf, and is good where
it costs at most ``--tolerance`` of the least more, both made whole numbers of rows.  The numbers
of trees, here the objective, must agree; the tolerance is less than the price, as the peer counts
splits between two leaves of one class.
"""

import argparse
from functools import partial

import numpy as np
from turns import Comparison, add_options, forms, timed, wanted

from odtbook.datasets import load
from odtlib import MurTreeClassifier

SETS = ("compas-binary primary-tumor tic-tac-toe vote hepatitis german-credit heart-cleveland "
        "diabetes").split()


def distinct(X):
    """Return the columns without those that split the rows as an earlier one does."""
    against_first = X ^ X[:1]
    _, kept = np.unique(against_first, axis=1, return_index=True)
    return X[:, sorted(j for j in kept if against_first[:, j].any())]


def run_ours(X, y, depth, price, tolerance):
    model = MurTreeClassifier(depth, split_penalty=price)
    seconds, good = timed(partial(model.good_trees, tolerance=tolerance), X, y)
    return seconds, good.count


def run_arborenum(X, y, depth, price, share):
    from arborenum import ArborEnum
    model = ArborEnum()
    seconds, _ = timed(partial(
        model.fit_binarized, lambda_reg=price / len(y), depth_budget=depth, rashomon_mult=share,
        lookahead_k=depth - 1, majority_leaf_only=True, key_mode="exact"), X, y)
    return seconds, model.count_trees()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, nargs="+", default=[3, 4])
    parser.add_argument("--price", type=float, default=0.01, help="of a leaf, as a share of rows")
    parser.add_argument("--tolerance", type=float, default=0.02, help="as a share of the optimum")
    add_options(parser)
    options = parser.parse_args()
    for depth in options.depth:
        table = Comparison("all good trees", depth, "ArborEnum", options)
        for name in SETS:
            if not wanted(name, options):
                continue
            data = load(f"murtree/{name}")
            for mark, X, y in forms(data.X.astype(np.uint8),
                                    np.unique(data.y, return_inverse=True)[1], options.seeds):
                X, price = distinct(X), float(round(options.price * len(y)))
                model = MurTreeClassifier(depth, split_penalty=price)
                model.good_trees(X, y, tolerance=0)                  # compiles
                least = model.report_.objective + price              # one leaf more than splits
                more = min(round(options.tolerance * least), price - 1)
                table.add(name + mark, X.shape, partial(run_ours, X, y, depth, price, more),
                          partial(run_arborenum, X, y, depth, price, (more + 0.01) / least))
        table.summary()


if __name__ == "__main__":
    main()
