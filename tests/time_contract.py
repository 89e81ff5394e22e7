"""Every public method that solves something, and by how much it overruns a limit or a Ctrl-C.

    python tests/time_contract.py [--limits 0.1 0.5 2] [--only TEXT ...] [--kinds KIND ...]

prints a table for all methods: on 0/1 and on numeric data of 3,000 x 120, on numeric data of
50,000 x 20 and 100,000 x 30, and for trees without a limit on depth on 50 x 4.
"""

import argparse
import contextlib
import inspect
import os
import signal
import threading
import time
import warnings
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

import odtlib
from odtbook import formulations, published
from odtbook.published import PaperSearch, Sweep, dl85_search
from odtlib import ColumnGenerationSearch, MurTreeSearch
from odtlib.column_generation import ThresholdSampling
from odtlib.constrained import sets

ALLOWED = 1.0                    # seconds over the limit, and after Ctrl-C
SHAPES = {"binary": (3000, 120), "numeric": (3000, 120), "tall": (50_000, 20),
          "large": (100_000, 30), "deep": (50, 4)}
PASSIVE = {"score", "verify", "formulate"}      # they take ``y`` and search for nothing
REFUSED = {("SurvivalTree", "certificate")}     # there is no proof of its objective yet
HOMES = odtlib, formulations, published


class Call(NamedTuple):
    """A method of an estimator on a problem that takes much longer than the limit."""

    estimator: str
    method: str = "fit"
    parameters: dict = {}
    extra: tuple = ()                # names of further arguments; see ``further``
    limited: bool = True             # False: it has no limit, and only Ctrl-C is tried
    quick: bool = False              # whether it may be ready before the limit

    def __str__(self):
        shown = ", ".join(f"{key}={value if isinstance(value, (int, float, str, list)) else '...'}"
                          for key, value in self.parameters.items())
        return f"{self.estimator}({shown}).{self.method}({', '.join(self.extra)})"


def estimators():
    """Return all public estimators by name."""
    return {name: getattr(home, name) for home in HOMES for name in home.__all__
            if hasattr(getattr(home, name), "fit")}


def solving_methods():
    """Return ``(estimator, method)`` of all public methods that learn from ``y``."""
    return {(name, method) for name, kind in estimators().items()
            for method, function in inspect.getmembers(kind, inspect.isfunction)
            if not method.startswith("_") and method not in PASSIVE
            and (name, method) not in REFUSED
            and "y" in inspect.signature(function).parameters}


