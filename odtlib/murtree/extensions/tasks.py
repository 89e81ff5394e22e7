"""Choosing the solver of a task, and the lower convex hull of a path."""

from __future__ import annotations

from collections import namedtuple
from itertools import combinations, pairwise

from odtlib.trees import lower_hull

from ..options import limits_splits
from .fronts import FairRun, ParetoRun

RegularisedTree = namedtuple("RegularisedTree", "low high errors n_splits optimal tree")


def extension_run(model, columns, y, sample_weight, clock, task, protected, costs):
    """Return the run of the extension that a fit needs; None for the search of MurTree alone."""
    data = (model, columns, y, sample_weight, clock)
    per_level, search = "split_penalty per level", model.search
    limit = "limits on splits"
    published, objective = f"search={type(search).__name__}()", f"objective={model.objective!r}"
    kinds = {objective: model.objective != "errors", "pareto_front": task == "pareto_front",
             "max_disparity": protected is not None, per_level: model._has_level_penalties(),
             "costs": costs is not None, "path": task == "path",
             "split_penalty": model.objective in ("balanced-accuracy", "f1") and not (
                 model._has_level_penalties() or model.split_penalty == 0),
             **{name: task == name for name in ("optimal_trees", "good_trees")},
             published: hasattr(search, "run_of"),
             limit: limits_splits(search)}
    asked = [name for name, wanted in kinds.items() if wanted]
    allowed = [["path", published], ["path", per_level], ["path", limit], [limit, per_level],
               [limit, "costs"]]
    if model.objective != "f1":
        allowed += [[other, objective] for other in ("path", "optimal_trees", "good_trees", limit)]
    for one, other in combinations(asked, 2):
        if [one, other] not in allowed and [other, one] not in allowed:
            raise ValueError(f"{one} cannot be combined with {other}; choose one of them.")
    if task == "pareto_front":
        return ParetoRun(*data, task)
    if protected is not None:
        return FairRun(*data, "max_disparity", protected)
    if published in asked:
        return search.run_of(*data, published, path=task == "path")
    return None


def regularised_trees(path):
    """Return the entries of a path that are optimal for some ``split_penalty``, largest first."""
    hull = [path[k] for k in lower_hull([(entry.tree.n_splits, entry.objective)
                                         for entry in path])]
    breaks = [(a.objective - b.objective) / (b.tree.n_splits - a.tree.n_splits)
              for a, b in pairwise(hull)]
    return [RegularisedTree(low, high, entry.objective, entry.tree.n_splits, entry.optimal,
                            entry.tree)
            for entry, high, low in zip(hull, [float("inf"), *breaks], [*breaks, 0.0],
                                        strict=True)]
