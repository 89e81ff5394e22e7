"""Numbers as parameters: of whatever type, they mean what the plain Python number means."""

from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real

import numpy as np
import pandas as pd
import pytest
from sklearn.utils._param_validation import Interval

import odtbook.formulations as formulations
from odtlib import (
    CARTClassifier,
    ColumnGenerationClassifier,
    ConstrainedTreeClassifier,
    ConstrainedTreeRegressor,
    MurTreeClassifier,
    MurTreeSearch,
    TunedCARTClassifier,
)
from odtlib._validation import MOST, plain, plain_copy
from odtlib.binarize import MDLPBinarizer, QuantileBinarizer, ThresholdBinarizer
from odtlib.column_generation import ThresholdSampling, TreeLimits
from odtlib.constrained import sets
from odtlib.heuristics import sample_splits
from tests.estimators import PUBLIC, class_of, made, rows

BINARIZERS = {kind.__name__: kind for kind in (MDLPBinarizer, QuantileBinarizer,
                                               ThresholdBinarizer)}
WHOLE = (np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64)
REAL = (np.float16, np.float32, np.longdouble, Fraction)
LARGE = (2**31, 2**63, 2**64 + 1, 10**30)
# Values that fits take quickly; all are exact in float16.
VALUES = {"time_limit": 16.0, "memory_limit": 512.0, "random_state": 3, "n_estimators": 3,
          "max_restarts": 3, "max_leaf_nodes": 3, "n_bins": 3}


def numeric(kind):
    """Return the names of the parameters that take numbers, and their limits."""
    found = {}
    for name in kind._get_param_names():
        limits = kind._parameter_constraints.get(name, ())
        intervals = [limit for limit in limits if isinstance(limit, Interval)]
        if intervals or "random_state" in limits or "verbose" in limits:
            found[name] = intervals
    return found


def value_of(name, intervals):
    whole = not intervals or any(limit.type is Integral for limit in intervals)
    return VALUES.get(name, (0 if name == "verbose" else 2) if whole else 0.25)


CASES = [(kind, name) for kind in PUBLIC for name in numeric(class_of(kind))]


def outcome(kind, X, y, **options):
    """Return what a fit gives: tree or predictions, status and objective; or what it refuses."""
    try:
        model = made(kind, **options).fit(X, y)
    except (TypeError, ValueError) as refusal:
        assert len(str(refusal)) > 20 and "ufunc" not in str(refusal)
        return type(refusal), str(refusal)
    assert all(model.get_params()[name] is value for name, value in options.items())
    report = getattr(model, "report_", None)
    return (model.predict(X).tolist(), report and (report.status, report.objective,
                                                   report.lower_bound, report.proof))


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_number_of_any_type_means_the_python_number(kind, name):
    X, y = rows(kind)
    intervals = numeric(class_of(kind))[name]
    value = value_of(name, intervals)
    expected = outcome(kind, X, y, **{name: value})
    for make in WHOLE if isinstance(value, int) else REAL:
        assert outcome(kind, X, y, **{name: make(value)}) == expected, make
    if isinstance(value, float):
        # what a narrow type holds, not what was written
        narrow = np.float16(0.1) if intervals[0].right == 1 or value < 1 else np.float16(9.99)
        assert outcome(kind, X, y, **{name: narrow}) == outcome(kind, X, y, **{name: float(narrow)})
        if "disparity" not in name:         # these are refused without groups, before all else
            refused = outcome(kind, X, y, **{name: Decimal("0.25")})
            assert "must be" in refused[1] and name in refused[1]


@pytest.mark.parametrize(("kind", "name"), [
    (kind, name) for kind, name in CASES
    if name not in ("n_estimators", "max_restarts", "n_trees", "patience")      # they mean work
    and any(limit.type is Integral and limit.right is None
            for limit in numeric(class_of(kind))[name])])
