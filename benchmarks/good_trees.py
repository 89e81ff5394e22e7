"""Count all good trees of some sets, and of a peer's in its own Python: CPU seconds and numbers.

    python benchmarks/good_trees.py [--peer PYTHON] [--sets compas-binary ...] [--depth 3 4]

``--peer`` is the interpreter of an environment that has ``treefarms`` and ``pandas``.  Columns that
split the rows alike are left out first, all but one.  A tree costs its share of errors plus
``--price`` for each leaf, and may cost ``--tolerance`` more than the best.  Ours is timed with the
search for the optimum, without compilation; the peer with the reading of its table.  Where classes
tie in a leaf we count a tree for each, the peer one; the peer keeps some trees with a split between
two leaves of one class, and deeper ones; so the numbers of trees differ where there are such trees.
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from odtbook.datasets import load
from odtlib import MurTreeClassifier

PEER = """
import sys, time
import numpy as np, pandas as pd
from treefarms import TREEFARMS
file, depth, price, tolerance, limit = sys.argv[1:]
data = np.load(file)
X = pd.DataFrame(data["X"], columns=[f"x{j}" for j in range(data["X"].shape[1])])
begin = time.process_time()
model = TREEFARMS({"regularization": float(price), "rashomon_bound_adder": float(tolerance),
                   "rashomon_ignore_trivial_extensions": True, "worker_limit": 1,
                   "depth_budget": int(depth) + 1, "time_limit": int(float(limit))})
model.fit(X, pd.Series(data["y"], name="class"))
print("result", time.process_time() - begin, model.get_tree_count())
"""


def distinct(X):
    """Return the columns without those that split the rows as an earlier one does."""
    against_first = X ^ X[:1]
    _, kept = np.unique(against_first, axis=1, return_index=True)
    return X[:, sorted(j for j in kept if against_first[:, j].any())]


def theirs(peer, X, y, depth, options):
    """Return seconds and number of trees of the peer, or nothing if it was stopped."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "data.npz")
        np.savez(file, X=X, y=y)
        try:
            run = subprocess.run(
                [peer, "-c", PEER, str(file), *map(str, (depth, options.price, options.tolerance,
                                                         options.limit))],
                cwd=folder, capture_output=True, text=True, timeout=options.limit, check=False)
        except subprocess.TimeoutExpired:
            return None
    found = [line.split() for line in run.stdout.splitlines() if line.startswith("result")]
    return (float(found[0][1]), int(found[0][2])) if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="a Python that has treefarms")
    parser.add_argument("--sets", nargs="+", default=["compas-binary", "primary-tumor",
                                                      "tic-tac-toe", "vote", "hepatitis"])
    parser.add_argument("--depth", type=int, nargs="+", default=[3, 4])
    parser.add_argument("--price", type=float, default=0.01, help="of a leaf, as a share of rows")
    parser.add_argument("--tolerance", type=float, default=0.01, help="as a share of the rows")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of wall for the peer")
    options = parser.parse_args()
    print(f"{'data set':20s} {'cols':>4s} depth {'seconds':>8s} {'trees':>16s} {'peer':>8s} "
          f"{'trees':>12s}")
    for name in options.sets:
        data = load(f"murtree/{name}")
        X = distinct(np.asarray(data.X).astype(np.uint8))
        y = np.unique(data.y, return_inverse=True)[1]
        for depth in options.depth:
            model = MurTreeClassifier(depth, split_penalty=options.price * len(y))
            model.good_trees(X, y, tolerance=0)                  # compiles
            begin = time.process_time()
            # The peer's bound has single precision: what lies on it is within.
            good = model.good_trees(X, y, tolerance=options.tolerance * len(y) + 1e-6)
            line = f"{time.process_time() - begin:8.3f} {good.count:16,d}"
            if options.peer:
                other = theirs(options.peer, X, y, depth, options)
                line += f" {other[0]:8.3f} {other[1]:12,d}" if other else "  stopped"
            print(f"{name:20s} {X.shape[1]:4d} {depth:5d} {line}", flush=True)


if __name__ == "__main__":
    main()
