"""What every fit reports: status, objective, bound, and how they came about."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from odtlib.requirements import needs
from odtlib.text import html, visible
from odtlib.tolerance import PROOF, rounding_of_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from odtlib.tree import DecisionTree

STATUSES = ("optimal", "time_limit", "node_limit", "memory_limit", "interrupted", "heuristic")
MOMENT_CELLS = 100_000  # of rows and features, which are cut, or on which CART grows, in a moment


def status_of(ended: str, objective: float, lower_bound: float, scale: float = 0.0) -> str:
    """Return "optimal" where the bound meets the objective, and how the run ended elsewhere.

    Every status of a fit is made here, whatever stopped the clock.  ``ended`` is one of
    ``STATUSES``, and "optimal" only where the bound proves it; ``scale`` is that of
    :class:`SolveReport`.
    """
    if ended not in STATUSES:
        raise ValueError(f"status {ended!r} is not one of {', '.join(STATUSES)}.")
    if objective - lower_bound <= PROOF * max(abs(objective), scale):
        return "optimal"
    if ended == "optimal":
        raise ValueError(f"status is 'optimal', but the bound {lower_bound} is below the objective "
                         f"{objective}.")
    return ended


class TimeUp(Exception):
    """Say that a time limit has passed; :meth:`Clock.check` raises it and a fit catches it."""


class Clock:
    """Measure wall time against a limit.

    Parameters
    ----------
    time_limit : float or None
        Seconds until ``expired`` becomes true; None for never.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        self.start, self.left_out = time.perf_counter(), 0.0
        self.time_limit = time_limit

    @property
    def elapsed(self) -> float:
        """Seconds since the clock was made, but for those left out."""
        return time.perf_counter() - self.start - self.left_out

    def leave_out(self, seconds: float) -> None:
        """Leave out seconds of the past, in which code was compiled."""
        self.left_out += seconds

    def check(self) -> None:
        """Raise :class:`TimeUp` if the limit has passed."""
        if self.expired:
            raise TimeUp

    @property
    def remaining(self) -> float:
        """Seconds left, never negative; infinite without a limit."""
        return np.inf if self.time_limit is None else max(0.0, self.time_limit - self.elapsed)

    @property
    def expired(self) -> bool:
        """Whether the limit has passed."""
        return self.remaining <= 0.0


