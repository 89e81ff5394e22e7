"""Certificates of all kinds, forged ones, and what is true of the words that a checker says.

    python tests/certificates/forgery.py --true 5000 --forged 30000     # a table of counts
"""

import argparse
import re
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from certificates.files import saved, stamped
from naive import as_set, best_over_lists, class_leaves, least_costs, sides, square_leaves

from odtbook.check_certificate import NotProved, check
from odtlib import (
    ColumnGenerationClassifier,
    ContinuousTreeClassifier,
    ContinuousTreeRegressor,
    MurTreeClassifier,
    MurTreeRegressor,
    RestrictedTreeClassifier,
)

KINDS = {kind.__name__: kind for kind in (
    MurTreeClassifier, MurTreeRegressor, ContinuousTreeClassifier, ContinuousTreeRegressor,
    RestrictedTreeClassifier, ColumnGenerationClassifier)}
CLAIM = re.compile(
    r"no tree of (?:any depth|depth (?P<depth>\d+))(?: and (?P<nodes>\d+) feature nodes)?"
    r"(?: with at least (?P<least>\d+) rows in a leaf)? over (?:these (?P<columns>\d+) columns|"
    r"all thresholds of these (?P<features>\d+) features|the (?P<lists>\d+) candidates of its "
    r"nodes) (?:costs less than (?P<cost>\S+), at (?P<penalty>\S+) a split,|makes fewer than "
    r"(?P<errors>\S+) errors|has a squared error of less than (?P<squares>\S+))"
    r"(?P<weighted> by weight)? on these (?P<rows>\d+) rows")


def drawn(seed, rows=9):
    """Return a model of any kind, rows, labels or targets, and weights or None, many of them odd.
    """
    rng = np.random.default_rng(seed)
    kind = rng.choice(list(KINDS))
    squares, n, p = "Regressor" in kind, rng.integers(1, rows + 1), rng.integers(1, 4)
    X = rng.integers(0, rng.integers(1, 5), (n, p)) * rng.choice([1.0, 1.0, 0.1, 1e9])
    if rng.random() < 0.4:
        X = rng.integers(0, 2, (n, p)) * 1.0
    X[:, rng.random(p) < 0.1] = 3.5
    y = rng.integers(0, rng.integers(1, 4), n)
    if rng.random() < 0.4 and len(np.unique(X)) > 1:
        y = (X[:, 0] > X[:, 0].min()) ^ (X[:, -1] > X[:, -1].min()) ^ (rng.random(n) < 0.1)
    if squares:
        y = (y * 1.0, rng.normal(size=n), 1e6 + rng.random(n), y * 1e-9, np.full(n, 2.0),
             y * 1e20)[rng.integers(6)]
    elif rng.random() < 0.2:
        y = np.array(["no", "yes", "ü"])[y.astype(int)]
    weight = (None, None, rng.integers(0, 4, n) * 1.0, rng.random(n) + 0.01,
              10.0**rng.uniform(-12, 12, n), rng.integers(1, 4, n) / 3, np.full(n, 1e6),
              rng.integers(1, 9, n) * 1e-90, np.full(n, 7.0))[rng.integers(9)]
    if weight is not None and not weight.any():
        weight[0] = 1.0
    used = n if weight is None else np.count_nonzero(weight)
    candidates = kind in ("RestrictedTreeClassifier", "ColumnGenerationClassifier")
    depth = int(rng.choice([0, 1, 2, 3]))
    options = {"max_depth": depth}
    if kind.startswith("Mur") and rng.random() < 0.25 or (
            kind == "ContinuousTreeClassifier" and rng.random() < 0.2):
        options["max_depth"] = None
    if rng.random() < 0.3:
        options["max_leaf_nodes" if candidates else "max_nodes"] = int(
            rng.integers(2, 9) if candidates else rng.integers(0, 9))
    if rng.random() < 0.3:
        options["min_samples_leaf"] = int(rng.integers(1, 1 + used if candidates else 12))
    if rng.random() < 0.4:
        options["split_penalty"] = float(rng.choice(
            [0.1, 0.5, 1.0, 2.0, 1000004.0, 1 / 3, 1e-300, 5e-324, 1e20, 1e-90, 1e300]))
    if kind == "MurTreeClassifier" or kind == "MurTreeRegressor":
        options["binarizer"] = "all"
    if kind == "RestrictedTreeClassifier" and rng.random() < 0.7:
        options["splits"] = [[(int(rng.integers(p)), float(rng.choice(
            [-1.0, 0.05, 0.5, 1.5, 2.2, 9.0]))) for _ in range(rng.integers(1, 4))]
            for _ in range(2**max(1, min(depth, 3)) - 1)]
        options["max_depth"] = None
    typed = rng.choice([None, None, np.float16, np.float32, np.longdouble, object])
    if typed is not None and np.array_equal(X.astype(typed).astype(float), X):
        X = X.astype(typed)
    return KINDS[kind](**options), X, y, weight


