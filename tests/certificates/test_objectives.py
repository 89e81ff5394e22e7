"""Proofs about other costs than errors and squares: true ones are accepted, forged ones are not."""

import warnings
from fractions import Fraction
from itertools import accumulate
from math import fsum, log

import naive
import numpy as np
import pytest
from certificates.files import saved
from certificates.forgery import forged

from odtbook.check_certificate import NotProved, check
from odtbook.check_costs import costs_of
from odtlib import MurTreeClassifier, MurTreeRegressor, SurvivalTree
from odtlib.certificate import fingerprint
from odtlib.objectives import AdditiveObjective, LinearLeaves, Poisson, SquaredError

SCALE_OF = {"gini": "Brier score", "entropy": "log loss", "poisson": "half the Poisson deviance",
            "survival": "log likelihood of survival"}


def pinball(X, y, weight):
    """Return numbers whose sums give the loss of three quantiles on a grid of predictions."""
    grid = np.array([-1.0, 0.0, 1.0])
    return weight[:, None] * np.maximum(0.8 * (y[:, None] - grid), 0.2 * (grid - y[:, None]))


def smallest(sums):
    least = sums[0]
    for k in range(1, len(sums)):
        least = min(least, sums[k])
    return least


QUANTILE = AdditiveObjective(pinball, smallest, lambda sums: float(np.argmin(sums) - 1))
OTHERS = {"quantile": QUANTILE, "line": LinearLeaves([0]), "exposure": Poisson(0),
          "two targets": SquaredError()}
KINDS = [*SCALE_OF, *OTHERS]


