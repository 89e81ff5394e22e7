"""Forgers who know the checker: whatever passes is true, and no small file takes long."""

import io
import tracemalloc
import warnings

import numpy as np
import pytest
from certificates.files import saved, stamped
from certificates.forgery import CLAIM, drawn, forgeries, judged, look_at

from odtbook.certificate_file import text
from odtbook.check_certificate import NotProved, check
from odtlib import (
    ContinuousTreeClassifier,
    ContinuousTreeRegressor,
    MurTreeClassifier,
    MurTreeRegressor,
    RestrictedTreeClassifier,
)
from odtlib.certificate import fingerprint


@pytest.mark.parametrize("seed", range(60))
def test_a_true_certificate_of_any_kind_is_accepted(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        look_at(seed)


@pytest.mark.parametrize("seed", range(30))
def test_a_mechanical_forgery_proves_nothing_false(seed):
    forgeries(seed + 10**6, 20)


def test_forgeries_are_close_enough_to_the_truth_to_pass():
    assert sum(forgeries(seed, 20) for seed in range(3)) > 3


VOTES = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
MAJORITY = (VOTES.sum(axis=1) >= 2).astype(int)
ONE, PAIRS = np.int64(1), np.array([[[0, 1], [2, 3], [4, 5]]])
HAND = {"units": np.array([1.0, 0.0]), "limits": np.array([3, 2, 3, 1]),
        "tests": np.arange(6), "depth": np.array([1] * 6 + [2]),
        "bound": np.array([[1]] * 6 + [[2]]), "table": np.array([-1] * 6 + [0]),
        "reference": PAIRS}
LISTS = {"units": np.array([2.0, 0.0]), "limits": np.array([1, 2, 3, 1]),
         "lists": np.array([(node, j, 0.5) for node in range(3) for j in range(3)])}
SQUARES = {"units": np.array([2.0**-40, 0.0, 0.5, 2.0**20]), "limits": np.array([3, 1, 1, 1]),
           "tests": np.zeros(0, int), "depth": np.array([1]), "bound": np.array([[2**40]]),
           "table": np.array([-1]), "reference": np.zeros((0, 3, 2), int)}
BASES = {"lines": HAND, "lists": LISTS, "squares": SQUARES}


def put(name, at, value):
    """Return a lie: an array with another number in one place."""
    def lie(arrays):
        array = arrays[name] * ONE if arrays[name].dtype.kind == "i" else arrays[name].copy()
        array[at] = value
        return {name: array}
    return lie


def as_is(**arrays):
    """Return a lie: other arrays."""
    return lambda _: {name: np.array(array) for name, array in arrays.items()}


LIES = {
    # more is claimed
    "one error more": ("lines", put("bound", 6, 3)),
    "one side more": ("lines", put("bound", 0, 2)),
    "all sides and the claim more": ("lines", as_is(bound=[[2]] * 6 + [[4]])),
    "a hundred errors": ("lines", put("bound", 6, 100)),
    "a bound below zero": ("lines", put("bound", 6, -1)),
    "a side below zero": ("lines", put("bound", 0, -2**62)),
    "the largest bound": ("lines", put("bound", 6, 2**63 - 1)),
    "one error more, counted": ("lines", lambda a: put("table", 6, -1)(a) | put("bound", 6, 3)(a)
                                | as_is(reference=np.zeros((0, 3, 2), int))(a)),
    # units
    "five units": ("lines", as_is(units=[1.0, 0, 0, 0.5, 0])),
    "three units": ("lines", as_is(units=[1.0, 0, 0])),
    "one unit": ("lines", as_is(units=[1.0])),
    "no unit": ("lines", as_is(units=np.zeros(0))),
    "six units": ("lines", as_is(units=[1.0, 0, 0, 0.5, 0, 0])),
    "four units of labels": ("lines", as_is(units=[1.0, 0, 0, 1.0])),
    "two units of a squared error": ("squares", as_is(units=[1.0, 0])),
    "a doubled unit": ("lines", put("units", 0, 2.0)),
    "a negative unit": ("lines", put("units", 0, -1.0)),
    "a unit of zero": ("lines", put("units", 0, 0.0)),
    "an infinite unit": ("lines", put("units", 0, np.inf)),
    "a unit that is no number": ("lines", put("units", 0, np.nan)),
    "the least unit": ("lines", put("units", 0, 5e-324)),
    "three as a unit": ("lines", put("units", 0, 3.0)),
    "a negative penalty": ("lines", put("units", 1, -1.0)),
    "a penalty that is no number": ("lines", put("units", 1, np.nan)),
    "an infinite penalty": ("lines", put("units", 1, np.inf)),
    "a penalty, and more": ("lines", lambda a: put("units", 1, 0.5)(a) | put("bound", 6, 4)(a)),
    "a penalty below six digits": ("lines", put("units", 1, 1e-7)),
    "a penalty of a seventh digit": ("lines", put("units", 1, 1.0000004)),
    "single precision": ("lines", as_is(units=np.array([1, 0], np.float32))),
    "long numbers": ("lines", as_is(units=np.array([1, 0], np.longdouble))),
    "whole units": ("lines", as_is(units=[1, 0])),
    "another scale": ("squares", put("units", 3, 2.0**21)),
    "a scale of zero": ("squares", put("units", 3, 0.0)),
    "a negative scale": ("squares", put("units", 3, -2.0**20)),
    "a huge scale": ("squares", put("units", 3, 2.0**600)),
    "a scale that is no power": ("squares", put("units", 3, 3.0)),
    "a far centre": ("squares", put("units", 2, 1e300)),
    "a centre that is no number": ("squares", put("units", 2, np.nan)),
    "a squared error of two": ("squares", put("bound", 0, 2**41)),
    # limits
    "any depth": ("lines", put("limits", 1, 2**31 - 1)),
    "a deeper claim": ("lines", put("limits", 1, 3)),
    "a negative depth": ("lines", put("limits", 1, -1)),
    "beyond any depth": ("lines", put("limits", 1, 2**31)),
    "many nodes": ("lines", put("limits", 2, 2**62)),
    "negative nodes": ("lines", put("limits", 2, -1)),
    "fewer nodes": ("lines", put("limits", 2, 2)),
    "no nodes": ("lines", put("limits", 2, 0)),
    "larger leaves": ("lines", put("limits", 3, 3)),
    "leaves of no rows": ("lines", put("limits", 3, 0)),
    "leaves of fewer than no rows": ("lines", put("limits", 3, -5)),
    "another version": ("lines", put("limits", 0, 2)),
    "five limits": ("lines", as_is(limits=[3, 2, 3, 1, 9])),
    "three limits": ("lines", as_is(limits=[3, 2, 3])),
    # lines
    "a circle": ("lines", put("reference", (0, 0, 0), 6)),
    "a later line": ("lines", put("reference", (0, 0, 0), 7)),
    "a missing split": ("lines", put("reference", (0, 1, 0), -1)),
    "sides swapped": ("lines", lambda a: {"reference": a["reference"][:, :, ::-1]}),
    "a split left out": ("lines", as_is(reference=PAIRS[:, :2])),
    "one table for two lines": ("lines", put("table", 5, 0)),
    "a table that nobody uses": ("lines", as_is(reference=np.concatenate([PAIRS, PAIRS]))),
    "a table that is not there": ("lines", put("table", 6, 1)),
    "a reason of its own": ("lines", put("table", 6, -2)),
    "a test of no column": ("lines", put("tests", 0, 6)),
    "a negative test": ("lines", put("tests", 0, -1)),
    "one test twice": ("lines", put("tests", 1, 0)),
    "one test too many": ("lines", as_is(tests=np.arange(7))),
    "a last line of less depth": ("lines", put("depth", 6, 1)),
    "a line of too little depth": ("lines", put("depth", 0, 0)),
    "a negative depth left": ("lines", put("depth", 0, -1)),
    "no lines": ("lines", as_is(tests=np.zeros(0, int), depth=np.zeros(0, int),
                                bound=np.zeros((0, 1), int), table=np.zeros(0, int))),
    "bounds for three sizes": ("lines", as_is(bound=[[1] * 3] * 6 + [[2] * 3])),
    "bounds for no size": ("lines", as_is(bound=np.zeros((7, 0), int))),
    # candidates of nodes
    "a candidate left out": ("lists", lambda a: {"lists": a["lists"][1:],
                                                 "units": np.array([3.0, 0])}),
    "no candidates, and more": ("lists", as_is(lists=np.zeros((0, 3)), units=[5.0, 0])),
    "a candidate of no node": ("lists", put("lists", (0, 0), 3)),
    "a candidate of half a node": ("lists", put("lists", (0, 0), 0.5)),
    "a candidate of no feature": ("lists", put("lists", (0, 1), 3)),
    "a threshold that is no number": ("lists", put("lists", (0, 2), np.nan)),
    "an infinite threshold": ("lists", put("lists", (0, 2), np.inf)),
    "one error more than the lists": ("lists", put("units", 0, 3.0)),
    "an infinite bound": ("lists", put("units", 0, np.inf)),
    "a bound that is no number": ("lists", put("units", 0, np.nan)),
    "four units of lists": ("lists", as_is(units=[2.0, 0, 0, 1])),
    "a deep claim": ("lists", put("limits", 1, 30)),
    "a claim beyond all depths": ("lists", put("limits", 1, 31)),
    "large leaves of lists": ("lists", put("limits", 3, 9)),
    "two numbers of a candidate": ("lists", as_is(lists=np.zeros((9, 2)))),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_by_hand_is_refused_or_its_claim_is_true(name):
    base, lie = LIES[name]
    y = MAJORITY + 0.0 if base == "squares" else MAJORITY
    honest = stamped({**BASES[base], "claim": np.array("")}, VOTES, y, None)
    assert judged(honest, VOTES, y, None), "the base of the lie is no certificate"
    new = stamped({**honest, **lie(BASES[base])}, VOTES, y, None)
    claim = judged(new, VOTES, y, None)
    assert claim is None or claim != str(honest["claim"]) or "candidates" in claim or (
        name in ("sides swapped", "many nodes")), "the lie changed nothing"


def test_five_units_prove_nothing():
    """Labels of three classes, errors counted four times: of audit 4."""
    X, y = np.array([[0], [0], [1], [1], [0]]), np.array([0, 2, 2, 0, 1])
    new = {"units": np.array([1.0, 0, 0, 0.5, 0]), "limits": np.array([3, 1, 1, 1]),
           "tests": np.zeros(0, int), "depth": np.array([1]), "bound": np.array([[8]]),
           "table": np.array([-1]), "reference": np.zeros((0, 1, 2), int), "claim": np.array(
               "no tree of depth 1 over these 1 columns makes fewer than 8 errors on these 5 rows")}
    for units in (new["units"], new["units"][:4], new["units"][:3]):
        assert judged(stamped({**new, "units": units}, X, y, None), X, y, None) is None


@pytest.mark.parametrize("depth, nodes", [(2**31 - 1, 2**62), (199, 2**62), (2**31 - 1, 64)])
def test_a_depth_that_no_line_has_is_not_proved(depth, nodes):
    """A chain of lines of depth 62, where a tree of depth 199 makes no errors: of audit 4."""
    X, y, n = np.eye(200), np.arange(200), 61
    lines = np.arange(n)
    reference = np.full((n - 1, 200, 2), -1)
    reference[np.arange(n - 1), 61 - lines[1:], 0] = lines[:-1]
    new = {"units": np.array([1.0, 0]), "limits": np.array([3, depth, nodes, 1]),
           "tests": np.concatenate([2 * np.arange(61 - line) for line in lines]).astype(int),
           "depth": 1 + lines, "bound": 138 - lines[::-1, None] + 1, "table": lines - 1,
           "reference": reference, "claim": np.array("")}
    with pytest.raises(NotProved, match="the last line is not the claim|feature nodes"):
        check(saved(stamped(new, X, y, None)), X, y)


def test_every_number_of_a_claim_reads_back():
    rng = np.random.default_rng(0)
    for number in (0.0, 1e-300, 5e-324, 0.1, 1 / 3, 1e6, 1000004.0, 123456789.0, 1e22, 1e300,
                   2.0**53 - 1, *10.0**rng.uniform(-300, 300, 50)):
        assert float(text(number)) == number
    X, y = np.array([[0], [0], [1], [1]]), np.array([0, 0, 1, 1])
    for penalty in (1000004.0, 999999.9999, 1e-7 / 3, 123456.7):
        model = MurTreeClassifier(1, split_penalty=penalty).fit(X, y, np.full(4, 1e6))
        proof = model.certificate(X, y, np.full(4, 1e6))
        assert judged(proof.arrays, X, y, np.full(4, 1e6)) == proof.claim
        said = CLAIM.fullmatch(proof.claim)
        assert float(said["penalty"]) == penalty
        assert float(said["cost"]) == proof.lower_bound
        assert f"split penalty {penalty!r}".removesuffix(".0") in model.report_.proof


def packed(arrays):
    """Return the file of a certificate, packed."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    size = file.tell()
    file.seek(0)
    return file, size


def narrow(values):
    """Return whole numbers of one byte."""
    return np.asarray(values).astype(np.int8)


def traps():
    """Yield the names and arrays of small files that unpack to much, or ask for many steps."""
    n = 200_000
    yield "equal lines", HAND | {
        "tests": narrow(np.tile([0], n)), "depth": narrow([1] * n + [2]), "table": narrow(
            [-1] * (n + 1)), "bound": np.zeros((n + 1, 1), np.int8),
        "reference": np.zeros((0, 3, 2), np.int8)}
    yield "many tables", HAND | {
        "tests": np.zeros(0, np.int8), "depth": narrow([2] * 2000), "table": np.arange(2000),
        "bound": np.zeros((2000, 1), np.int8), "reference": narrow(np.full((2000, 3, 2), -1))}
    yield "a bound for each of many sizes", HAND | {
        "limits": np.array([3, 7, 6, 1]), "tests": np.zeros(0, np.int8), "depth": narrow([6]),
        "table": narrow([-1]), "bound": np.zeros((1, 3_000_000), np.int8)}
    yield "no lines of many sizes", HAND | {"bound": np.zeros((0, 10**12), np.int8)}
    yield "candidates", LISTS | {"lists": np.zeros((500_000, 3))}
    yield "all trees of depth thirty", LISTS | {
        "limits": np.array([1, 30, 2**30 - 1, 1]), "lists": np.array(
            [(2**level - 1 + k, j, 0.5) for level in range(9) for k in range(2**level)
             for j in range(3)])[::2]}


@pytest.mark.parametrize("name, arrays", list(traps()))
def test_a_small_file_takes_little_time_and_memory(name, arrays):
    """Refused before anything is counted; memory is some times the size of the file."""
    new = {**arrays, "claim": np.array("x"), "fingerprint": fingerprint(
        VOTES * 1.0, MAJORITY, np.ones(8))}
    file, size = packed(new)
    tracemalloc.start()
    with pytest.raises(NotProved):
        check(file, VOTES, MAJORITY)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6 + 64 * size, name


def peak_of(action):
    """Return the most memory that an action takes, in bytes."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [ContinuousTreeClassifier, ContinuousTreeRegressor])
def test_pairs_of_many_splits_take_little_memory(kind):
    """The pairs of 18,000 splits took more than 5 GB, and a true proof ended in a MemoryError."""
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 60)), rng.integers(0, 2, 40) * 1.0
    proof = saved(kind(2).fit(X, y).certificate(X, y).arrays)
    assert peak_of(lambda: check(proof, X, y)) < 50e6