def certified(model, X, y, weight):
    """Fit; return the arrays of the certificate, and the rows, labels and weights to check."""
    model.fit(X, y, weight)
    arrays = model.certificate(X, y, weight).arrays
    binarizer = getattr(model, "binarizer_", None)
    rows = X if binarizer is None else binarizer.transform(np.asarray(X, float))
    return arrays, (rows, y, weight)


def truth(claim, X, y, weight, lists=None):
    """Return what a claim in words says, the least cost by trying all trees, and that of a leaf.

    ``lists`` are the candidates that a claim about candidates means.
    """
    said = CLAIM.fullmatch(claim)
    assert said, f"these are no words of a claim: {claim}"
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    used = weight > 0
    X, y, weight = np.asarray(X, float)[used], np.asarray(y).ravel()[used], weight[used]
    assert int(said["rows"]) == len(X), claim
    assert bool(said["weighted"]) == bool(said["cost"] is None and np.any(weight != 1)), claim
    squares = said["squares"] or (said["cost"] and said["lists"] is None and y.dtype.kind == "f")
    if said["lists"] is None:
        assert X.shape[1] == int(said["columns"] or said["features"]), claim
        assert bool(said["columns"]) == bool(np.isin(X, (0, 1)).all()), claim
    most = max(0, len(X) - 1)
    depth = min(most, int(said["depth"] or most))
    nodes = min(most, 2**depth - 1, int(said["nodes"] or most))
    least, penalty = int(said["least"] or 1), float(said["penalty"] or 0)
    leaf = square_leaves(y.astype(float), weight) if squares else class_leaves(y, weight)
    if said["lists"] is None:
        best, = least_costs(leaf, sides(X, False), len(X), depth, [nodes], least, penalty)
    else:
        assert int(said["lists"]) == len(lists), claim
        splits, n_nodes = {}, 2**int(said["depth"]) - 1
        for node, j, threshold in lists:
            if node < n_nodes:
                splits.setdefault(int(node), {})[j, threshold] = as_set(X[:, int(j)] <= threshold)
        best = best_over_lists(splits, len(X), leaf.__getitem__, int(said["nodes"] or 2**31), least,
                               penalty)
    bound = float(said["cost"] or said["errors"] or said["squares"])
    return bound, float(best), float(leaf[-1])


def judged(arrays, X, y, weight, lists=None):
    """Return the claim that the checker proves, None if it refuses; fail if the claim is false."""
    try:
        claim = check(saved(arrays), X, y, weight)
    except NotProved:
        return None
    bound, best, leaf = truth(claim, X, y, weight, arrays.get("lists", lists))
    assert bound <= best * (1 + 1e-15) + 1e-13 * leaf * ("units" in arrays
                                                         and len(arrays["units"]) == 4), (
        f"{claim}, and one costs {best!r}")
    return claim


def spoiled(rng, name, value, others):
    """Return an array with a wrong length, sign, type, size or meaning."""
    value, kind = np.array(value), rng.integers(16)
    flat = value.ravel()
    if kind == 0:
        return value[:-1] if value.ndim else value
    if kind == 1:
        return np.concatenate([value, value[-1:]]) if value.ndim else value[None]
    if kind == 2:
        return value[:0] if value.ndim else value
    if kind == 3:
        return value[..., None]
    if kind == 4:
        return value.astype(rng.choice(["f8", "f4", "i8", "u8", "?", "O", "U9", "c16", "g", ">i4"])
                        ) if value.dtype.kind in "iuf" else np.array([0])
    if kind == 5:
        return np.array(others[name]) if name in others else value
    if not flat.size or value.dtype.kind not in "iuf":
        return np.array(str(value).replace("1", "2")) if name == "claim" else value
    flat = flat.copy() if value.dtype.kind == "f" or name == "fingerprint" else flat.astype(int)
    at = rng.integers(len(flat))
    if kind == 6:
        flat[at] = -flat[at] if value.dtype.kind != "u" else ~flat[at]
    elif kind == 7:
        flat[at] = rng.choice([0, 1, -1, 2, 3, 4, 127] if value.dtype.kind != "u" else [0, 1, 2])
    elif kind == 8 and value.dtype.kind != "u":
        flat[at] = rng.choice([2**31 - 1, 2**31, 2**52, 2**62, -2**63, 64, 65, 1000])
    elif kind == 9 and value.dtype.kind == "f":
        flat[at] = rng.choice([np.nan, np.inf, -np.inf, 5e-324, 1e300, 2.0**600, 2.0**-600, 0.3])
    elif kind in (10, 11):
        flat[at] = flat[at] + rng.choice([-1, 1]) if value.dtype.kind != "f" else flat[
            at] * 2.0**rng.choice([-20, -2, -1, 1, 2, 20])
    elif kind == 12:
        flat = rng.permutation(flat)
    elif kind == 13:
        flat[at] = flat[rng.integers(len(flat))]
    elif kind == 14:
        flat[:] = flat[at]
    else:
        flat = flat[::-1]
    return flat.reshape(value.shape)


