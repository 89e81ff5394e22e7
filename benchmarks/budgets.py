"""Is a fit under a budget of leaves and a time limit ever behind a simple method?

    python benchmarks/budgets.py [--limit 1] [--sets german-credit ...]

For 6, 8 and 12 leaves at depth 6, 7 and 8: the cost of MurTree's tree, of scikit-learn's best-first
tree of so many leaves (by the objective's own criterion, Gini for errors), and the least of three
fits of MurTree at depth 3, 4 and 5, each with the same limit.  Targets are the labels plus two
columns and noise.  A line with ``<`` is behind one of them.
"""

import argparse

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from odtbook.datasets import load
from odtlib import DecisionTree, MurTreeClassifier, MurTreeRegressor
from odtlib.certify import Certificate

SETS = "anneal german-credit hypothyroid kr-vs-kp splice-1 mushroom ionosphere".split()
BUDGETS = (6, 6), (8, 7), (12, 8)       # leaves, depth
KINDS = {"errors": (MurTreeClassifier, {}, "gini"),
         "entropy": (MurTreeClassifier, {"objective": "entropy"}, "entropy"),
         "squares": (MurTreeRegressor, {}, "squared_error")}


def compare(kind, X, y, leaves, depth, limit):
    """Return the costs of our tree, of scikit-learn's, and of the best of our shallower ones."""
    make, options, criterion = KINDS[kind]
    peer = DecisionTreeClassifier if make is MurTreeClassifier else DecisionTreeRegressor
    peer = peer(criterion=criterion, max_depth=depth, max_leaf_nodes=leaves, random_state=0)
    cost = Certificate(make(depth, **options).get_params())
    ours = [make(d, max_leaf_nodes=leaves, time_limit=limit, **options).fit(X, y).report_.objective
            for d in (depth, 3, 4, 5)]
    return ours[0], cost(DecisionTree.from_sklearn(peer.fit(X, y)), X, y), min(ours[1:])


def main():
    """Compare on every set, and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=1.0)
    parser.add_argument("--sets", nargs="+", default=SETS)
    options = parser.parse_args()
    questions, behind = 0, np.zeros(2, int)
    print(f"{'set':14} {'leaves':>6} {'kind':8} {'ours':>9} {'CART':>9} {'shallow':>9}")
    for name in options.sets:
        data = load(f"murtree/{name}")
        X, labels = np.asarray(data.X), np.unique(data.y, return_inverse=True)[1]
        noise = 0.3 * np.random.default_rng(5).normal(size=len(labels))
        targets = labels + noise + 0.5 * X[:, 3] - 0.7 * X[:, 7]
        for leaves, depth in BUDGETS:
            for kind in KINDS:
                y = targets if kind == "squares" else labels
                ours, *others = compare(kind, X, y, leaves, depth, options.limit)
                worse = np.array([ours > other * (1 + 1e-9) + 1e-9 for other in others])
                questions, behind = questions + 1, behind + worse
                print(f"{name:14} {leaves:6} {kind:8} {ours:9.1f} " + " ".join(
                    f"{other:9.1f}" for other in others), "<" if worse.any() else "", flush=True)
    print(f"behind CART {behind[0]} times of {questions}, behind a shallower fit {behind[1]} times")


if __name__ == "__main__":
    main()