def drawn(kind, seed):
    """Return a model, rows, targets, weights (None where each is one) and limits."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n, p = int(rng.integers(2, 11)), int(rng.integers(1, 5))
    X = (rng.random((n, p)) < rng.choice([0.3, 0.5])).astype(float)
    weight = (None, None, rng.integers(0, 4, n) * 1.0, rng.random(n) + 0.01,
              10.0**rng.uniform(-6, 6, n))[rng.integers(5)]
    if weight is not None and not weight.any():
        weight[0] = 1.0
    limits = {"max_depth": int(rng.integers(0, 5))}
    if rng.random() < 0.3:
        limits["max_nodes"] = int(rng.integers(0, 6))
    if rng.random() < 0.3:
        limits["min_samples_leaf"] = int(rng.integers(1, 4))
    if rng.random() < 0.4:
        limits["split_penalty"] = float(rng.choice([1e-3, 0.1, 1.0, 1e9]))
    if kind in ("gini", "entropy"):
        y = rng.integers(0, rng.integers(1, 4), n)
        return MurTreeClassifier(objective=kind, **limits), X, y, weight, limits
    if kind == "survival":
        y = np.column_stack([rng.random(n) < 0.7, rng.integers(1, 6, n) * 1.0])
        y[0 if weight is None else np.argmax(weight), 0] = 1.0      # some row has its event
        return SurvivalTree(**limits), X, y, weight, limits
    if kind in ("poisson", "exposure"):
        y = rng.poisson(rng.choice([0.5, 3.0, 50.0]), n) * 1.0
    elif kind == "two targets":
        y = rng.normal(size=(n, 2))
    else:
        y = rng.normal(size=n) * rng.choice([1.0, 1e4]) if kind == "line" else rng.integers(
            -2, 3, n) * 1.0
    if kind in ("exposure", "line"):
        X[:, 0] = rng.choice([0.5, 1.0, 2.0], n)        # a regressor, and a feature that is split
    return MurTreeRegressor(loss=OTHERS.get(kind, kind), binarizer="all", **limits), X, y, weight, \
        limits


def leaves_of(kind, X, y, weight):
    """Return what every set of rows costs as a leaf."""
    if kind == "survival":
        return naive.survival_leaves(*y.T, weight)
    if kind in ("poisson", "exposure"):
        return naive.poisson_leaves(y, weight, X[:, 0] if kind == "exposure" else np.ones(len(y)))
    if kind == "quantile":
        return naive.least_of_sums(pinball(None, y, weight))
    if kind == "line":
        return naive.line_leaves(X, y, weight, [0], 0.0)
    return {"gini": naive.gini_leaves, "entropy": naive.entropy_leaves,
            "two targets": naive.square_leaves}[kind](y, weight)


def least(kind, X, y, weight, splits, depth, nodes, min_leaf, penalty):
    """Return what the best tree costs, and a single leaf, by trying all."""
    w = np.ones(len(y)) if weight is None else weight
    used = w > 0
    leaf, n = leaves_of(kind, X[used], y[used], w[used]), int(used.sum())
    depth = min(depth, n - 1)
    tests = [naive.as_set(column == 1) for column in splits[used].T]
    return naive.least_costs(leaf, tests, n, depth, [min(nodes, n - 1, 2**depth - 1)],
                             max(1, min_leaf), penalty)[0], float(leaf[-1])


def arguments(model, kind, X, y, weight):
    """Return the rows, targets (or numbers), weights and cost for the checker."""
    splits = model.binarizer_.transform(X) if model.binarizer_ is not None else X
    if kind not in OTHERS:
        return (splits, y, weight), {}
    w, objective = np.ones(len(y)) if weight is None else weight, OTHERS[kind]
    used = w > 0
    made = objective.statistics(X[used], y[used], w[used])
    numbers, *constant = made if isinstance(made, tuple) else (made,)
    full = np.zeros((len(y), numbers.shape[1]))
    full[used] = numbers
    return (splits, (full, *constant) if constant else full, weight), {
        "leaf_cost": objective.leaf_cost}


def certified(kind, seed):
    """Return a problem, its certificate, and what the checker is given."""
    model, X, y, weight, limits = drawn(kind, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, weight)
        certificate = model.certificate(X, y, weight)
    return (model, X, y, weight, limits), certificate, *arguments(model, kind, X, y, weight)


def rounding(kind, leaf, y, weight):
    """Return what a bound may lack, and exceed, for the rounding of sums and costs."""
    numbers = np.zeros(len(y)) if kind in ("gini", "entropy", "survival") else y
    size = ((1.0 if weight is None else weight) * (1 + (numbers.reshape(len(y), -1)**2).sum(
        axis=1))).sum()
    return (1e-7 * leaf + 1e-8 * size, 1e-14 * (leaf + size)) if kind in SCALE_OF else (
        1e-6 * leaf + 1e-8 * size, 1e-9 * (leaf + size))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(60))
def test_a_proof_of_an_objective_passes_and_claims_the_optimum(kind, seed):
    (model, X, y, weight, limits), certificate, data, given = certified(kind, seed)
    claim = check(saved(certificate.arrays), *data, **given)
    assert claim == certificate.claim
    assert f" by {SCALE_OF.get(kind, 'the leaf costs given, up to rounding,')}" in claim
    best, leaf = least(kind, X, y, weight, np.asarray(data[0]), limits["max_depth"],
                       limits.get("max_nodes", 99), limits.get("min_samples_leaf", 1),
                       limits.get("split_penalty", 0.0))
    below, above = rounding(kind, leaf, y, weight)
    assert best - below <= certificate.lower_bound <= best + above, (claim, best)
    assert f" {float(certificate.lower_bound)!r}".removesuffix(".0") in claim


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(20))
def test_no_forged_proof_of_an_objective_passes_with_a_false_claim(kind, seed):
    rng = np.random.default_rng(seed)
    (_, X, y, weight, limits), certificate, data, given = certified(kind, seed + 1000)
    others = certified(KINDS[rng.integers(len(KINDS))], seed + 2000)[1].arrays
    for _ in range(15):
        new = forged(rng, certificate.arrays, others)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                claim = passed(new, data, given)
        except (NotProved, TypeError, OverflowError):
            continue
        _, depth, nodes, min_leaf = map(int, new["limits"])
        best, leaf = least(kind_of(new, kind), X, y, weight, np.asarray(data[0]), depth, nodes,
                           min_leaf, float(new["units"][1]))
        said = float(claim.split("less than " if "less" in claim else "fewer than ")[1].split()[
            0].strip(","))
        assert said <= best + rounding(kind, leaf, y, weight)[1], claim


def kind_of(arrays, kind):
    """Return the kind that a file is about, where it is about something else than was drawn."""
    said = str(arrays.get("objective", "errors"))
    return kind if said == "given" else said


def passed(arrays, data, given):
    """Return the claim, with the fingerprint and the words that fit the numbers."""
    X, y, weight = data
    weight = np.ones(len(X)) if weight is None else weight
    used = weight > 0
    if given:
        y = np.zeros(0)
    elif str(arrays.get("objective")) in ("gini", "entropy"):
        y = np.unique(y[used], return_inverse=True)[1]
    else:
        y = y[used]
    arrays["fingerprint"] = fingerprint(np.asarray(X, float)[used], np.asarray(y, float),
                                        weight[used])
    try:
        return check(saved({**arrays, "claim": np.array("")}), *data, **given)
    except NotProved as error:
        if not str(error).startswith("the claim in words"):
            raise
        return str(error).split(": ", 1)[1]


def example():
    """Return rows, counts, and the certificate of a tree of counts."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (80, 6))
    y = rng.poisson(1 + X[:, 0] + 2 * X[:, 1] * X[:, 2]) * 1.0
    return X, y, MurTreeRegressor(3, loss="poisson").fit(X, y).certificate(X, y)