def test_no_whole_number_is_too_large(kind, name):
    X, y = rows(kind)
    program = kind in formulations.__all__      # it may take long at any depth
    limit = {"time_limit": 0.2} if program else {}
    several = [outcome(kind, X, y, **{name: value}, **limit)[:1]
               for value in LARGE[1 if program else 0::2]]
    assert OverflowError not in several[0]
    assert program or all(one == several[0] for one in several)


@pytest.mark.parametrize(("kind", "name"), [
    (kind, name) for kind, name in CASES
    if "disparity" not in name and any(limit.type is Real and limit.right is None
                                       for limit in numeric(class_of(kind))[name])])
def test_a_number_that_no_float_holds_is_refused_in_one_sentence(kind, name):
    X, y = rows(kind)
    refused = outcome(kind, X, y, **{name: 10**400})
    assert refused == (ValueError, f"{name} is larger than 1e308; give a smaller number.")
    outcome(kind, X, y, **{name: 1e300})        # or the tree without a split


@pytest.mark.parametrize("kind", BINARIZERS)
def test_parameters_of_binarizers(kind):
    X, y = rows("CARTClassifier")
    for name, intervals in numeric(BINARIZERS[kind]).items():
        value = value_of(name, intervals)
        expected = BINARIZERS[kind](**{name: value}).fit_transform(X, y)
        for make in WHOLE:
            found = BINARIZERS[kind](**{name: make(value)}).fit_transform(X, y)
            assert np.array_equal(found, expected)
        for large in LARGE:
            BINARIZERS[kind](**{name: large}).fit(X, y)
    BINARIZERS[kind](ordered_categories=np.True_).fit(X, y)


@pytest.mark.parametrize("make", [np.int8, np.uint64, np.int16])
def test_options_of_searches_are_numbers_of_any_type(make):
    X, y = rows("CARTClassifier")
    for name in ("n_exact_children", "lookahead", "memory_limit"):
        given, python = ({"search": MurTreeSearch(**{name: number})} for number in (make(2), 2))
        first, second = (MurTreeClassifier(4, binarizer="all", **options).fit(X, y)
                         for options in (given, python))
        assert first.tree_ == second.tree_
        assert first.report_.lower_bound == second.report_.lower_bound
    MurTreeClassifier(4, search=MurTreeSearch(n_exact_children=2**70)).fit(X, y)
    given, python = (ThresholdSampling(n_trees=number, sample_share=share, root_candidates=number,
                                       node_candidates=number)
                     for number, share in ((make(9), np.float32(0.75)), (9, 0.75)))
    first, second = (ColumnGenerationClassifier(2, sampling=sampling, random_state=0).fit(X, y)
                     for sampling in (given, python))
    assert first.tree_ == second.tree_ and first.report_.counters["columns"] == \
        second.report_.counters["columns"]


@pytest.mark.parametrize("make", [np.float16, np.float32, np.longdouble, Fraction])
def test_numbers_within_other_parameters(make):
    X, y = rows("CARTClassifier")
    weights = [{"no": number, "yes": 1} for number in (make(2.5), 2.5)]
    first, second = (MurTreeClassifier(2, class_weight=weight).fit(X, y) for weight in weights)
    assert first.report_.objective == second.report_.objective
    assert len(MurTreeClassifier(2).good_trees(X, y, tolerance=make(1.0))) == len(
        MurTreeClassifier(2).good_trees(X, y, tolerance=1.0))
    box, same = sets.Box(make(0.5), make(4.25)), sets.Box(0.5, 4.25)
    assert np.array_equal(box.project([[9.0, 0.0]]), same.project([[9.0, 0.0]]))


