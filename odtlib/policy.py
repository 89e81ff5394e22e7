"""Costs of treatments, from which a classifier that takes costs learns whom to treat, and how."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils.validation import check_array, check_consistent_length

from odtlib._validation import check_order_of_labels, one_column

__all__ = ["policy_costs"]

METHODS = ("direct", "inverse-propensity", "doubly-robust")


def policy_costs(X: ArrayLike, treatment: ArrayLike, outcome: ArrayLike, *,
                 method: str = "doubly-robust", propensity: ArrayLike | None = None,
                 outcome_model: BaseEstimator | None = None, min_propensity: float = 0.01,
                 cv: int = 5,
                 random_state: int | np.random.RandomState | None = None) -> np.ndarray:
    """Return the cost of giving each treatment to each row: minus its estimated outcome.

    ``MurTreeClassifier(...).fit(X, treatment, costs=policy_costs(X, treatment, outcome))`` is then
    the tree of the policy with the best estimated total outcome.  The models behind the costs of a
    row are fitted on the other folds (cross-fitting).

    Parameters
    ----------
    X : array, shape (n_rows, n_features)
        Rows as the models take them.
    treatment : array, shape (n_rows,)
        Treatment that each row was given.
    outcome : array, shape (n_rows,)
        Outcome of each row; larger is better.
    method : {"direct", "inverse-propensity", "doubly-robust"}, default="doubly-robust"
        "direct" takes the outcome that a model predicts for each treatment; "inverse-propensity"
        the outcome divided by the probability of the treatment given, and zero for the others;
        "doubly-robust" adds the second, for what the model leaves unexplained, to the first, and
        is right on average if either the model or the probabilities are right (Dudík et al.,
        2011).
    propensity : array, shape (n_rows, n_treatments), optional
        Probability of each treatment, in sorted order, where it is known, as in a trial (default:
        estimated by a random forest).
    outcome_model : regressor, optional
        Model of the outcome, fitted to the rows of each treatment (default: a random forest).
    min_propensity : float, default=0.01
        Smaller probabilities are raised to this: a larger one gives less variance and more bias.
    cv : int, default=5
        Number of folds; each treatment needs as many rows.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the default models.

    Returns
    -------
    array, shape (n_rows, n_treatments)
        Costs, treatments in sorted order.

    Raises
    ------
    ValueError
        If a treatment has fewer rows than folds, or a parameter or an array cannot be used.
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; use one of {', '.join(METHODS)}.")
    if not 0 < min_propensity <= 1:
        raise ValueError(f"min_propensity is {min_propensity}; give a number above 0 and at most "
                         "1.")
    X = check_array(X)
    outcome = one_column("outcome", outcome, dtype=np.float64)
    check_consistent_length(X, treatment, outcome)
    names, given = np.unique(one_column("treatment", treatment), return_inverse=True)
    if np.bincount(given).min() < cv:
        raise ValueError(f"treatment {names[np.bincount(given).argmin()]!r} has "
                         f"{np.bincount(given).min()} rows and there are {cv} folds; give fewer "
                         "folds or leave the treatment out.")
    folds = list(StratifiedKFold(cv, shuffle=True, random_state=random_state).split(X, given))
    estimate = np.zeros((len(X), len(names)))
    if method != "inverse-propensity":
        model = RandomForestRegressor(min_samples_leaf=5, random_state=random_state) \
            if outcome_model is None else outcome_model
        for others, fold in folds:
            for k in range(len(names)):
                rows = others[given[others] == k]
                estimate[fold, k] = clone(model).fit(X[rows], outcome[rows]).predict(X[fold])
    if method == "direct":
        return -estimate
    if propensity is None:
        model = RandomForestClassifier(min_samples_leaf=5, random_state=random_state)
        propensity = cross_val_predict(model, X, given, cv=folds, method="predict_proba")
    check_order_of_labels("propensity", propensity, names)
    propensity = check_array(propensity)
    if propensity.shape != estimate.shape:
        raise ValueError(f"propensity has shape {propensity.shape}; give one row per row of X and "
                         f"one column per treatment: {estimate.shape}.")
    row = np.arange(len(X))
    estimate[row, given] += (outcome - estimate[row, given]) / np.maximum(
        propensity[row, given], min_propensity)
    return -estimate
