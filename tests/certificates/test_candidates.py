"""Certificates over candidate splits: the checker tries all trees, and so does a slow reference."""

import ast
from pathlib import Path

import numpy as np
import pytest
from certificates.files import check_refused_or_true, of_other_kinds, saved, stamped
from naive import as_set, best_over_lists, members

import odtbook.check_candidates as checker
from odtbook.check_certificate import NotProved, check
from odtlib import ColumnGenerationClassifier, RestrictedTreeClassifier
from odtlib.column_generation import ColumnGenerationSearch, TreeLimits


def problem(seed):
    """Return random rows, labels, weights or None, candidate splits of each node, and limits."""
    rng = np.random.default_rng(seed)
    n, p, depth = rng.integers(2, 24), rng.integers(1, 4), rng.choice([1, 2, 2, 3])
    X = rng.integers(0, rng.integers(2, 6), (n, p)) * 1.5
    y = rng.integers(0, rng.integers(1, 4), n)
    weight = (None, None, rng.integers(0, 4, n).astype(float), rng.random(n))[rng.integers(4)]
    if weight is not None and not weight.any():
        weight = None
    most = 2 if depth == 3 else 5
    splits = [[(int(rng.integers(p)), float(rng.choice([-1.0, 0.7, 1.5, 2.2, 3.1, 9.0])))
               for _ in range(rng.integers(1, most + 1))] for _ in range(2**depth - 1)]
    limits = {}
    if rng.random() < 0.3:
        limits["max_leaf_nodes"] = int(rng.integers(2, 9))
    if rng.random() < 0.3:
        used = n if weight is None else np.count_nonzero(weight)
        limits["min_samples_leaf"] = int(rng.integers(1, min(4, used + 1)))
    if rng.random() < 0.3:
        limits["split_penalty"] = float(rng.choice([0.25, 1.0, 2.0]))
    return X, y, weight, splits, limits


def optimum(X, y, weight, splits, max_leaf_nodes=10**6, min_samples_leaf=1, split_penalty=0.0):
    """Return the least cost of all choices at each node: of a candidate, or that it is a leaf."""
    weight = np.ones(len(y)) if weight is None else weight
    X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]

    def errors(rows):
        rows = members(rows)
        return np.sort(np.bincount(y[rows], weight[rows]))[:-1].sum()

    lists = {node: {(j, t): as_set(X[:, j] <= t) for j, t in candidates}
             for node, candidates in enumerate(splits)}
    return best_over_lists(lists, len(y), errors, max_leaf_nodes - 1, min_samples_leaf,
                           split_penalty)


def total(weight, y, split_penalty=0.0, **limits):
    """Return the scale of the rounding."""
    return split_penalty + (len(y) if weight is None else weight.sum())


@pytest.mark.parametrize("splits", [None, "all"])
@pytest.mark.parametrize("kind", [RestrictedTreeClassifier, ColumnGenerationClassifier])
def test_without_a_candidate_a_leaf_is_proved(kind, splits):
    X, y = np.ones((5, 2)), np.array([0, 1, 1, 0, 1])
    model = kind(3, splits=splits).fit(X, y)
    assert model.tree_.n_leaves == 1
    assert (model.report_.status, model.report_.objective) == ("optimal", 2)
    assert model.report_.proof == "optimal for 0 candidate splits at depth 3"
    assert "fewer than 2 errors" in check(saved(model.certificate(X, y).arrays), X, y)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(150))
def test_a_certificate_passes_and_claims_the_optimum(seed):
    X, y, weight, splits, limits = problem(seed)
    kinds = [RestrictedTreeClassifier]
    if seed % 5 == 0:
        kinds.append(ColumnGenerationClassifier)
    best = optimum(X, y, weight, splits, **limits)
    for kind in kinds:
        model = kind(None, splits=splits, **limits).fit(X, y, weight)
        certificate = model.certificate(X, y, weight)
        assert check(saved(certificate.arrays), X, y, weight) == certificate.claim
        slack = 2e-9 * total(weight, y, **limits)
        assert certificate.lower_bound <= best * (1 + 1e-14)
        if model.report_.status == "optimal":
            assert certificate.lower_bound >= best - slack
            if weight is None and limits.get("split_penalty", 0) % 1 == 0:
                assert certificate.lower_bound == best


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(30))
def test_no_forged_certificate_passes_with_a_false_claim(seed):
    """20 lies about each problem; those that leave the claim true may pass."""
    X, y, weight, splits, limits = problem(seed + 5000)
    rng = np.random.default_rng(seed)
    arrays = RestrictedTreeClassifier(None, splits=splits, **limits).fit(
        X, y, weight).certificate(X, y, weight).arrays
    passed = 0
    for _ in range(20):
        new, rows, labels, given = {k: v.copy() for k, v in arrays.items()}, X, y, weight
        new["units"][0] += rng.choice([0, 1])                   # a better bound
        n_lists = len(arrays["lists"])
        kind, line = rng.integers(0 if n_lists else 3, 8), rng.integers(max(1, n_lists))
        if kind == 0:
            new["lists"] = np.delete(new["lists"], line, axis=0)
        elif kind == 1:                                         # a candidate of another node
            new["lists"][line, 0] = rng.integers(len(splits))
        elif kind == 2:
            new["lists"][line, 1:] = rng.integers(X.shape[1]), rng.choice([0.0, 1.5, 3.0])
        elif kind == 3:
            new["limits"][1 + rng.integers(3)] += rng.choice([-1, 1])
        elif kind == 4:
            new["units"][1] *= rng.choice([0.5, 2])
        elif kind == 5:
            labels = rng.permutation(y)
        elif kind == 6:
            rows = rng.permutation(X)
        else:
            given = rng.integers(1, 3, len(y)) * 1.0 if weight is None else rng.permutation(weight)
        stamped(new, rows, labels, given)
        try:
            check(saved(new), rows, labels, given)
        except NotProved:
            continue
        passed += 1
        _, depth, nodes, least = map(int, new["limits"])
        lists = [[(int(f), t) for at, f, t in new["lists"] if at == node]
                 for node in range(2**depth - 1)]
        best = optimum(rows, labels, given, lists, nodes + 1, least, float(new["units"][1]))
        assert new["units"][0] <= best * (1 + 1e-15), new["claim"]
    assert passed or seed, "no lie left a claim true"