def test_classes_that_are_written_as_numbers_have_weights():
    """scikit-learn looks for the weight of the label "01" under the number 1."""
    rng = np.random.default_rng(0)
    X, codes = rng.integers(0, 2, (60, 3)).astype(float), rng.integers(0, 3, (60, 2))
    given = [{0: 2.0, 1: 1.5, 2: 3.0}, {2: 4.0}]
    names = np.array(["01", "1", "x"])
    written = [{str(names[code]): weight for code, weight in one.items()} for one in given]
    for kind, y, numbers, texts in (
            *((kind, codes[:, 0], given[0], written[0]) for kind in (
                CARTClassifier, TunedCARTClassifier, MurTreeClassifier)),
            (ConstrainedTreeClassifier, codes, given, written)):
        first = kind(class_weight=numbers).fit(X, y).predict(X)
        second = kind(class_weight=texts).fit(X, names[y]).predict(X)
        assert np.array_equal(names[first], second)
    with pytest.raises(ValueError, match=r"the classes \['1', 'x'\] are not in .* be labels of y"):
        MurTreeClassifier(class_weight={"01": 1.0, "y": 2.0}).fit(X, names[codes[:, 0]])


@pytest.mark.parametrize("make", [np.int8, np.uint64])
def test_numbers_given_to_methods_and_functions(make):
    X, y = rows("CARTClassifier")
    model = MurTreeClassifier(2, binarizer="all")
    assert len(model.optimal_trees(X, y, limit=make(2)).trees) == len(
        model.optimal_trees(X, y, limit=2).trees)
    assert model.optimal_trees(X, y, limit=2**70).complete
    labels = (y == "yes").astype(np.int64)
    one, other = (sample_splits(X, labels, 2, max_depth=two, n_trees=many, random_state=seed)
                  for two, many, seed in ((make(2), make(100), make(100)), (2, 100, 100)))
    assert one.splits == other.splits
    assert sets.AtMostKNonzero(make(1), 0, 9).max_nonzero == 1


def test_a_copy_has_the_plain_numbers_and_the_estimator_keeps_what_it_was_given():
    depth, penalty, limit = np.int8(3), np.float32(0.1), Fraction(1, 3)
    model = MurTreeClassifier(depth, split_penalty=penalty, time_limit=limit,
                              search=MurTreeSearch(lookahead=np.uint8(2)))
    copied = plain_copy(model)
    assert (copied.max_depth, copied.split_penalty, copied.time_limit) == (3, float(penalty), 1 / 3)
    assert [type(value) for value in (copied.max_depth, copied.split_penalty, copied.time_limit,
                                      copied.search.lookahead)] == [int, float, float, int]
    assert model.max_depth is depth and model.split_penalty is penalty
    assert type(model.search.lookahead) is np.uint8
    assert plain("flag", np.True_) is True and plain("name", "cart") == "cart"
    assert plain("rows", 2**70, [Interval(Integral, 1, None, closed="left")]) == MOST
    assert plain("seed", 2**70) == 2**70


KEYED = [(kind, name) for kind in PUBLIC for name in class_of(kind)._get_param_names()
         if dict in class_of(kind)._parameter_constraints.get(name, ())
         and name not in ("settings", "grid")]
LISTED = [(kind, name) for kind in PUBLIC for name in class_of(kind)._get_param_names()
          if "array-like" in class_of(kind)._parameter_constraints.get(name, ())]
MAKES = (np.float16, np.float32, np.longdouble, Fraction)


@pytest.mark.parametrize(("kind", "name"), KEYED)
def test_numbers_by_key_are_plain_or_refused_in_one_sentence(kind, name):
    X, y = rows(kind)
    key = np.unique(y)[0]
    expected = outcome(kind, X, y, **{name: {key: 2.5}})
    for make in MAKES:
        assert outcome(kind, X, y, **{name: {key: make(2.5)}}) == expected, make
    for odd in (np.nan, None, np.inf, np.float16("nan"), np.longdouble("inf"), "2", [1], {}):
        kind_of, said = outcome(kind, X, y, **{name: {key: odd}})
        assert kind_of is ValueError and said.startswith(f"{name} holds "), odd