SWEEP = ColumnGenerationSearch(pricing=Sweep())       # paths are not listed
MANY_CANDIDATES = ThresholdSampling(root_candidates=30, node_candidates=30)
CALLS = [
    Call("CARTClassifier", parameters={"max_depth": 30}, limited=False, quick=True),
    Call("CARTClassifier", "cost_complexity_pruning_path", {"max_depth": 30}, limited=False,
         quick=True),
    Call("TunedCARTClassifier", parameters={"max_depth": 30}),
    Call("LocalSearchTreeClassifier", parameters={"max_depth": 6}),
    Call("ColumnGenerationClassifier", quick=True),
    Call("ColumnGenerationClassifier", parameters={"splits": "all", "search": SWEEP}),
    Call("ColumnGenerationClassifier", parameters={"max_depth": 6, "search": SWEEP,
                                                   "sampling": MANY_CANDIDATES},
         quick=True),       # of few trees in its third of the limit few splits come, soon solved
    Call("GeneratedSplitsClassifier", parameters={"max_depth": 6}),
    Call("RestrictedTreeClassifier", quick=True),
    Call("RestrictedTreeClassifier", parameters={"splits": "all"}),
    *(Call(name, "certificate", {"max_depth": 3}, quick=True) for name in (
        "RestrictedTreeClassifier", "ColumnGenerationClassifier")),
    Call("MurTreeClassifier", parameters={"max_depth": 5}),
    Call("MurTreeClassifier", parameters={"max_depth": 5, "min_samples_leaf": 5}),
    Call("MurTreeClassifier", "certificate", {"max_depth": 5, "binarizer": "mdlp"},
         quick=True),
    *(Call("MurTreeClassifier", parameters={"max_depth": 5, "binarizer": "all", "start": start})
      for start in (None, "cart", "local-search")),
    Call("MurTreeClassifier", "pareto_front", {"max_depth": 4, "binarizer": "all"}),
    Call("MurTreeClassifier", parameters={"max_depth": 5, "binarizer": "all"},
         extra=("sample_weight",)),
    Call("MurTreeClassifier", parameters={"max_depth": 5, "binarizer": "mdlp"}, quick=True),
    Call("MurTreeClassifier", parameters={"max_depth": 5, "objective": "f1"}),
    Call("MurTreeClassifier", parameters={"max_depth": 5, "objective": "balanced-accuracy"}),
    Call("MurTreeClassifier", parameters={"max_depth": 5, "start": "local-search"}),
    Call("MurTreeClassifier", parameters={"max_depth": 5, "split_penalty": [1.0] * 5}),
    Call("MurTreeClassifier", parameters={"max_depth": 4, "max_disparity": 0.01},
         extra=("protected",)),
    Call("MurTreeClassifier", parameters={"max_depth": 5}, extra=("costs",)),
    Call("MurTreeClassifier", parameters={"max_depth": 5}, extra=("sample_weight",)),
    *(Call("MurTreeClassifier", parameters={"max_depth": depth, "search": PaperSearch()})
      for depth in (3, 5)),
    Call("MurTreeClassifier", "path", {"max_depth": 4, "search": PaperSearch()}),
    Call("MurTreeClassifier", parameters={"max_depth": 5, "search": dl85_search()}),
    Call("MurTreeClassifier", parameters={
        "max_depth": 8, "search": MurTreeSearch(lookahead=3)}, quick=True),
    Call("MurTreeClassifier", parameters={
        "max_depth": 6, "search": MurTreeSearch(discrepancy_search=True, deepening=True)}),
    Call("MurTreeClassifier", "path", {"max_depth": 5}),
    Call("MurTreeClassifier", "regularisation_path", {"max_depth": 5}),
    Call("MurTreeClassifier", "pareto_front", {"max_depth": 3}, quick=True),   # kernels of depth 2
    Call("MurTreeClassifier", "pareto_front", {"max_depth": 4}),
    Call("MurTreeClassifier", "optimal_trees", {"max_depth": 4}),
    Call("MurTreeClassifier", "good_trees", {"max_depth": 4}, ("tolerance",)),
    Call("MurTreeClassifier", "good_trees", {"max_depth": 2}, ("tolerance", "sample_weight"),
         quick=True),
    Call("MurTreeRegressor", parameters={"max_depth": 5}),
    Call("MurTreeRegressor", parameters={"max_depth": 4, "loss": "absolute_error"}),
    Call("MurTreeRegressor", parameters={"max_depth": 3, "loss": "absolute_error",
                                         "binarizer": "all"}),
    Call("MurTreeRegressor", parameters={"max_depth": 5, "binarizer": "all", "start": "cart"}),
    Call("MurTreeRegressor", "path", {"max_depth": 5}),
    Call("MurTreeRegressor", "good_trees", {"max_depth": 4}, ("tolerance",)),
    Call("MurTreeRegressor", "optimal_trees", {"max_depth": 4}),
    Call("MurTreeRegressor", "certificate", {"max_depth": 5}, quick=True),
    Call("SurvivalTree", parameters={"max_depth": 5}),
    Call("SurvivalTree", "path", {"max_depth": 5}),
    Call("SurvivalTree", "good_trees", {"max_depth": 4}, ("tolerance",)),
    Call("SurvivalTree", "optimal_trees", {"max_depth": 4}),
    Call("ContinuousTreeClassifier", parameters={"max_depth": 4}),
    Call("ContinuousTreeClassifier", "certificate", {"max_depth": 4}, quick=True),
    Call("ContinuousTreeRegressor", "certificate", {"max_depth": 4}, quick=True),
    Call("ContinuousTreeRegressor", parameters={"max_depth": 4}),
    Call("ContinuousTreeRegressor", parameters={"max_depth": 2}, quick=True),
    Call("ConstrainedTreeRegressor", parameters={
        "constraints": sets.AtMostKNonzero(1, 0, 100), "split": "exact",
        "on_infeasible_targets": "project"}, quick=True),
    Call("ConstrainedTreeRegressor", parameters={"constraints": sets.Box(0, 100),
                                                 "split": "medoid"}, quick=True),
    Call("PaperTreeRegressor", parameters={"constraints": sets.Box(0, 100),
                                           "split": "euclidean-medoid"}, quick=True),
    Call("ConstrainedTreeRegressor", parameters={"constraints": sets.Box(0, 100)}, quick=True),
    Call("OptimalConstrainedTreeRegressor", parameters={"constraints": sets.Box(0, 100),
                                                        "max_depth": 4}),
    Call("ConstrainedForestRegressor", parameters={
        "constraints": sets.Box(0, 100), "n_estimators": 100}, quick=True),
    Call("ConstrainedTreeClassifier", limited=False, quick=True),
    Call("ProjectedRegressor", limited=False, quick=True),
    Call("BinOCTClassifier", parameters={"max_depth": 3}),
    Call("BinOCTClassifier", parameters={"max_depth": 3, "solver": "cp-sat"}),
    Call("BinOCTClassifier", parameters={"max_depth": 3, "solver": "lns"}),
    Call("OCTClassifier"),
    Call("OCTClassifier", parameters={"solver": "cp-sat"}),
    Call("OCTClassifier", "path"),
    Call("OCTClassifier", "tune", extra=("X_validation", "y_validation"), quick=True),
    Call("FlowOCTClassifier", parameters={"max_depth": 4}),
]


def several_targets(estimator):
    """Tell whether an estimator predicts several targets at once."""
    return "Constrained" in estimator or estimator in ("ProjectedRegressor", "PaperTreeRegressor")


