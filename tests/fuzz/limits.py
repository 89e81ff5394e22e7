"""Limits never help, and no forged proof passes with a false claim."""

import warnings

from certificates.forgery import forgeries, look_at
from fuzz.drawing import need
from fuzz.judging import demand
from fuzz.parts import Part
from fuzz.registry import fuzz

import odtlib
from odtlib.column_generation import TreeLimits
from odtlib.tolerance import PROOF


@fuzz(4, "CertifiedMixin.certificate", "OptimalityCertificate.save")
def proofs(draw):
    """A certificate of any kind is accepted, and forged ones prove nothing false."""
    seed = int(draw.random.integers(2**40))

    def look(_):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            look_at(seed)
            forgeries(seed, 5)

    return Part(None, look, seed=seed)


def stricter(draw, kind, options, X):
    """Return what may be tested less: the columns, and the options with a limit or a penalty more.
    """
    columns = slice(None)
    more = dict(options)
    change = draw.pick("min_samples_leaf", "split_penalty", "max_depth", "max_leaf_nodes", "column",
                       "candidate", "max_feature_cost")
    if change == "min_samples_leaf":
        more[change] = options.get(change, 1) + draw.number(1, 3)
    elif change == "split_penalty":
        more[change] = options[change] * draw.pick(2, 10) + draw.pick(0.0, 1.0)
    elif change == "max_leaf_nodes":
        more[change] = min(options.get(change, 9), draw.number(2, 4))
    elif change == "max_feature_cost" and kind is odtlib.ColumnGenerationClassifier:
        more["limits"] = TreeLimits(max_feature_cost=draw.number(0, 2))
    elif "splits" in options:
        node = draw.number(0, len(options["splits"]) - 1)
        more["splits"] = [here[1:] if at == node and len(here) > 1 else here
                          for at, here in enumerate(options["splits"])]
    elif change == "max_depth":
        more[change] -= 1
    elif X.shape[1] > 1:
        columns = slice(1, None)
    return columns, more


@fuzz(4, "MurTreeClassifier.fit", "MurTreeRegressor.fit", "ContinuousTreeClassifier.fit",
      "ContinuousTreeRegressor.fit", "RestrictedTreeClassifier.fit",
      "ColumnGenerationClassifier.fit")
def monotony(draw):
    """A limit added, a candidate removed, a penalty raised: the objective is no better."""
    problem = draw.classified(rows=14, features=3, named=False)
    X, y, weight = problem.X, problem.y, problem.weight
    kind = draw.pick(odtlib.MurTreeClassifier, odtlib.MurTreeRegressor,
                     odtlib.ContinuousTreeClassifier, odtlib.ContinuousTreeRegressor,
                     odtlib.RestrictedTreeClassifier, odtlib.ColumnGenerationClassifier)
    options = {"max_depth": draw.pick(2, 1, 3),
               "split_penalty": draw.price(problem, 0, 0.001, 0.01, 0.1)}
    if "splits" in kind._get_param_names():
        if kind is odtlib.RestrictedTreeClassifier:
            options["distinct_splits"] = draw.chance(0.3)
        else:
            options["search"] = odtlib.ColumnGenerationSearch(integer="branch-and-price")
        options["splits"] = [[(draw.number(0, X.shape[1] - 1), float(draw.values.choice(X.ravel())))
                              for _ in range(draw.number(1, 3))] for _ in range(3)]
        options["max_depth"] = None
    elif "binarizer" in kind._get_param_names():
        options["binarizer"] = "all"
    columns, more = stricter(draw, kind, options, X)
    need(more.get("min_samples_leaf", 1) <= len(problem.rows))

    def look(model):
        free = model.fit(X, y, weight).report_
        held = kind(**more).fit(X[:, columns], y, weight).report_
        demand(held.objective >= free.objective - 2 * PROOF * (free.scale + held.scale),
               more, "gives", held.objective, "and without it", free.objective)

    return Part(kind(**options), look, X=X, y=y, weight=weight, more=more)
