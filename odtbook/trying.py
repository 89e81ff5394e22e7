"""What `odt try` measures on a table: the tree, its proof, and how it does beside other methods."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from odtbook.statistics import corrected_interval
from odtbook.tables import Table
from odtlib import MurTreeClassifier, MurTreeRegressor

TREE, TUNED = "optimal tree", "tuned CART"
MOST_ROWS, FEWEST_ROWS = 3000, 300      # for cross-validation
REPEATS, FOLDS, DEPTH = 10, 5, 4
SHARE = {"folds": 0.6, "tree": 0.15, "gain": 0.08}      # of the time


@dataclass
class Trial:
    """What was measured; scores are accuracies, or shares of the variance explained."""

    table: Table
    model: BaseEstimator
    settings: dict[str, Any]
    said: list[str]                                     # warnings of the fit
    scores: dict[str, list[float]]                      # method -> one score per test fold
    rows: np.ndarray                                    # of the cross-validation
    predicted: np.ndarray                               # for them, by trees that did not see them
    folds: int                                          # in one round
    gain: float | None                                  # training rows, depth four, points
    limited: int                                        # fits of trees that the clock ended
    seconds: float
    notes: list[str] = field(default_factory=list)

    def interval(self, method: str, minus: str | None = None) -> tuple[float, float, float]:
        """Return mean, low and high of a method's score, or of its difference to another's."""
        values = np.array(self.scores[method])
        if minus is not None:
            values = values - np.array(self.scores[minus])
        low, high = corrected_interval(values, 1 / self.folds)
        return float(values.mean()), low, high


def candidates(table: Table) -> dict[str, tuple[BaseEstimator, dict[str, list]]]:
    """Return every method with the parameters that an inner cross-validation chooses from."""
    depths = list(range(1, DEPTH + 1))
    if table.task == "regression":
        # How much squared error a split has to save, as a share of all.
        spread = float(((table.y - table.y.mean()) ** 2).sum())
        return {
            TREE: (MurTreeRegressor(DEPTH), {"max_depth": depths,
                                             "split_penalty": [0.003 * spread, 0.0]}),
            "CART": (DecisionTreeRegressor(max_depth=DEPTH, random_state=0), {}),
            TUNED: (DecisionTreeRegressor(random_state=0), {
                "max_depth": depths, "ccp_alpha": [0.003 * spread / len(table.y), 0.0]}),
            "forest": (RandomForestRegressor(random_state=0), {}),
            "boosting": (HistGradientBoostingRegressor(random_state=0), {}),
        }
    return {
        TREE: (MurTreeClassifier(DEPTH), {"max_depth": depths, "split_penalty": [4.0, 0.0]}),
        "CART": (DecisionTreeClassifier(max_depth=DEPTH, random_state=0), {}),
        TUNED: (DecisionTreeClassifier(random_state=0), {
            "max_depth": depths, "ccp_alpha": [0.01, 0.0]}),
        "forest": (RandomForestClassifier(random_state=0), {}),
        "boosting": (HistGradientBoostingClassifier(random_state=0), {}),
    }


def folds_of(y: np.ndarray, n: int, task: str, seed: int) -> StratifiedKFold | KFold:
    """Return folds with the same shares of classes, where the classes have enough rows."""
    if task == "classification" and np.unique(y, return_counts=True)[1].max() >= n:
        return StratifiedKFold(n, shuffle=True, random_state=seed)
    return KFold(n, shuffle=True, random_state=seed)


def fitted(table, method, rows, seconds):
    """Fit one method, its parameters chosen on the rows; return the model and its grid search."""
    estimator, grid = candidates(table)[method]
    X, y = table.X.iloc[rows], table.y[rows]
    reads_words = "time_limit" in estimator.get_params()
    if reads_words:
        estimator = estimator.set_params(time_limit=seconds)
    inner = min(3, len(rows) // 2)
    if grid and inner > 1:
        estimator = GridSearchCV(estimator, grid, cv=folds_of(y, inner, table.task, 0),
                                 error_score="raise")
    if not reads_words:     # the encoder looks at no label, so that one serves all inner parts
        estimator = make_pipeline(table.encoder(), estimator)
    return estimator.fit(X, y)


def try_table(table: Table, seconds: float = 60.0,
              say: Callable[[str], None] = lambda line: None) -> Trial:
    """Fit the optimal tree of a table, and measure it beside other methods.

    Parameters
    ----------
    table : Table
        A usable one, from :func:`~odtbook.tables.read_table`.
    seconds : float, default=60.0
        About how long it may take.  Cross-validation is repeated as long as the time suffices, and
        on a draw of the rows where it does not suffice for one round.
    say : callable, optional
        Called with a line that says what is being done.

    Returns
    -------
    Trial
    """
    begun = time.perf_counter()
    n, y = len(table.y), table.y
    draw = np.random.default_rng(0).permutation(n)
    most = min(n, MOST_ROWS)
    folds = min(FOLDS, max(2, n // 2))
    limit = max(0.1, seconds / 100)
    notes = []

    def share(part, of_rest):
        """Return the seconds for a part of the work, fewer where the work before took longer."""
        rest = seconds - (time.perf_counter() - begun)
        return max(1.0, min(SHARE[part] * seconds, of_rest * rest))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # of columns and rare classes; the final fit tells them
        say("loading the solvers")
        few = np.sort(draw[:min(n, 60)])
        for method in (TREE,):
            clone(candidates(table)[method][0]).set_params(max_depth=2, time_limit=1.0).fit(
                table.X.iloc[few], y[few])
        while True:
            kept = np.sort(draw[:most])
            trial = _folds(table, kept, folds, limit, SHARE["folds"] * seconds, say)
            if trial is not None:
                break
            most = max(FEWEST_ROWS, most // 4)
        scores, seen, predicted, limited = trial
        if len(kept) < n:
            notes.append(f"Accuracies, and how large the tree may be, come from a draw of "
                         f"{len(kept):,} of the {n:,} rows.")
        say("the tree over all rows")
        choice = fitted(table, TREE, kept, limit)     # its size
        gain = None
        if table.task == "classification":
            exact = MurTreeClassifier(DEPTH, time_limit=share("gain", 0.3))
            cart = make_pipeline(table.encoder(),
                                 DecisionTreeClassifier(max_depth=DEPTH, random_state=0))
            gain = 100 * (exact.fit(table.X, y).score(table.X, y)
                          - cart.fit(table.X, y).score(table.X, y))
            if exact.report_.status != "optimal":
                notes.append("The tree of depth four by which the book's rule judges was ended by "
                             "the clock; with more time it may gain more.")
    settings = dict(getattr(choice, "best_params_", {"max_depth": 2}))
    if table.task == "regression" and settings.get("split_penalty"):
        settings["split_penalty"] = float(f"{settings['split_penalty']:.3g}")
    model = type(candidates(table)[TREE][0])(
        **settings, time_limit=round(share("tree", 0.7), 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(table.X, y)
    said = list(dict.fromkeys(str(warning.message) for warning in caught
                              if warning.category is UserWarning))
    return Trial(table, model, settings, said, scores, seen, predicted, folds, gain, limited,
                  time.perf_counter() - begun, notes)


def _folds(table, kept, folds, limit, seconds, say):
    """Cross-validate every method; None where the first folds take more than their share."""
    begun = time.perf_counter()
    y = table.y[kept]
    methods = list(candidates(table))
    scores = {method: [] for method in methods}
    predicted, seen, limited = np.empty(len(kept), y.dtype), np.zeros(len(kept), bool), 0
    for repeat in range(REPEATS):
        for fold, (train, test) in enumerate(
                folds_of(y, folds, table.task, repeat).split(kept, y)):
            taken = time.perf_counter() - begun
            done = len(scores[TREE])
            if done >= 2 and taken * (done + 1) / done > seconds:
                return scores, kept[seen], predicted[seen], limited
            say(f"cross-validation, round {repeat + 1}, fold {fold + 1} of {folds}, "
                f"{len(kept):,} rows")
            for method in methods:
                taken = time.perf_counter() - begun
                if done < 2 and len(kept) > FEWEST_ROWS and 3 * taken > (done + 1) * seconds:
                    return None
                model = fitted(table, method, kept[train], limit)
                found = model.predict(table.X.iloc[kept[test]])
                scores[method].append(_score(y[test], found, table.task))
                if method == TREE:
                    best = getattr(model, "best_estimator_", model)
                    limited += best.report_.status == "time_limit"
                    if repeat == 0:
                        predicted[test], seen[test] = found, True
    return scores, kept[seen], predicted[seen], limited


def _score(y, found, task):
    """Return the accuracy, or the share of the variance that predictions explain."""
    if task == "classification":
        return float(np.mean(found == y))
    spread = float(((y - y.mean()) ** 2).sum())
    return 1 - float(((y - found) ** 2).sum()) / spread if spread else 0.0
