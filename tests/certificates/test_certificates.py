"""Certificates are proved by a checker that shares nothing with odtlib, and forged ones are not."""

import ast
from pathlib import Path

import numpy as np
import pytest
from certificates.files import check_refused_or_true, of_other_kinds, saved, stamped
from naive import best_cost, best_tree_cost, cuts

import odtbook.certificate_file as certificate_file
import odtbook.check_certificate as checker
import odtbook.check_costs as check_costs
from odtbook.check_certificate import NotProved, check
from odtlib import (
    ContinuousTreeClassifier,
    ContinuousTreeRegressor,
    MurTreeClassifier,
    MurTreeRegressor,
    MurTreeSearch,
)
from odtlib.certificate import ANY_DEPTH


def problem(seed):
    """Return random rows, labels, weights or None, and limits."""
    rng = np.random.default_rng(seed)
    n, p, n_classes = rng.integers(1, 28), rng.integers(1, 8), rng.integers(1, 4)
    X = (rng.random((n, p)) < rng.choice([0.2, 0.5, 0.8], p)).astype(int)
    if p > 2 and rng.random() < 0.3:        # columns that split alike
        X[:, 0] = 1 - X[:, 1]
        X[:-1, 2] = X[:-1, 1]
    y = rng.integers(0, n_classes, n)
    if rng.random() < 0.3:                  # learnable
        y = (X[:, 0] ^ X[:, -1]) * (n_classes > 1) ^ (rng.random(n) < 0.1)
    weight = (None, None, None, rng.integers(0, 4, n).astype(float), rng.integers(1, 9, n) / 4,
              rng.random(n) + 0.01, 0.1 * rng.integers(1, 5, n))[rng.integers(7)]
    if weight is not None and not weight.any():
        weight = None
    limits = {"max_depth": int(rng.integers(0, 5))}
    if rng.random() < 0.3:
        limits["max_nodes"] = int(rng.integers(0, 9))
    if rng.random() < 0.3:
        limits["min_samples_leaf"] = int(rng.integers(1, 4))
    if rng.random() < 0.3:
        limits["split_penalty"] = float(rng.choice([0.1, 0.5, 1.0, 2.0]))
    return X, y, weight, limits


def optimum(X, y, weight, max_depth, max_nodes=ANY_DEPTH, min_samples_leaf=1, split_penalty=0.0):
    """Return the least cost of any tree, by trying all."""
    weight = np.ones(len(y)) if weight is None else weight
    used = weight > 0
    classes, codes = np.unique(y[used], return_inverse=True)
    max_nodes = min(max_nodes, 2**max_depth - 1, len(codes) - 1)
    return best_tree_cost(X[used], codes, weight[used], len(classes), max_depth, max_nodes,
                          min_samples_leaf, split_penalty)


def same(bound, best):
    """Tell whether a bound is the optimum, with weights rounded down where they must be."""
    return best * (1 - 1e-12) <= bound <= best * (1 + 1e-15)


KINDS = {"columns": MurTreeClassifier, "squares": MurTreeRegressor,
         "thresholds": ContinuousTreeClassifier, "threshold squares": ContinuousTreeRegressor}


def problem_of(kind, seed):
    """Return a problem as above, of a kind; with thresholds it is smaller, and no column is 0/1."""
    X, y, weight, limits = problem(seed)
    rng = np.random.default_rng(seed + 10**6)
    if "thresholds" in kind or "threshold" in kind:
        n = min(len(X), 16)
        X = rng.integers(0, rng.integers(2, 7), (n, min(3, X.shape[1]))) * rng.choice([0.1, 1, 1e9])
        y, weight = y[:n], None if weight is None or not weight[:n].any() else weight[:n]
        limits["max_depth"] = min(3, limits["max_depth"])
    if "squares" in kind:
        y = (rng.normal(size=len(y)), rng.integers(0, 4, len(y)), 1e6 + rng.random(len(y)),
             1e-9 * y + X[:, 0])[rng.integers(4)].astype(float)
    return X, y, weight, limits