@pytest.mark.parametrize(("kind", "name"), LISTED)
def test_lists_of_numbers_are_plain_or_refused_in_one_sentence(kind, name):
    X, y = rows(kind)
    length = 2 if name == "split_penalty" else 1
    expected = outcome(kind, X, y, **{name: [0.25] * length})
    for make in MAKES:
        assert outcome(kind, X, y, **{name: [make(0.25)] * length}) == expected, make
        if make is not Fraction:
            found = outcome(kind, X, y, **{name: np.full(length, 0.25, make)})
            assert found == expected, make
    for empty in ([], (), np.zeros(0), np.zeros((0, 2), np.float16)):
        assert outcome(kind, X, y, **{name: empty}) == (
            ValueError, f"{name} is empty; give at least one value, or leave it out.")
    for odd in ([np.nan] * length, [None] * length, ["x"] * length):
        assert outcome(kind, X, y, **{name: odd})[0] in (ValueError, TypeError)


def test_numbers_by_class_of_several_targets_and_of_limits():
    X, y = rows("CARTClassifier")
    Y = np.column_stack([y, y])
    for odd in (np.nan, None):
        with pytest.raises(ValueError, match="class_weight holds .* for 'no'; give a finite"):
            ConstrainedTreeClassifier(class_weight=[{"no": odd}, {"no": 1}]).fit(X, Y)
        for name in ("min_recall", "min_precision"):
            model = ColumnGenerationClassifier(2, limits=TreeLimits(**{name: {"no": odd}}))
            with pytest.raises(ValueError, match=f"{name} holds"):
                model.fit(X, y)
    with pytest.raises(ValueError, match="feature_costs is empty"):
        ColumnGenerationClassifier(2, limits=TreeLimits(
            max_feature_cost=1, feature_costs=[])).fit(X, y)


@pytest.mark.parametrize("odd", [np.nan, None, "x", pd.NA])
def test_groups_tolerances_and_totals_are_refused_in_one_sentence(odd):
    X, y = rows("CARTClassifier")
    groups = np.array([0, 1] * len(y), object)[:len(y)]
    groups[3] = odd
    for model in (MurTreeClassifier(1, max_disparity=0.1),
                  ColumnGenerationClassifier(1, limits=TreeLimits(max_disparity=0.1))):
        with pytest.raises(ValueError, match="of protected holds a missing|protected holds values"):
            model.fit(X, y, protected=groups)
        with pytest.raises(ValueError, match="^protected has shape"):
            model.fit(X, y, protected=np.zeros((len(y), 2)))
    with pytest.raises(ValueError, match="^tolerance is .*; give a number of at least 0"):
        MurTreeClassifier(1).good_trees(X, y, tolerance=odd)
    with pytest.raises(ValueError, match="^total must be a number >= 0"):
        sets.Simplex(odd)


@pytest.mark.parametrize("kind", PUBLIC)
def test_rows_of_numbers_that_no_float_holds_are_refused_by_every_method(kind):
    X, y = rows(kind)
    model = made(kind).fit(X, y)
    large = np.array([[10**400] * X.shape[1]], object)
    for method in ("predict", "predict_proba", "apply", "decision_path", "to_sklearn"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match="larger than 1e308"):
                getattr(model, method)(large)


NO_NUMBERS = {
    "bytes": b"2", "a row of bytes": bytearray(b"2"), "a view": memoryview(b"2"),
    "a day": np.datetime64("2020"), "a span": np.timedelta64(2), "imaginary": 1 + 1j, "text": "2",
    "a list": [1, 2], "missing": pd.NA, "no time": pd.NaT, "none": None, "huge": 10**400,
    "a sign": Decimal("sNaN"), "a type": float}
