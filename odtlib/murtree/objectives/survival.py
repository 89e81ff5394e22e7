"""Survival trees: events are counted, with the cumulated hazard of all rows as exposure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from odtlib._validation import check_length, check_values

from ..regressor import MurTreeRegressor
from .additive import AdditiveObjective
from .poisson import Poisson, counted

AT_ONCE = 1000      # rows whose pairs are compared one by one


def events_and_times(y):
    """Return what is known of each row as numbers, (n_rows, 2): whether it had its event, and when.

    ``y`` is such an array, or a structured one with these two fields, as scikit-survival has it.
    """
    names = getattr(getattr(y, "dtype", None), "names", None) or ()
    for given in [y[name] for name in names] or [y]:
        check_values("y", given)
    given = np.column_stack([y[name] for name in names]) if names else np.asarray(y)
    try:
        known = given.astype(float)
    except (TypeError, ValueError):
        known = np.zeros((0, 0))
    pairs = known.ndim == 2 and known.shape[1] == 2
    right = np.zeros(1, bool)
    if pairs:
        event, time = known.T
        right = ((event == 0) | (event == 1)) & (time >= 0) & (time < np.inf)
    if not right.all():
        row = int(right.argmin())
        where = f"row {row} of y holds {known[row].tolist()}; " if pairs else ""
        raise ValueError(f"{where}y needs two fields for each row: first whether there was an "
                         "event (True or False), then a time of at least 0; "
                         "sksurv.util.Surv.from_arrays makes it.")
    return known


def cumulated_hazard(known, weight):
    """Return the times of all rows, each once, and the Nelson-Aalen cumulated hazard at them.

    And which of the times is that of each row.
    """
    times, place = np.unique(known[:, 1], return_inverse=True)
    events = np.bincount(place, weight * known[:, 0], len(times))
    at_risk = np.cumsum(np.bincount(place, weight, len(times))[::-1])[::-1]
    return times, np.cumsum(events / at_risk), place


def concordance(known, risk):
    """Return the share of pairs of rows whose order the risks predict; equal risks count half.

    ``known`` (n_rows, 2) are events and times, as :func:`events_and_times` returns them.
    """
    order = np.lexsort((known[:, 0], -known[:, 1]))     # the latest first, events last at a time
    (event, time), risk = known[order].T, np.asarray(risk)[order]
    place = np.flatnonzero(event)
    # how many rows are later than each event: those before the first event of its time
    later = place[np.searchsorted(-time[place], -time[place])]
    if not later.any():
        raise ValueError("no two rows can be compared; give rows with events before others.")
    right = 0.0
    for begin in range(0, len(risk), AT_ONCE):
        now = np.flatnonzero((begin <= later) & (later < begin + AT_ONCE))
        before, block = np.sort(risk[:begin]), risk[begin:begin + AT_ONCE]
        for some in np.split(now, range(AT_ONCE, len(now), AT_ONCE)):
            own, counts = risk[place[some], None], np.arange(len(block)) < later[some, None] - begin
            right += sum(np.searchsorted(before, own, side).sum() for side in ("left", "right"))
            right += (counts & (block < own)).sum() + (counts & (block <= own)).sum()
    return float(right / (2 * later.sum()))


class Survival(AdditiveObjective):
    """The loss of LeBlanc and Crowley (1992) of event times, of which some are censored.

    Each leaf multiplies the hazard of all rows by a factor of its own, ``theta``.  With ``L`` the
    Nelson-Aalen cumulated hazard of all rows at a row's time and ``d`` whether it had its event,
    the likelihood is that of Poisson counts ``d`` with exposure ``L``.
    """

    of_quantities = True
    adds_last, leaf_cost, certified = True, staticmethod(Poisson.leaf_cost), "survival"

    def statistics(self, X, y, sample_weight):
        """Return ``w L, w d`` and what a factor for each row would leave out."""
        known = events_and_times(y)
        _, hazard, place = cumulated_hazard(known, sample_weight)
        return counted(sample_weight * hazard[place], sample_weight * known[:, 0])

    def leaf_value(self, sums):
        """Return the factor of the hazard."""
        return sums[1] / sums[0] if sums[0] > 0 else 0.0


class StepFunction:
    """A step function as scikit-survival has it, used where that is not installed.

    ``y[i]`` holds from ``x[i]`` up to ``x[i + 1]``.
    """

    def __init__(self, x, y):
        self.x, self.y, self.domain = x, y, (0.0, float(x[-1]))

    def __call__(self, x):
        """Return the values at some points of the domain."""
        x = np.asarray(x, float)
        if not ((x >= self.domain[0]) & (x <= self.domain[1])).all():
            raise ValueError(f"x must be within {self.domain}.")
        return self.y[np.maximum(np.searchsorted(self.x, x, side="right") - 1, 0)]


@dataclass(eq=False, repr=False)
class SurvivalTree(MurTreeRegressor):
    """Find the survival tree of the greatest likelihood within limits on depth and size.

    The hazard of each leaf is that of all training rows (Nelson-Aalen) times a factor (LeBlanc and
    Crowley, 1992).  That is a Poisson regression of the events on the cumulated hazard as exposure,
    so the search is that of :class:`odtlib.MurTreeRegressor`.  Methods and ``y`` are those of
    scikit-survival, whose metrics and model selection work with it; it need not be installed.

    Parameters
    ----------
    max_depth : int or None, default=3
        Maximum depth of the tree.  None for no limit.
    max_nodes : int, optional
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int, optional
        Maximum number of leaves; None for no limit.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.
    split_penalty : float, default=0.0
        Cost of one split, in the unit of ``report_.objective``: that of a log likelihood.
    binarizer : {"quantile", "all"}, transformer or None, default="quantile"
        How features that are not 0/1 become 0/1 columns; see :class:`odtlib.MurTreeClassifier`.
    search : MurTreeSearch, optional
        Options of the search; see :class:`odtlib.MurTreeRegressor`.
    start : {None, "cart"}, DecisionTree or fitted estimator, default=None
        Warm start; see :class:`odtlib.MurTreeRegressor`.
    time_limit : float, optional
        Time limit in seconds; None for no limit.  The best tree found so far is then returned, as
        :class:`odtlib.MurTreeRegressor` does.
    n_jobs : int, optional
        Number of threads; None means 1 and -1 all processors.
    random_state : int, RandomState or None, default=None
        Seed of a random feature order; a fit without one draws nothing.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

    Attributes
    ----------
    tree_ : DecisionTree
        The tree; its values are the factors of the hazard, and its impurities what a node costs by
        ``report_.objective``, divided by its weight.
    report_ : SolveReport
        Status and objective: the log likelihood that is missing to a factor for each row.
    unique_times_ : ndarray
        The times of the training rows, each once.
    cumulated_hazard_ : ndarray
        The Nelson-Aalen cumulated hazard of all training rows at these times.

    Examples
    --------
    >>> import numpy as np
    >>> from odtlib import SurvivalTree
    >>> known = [(True, 1.0), (True, 2.0), (False, 5.0), (True, 9.0)]
    >>> y = np.array(known, dtype=[("event", bool), ("time", float)])
    >>> model = SurvivalTree(max_depth=1).fit([[0], [0], [1], [1]], y)
    >>> model.predict([[0], [1]]).round(2).tolist()
    [2.4, 0.46]
    """

    _parameter_constraints = {name: kinds for name, kinds
                              in MurTreeRegressor._parameter_constraints.items() if name != "loss"}
    loss: ClassVar = Survival()

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the tree.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : structured array, shape (n_rows,)
            Whether each row had its event, and the time of that or of censoring, as
            ``sksurv.util.Surv`` makes it; or an array of these two columns.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).

        Returns
        -------
        self
            With ``tree_`` and ``report_``.

        Raises
        ------
        ValueError
            If the data or a parameter cannot be used; the message says what to do instead.
        """
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X, y, sample_weight, **task):
        return super()._fit(X, events_and_times(y), sample_weight, **task)

    def _solve(self, X, y, sample_weight, **task):
        if not y[:, 0].any():
            raise ValueError("all samples are censored; a survival tree needs events.")
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.unique_times_, self.cumulated_hazard_, _ = cumulated_hazard(y, weight)
        return super()._solve(X, y, sample_weight, **task)

    def _columns(self, X, y, sample_weight, clock=None):
        """As in the base class; categories are ordered by their events beyond the expected ones."""
        expected = self.cumulated_hazard_[np.searchsorted(self.unique_times_, y[:, 1])]
        return super()._columns(X, y[:, 0] - expected, sample_weight, clock)

    def _with_weights(self, tree, rows, y, weight):
        """As in the base class; the impurity of a node is what it costs, by its weight."""
        weight = np.ones(len(y)) if weight is None else weight
        sums = tree._sums_of(rows, (weight, *self.loss.statistics(None, y, weight).T))
        costs = [self.loss.leaf_cost(one) for one in sums[:, 1:]]
        return tree.replace(weight=sums[:, 0], impurity=np.maximum(costs, 0.0) / sums[:, 0])

    def _objective_terms(self):
        return {**super()._objective_terms(), "loss": self.loss}

    def _plain_data(self, X, y, sample_weight=None):
        return super()._plain_data(X, events_and_times(y), sample_weight)

    def _check_targets(self, y):
        known = super()._check_targets(y)
        self.n_outputs_ = 1
        return known

    def _as_functions(self, values, return_array):
        if return_array:
            return values
        try:
            from sksurv.functions import StepFunction as made
        except ImportError:
            made = StepFunction
        functions = np.empty(len(values), object)
        functions[:] = [made(self.unique_times_, row) for row in values]
        return functions

    def predict_cumulative_hazard_function(self, X: ArrayLike, return_array: bool = False) -> Any:
        """Predict the cumulated hazard: that of all training rows times the factor of the leaf.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows like those of the fit.
        return_array : bool, default=False
            Whether to return the values at ``unique_times_`` instead of functions.

        Returns
        -------
        array of functions, shape (n_rows,), or of float, shape (n_rows, n_times)
            scikit-survival's step functions where it is installed, else ones of the same form.
        """
        return self._as_functions(self.predict(X)[:, None] * self.cumulated_hazard_, return_array)

    def predict_survival_function(self, X: ArrayLike, return_array: bool = False) -> Any:
        """Predict the share that survives: ``exp`` of minus the cumulated hazard.

        That is the model which the tree maximises the likelihood of, not the Kaplan-Meier curve of
        the leaf's rows, which scikit-survival's tree returns.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows like those of the fit.
        return_array : bool, default=False
            Whether to return the values at ``unique_times_`` instead of functions.

        Returns
        -------
        array of functions, shape (n_rows,), or of float, shape (n_rows, n_times)
            As :meth:`predict_cumulative_hazard_function` returns them.
        """
        hazard = self.predict_cumulative_hazard_function(X, return_array=True)
        return self._as_functions(np.exp(-hazard), return_array)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return Harrell's concordance: the share of pairs whose order the risks predict.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows like those of the fit.
        y : structured array, shape (n_rows,)
            As for :meth:`fit`.

        Returns
        -------
        float
            Between 0 and 1; equal risks count half.
        """
        known, risk = events_and_times(y), self.predict(X)
        check_length("y", known, len(risk))
        return concordance(known, risk)
