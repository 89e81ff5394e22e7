"""The splits and leaves of the released code of Birbil et al., against plain arithmetic."""

import numpy as np
import pytest
from constrained import reference

from odtbook.published import PaperTreeRegressor, paper_model
from odtlib import ConstrainedTreeRegressor

RNG = np.random.default_rng(8)


def table(n=40, p=2, k=3, rng=RNG):
    return rng.integers(0, 8, (n, p)).astype(float), rng.integers(0, 101, (n, k)).astype(float)


def euclidean_medoid(Y, w):
    totals = [sum(b * np.linalg.norm(y - other) for b, other in zip(w, Y, strict=True)) for y in Y]
    return Y[np.argmin(totals)]


@pytest.mark.parametrize("weighted", [False, True])
def test_medoids_of_the_released_code_have_the_least_mean_euclidean_distance(weighted):
    X, Y = table(30)
    w = RNG.integers(1, 3, len(X)).astype(float) if weighted else np.ones(len(X))

    def cost(Y, w):
        return float(w @ ((Y - euclidean_medoid(Y, w)) ** 2).sum(axis=1))

    options = dict(split="euclidean-medoid", leaf="euclidean-medoid", max_depth=3,
                   min_samples_leaf=3)
    model = PaperTreeRegressor(**options).fit(X, Y, w)
    reference.check_splits(model.tree_, X, Y, w, cost, 3)
    leaves = model.apply(X)
    for leaf in np.unique(leaves):
        np.testing.assert_array_equal(model.tree_.value[leaf], euclidean_medoid(Y[leaves == leaf],
                                                                               w[leaves == leaf]))


@pytest.mark.parametrize("targets", [None, [1.0, 0.5, 4.0]])
def test_linear_penalty_is_equation_5_as_printed(targets):
    """Loss of all rows plus the signed residuals once: a shift by lambda / 2n, and no clipping."""
    X, Y = table(30)
    feasible, strength = paper_model("scores"), 90.0
    weights = np.ones(3) if targets is None else np.array(targets)
    coefficients = np.array([1.0, -1.0, 0.0])

    def point(Y, w):
        return w @ Y / w.sum() - 0.5 * strength * coefficients / weights / w.sum()

    w = RNG.integers(1, 3, len(X)).astype(float)
    model = PaperTreeRegressor(
        feasible, split="linear-penalty", leaf="linear-penalty", penalty_strength=strength,
        max_depth=3, target_weights=targets, on_infeasible_targets="keep").fit(X, Y, w)
    reference.check_splits(model.tree_, X, Y, w,
                           lambda Y, w: w @ (weights * (Y - point(Y, w)) ** 2).sum(axis=1), 1)
    leaves = model.apply(X)
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        np.testing.assert_allclose(model.tree_.value[leaf], point(Y[rows], w[rows]))

        def penalised(y, rows=rows):
            loss = w[rows] @ (weights * (Y[rows] - y) ** 2).sum(axis=1)
            return loss + strength * coefficients @ y

        best = penalised(model.tree_.value[leaf])
        assert all(best <= penalised(model.tree_.value[leaf] + step) for step in
                   RNG.normal(size=(20, 3)))


def test_the_released_relaxation_predicts_zero_on_class():
    """S(R):L(R) of the paper: at lambda = 1500 every prediction is the zero vector."""
    X, Y = table(60, k=5)
    model = PaperTreeRegressor(paper_model("class"), split="released-penalty",
                                     leaf="released-penalty", penalty_strength=1500.0, max_depth=4,
                                     on_infeasible_targets="keep").fit(X, Y)
    assert not model.predict(X).any()
    assert model.report_.objective == pytest.approx((Y**2).sum())


@pytest.mark.parametrize("options, message", [
    (dict(leaf="euclidean-medoid", criterion="absolute_error"), "'euclidean-medoid' needs"),
    (dict(split="linear-penalty"), "paper_model"),
    (dict(leaf="released-penalty"), "paper_model"),
])
def test_what_cannot_be_done_is_refused(options, message):
    X, Y = table()
    with pytest.raises(ValueError, match=message):
        PaperTreeRegressor(on_infeasible_targets="keep", **options).fit(X, Y)


@pytest.mark.parametrize("split", ["mean", "exact", "medoid", "penalty"])
def test_other_words_are_those_of_the_library(split):
    X, Y = table()
    options = dict(split=split, max_depth=2, on_infeasible_targets="keep", penalty_strength=5.0)
    ours, theirs = (kind(paper_model("scores"), **options).fit(X, Y)
                    for kind in (PaperTreeRegressor, ConstrainedTreeRegressor))
    assert ours.tree_ == theirs.tree_


@pytest.mark.parametrize("split", ["euclidean-medoid", "linear-penalty", "released-penalty"])
def test_a_split_that_saves_too_little_is_cut_back(split):
    X, Y = table(rng=np.random.default_rng(2))
    options = dict(split=split, max_depth=3, on_infeasible_targets="keep")
    fitted = [PaperTreeRegressor(paper_model("scores"), ccp_alpha=least,
                                 **options).fit(X, Y).tree_.n_splits for least in (0.0, 1e9)]
    assert fitted[0] == 7 and fitted[1] == 0