def least_cost(kind, X, y, weight, **limits):
    """Return the least cost of any tree, and the cost of a leaf, which rounding is a share of."""
    columns = cuts(X)
    if "squares" not in kind:
        best = optimum(columns, y, weight, **limits)
        return best, best
    weight = np.ones(len(y)) if weight is None else weight
    used = weight > 0
    depth = limits["max_depth"]
    nodes = min(limits.get("max_nodes", ANY_DEPTH), 2**depth - 1, max(0, used.sum() - 1))
    return squared_optimum(columns[used], y[used], weight[used], depth, nodes,
                           limits.get("min_samples_leaf", 1), limits.get("split_penalty", 0.0))


def squared_optimum(X, y, weight, depth, nodes, least, penalty):
    """Return the least squared error with penalties, and that of a leaf, by trying all trees."""
    def leaf(rows):
        mean = np.average(y[rows], weights=weight[rows])
        return (weight[rows] * (y[rows] - mean)**2).sum()

    return (best_cost(X, leaf, depth, nodes, least, penalty),
            leaf(np.arange(len(y))) + 1e-22 * (weight * y**2).sum())


def fitted(kind, X, y, weight, limits):
    """Return a fit of a kind and its certificate."""
    model = KINDS[kind](**limits).fit(X, y, weight)
    return model, model.certificate(X, y, weight)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(100))
def test_a_certificate_passes_and_claims_the_optimum(kind, seed):
    X, y, weight, limits = problem_of(kind, seed)
    _, certificate = fitted(kind, X, y, weight, limits)
    assert check(saved(certificate.arrays), X, y, weight) == certificate.claim
    best, leaf = least_cost(kind, X, y, weight, **limits)
    if "squares" in kind:
        least = best - 1e-7 * leaf - 1e-12 * limits.get("split_penalty", 0.0)
        assert least <= certificate.lower_bound <= best + 1e-12 * leaf
    else:
        assert same(certificate.lower_bound, best)
    assert repr(float(certificate.lower_bound)).removesuffix(".0") in certificate.claim


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_nothing_splits(kind):
    """A constant feature at depth three, and too few rows for two leaves."""
    y = np.array([0.0, 1, 1, 0, 1]) if "squares" in kind else np.array([0, 1, 1, 0, 1])
    for X, options in ((np.ones((5, 1)), {}), (np.eye(5)[:, :2], {"min_samples_leaf": 3})):
        _, certificate = fitted(kind, X, y, None, {"max_depth": 3} | options)
        assert check(saved(certificate.arrays), X, y) == certificate.claim
        assert certificate.lower_bound == pytest.approx(1.2 if "squares" in kind else 2, rel=1e-8)


