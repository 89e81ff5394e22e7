"""What both estimators report: the progress of a search, and what it has found."""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from odtlib.report import SolveReport
from odtlib.tree import DecisionTree


class Found(NamedTuple):
    """What a search has found.

    ``tree`` is the best tree known, or its nodes where they are still to be decoded; ``bound`` a
    lower bound on the cost of every tree; ``ended`` says what ended the search, and is "heuristic"
    or "optimal" where nothing was cut short.
    """

    tree: DecisionTree | np.ndarray | None
    cost: float
    bound: float = 0.0
    ended: str = "optimal"
    counters: dict = {}
    trace: tuple | list = ()


def report_of(model, found, n_rows, max_nodes, objective, bound, scale, seconds, note=""):
    """Return the report of what the search of an estimator has found."""
    limit = "" if max_nodes is None else f" with at most {max_nodes} splits"
    proof = (f"optimal over all thresholds of {model.n_features_in_} features on {n_rows} rows at "
             f"{model._depth_in_words()}{limit}{note}")
    return SolveReport(found.ended, objective, bound, seconds, counters=found.counters,
                       trace=found.trace, proof=proof, start=model._start_word(), scale=scale)


@contextmanager
def progress(verbose, total, unit, scale):
    """Yield what shows incumbent, bound and how much of ``total`` is closed, if verbose.

    ``scale``: one unit of the search, in which incumbent and bound are, in units of the objective.
    """
    if not verbose:
        yield lambda *state: None
        return
    from tqdm.auto import tqdm
    with tqdm(total=total, unit=unit, disable=None) as bar:
        def show(objective, bound, done):
            bar.set_postfix_str(f"objective {objective * scale:g}, bound {bound * scale:g}",
                                refresh=False)
            bar.update(done - bar.n)
        yield show