def test_a_proof_is_of_its_objective_alone():
    X, y, certificate = example()
    assert "reference" in certificate.arrays and len(certificate) > 10
    assert "half the Poisson deviance" in check(saved(certificate.arrays), X, y)
    for name in ("gini", "entropy", "survival", "given", "squares", "errors", "?"):
        with pytest.raises(NotProved):
            check(saved({**certificate.arrays, "objective": np.array(name)}), X, y)
    with pytest.raises(NotProved, match="its arrays"):
        check(saved({**certificate.arrays, "objective": np.array(1)}), X, y)
    with pytest.raises(NotProved, match="about poisson, whose cost"):
        check(saved(certificate.arrays), X, y, leaf_cost=abs)
    with pytest.raises(NotProved, match="negative counts"):
        check(saved(certificate.arrays), X, -y)


def test_given_costs_are_those_that_are_checked():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 5)), rng.integers(-2, 3, 60) * 1.0
    model = MurTreeRegressor(3, loss=QUANTILE).fit(X, y)
    arrays, numbers = model.certificate(X, y).arrays, pinball(X, y, np.ones(60))
    assert "by the leaf costs given, up to rounding," in check(saved(arrays), X, numbers,
                                                               leaf_cost=smallest)
    with pytest.raises(NotProved, match="your own; give its leaf_cost"):
        check(saved(arrays), X, numbers)
    with pytest.raises(NotProved, match="line"):        # lower costs do not follow
        check(saved(arrays), X, 0.9 * numbers, leaf_cost=smallest)
    with pytest.raises(NotProved, match="negative"):
        check(saved(arrays), X, numbers, leaf_cost=lambda sums: smallest(sums) - 3.0)
    with pytest.raises(NotProved, match="negative|range"):
        check(saved(arrays), X, numbers, leaf_cost=lambda sums: np.nan)
    for strange in (numbers[:-1], numbers[:, 0], numbers * np.nan):
        with pytest.raises(NotProved, match="strange data"):
            check(saved(arrays), X, strange, leaf_cost=smallest)


def test_events_and_times_are_read_as_they_were_fitted():
    rng = np.random.default_rng(1)
    X, time = rng.integers(0, 2, (50, 4)), rng.exponential(size=50)
    event = rng.random(50) < 0.7
    y = np.array(list(zip(event, time, strict=True)), [("event", bool), ("time", float)])
    certificate = SurvivalTree(2).fit(X, y).certificate(X, y)
    for known in (y, np.column_stack([event, time])):
        assert check(saved(certificate.arrays), X, known) == certificate.claim
    with pytest.raises(NotProved, match="whether there was an event"):
        check(saved(certificate.arrays), X, np.column_stack([time, event]))


def single_leaf(objective, X, y, weight, unit, bound, leaf_cost=None):
    """Return the claim of a file that says how many units a leaf of all rows costs."""
    arrays = {"objective": np.array(objective), "units": np.array([unit, 0.0]),
              "limits": np.array([3, 0, 0, 1]), "tests": np.zeros(0, int), "depth": np.array([0]),
              "bound": np.array([[bound]]), "table": np.array([-1]),
              "reference": np.zeros((0, 0, 2), int)}            # no column of X varies
    return passed(arrays, (X, y, weight), {"leaf_cost": leaf_cost} if leaf_cost else {})


def test_numbers_that_floating_point_cannot_square_prove_nothing():
    """Squares and exposures that are lost: a pure leaf, and the one row with a count."""
    X, weight = np.zeros((2, 1)), np.full(2, 1e-170)
    with pytest.raises(NotProved, match="what follows is 0"):
        single_leaf("gini", X, np.zeros(2), weight, 2.0**-600, int(1.9e-170 * 2.0**600))
    units, y = np.array([1.0, 0.0]), np.array([0, 0, 1e304])
    for row in range(1, 500):           # an exposure of a few bits
        weight = np.array([1e-18, 1e-18, row * 5e-324])
        with np.errstate(all="ignore"):
            costs = costs_of("poisson", units, y, weight, None)
        events, share = weight[2] * y[2], weight[2] / 1e-18
        true = events * (log(1e304) - log(events / 1e-18) + log(1 + share))
        found = costs.cost(costs.numbers[1:].sum(axis=0)[:, None])[0]
        assert not found > true * (1 + 1e-12), (row, found, true)