def forged(rng, arrays, X, y, weight, sums=False):
    """Return a certificate with a lie in it, whose words fit its numbers, and data for it."""
    new = {name: value.copy() for name, value in arrays.items()}
    X, y = X.copy(), y.copy()
    n_lines, kind = len(new["bound"]), rng.integers(13 + 2 * sums)
    line, unit = rng.integers(n_lines), 1
    if sums:
        unit = 1 + int(new["bound"][-1].max() // 10**rng.integers(1, 7))
    if kind == 0:                                           # a bound is raised
        new["bound"][line] += unit * rng.integers(1, 3)
    elif kind == 1:                                         # the claim is raised
        new["bound"][-1] += unit
    elif kind == 2 and new["reference"].size:               # a split is dropped
        table = rng.integers(len(new["reference"]))
        new["reference"][table, rng.integers(new["reference"].shape[1])] = -1
    elif kind == 3 and new["reference"].size:               # a reason is redirected
        at = tuple(rng.integers(size) for size in new["reference"].shape)
        new["reference"][at] = rng.integers(n_lines)
        new["bound"][-1] += unit * rng.integers(2)
    elif kind == 4 and new["reference"].size:               # children are swapped
        table = rng.integers(len(new["reference"]))
        new["reference"][table] = new["reference"][table, :, ::-1]
    elif kind == 5 and len(new["tests"]):                   # a path is another one
        new["tests"][rng.integers(len(new["tests"]))] ^= 1 + rng.integers(3)
    elif kind == 6:                                         # a label of another class
        row = rng.integers(len(y))
        y[row] = rng.choice(y)
    elif kind == 7:                                         # a line of another depth or reason
        new["depth"][line] += rng.choice([-1, 1])
        if rng.random() < 0.3:
            new["table"][line] = rng.integers(-1, max(1, len(new["reference"])))
    elif kind == 8:                                         # wider limits
        new["limits"][1 + rng.integers(3)] += rng.choice([-1, 1])
    elif kind == 13:                                        # another scale of the targets
        new["units"][3] *= rng.choice([0.25, 0.5, 2, 4])
    elif kind == 14:                                        # another zero, or unit
        new["units"][rng.choice([0, 2])] *= rng.choice([-1, 0.5, 2, 4, 2.0**20])
    elif kind == 9:                                         # weights of other rows
        weight = rng.permutation(weight) if weight is not None else (
            1.0 + (np.arange(len(y)) == rng.integers(len(y))))
    elif kind == 10:                                        # a value on another side of a threshold
        column = rng.integers(X.shape[1])
        X[rng.integers(len(X)), column] = rng.choice(X[:, column])
    elif kind == 11:                                        # another data set of this shape
        X, y = rng.permutation(X), rng.permutation(y)
    else:                                                   # a reason that runs in a circle
        opened = np.flatnonzero(new["table"] >= 0)
        if len(opened) and new["reference"].size:
            line = rng.choice(opened)
            new["reference"][new["table"][line]][rng.integers(new["reference"].shape[1])] = line
            new["bound"][line] += unit
            new["bound"][-1] += unit * (line != n_lines - 1)
    return stamped(new, X, y, weight), X, y, weight


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(30))
def test_no_forged_certificate_passes_with_a_false_claim(kind, seed):
    """20 lies about each problem; those that leave the claim true may pass."""
    X, y, weight, limits = problem_of(kind, seed + 5000)
    rng, sums = np.random.default_rng(seed), "squares" in kind
    arrays = fitted(kind, X, y, weight, limits)[1].arrays
    for _ in range(20):
        new, *data = forged(rng, arrays, X, y, weight, sums)
        try:
            claim = check(saved(new), *data)
        except NotProved:
            continue
        depth, nodes, least = map(int, new["limits"][1:])
        depth = min(depth, len(y))
        best, leaf = least_cost(kind, *data, max_depth=depth, max_nodes=nodes,
                                min_samples_leaf=least, split_penalty=float(
                                    new["units"][1]))
        said = float(claim.split("less than " if "less" in claim else "fewer than ")[1].split()[
            0].strip(","))
        assert said <= (best + 1e-12 * leaf if sums else best * (1 + 1e-15)), claim


def example(**limits):
    """Return rows, labels and the certificate of a problem whose proof has some lines."""
    rng = np.random.default_rng(7)
    X = rng.integers(0, 2, (60, 8))
    y = (X[:, 0] & X[:, 1]) ^ (rng.random(60) < 0.2)
    model = MurTreeClassifier(**({"max_depth": 4} | limits)).fit(X, y)
    return X, y, model.certificate(X, y)


def test_a_certificate_is_of_its_data_alone(tmp_path):
    X, y, certificate = example()
    certificate.save(tmp_path / "proof")
    claim = check(tmp_path / "proof", X, y)
    assert claim.startswith("no tree of depth 4 over these 8 columns makes fewer than ")
    assert check(tmp_path / "proof", X.tolist(), np.where(y, "yes", "no")) == certificate.claim
    assert len(certificate.arrays["reference"]) > 3, "too easy a problem"
    turned, other, weight = X.copy(), y.copy(), np.ones(60)
    turned[5, 3] ^= 1
    other[5] ^= True
    weight[5] = 2
    for data in ((turned, y), (X, other), (X, y, weight), (X[:-1], y[:-1]), (X[:, :-1], y),
                 (X[::-1], y[::-1])):
        with pytest.raises(NotProved, match="other data"):
            check(tmp_path / "proof", *data)