ASKED = {       # by name: an action that is given numbers, of which the first is the odd one
    "class_weight": lambda X, y, odd: MurTreeClassifier(
        2, class_weight={"no": odd}).fit(X, y),
    "split_penalty": lambda X, y, odd: MurTreeClassifier(
        2, split_penalty=[odd, 0.1]).fit(X, y),
    "costs": lambda X, y, odd: MurTreeClassifier(2).fit(
        X, y, costs=[[odd, 1]] + [[0, 1]] * (len(y) - 1)),
    "target_weights": lambda X, y, odd: ConstrainedTreeRegressor(
        target_weights=[odd, 1]).fit(X, np.zeros((len(X), 2))),
    "feature_costs": lambda X, y, odd: ColumnGenerationClassifier(2, limits=TreeLimits(
        max_feature_cost=9, feature_costs=[odd] + [1] * (X.shape[1] - 1))).fit(X, y),
    "min_recall": lambda X, y, odd: ColumnGenerationClassifier(2, limits=TreeLimits(
        min_recall={"no": odd})).fit(X, y),
    "lower": lambda X, y, odd: sets.Box([odd, 0], 9),
    "A": lambda X, y, odd: sets.Polyhedron([[odd, 1]], 1),
    "b": lambda X, y, odd: sets.Polyhedron([[1, 1]], [odd]),
    "B": lambda X, y, odd: sets.MixedBinary([[1, 1]], [[odd]], 1),
    "S": lambda X, y, odd: sets.Hierarchy([[odd, 1], [1, 1]]),
    "below": lambda X, y, odd: sets.Implication(({0: odd}, 1), [1], 2),
    "weights": lambda X, y, odd: sets.Box(0, 9).project([[1, 2]], [odd, 1])}


@pytest.mark.parametrize("odd", NO_NUMBERS)
@pytest.mark.parametrize("name", ASKED)
def test_what_is_no_number_is_named_wherever_numbers_are_asked_for(name, odd):
    """Bytes and dates were taken for numbers, and imaginary parts lost."""
    X, y = rows("CARTClassifier")
    rows_of_numbers = name in "bB" and np.ndim(NO_NUMBERS[odd])     # of one dimension too many
    with pytest.raises(ValueError, match="must (be|have)" if rows_of_numbers else
                       f"^{name} holds [^\n]*; give (a finite )?numbers?\\.$"):
        ASKED[name](X, y, NO_NUMBERS[odd])


@pytest.mark.parametrize("name", ASKED)
def test_numbers_of_exact_types_are_numbers(name):
    X, y = rows("CARTClassifier")
    for make in (Decimal, Fraction, np.array, np.longdouble, np.uint8):
        ASKED[name](X, y, make(1))


def test_complex_numbers_and_objects_beside_the_rows_are_refused_in_one_line():
    X, y = rows("CARTClassifier")
    numbers = np.arange(len(y)) % 2
    for targets, weight in ((numbers + 1j, None), (y, numbers + 1 + 0j),
                            (numbers.astype(float).astype(object), None),
                            (np.array([Decimal(int(k)) for k in numbers]), None)):
        for model in (MurTreeClassifier(1), ConstrainedTreeClassifier()):
            with pytest.raises(ValueError, match="omplex|Unknown label type: y holds objects") \
                    as refused:
                model.fit(X, targets, weight)
            assert "\n" not in str(refused.value)
    with pytest.raises(ValueError, match="^costs has shape "):
        MurTreeClassifier(1).fit(X, y, costs=numbers)
    with pytest.raises(ValueError, match="^row 0 of costs holds NaN"):
        MurTreeClassifier(1).fit(X, y, costs=np.full((len(y), 2), np.nan))
    for weights in ([1e308, 1e308], [1e-320, 1]):
        with pytest.raises(ValueError, match="target_weights must be 2 positive numbers"):
            ConstrainedTreeRegressor(target_weights=weights).fit(X, np.zeros((len(X), 2)))


@pytest.mark.parametrize("kind", [kind for kind in PUBLIC if "Regressor" in kind])
@pytest.mark.parametrize("largest", [5e-324, 1e-310, 1e-300, 1e-160, 9e-101, 2e100, 1e300])
def test_targets_whose_squares_no_float_holds_are_refused(kind, largest):
    """Loss and search differed in their last digits, and one asked to be reported as a bug."""
    X, y = rows(kind)
    y = largest * (np.arange(len(y)) % 4 / 3).reshape(-1, *[1] * (np.ndim(y) - 1)) * np.ones(
        np.shape(y))
    with pytest.raises(ValueError, match="^y holds [^;]*; (multiply|divide) it by a number"):
        made(kind).fit(X, y)