def test_the_times_of_very_many_rows_are_added_up_exactly():
    """The same weight a quarter of a million times, whose running sum is always rounded up."""
    n = 2**18 - 1
    weight, time = np.full(n, 1 + 0.51 * 2.0**-35), np.arange(n) * 1.0
    costs = costs_of("survival", np.array([1.0, 0.0]), np.column_stack([np.ones(n), time]), weight,
                     None)
    risk = accumulate((1 << 200) // (n - k) for k in range(n))      # the times are 0, 1, 2 ...
    true = -weight[0] * fsum(log(part / (1 << 200)) for part in risk)
    assert true - 1e-5 < costs.cost(costs.numbers.sum(axis=0)[:, None])[0] < true


def test_light_rows_that_die_beside_heavy_ones_are_counted():
    """What sums of all rows lose is much, beside those that are still at risk."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        weight, time = 1e-12 * rng.random(8), np.arange(8.0)
        weight[:3] = 1e12 * rng.random(3)
        known = np.column_stack([time > 2, time])
        costs = costs_of("survival", np.array([1.0, 0.0]), known, weight, None)
        w = [Fraction(one) for one in weight[3:]]
        risk = list(accumulate(own / sum(w[k:]) for k, own in enumerate(w)))
        true = fsum(weight[3:] * [-log(one) for one in risk]) - sum(w) * log(
            sum(w) / sum(a * b for a, b in zip(w, risk, strict=True)))
        found = costs.cost(costs.numbers[3:].sum(axis=0)[:, None])[0]
        assert true * (1 - 1e-9) < found < true


def test_heavy_rows_are_proved_too():
    rng = np.random.default_rng(0)
    X, y, weight = rng.integers(0, 2, (40, 4)), rng.integers(0, 3, 40), rng.random(40) * 1e16
    for model in (MurTreeClassifier(2, objective="entropy"), MurTreeRegressor(2, loss="poisson")):
        proof = model.fit(X, y, weight).certificate(X, y, weight)
        assert check(saved(proof.arrays), X, y, weight) == proof.claim
        assert proof.lower_bound == pytest.approx(model.report_.objective, rel=1e-8)


def test_what_every_tree_costs_is_added_once():
    """Whatever the unit of the file; and it is a number."""
    X, numbers = np.zeros((2, 1)), np.ones((2, 1))
    for constant in (1.0, -3.0, 1e300):
        claim = single_leaf("given", X, (numbers, constant), None, 5e-324, 0, lambda sums: 0.0)
        assert f"less than {constant!r} ".replace(".0 ", " ") in claim
    for constant in (np.inf, np.nan, "x", None, 1j, [1.0, 2.0]):
        with pytest.raises(NotProved, match="strange data"):
            single_leaf("given", X, (numbers, constant), None, 1.0, 0, lambda sums: 0.0)
    for y in ((numbers, 1.0, 2.0), (), (numbers,) * 2, np.zeros((2, 0))):
        with pytest.raises(NotProved, match="strange data"):
            single_leaf("given", X, y, None, 1.0, 0, lambda sums: 0.0)


def test_a_leaf_cost_has_to_return_one_number():
    X, numbers = np.zeros((2, 1)), np.ones((2, 1))
    for strange in (lambda sums: [1.0, 2.0], lambda sums: 1j, lambda sums: np.complex128(1),
                    lambda sums: "1", lambda sums: [], lambda sums: {}):
        with pytest.raises(NotProved, match="one number"):
            single_leaf("given", X, numbers, None, 1.0, 0, strange)
    for strange in (lambda sums: None, lambda sums: np.nan, lambda sums: np.inf,
                    lambda sums: -1.0):
        with pytest.raises(NotProved, match="finite number|out of range"):
            single_leaf("given", X, numbers, None, 1.0, 0, strange)
    with pytest.raises(ZeroDivisionError):          # the reader's own error is shown
        single_leaf("given", X, numbers, None, 1.0, 0, lambda sums: 1 // 0)
