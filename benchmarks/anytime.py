"""How soon are good trees found?  The primal gap integral of MurTree and others: CPU seconds.

    python benchmarks/anytime.py [--limit 1] [--depth 5 6 7 8] [--sets german-credit ...]

The gap of a tree is (its errors - the fewest that any run found) / its errors, and 1 before the
first tree; it is integrated over ``--limit`` CPU seconds and shown as a share of them, before the
errors of the last tree.  MurTree and
local search tell when they found each tree.  STreeD and DL8.5 return only the last one, so they run
anew with limits that double, and each tree counts from the CPU time of the run that returned it;
the last run may take longer than the limit, which helps them to a better reference only.  CART and
LicketySPLIT know no limit and have one tree.
"""

import argparse
import time
from types import SimpleNamespace

import numpy as np
from licketysplit import LicketySPLITClassifier
from sklearn.tree import DecisionTreeClassifier

import odtlib.report
from odtbook.datasets import load
from odtlib import LocalSearchTreeClassifier, MurTreeClassifier, MurTreeSearch

SETS = ("german-credit yeast diabetes tic-tac-toe australian-credit hypothyroid kr-vs-kp vehicle "
        "biodeg_categorical_bin magic04_categorical_bin").split()


def traced(model, X, y):
    """Return (CPU seconds, errors) of each tree that a fit of ours found."""
    report = model.fit(X, y).report_
    found = [(seconds, errors) for seconds, errors, _, _ in report.events if errors < np.inf]
    return [*found, (report.seconds, report.objective)]


def repeated(fit, X, y, limit):
    """Return (CPU seconds, errors) of the trees that runs with growing limits return."""
    found, wall, taken = [], limit / 16, 0.0
    while taken < limit:
        began = time.process_time()
        errors, done = fit(X, y, wall)
        taken = time.process_time() - began
        found.append((taken, errors))
        if done:
            break
        wall *= 2
    return found


def streed(depth):
    from pystreed import STreeDClassifier

    def fit(X, y, limit):
        model = STreeDClassifier(max_depth=depth, max_num_nodes=2**depth - 1, time_limit=limit)
        try:
            model.fit(X, y)
        except RuntimeError:                             # no tree within the limit
            return np.inf, False
        return float((model.predict(X) != y).sum()), model.fit_result.is_optimal()
    return fit


def dl85(depth):
    from pydl85 import DL85Classifier

    def fit(X, y, limit):
        model = DL85Classifier(max_depth=depth, time_limit=max(1, round(limit)))
        model.fit(X, y)
        return float(model.error_) if model.error_ is not None else np.inf, not model.timeout_
    return fit


def single(model, X, y):
    """Return (CPU seconds, errors) of the one tree of a method that knows no limit."""
    began = time.process_time()
    model.fit(X, y)
    return [(time.process_time() - began, float((model.predict(X) != y).sum()))]


def integral(found, best, limit):
    """Return the share of the gap that is left on average over the limit."""
    total, moment, gap, least = 0.0, 0.0, 1.0, np.inf
    for seconds, errors in sorted(found):
        seconds = min(max(seconds, moment), limit)
        total += gap * (seconds - moment)
        moment, least = seconds, min(least, errors)
        if least < np.inf:
            gap = (least - best) / least if least else 0.0
    return (total + gap * (limit - moment)) / limit


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=1.0)
    parser.add_argument("--depth", type=int, nargs="+", default=[5, 6, 7, 8])
    parser.add_argument("--sets", nargs="+", default=SETS)
    options = parser.parse_args()
    # Limits and traces of ours in CPU seconds, which other programs on the machine do not change.
    odtlib.report.time = SimpleNamespace(perf_counter=time.process_time)
    limit, wins, runs = options.limit, {}, 0
    for depth in options.depth:
        for name in options.sets:
            data = load(f"murtree/{name}")
            X, y = data.X.astype(np.int32), np.unique(data.y, return_inverse=True)[1]
            ours = {
                "MurTree": MurTreeClassifier(depth, time_limit=limit),
                "search alone": MurTreeClassifier(
                    depth, time_limit=limit, search=MurTreeSearch(discrepancy_search=False)),
                "discrepancies": MurTreeClassifier(
                    depth, time_limit=limit, search=MurTreeSearch(discrepancy_search=True)),
                "local search": LocalSearchTreeClassifier(depth, time_limit=limit, random_state=0)}
            for model in ours.values():                  # compiles
                model.fit(X[:50], np.arange(50) % len(np.unique(y)))
            found = {method: traced(model, X, y) for method, model in ours.items()}
            for method, peer in (("STreeD", streed), ("DL8.5", dl85)):
                found[method] = repeated(peer(depth), X, y.astype(np.int32), limit)
            found["CART"] = single(DecisionTreeClassifier(max_depth=depth, random_state=0), X, y)
            found["LicketySPLIT"] = single(LicketySPLITClassifier(
                lambda_leaf=0.0, depth_budget=depth), X, y)
            best = min(errors for trees in found.values() for _, errors in trees)
            shares = {method: integral(trees, best, limit) for method, trees in found.items()}
            least, runs = min(shares.values()), runs + 1
            print(f"{name:26} depth {depth} best {best:5g}  " + "  ".join(
                f"{method} {share:.3f} {min(e for _, e in found[method]):g}"
                for method, share in shares.items()), flush=True)
            for method, share in shares.items():
                wins[method] = wins.get(method, 0) + (share <= least)
    print(f"least integral of {runs}: "
          + ", ".join(f"{method} {n}" for method, n in wins.items()))


if __name__ == "__main__":
    main()