def test_the_first_line_that_fails_is_named():
    X, y, certificate = example()
    line = int(np.flatnonzero(certificate.arrays["table"] >= 0)[1])
    arrays = {name: value.copy() for name, value in certificate.arrays.items()}
    arrays["bound"][line:, 0] += 30
    with pytest.raises(NotProved, match=f"^line {line} says"):
        check(saved(arrays), X, y)


@pytest.mark.parametrize("seed", range(4))
def test_a_strange_file_is_refused_in_words(seed):
    """Arrays of other types, sizes and values; whatever passes is the true claim."""
    X, y, certificate = example(max_depth=3, max_nodes=5 if seed % 2 else None)
    if seed == 3:
        y = X[:, 0] + 2.0 * y
        certificate = MurTreeRegressor(max_depth=3).fit(X, y).certificate(X, y)
    rng = np.random.default_rng(seed)
    for name, value in certificate.arrays.items():
        strange = of_other_kinds(value)
        if value.dtype.kind == "i":
            wide = value.astype(np.int64) * 0
            strange += [wide - 1, wide + rng.choice([-2**63, 2**63 - 1, 2**52, 2**31 - 1]),
                        value.astype(np.uint64), rng.integers(-2, 9, value.shape),
                        rng.permutation(value.ravel()).reshape(value.shape)]
        if name == "units" and value.size:
            places = np.arange(len(value))
            strange += [np.where(places == at, odd, value) for at in places for odd in (
                -1, 0, np.nan, np.inf, 1e-320, 3, 1e300, 2.0**600, 2.0**-600)]
        elif value.dtype.kind == "f":
            strange += [value * 0 + odd for odd in (-1, 0, np.nan, np.inf, 1e-320, 3, 1e300)]
        check_refused_or_true(certificate, name, strange, X, y)


def test_rows_that_cannot_be_used_are_refused():
    X, y, certificate = example()
    missing, infinite = X.astype(float), X.astype(float)
    missing[3, 1], infinite[3, 1] = np.nan, np.inf
    for data in ((missing, y), (infinite, y), (X, y[:-1]), (X[:, 0], y), (X, y, -np.ones(60)),
                 (X, y, np.zeros(60)), (X, y, np.full(60, np.nan)), (X[:0], y[:0])):
        with pytest.raises(NotProved, match="strange data"):
            check(saved(certificate.arrays), *data)
    targets = MurTreeRegressor(max_depth=2).fit(X, y * 1.0).certificate(X, y * 1.0)
    with pytest.raises(NotProved, match="strange data"):
        check(saved(targets.arrays), X, np.where(y, "yes", "no"))
    with pytest.raises(NotProved, match="other data"):
        check(saved(targets.arrays), X, np.where(y, np.nan, 0.0))


def test_a_file_that_is_none_is_refused(tmp_path, monkeypatch):
    X, y, certificate = example()
    path = tmp_path / "proof"
    certificate.save(path)
    content = path.read_bytes()
    damaged = content.replace(content[300:310], bytes(10))
    for wrong in (b"", b"PK\3\4", content[:-30], damaged, b"\x80\4N."):
        path.write_bytes(wrong)
        with pytest.raises(NotProved, match="not a certificate"):
            check(path, X, y)
    for missing in certificate.arrays:
        fewer = {name: value for name, value in certificate.arrays.items() if name != missing}
        for arrays in (fewer, {**certificate.arrays, "more": np.zeros(1)}):
            with pytest.raises(NotProved, match="its arrays"):
                check(saved(arrays), X, y)
    with pytest.raises(NotProved, match="not a certificate"):
        check(tmp_path / "absent", X, y)
    monkeypatch.setattr(certificate_file, "MOST_BYTES", 1000)
    with pytest.raises(NotProved, match="its size"):
        check(saved(certificate.arrays), X, y)