def example():
    """Return rows, labels, and a certificate with several candidates at each node."""
    rng = np.random.default_rng(1)
    X = rng.random((60, 3))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5) ^ (rng.random(60) < 0.1)
    model = RestrictedTreeClassifier(max_depth=3).fit(X, y)
    return X, y, model.certificate(X, y)


@pytest.mark.parametrize("seed", range(3))
def test_a_strange_file_is_refused_in_words(seed):
    X, y, certificate = example()
    rng = np.random.default_rng(seed)
    for name, value in certificate.arrays.items():
        strange = of_other_kinds(value)
        if value.dtype.kind in "if":
            strange += [value * 0 + odd for odd in (-1, 2**31, 2**52, 7, 29)]
            strange += [rng.permutation(value.ravel()).reshape(value.shape)]
        if value.dtype.kind == "f":
            strange += [value * 0 + odd for odd in (np.inf, -np.inf, 1e-320, 1e300, 0.5)]
        check_refused_or_true(certificate, name, strange, X, y)


def test_a_claim_of_one_error_more_is_refused():
    X, y, certificate = example()
    assert certificate.claim == check(saved(certificate.arrays), X, y)
    bound = certificate.lower_bound
    new = {**certificate.arrays, "units": np.array([bound + 1, 0.0])}
    with pytest.raises(NotProved, match=f"says {bound + 1:g}, and the best tree costs {bound:g}"):
        check(saved(new), X, y)
    with pytest.raises(NotProved, match="other data"):
        check(saved(certificate.arrays), X, ~y)
    with pytest.raises(NotProved, match="its arrays"):
        check(saved({**certificate.arrays, "bound": np.zeros((1, 1))}), X, y)


def test_a_depth_of_which_the_lists_say_nothing_is_checked_at_once():
    X, y, certificate = example()
    for nodes in (2**30 - 1, 2**30 - 2):
        arrays = {**certificate.arrays, "limits": np.array([1, 30, nodes, 1])}
        with pytest.raises(NotProved, match="the claim in words"):
            check(saved(arrays), X, y)


def test_what_has_no_certificate_is_refused():
    X, y, _ = example()
    limited = ColumnGenerationClassifier(
        2, limits=TreeLimits(max_feature_cost=1),
        search=ColumnGenerationSearch(integer="branch-and-price")).fit(X, y)
    with pytest.raises(ValueError, match="no proof for limits="):
        limited.certificate(X, y)
    with pytest.raises(ValueError, match="no proof for distinct_splits=True"):
        RestrictedTreeClassifier(2, distinct_splits=True).fit(X, y).certificate(X, y)
    rows, labels = np.random.default_rng(0).random((300, 3)), np.arange(300) % 2
    large = RestrictedTreeClassifier(3, splits="all", time_limit=2).fit(rows, labels)
    with pytest.raises(ValueError, match="trying all paths"):
        large.certificate(rows, labels)


def test_a_second_fit_forgets_the_candidates_of_the_first():
    X, y, _ = example()
    model = RestrictedTreeClassifier(max_depth=2).fit(X, y)
    model.set_params(max_depth=0).fit(X, y)
    certificate = model.certificate(X, y)
    assert check(saved(certificate.arrays), X, y).startswith("no tree of depth 0 over the 0 cand")
    assert certificate.lower_bound == model.report_.objective


def test_the_checker_shares_nothing_with_the_solvers():
    tree = ast.parse(Path(checker.__file__).read_text())
    modules = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [getattr(node, "module", node.names[0].name) for node in modules] == [
        "numpy", "odtbook.certificate_file"]