def forged(rng, arrays, others):
    """Return a certificate with a lie in one array or two."""
    new = dict(arrays)
    names = [name for name in arrays if name not in ("claim", "fingerprint")]
    for _ in range(rng.choice([1, 1, 2])):
        name = rng.choice(names if rng.random() < 0.97 else list(arrays))
        try:
            with np.errstate(all="ignore"):
                new[name] = spoiled(rng, name, new[name], others)
        except (ValueError, OverflowError, TypeError):
            continue
    more, bound = rng.random() < 0.3, new.get("bound")         # is claimed
    if more and "lists" in new and new["units"].shape == (2,) and new["units"].dtype == float:
        new["units"] = new["units"] + np.eye(2)[0]
    elif more and bound is not None and bound.ndim == 2 and bound.size and bound.dtype.kind == "i":
        new["bound"] = bound + (np.arange(len(bound)) == len(bound) - 1)[:, None] * (
            1 + bound[-1].max() // 10**rng.integers(0, 7))
    return new


def forgeries(seed, number):
    """Forge a certificate so often; return how many forgeries passed, all with true claims."""
    rng, passed = np.random.default_rng([seed, 1]), 0
    arrays, data = certified(*drawn(seed, 7))
    others = certified(*drawn(seed + 1, 7))[0]
    for _ in range(number):
        X, y, weight = data
        if rng.random() < 0.1:
            y = rng.permutation(y)
        elif rng.random() < 0.05:
            X = rng.permutation(X)
        new = forged(rng, arrays, others)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                stamped(new, X, y, weight)
            except (TypeError, OverflowError):
                continue
            passed += judged(new, X, y, weight) is not None
    return passed


def look_at(seed):
    """Check one true certificate: it is accepted, and says what the report says."""
    model, X, y, weight = drawn(seed)
    arrays, data = certified(model, X, y, weight)
    claim = check(saved(arrays), *data)
    assert claim == str(arrays["claim"])
    bound, best, leaf = truth(claim, *data, arrays.get("lists"))
    squares, total = len(arrays["units"]) == 4, len(y) if weight is None else weight.sum()
    assert bound <= best * (1 + 1e-15) + 1e-13 * leaf * squares, claim
    if model.report_.status == "optimal":
        slack = total * (1e-12 * np.ptp(y)**2 + 1e-15 * max(y**2) if squares else 1e-12)
        slack += 1e-7 * leaf * squares + 2e-9 * total * ("lists" in arrays)
        assert bound >= model.report_.objective * (1 - 1e-12) - slack, claim
    return type(model).__name__


def main():
    """Try many in this process, and print counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--true", type=int, default=100)
    parser.add_argument("--forged", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options, counts, faults = parser.parse_args(), Counter(), 0
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(options.seed, options.seed + options.true):
            try:
                counts[look_at(seed)] += 1
            except Exception as error:
                faults += 1
                print(f"true, seed {seed}: {type(error).__name__}: {error}", flush=True)
        print(dict(counts), f"{faults} faults, {time.process_time() - began:.0f} CPU s", flush=True)
        passed = tried = lies = 0
        seed = options.seed + 10**6
        while tried < options.forged:
            try:
                passed += forgeries(seed, 25)
            except Exception as error:
                lies += 1
                print(f"forged, seed {seed}: {type(error).__name__}: {error}", flush=True)
            tried, seed = tried + 25, seed + 1
        print(f"{tried} forged, {passed} passed with a true claim, {lies} faults, "
              f"{time.process_time() - began:.0f} CPU s")


if __name__ == "__main__":
    main()