def table(kind, call):
    """Return rows and targets of a kind that fit an estimator: noise around a weak signal."""
    random = np.random.default_rng(0)
    X = (random.integers(0, 2, SHAPES[kind]).astype(float) if kind == "binary"
         else random.normal(size=SHAPES[kind]))
    target = X[:, :3].sum(axis=1) + random.normal(size=len(X))
    if call.estimator.endswith("Classifier"):
        return X, (target > np.median(target)).astype(int)
    if call.estimator == "SurvivalTree":
        return X, np.column_stack([random.random(len(X)) < 0.7, np.exp(-target)])
    if several_targets(call.estimator):
        return X, np.abs(target[:, None] + random.normal(size=(len(X), 3)))
    return X, target


def further(call, X, y):
    """Return the further arguments of a call."""
    random = np.random.default_rng(1)
    given = {"protected": random.integers(0, 2, len(y)), "costs": random.random((len(y), 2)),
             "sample_weight": random.integers(1, 9, len(y)), "tolerance": 20.0,
             "X_validation": X, "y_validation": y}
    return {name: given[name] for name in call.extra}


def at_depth(call, depth):
    """Return the call with another depth, where it has one."""
    parameters = dict(call.parameters)
    if "max_depth" in estimators()[call.estimator]().get_params():
        parameters["max_depth"] = depth
    if isinstance(parameters.get("split_penalty"), list):
        parameters["split_penalty"] = [1.0] * depth
    return call._replace(parameters=parameters)


def run(call, X, y, time_limit):
    """Call the method; return how it ended: a tree may be proved before all are counted."""
    parameters = dict(call.parameters)
    kind = estimators()[call.estimator]
    if "time_limit" in kind().get_params():
        parameters["time_limit"] = time_limit
    model = kind(**parameters)
    if call.method == "certificate":        # of more than the fit has proved
        model.set_params(max_depth=1).fit(X, y).set_params(max_depth=parameters["max_depth"])
    try:
        getattr(model, call.method)(X, y, **further(call, X, y))
    except KeyboardInterrupt:
        return "KeyboardInterrupt"
    except (TimeoutError, MemoryError) as error:
        return type(error).__name__
    except ValueError as error:
        if "too many thresholds" not in str(error):     # for a certificate
            raise
        return "refused"
    return model.report_.ended if hasattr(model, "report_") else "done"


def clock_without_waiting(pid="self"):
    """Return a clock: the wall's, less what the threads of a process waited for a processor.

    So a computer with other work does not count against a call, and a call that sleeps does.
    """
    waited = {}         # by thread, those that have ended included

    def clock():
        for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):      # of Linux; elsewhere none
            with contextlib.suppress(OSError, IndexError):              # it has just ended
                waited[file.parent.name] = int(file.read_text().split()[1]) / 1e9
        return time.perf_counter() - sum(waited.values())

    return clock


def overrun(call, kind, seconds, interrupt):
    """Return how a call ended, and by how many seconds it outlasts a limit, or a Ctrl-C.

    By the wall clock, less what the call waited for a processor, as on a loaded machine.
    """
    X, y = table(kind, call)
    few = np.arange(min(40, len(y)))
    clock, marks = clock_without_waiting(), []

    def press():
        marks.append(clock())
        if interrupt:
            os.kill(os.getpid(), signal.SIGINT)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run(at_depth(call, 2), X[few, :5], y[few], 1.0)              # it compiles
        except ValueError:
            pass                     # what cannot be fitted says so below
        timer = threading.Timer(seconds, press)
        begun = clock()
        try:
            timer.start()
            try:
                status = run(call, X, y, None if interrupt else seconds)
            finally:
                timer.cancel()
                timer.join()
        except KeyboardInterrupt:
            status = "KeyboardInterrupt"
    return status, clock() - min([*marks, begun + seconds])


def may_be_deep(call):
    """Tell whether a call knows trees without a limit on depth."""
    return "max_depth" in estimators()[call.estimator]().get_params() and \
        "split_penalty" not in call.parameters and call.estimator != "ContinuousTreeRegressor"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limits", type=float, nargs="+", default=[0.1, 0.5, 2.0],
                        metavar="SECONDS")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT")
    parser.add_argument("--kinds", nargs="+", default=list(SHAPES), choices=SHAPES)
    options = parser.parse_args()
    for call in CALLS:
        if not any(text in str(call) for text in options.only):
            continue
        worst = {}
        for kind, interrupt in product(options.kinds, (False, True)):
            if not (interrupt or call.limited) or (kind == "deep" and not may_be_deep(call)):
                continue
            tried = at_depth(call, 10 ** 9) if kind == "deep" else call
            for seconds in options.limits:
                try:
                    status, over = overrun(tried, kind, seconds, interrupt)
                except ValueError as error:
                    status, over = str(error)[:60], 0.0
                name = f"{kind}{' ^C' if interrupt else ''}"
                worst[name] = max(worst.get(name, (-np.inf, "")), (over, f"{seconds:g} {status}"))
        cells = "  ".join(f"{name} {over:.2f} ({what})" for name, (over, what) in worst.items())
        flag = "LATE " if max(over for over, _ in worst.values()) > ALLOWED else "     "
        print(f"{flag}{call}: {cells}", flush=True)


if __name__ == "__main__":
    main()