class SolveReport:
    """Report how a fit ended and what is proved about its tree.

    Parameters
    ----------
    status : str
        How the run ended: ``optimal`` (the search is complete), ``time_limit``, ``node_limit``,
        ``memory_limit``, ``interrupted`` or ``heuristic`` (no proof was tried).  Where the bound
        meets the objective the attribute says ``optimal``, whatever ended the run.
    objective : float
        Value of the returned tree, always minimised: weighted misclassification score, or loss
        plus penalty.
    lower_bound : float
        No tree of the search space has a smaller objective; ``-inf`` where nothing is known.  It
        is lowered to the objective where a tree from outside that space costs less.
    seconds : float
        Wall time of the fit without compilation.
    start : str, optional
        What the search began from (``cart``, ``local-search``, ``tree``), None for nothing.
    counters : dict, optional
        Search nodes, cache hits, cuts, columns ...: whatever the method counts.
    trace : list of (float, float, float, str), optional
        Seconds, incumbent, bound, and what happened; kept as ``events``, shown by ``trace``, with
        a last line for the end of the run.
    proof : str, default=""
        What the tree is optimal for: "optimal for these 132 predicates at depth 4".  Kept where
        the status is "optimal"; a tree that costs nothing is optimal at any depth.
    compile_seconds : float, default=0.0
        Time that compilation took, not part of ``seconds``.
    evaluate : callable, optional
        ``evaluate(tree, X, y, sample_weight)`` recomputes the objective from the tree alone
        (default: the weighted misclassification score, or squared error for regression); an
        estimator puts in one that knows its parameters and nothing of its search.
    scale : float, optional
        The largest cost of a tree, to which rounding errors are relative: the total weight of the
        training rows, or the cost of a single leaf (default: the objective).  ``optimal`` allows
        a gap, and ``verify`` a difference, of 1e-9 of it.

    Raises
    ------
    ValueError
        If the status is unknown, or says "optimal" where the bound does not prove it.
    """

    _floor = 0.0    # what no tree costs less than, whatever its columns

    def __init__(self, status: str, objective: float, lower_bound: float, seconds: float, *,
                 start: str | None = None, counters: dict[str, Any] | None = None,
                 trace: Iterable[tuple[float, float, float, str]] | None = None, proof: str = "",
                 compile_seconds: float = 0.0, evaluate: Callable[..., float] | None = None,
                 scale: float | None = None) -> None:
        self.objective = float(objective)
        self.lower_bound = min(float(lower_bound), self.objective)
        self.seconds = float(seconds)
        self.start = start
        self.counters = dict(counters or {})
        self.compile_seconds = float(compile_seconds)
        self.evaluate = evaluate
        self.scale = max(abs(self.objective), 0.0 if scale is None else float(scale))
        self.tree = self.binarizer = None   # bound by the estimator, for verify
        self.ended = status
        self.status = status_of(status, self.objective, self.lower_bound, self.scale)
        self.proof = ""
        if self.status == "optimal":
            if not proof and self.lower_bound > 0:
                raise ValueError("a report that says 'optimal' must say for what (proof=...).")
            self.proof = proof or "optimal at any depth"    # nothing costs less than zero
        self.events = [*(trace or ()),
                       (self.seconds, self.objective, self.lower_bound, self.status)]

    def _leave_open(self):
        """Take back what is proved, but for a bound that holds anyhow: time ended the columns."""
        floor, ended = self._floor, "time_limit" if self.ended == "optimal" else self.ended
        self.lower_bound = min(self.lower_bound, floor)
        self.status = status_of(ended, self.objective, self.lower_bound, self.scale)
        if self.status != "optimal":
            self.proof = ""
        self.events = [(seconds, incumbent, min(bound, floor), event)
                       for seconds, incumbent, bound, event in self.events[:-1]]
        self.events.append((self.seconds, self.objective, self.lower_bound, self.status))

    @property
    def notes(self) -> list[str]:
        """What to know of the tree beside its objective: one leaf only, or the features it uses."""
        if self.tree is None:
            return []
        if self.tree.n_splits == 0:
            return ["one leaf: " + ("no tree within the limits costs less"
                                    if self.status == "optimal" else "no better tree was found")]
        made = self.tree.n_features
        used = np.unique(self.tree.feature[self.tree.feature >= 0])
        if len(used) == made:
            return []
        shown = ", ".join(visible(self.tree.feature_name(j)) for j in used[:9])
        what = "features" if self.binarizer is None else "columns"
        return [f"uses {len(used)} of {made} {what}: {shown}{', ...' if len(used) > 9 else ''}"]

    @property
    def gap(self) -> float:
        """Objective minus lower bound; zero means proved optimal."""
        return max(0.0, self.objective - self.lower_bound)

    @property
    def trace(self) -> DataFrame:
        """The run as a table of seconds, incumbent, bound and event."""
        pd = needs("pandas", "plot", "report_.trace")
        return pd.DataFrame(self.events, columns=["seconds", "incumbent", "bound", "event"])

    def primal_integral(self, best: float | None = None, horizon: float | None = None) -> float:
        """Integrate the primal gap over time: the smaller, the sooner good trees were found.

        Parameters
        ----------
        best : float, optional
            Reference objective (default: the one of this report).
        horizon : float, optional
            Seconds to integrate over (default: the length of this run).

        Returns
        -------
        float
            In seconds.  The primal gap is 1 before the first incumbent, then
            ``|incumbent - best| / max(|incumbent|, |best|)``.
        """
        best = self.objective if best is None else best
        horizon = self.seconds if horizon is None else horizon
        total, moment, gap = 0.0, 0.0, 1.0
        for seconds, incumbent, _, _ in self.events:
            seconds = min(max(seconds, moment), horizon)
            total += gap * (seconds - moment)
            moment = seconds
            if np.isfinite(incumbent):
                scale = max(abs(incumbent), abs(best))
                gap = min(1.0, abs(incumbent - best) / scale) if scale else 0.0
        return total + gap * max(0.0, horizon - moment)

    def verify(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Recompute the objective from the tree alone and compare.

        Parameters
        ----------
        X : array, shape (n_rows, n_features)
            The training rows.
        y : array, shape (n_rows,)
            Their labels or targets.
        sample_weight : array, shape (n_rows,), optional
            Their weights, as given to ``fit``; ``class_weight`` is taken into account.

        Returns
        -------
        float
            The recomputed objective.

        Raises
        ------
        ValueError
            If it differs from the reported one: other rows, or a wrong report.
        """
        if self.tree is None:
            raise ValueError("this report belongs to no tree; verify the report_ of a fitted "
                             "estimator.")
        if hasattr(X, "toarray"):
            X = X.toarray()
        if np.ndim(sample_weight) == 0 and sample_weight is not None:
            sample_weight = np.full(len(X), sample_weight, float)
        for name, values in (("y", y), ("sample_weight", sample_weight)):
            if values is not None and np.shape(values)[:1] != (len(X),):
                raise ValueError(f"{name} has shape {np.shape(values)} and X has {len(X)} rows; "
                                 "verify with the rows and weights of the fit.")
        if hasattr(y, "toarray"):
            raise ValueError("y is sparse; give y.toarray().")
        if y is not None and np.ndim(y) == 2 and np.shape(y)[1] == 1:
            y = np.ravel(y)
        width = 1 if self.tree.kind == "classification" else np.size(self.tree.value[0])
        own = self.tree.kind == "regression" and hasattr(
            getattr(self.evaluate, "additive", None), "_cost_of_leaves")
        if y is not None and not own and np.size(y) != len(X) * width:
            raise ValueError(f"y has shape {np.shape(y)} and the tree predicts {width} in each "
                             "row; verify with the targets of the fit.")
        rows, given = X, {}
        if self.binarizer is not None:
            rows, given = self.binarizer.transform(X), {"given": X}
        objective = float((self.evaluate or default_objective)(self.tree, rows, y, sample_weight,
                                                               **given))
        noise = 0.0
        if self.tree.kind == "regression" and np.asarray(y).dtype.kind in "biuf":
            weight = len(X) if sample_weight is None else np.sum(np.asarray(sample_weight, float))
            noise = rounding_of_means(np.asarray(y, float), weight)
        if objective != self.objective and not (
                abs(objective - self.objective) <= PROOF * self.scale + noise < np.inf):
            raise ValueError(f"the tree scores {objective:g} on these rows, the report says "
                             f"{self.objective:g}; verify with the rows and weights of the fit.")
        return objective

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the anytime curve: incumbent and bound over time.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw (default: a new figure).

        Returns
        -------
        matplotlib.axes.Axes
        """
        from odtlib.plotting import anytime
        return anytime(self, ax)

    def _repr_html_(self):
        """Return the report as a table, and the curve of the run where it has one, for a notebook.
        """
        rows = {"status": self.status, "proof": self.proof, "objective": f"{self.objective:g}",
                "lower bound": f"{self.lower_bound:g}", "gap": f"{self.gap:g}",
                "seconds": f"{self.seconds:.3g}", "start": self.start or "",
                **{f"note {k}": note for k, note in enumerate(self.notes, 1)},
                **{name.replace("_", " "): value for name, value in self.counters.items()}}
        cells = "".join(f"<tr><th>{html(name)}</th><td>{html(value)}</td></tr>"
                        for name, value in rows.items() if value != "")
        try:
            from odtlib.plotting import as_svg
            picture = as_svg(self.plot()) if len(self.events) > 1 else ""
        except ModuleNotFoundError:
            picture = ""
        return f"<table>{cells}</table>{picture}"

    def __repr__(self):
        return f"<SolveReport: {self}>"

    def __str__(self):
        claim = self.proof if self.status == "optimal" else self.status.replace("_", " ")
        bound = "" if self.gap == 0 else f", bound {self.lower_bound:g}"
        leaf = f"; {self.notes[0]}" if self.tree is not None and self.tree.n_splits == 0 else ""
        return f"objective {self.objective:g}{bound} ({claim}), {self.seconds:.3g} s{leaf}"


def pluralised(number, what):
    """Return ``these 5 predicates``, or ``this predicate`` for one."""
    return f"this {what}" if number == 1 else f"these {number} {what}s"


def default_objective(tree: DecisionTree, X: ArrayLike, y: ArrayLike,
                      sample_weight: ArrayLike | None = None, split_penalty: float = 0.0) -> float:
    """Return the weighted misclassification score, or the squared error, and the price of splits.

    ``X``, shape (n_rows, n_features), are rows as the tree expects them, ``y``, shape (n_rows,) or
    (n_rows, n_outputs), their labels or targets, and ``sample_weight`` their weights.
    """
    y = np.asarray(y)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
    predicted, price = tree.predict(X), split_penalty * tree.n_splits
    if tree.kind == "classification":
        return fsum(weight[predicted != y].tolist()) + price
    loss = ((predicted.reshape(len(y), -1) - y.reshape(len(y), -1)) ** 2).sum(axis=1)
    return float((weight * loss).sum()) + price
