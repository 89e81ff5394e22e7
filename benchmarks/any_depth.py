"""Fewest errors plus a price for each split, at any depth: ours and FastSmallTree or GOSDT.

    python benchmarks/any_depth.py [--price .02 .01 .005] [--peer GOSDT] [--sets anneal ...]

Both search the published 0/1 columns until the tree is proved, or a limit of wall time ends.  The
price is a share of the rows; theirs counts leaves, one more than splits.  Where a limit ended
either search, the trees are compared: the last lines say how often each program proved, and whose
tree was better.
"""

import argparse
import warnings
from collections import Counter

import numpy as np
import pandas as pd
from murtree import chosen_sets, fit_gosdt
from turns import Comparison, add_options, forms, timed

from odtlib import MurTreeClassifier

PROVED = {(True, True): "proved by both", (True, False): "proved by ours alone",
          (False, True): "proved by theirs alone", (False, False): "proved by neither"}


def run_ours(X, y, price, limit):
    """Return CPU seconds, the cost of the tree in rows, and whether it is proved."""
    model = MurTreeClassifier(None, split_penalty=price * len(y), time_limit=limit)
    taken, _ = timed(model.fit, X, y)
    return taken, model.report_.objective, model.report_.status == "optimal"


def run_fast_small_tree(X, y, price, limit):
    """Return the same of FastSmallTree, whose cost is recomputed from its predictions."""
    from imodels import FastSmallTreeClassifier
    model = FastSmallTreeClassifier(regularization=price, time_limit=limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")             # that the limit ended it
        taken, _ = timed(model.fit, X, y)
    errors = np.count_nonzero(model.predict(X) != y)
    return taken, errors + price * len(y) * model.complexity_, model.optimal_


def run_gosdt(X, y, price, limit):
    """Return the same of GOSDT, without a cost where the limit ended it."""
    taken, errors, splits = fit_gosdt(X.to_numpy(np.int32), y.astype(np.int32), price, limit)
    if errors is None:
        return taken, np.nan, False
    return taken, errors + price * len(y) * splits, True


PEERS = {"FastSmallTree": run_fast_small_tree, "GOSDT": run_gosdt}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--price", type=float, nargs="+", default=[0.02, 0.01, 0.005])
    parser.add_argument("--limit", type=float, default=12.0)
    parser.add_argument("--peer", choices=PEERS, default="FastSmallTree")
    add_options(parser)
    parser.set_defaults(seeds=[0])
    options = parser.parse_args()
    shared = Comparison("errors and a price", "any", options.peer, options)
    run_theirs, counts = PEERS[options.peer], Counter()
    for name, columns, labels in chosen_sets(options):
        for mark, X, y in forms(np.asarray(columns, np.uint8), labels, options.seeds):
            frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
            few = slice(0, 40)
            run_ours(X[few], y[few], 0.05, options.limit)      # compiles
            run_theirs(frame[few], y[few], 0.05, options.limit)
            for price in options.price:
                last = {}

                def search(who, run, *arguments, last=last, price=price):
                    taken, cost, proved = last[who] = run(*arguments, price, options.limit)
                    return taken, cost if proved else None

                shared.add(f"{name}{mark}, {price:g} a split", X.shape,
                           lambda X=X, y=y, search=search: search("ours", run_ours, X, y),
                           lambda X=frame, y=y, search=search: search("theirs", run_theirs, X, y))
                (_, ours, our_proof), (_, theirs, their_proof) = last["ours"], last["theirs"]
                counts[PROVED[our_proof, their_proof]] += 1
                if not (our_proof and their_proof):
                    gap = round(theirs - ours, 6)
                    counts["equal trees" if gap == 0 else
                           "ours is better" if gap > 0 else "theirs is better"] += 1
    shared.summary()
    print(", ".join(f"{what}: {n}" for what, n in sorted(counts.items())))


if __name__ == "__main__":
    main()