def test_the_checker_shares_nothing_and_stays_a_page():
    source = Path(checker.__file__).read_text()
    imported = {name.name for node in ast.walk(ast.parse(source))
                if isinstance(node, ast.Import) for name in node.names}
    assert imported == {"hashlib", "numpy"}
    others = {node.module for node in ast.walk(ast.parse(source))
              if isinstance(node, ast.ImportFrom)}
    assert others == {"odtbook.certificate_file", "odtbook.check_candidates", "odtbook.check_costs"}
    assert len(source.splitlines()) <= 150
    for module, its in ((certificate_file, {"numpy"}), (check_costs, {
            "collections", "numpy", "odtbook.certificate_file"})):
        source = Path(module.__file__).read_text()
        nodes = list(ast.walk(ast.parse(source)))
        assert {node.names[0].name for node in nodes if isinstance(node, ast.Import)} | {
            node.module for node in nodes if isinstance(node, ast.ImportFrom)} == its
        assert len(source.splitlines()) <= 150


def test_columns_that_a_binariser_made():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(80) < 0.1)
    model = MurTreeClassifier(max_depth=3).fit(X, y)
    certificate = model.certificate(X, y)
    assert check(saved(certificate.arrays), model.binarizer_.transform(X), y) == certificate.claim
    assert certificate.lower_bound == model.report_.objective


@pytest.mark.parametrize("options", [{"time_limit": 1e-6}, {"search": MurTreeSearch(lookahead=2)},
                                     {"search": MurTreeSearch(lookahead=2), "split_penalty": 0.5}])
def test_a_fit_without_a_proof_certifies_its_bound(options):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (70, 9))
    y = X[:, :4].sum(axis=1) % 2 ^ (rng.random(70) < 0.1)
    model = MurTreeClassifier(max_depth=4, **options).fit(X, y)
    certificate = model.certificate(X, y)
    check(saved(certificate.arrays), X, y)
    assert certificate.lower_bound <= model.report_.lower_bound
    if "time_limit" not in options:
        assert certificate.lower_bound == model.report_.lower_bound
        assert bool(certificate.lower_bound) == ("split_penalty" in options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_that_a_limit_ended_certifies_its_bound(kind):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (600, 60)) if kind in ("columns", "squares") else rng.random((300, 4))
    y = rng.integers(0, 2, len(X)) * (1.0 if "squares" in kind else 1)
    model = KINDS[kind](max_depth=5, time_limit=0.05).fit(X, y)
    certificate = model.certificate(X, y)
    assert check(saved(certificate.arrays), X, y) == certificate.claim
    assert model.report_.status == "time_limit"
    assert certificate.lower_bound <= model.report_.lower_bound


def test_what_has_no_certificate_is_refused():
    X, y, _ = example()
    groups = np.arange(60) % 2
    fits = [({"objective": "f1"}, {}, "no proof for objective='f1'"),
            ({"objective": "balanced-accuracy"}, {}, "no proof for objective"),
            ({"class_weight": "balanced"}, {}, "sample_weight"),
            ({"split_penalty": [1, 2, 3]}, {}, "one split_penalty"),
            ({"max_disparity": 0.5}, {"protected": groups}, "max_disparity"),
            ({}, {"costs": np.ones((60, 2))}, "costs")]
    for limits, given, message in fits:
        model = MurTreeClassifier(**({"max_depth": 3} | limits)).fit(X, y, **given)
        with pytest.raises(ValueError, match=message):
            model.certificate(X, y)
    rows = np.random.default_rng(0).integers(0, 2, (70, 8))
    deep = MurTreeClassifier(max_depth=None, max_nodes=65).fit(rows, rows.sum(axis=1) > 6)
    with pytest.raises(ValueError, match="the limits leave 65; it takes at most 64"):
        deep.certificate(rows, rows.sum(axis=1) > 6)
    with pytest.raises(ValueError, match="rows and weights of the fit"):
        MurTreeClassifier(max_depth=2).fit(X, y).certificate(X, ~y)
    median = MurTreeRegressor(max_depth=2, loss="absolute_error").fit(X, y * 1.0)
    with pytest.raises(ValueError, match="loss='absolute_error'"):
        median.certificate(X, y * 1.0)
    gaps = np.where(np.arange(8) == X[:, :1], np.nan, X)
    with pytest.raises(ValueError, match="missing values"):
        ContinuousTreeClassifier(max_depth=2).fit(gaps, y).certificate(gaps, y)
