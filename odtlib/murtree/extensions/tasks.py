"""Choosing the solver of a task, and the lower convex hull of a path."""

from __future__ import annotations

from collections import namedtuple

from odtlib._tolerance import ROUNDING

from .all_trees import AllTreesRun
from .fronts import FairRun, ParetoRun
from .levels import LevelRun

RegularisedTree = namedtuple("RegularisedTree", "low high errors n_splits optimal tree")


def extension_run(model, columns, y, sample_weight, clock, task, protected, costs):
    """Return the run of the extension that a fit needs; None for the search of MurTree alone."""
    data = (model, columns, y, sample_weight, clock)
    per_level = "split_penalty per level"
    fair = "max_disparity" if model.max_disparity is not None else "disparity_penalty"
    kinds = {"objective='f1'": model.objective == "f1", "pareto_front": task == "pareto_front",
             fair: protected is not None, per_level: model._has_level_penalties(),
             "costs": costs is not None, "optimal_trees": task == "optimal_trees",
             "path": task == "path",
             "objective='balanced-accuracy'": model.objective == "balanced-accuracy"}
    asked = [name for name, wanted in kinds.items() if wanted]
    allowed = (["path", "objective='balanced-accuracy'"], ["objective='f1'", "pareto_front"])
    if len(asked) > 1 and sorted(asked) not in map(sorted, allowed):
        raise ValueError(f"{asked[0]} cannot be combined with {asked[1]}; choose one of them.")
    if task == "pareto_front" or model.objective == "f1":
        return ParetoRun(*data, asked[0])
    if protected is not None:
        return FairRun(*data, fair, protected)
    if per_level in asked:
        return LevelRun(*data, per_level)
    if task == "optimal_trees":
        return AllTreesRun(*data, "optimal_trees")
    return None


def lower_hull(path):
    """Return the entries of a path that are optimal for some ``split_penalty``, largest first."""
    hull = []
    for entry in path:
        size = entry.tree.n_splits
        if hull and entry.objective >= hull[-1].objective:
            continue
        while hull and size <= hull[-1].tree.n_splits:
            hull.pop()
        while len(hull) > 1 and (saving(hull[-2], hull[-1])
                                 <= saving(hull[-2], entry) * (1 + ROUNDING)):
            hull.pop()
        hull.append(entry)
    breaks = [float("inf"), *(saving(a, b) for a, b in zip(hull, hull[1:], strict=False)), 0.0]
    return [RegularisedTree(breaks[k + 1], breaks[k], entry.objective, entry.tree.n_splits,
                            entry.optimal, entry.tree) for k, entry in enumerate(hull)]


def saving(larger, smaller):
    """Return the errors saved per additional feature node between two entries of a path."""
    return ((larger.objective - smaller.objective)
            / max(1e-300, smaller.tree.n_splits - larger.tree.n_splits))