def test_more_thresholds_than_a_writer_takes_are_refused_at_once():
    rng = np.random.default_rng(0)
    X, y = rng.random((4000, 10)), rng.integers(0, 2, 4000)
    file = saved({**HAND, "claim": np.array("x"), "fingerprint": fingerprint(X, y, np.ones(4000))})

    def refused():
        with pytest.raises(NotProved, match="too many thresholds"):
            check(file, X, y)
    assert peak_of(refused) < 20e6


def test_zeros_and_ones_are_few_thresholds(monkeypatch):
    monkeypatch.setattr("odtbook.check_certificate.MOST_CELLS", 1)
    proof = saved(MurTreeClassifier(2).fit(VOTES, MAJORITY).certificate(VOTES, MAJORITY).arrays)
    assert check(proof, VOTES, MAJORITY)


def test_what_the_writer_saves_is_never_too_small(tmp_path):
    """Candidates that take long to try: their file is not packed."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2)).round(1)
    y = rng.integers(0, 2, 40)
    splits = [[(j, t / 10 + 0.05) for j in range(2) for t in range(9)] for _ in range(7)]
    for model in (RestrictedTreeClassifier(None, splits=splits), ContinuousTreeClassifier(3)):
        model.fit(X, y).certificate(X, y).save(tmp_path / "proof")
        assert check(tmp_path / "proof", X, y).startswith("no tree of depth 3 over")


def test_data_that_cannot_be_used_are_refused_in_words():
    for base in ("lines", "lists", "squares"):
        y = MAJORITY + 0.0 if base == "squares" else MAJORITY
        arrays = stamped({**BASES[base], "claim": np.array("")}, VOTES, y, None)
        assert check(saved(arrays), VOTES.tolist(), y.tolist(), [1] * 8)
        for X in (VOTES.astype(str) + "x", np.where(VOTES, None, 1), VOTES * 1j, [[1], [1, 2]],
                  VOTES + 2**60, [[10**400]] * 8, "X", None, VOTES[:, :, None], {}):
            with pytest.raises(NotProved):
                check(saved(arrays), X, y)
        for labels in ([None] * 7 + [1], [["a"], ["b", "c"]], None, np.array([1, "a"] * 4, object)):
            with pytest.raises(NotProved):
                check(saved(arrays), VOTES, labels)
        for weight in ("w", [None] * 8, [1j] * 8, [10**400] * 8, [2**60 + 1] * 8, 1.0, [[1]]):
            with pytest.raises(NotProved):
                check(saved(arrays), VOTES, y, weight)


@pytest.mark.parametrize("n, least", [(26, 2), (40, 3), (70, 1)])
def test_trees_of_any_depth_are_certified(n, least):
    """With a least size of leaves, or more rows than a limit on nodes may have."""
    rng = np.random.default_rng(n)
    X, y = rng.integers(0, 2, (n, 6)), rng.integers(0, 2, n)
    for kind in (MurTreeClassifier, MurTreeRegressor):
        model = kind(None, min_samples_leaf=least).fit(X, y * 1.0)
        proof = model.certificate(X, y * 1.0)
        assert check(saved(proof.arrays), X, y * 1.0) == proof.claim
        assert proof.claim.startswith("no tree of any depth ")
        assert proof.lower_bound == pytest.approx(model.report_.objective, rel=1e-8) != 0


def test_a_counted_line_is_not_raised_where_a_tree_may_have_three_splits():
    """Without a penalty it says nothing of these, whatever the search has found of its rows."""
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 2, (40, 6)), rng.integers(0, 2, 40) * 1.0
    model = MurTreeRegressor(None, min_samples_leaf=2).fit(X, y)
    proof = model.certificate(X, y)
    assert check(saved(proof.arrays), X, y) == proof.claim
    assert proof.lower_bound == pytest.approx(model.report_.objective, rel=1e-8)


def test_all_kinds_are_drawn():
    models = [drawn(seed)[0] for seed in range(200)]
    assert len({type(model) for model in models}) == 6
    assert any(model.max_depth is None for model in models)
