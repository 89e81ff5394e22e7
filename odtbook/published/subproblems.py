"""Pricing by integer programming: the subproblem models of both papers, for HiGHS and CP-SAT."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

from odtbook.formulations.engines import library
from odtbook.formulations.model import Model
from odtbook.published.programs import solutions
from odtbook.published.random_paths import some_reduced_costs
from odtbook.published.sweep import Sweep
from odtlib.column_generation.pricing import TOLERANCE


def build(master, relaxation, leaf, allowed, *, target=None, distinct=False, merge_rows=True,
          separate_duals=False):
    """Build the subproblem of a leaf.

    Parameters
    ----------
    master : Master
        The master problem.
    relaxation : Relaxation
        Its duals.
    leaf : int
        The leaf.
    allowed : array of bool, shape (n_splits,)
        Splits that paths may use.
    target : int, optional
        The class at the leaf: model (9) to (16) of Firat et al. (2020).  By default the model
        chooses the class, which is the merged model (3) of Patel et al. (2023).
    distinct : bool, default=False
        Forbid using a split twice on a path (14).  From depth three on this can make the best tree
        worse, and a leaf whose nodes have too few splits has no path.
    merge_rows : bool, default=True
        Have one variable for all rows that take the same branches and have the same class.
    separate_duals : bool, default=False
        Have two variables for each row with a constraint, one that is counted and one that pays the
        dual, which weakens the relaxation; otherwise one, as both papers print the models.

    A row is forced into the leaf that its branches lead to (13), (3e) only where not counting it
    would pay: where its dual is positive.

    Returns
    -------
    model : Model
        To be minimised: the objective is the reduced cost, without the leaf's own dual, with the
        other sign.
    splits : list of array of int
        For each level the variables of the node's splits.
    """
    if master.link != "node":
        raise ValueError("the subproblem models price the papers' form only; use link='node'.")
    problem, (nodes, to_left) = master.problem, master.problem.path_nodes(leaf)
    gamma, level_start = relaxation.gamma[leaf], master.level_start[leaf]
    program = _Program(problem, nodes, to_left)
    variables, line, follow = program.variables, program.line, program.follow
    splits = program.splits = [
        variables(f"split at level {h}", -gamma[level_start[h]:level_start[h + 1]],
                  allowed[problem.start[node]:problem.start[node + 1]])
        for h, node in enumerate(nodes)]
    for mine in splits:
        line(mine, np.ones(len(mine)), 1.0, 1.0)                                   # (10), (3b)
    for mine, below in pairwise(splits) if problem.limited else ():     # no split: none below
        line([mine[-1], below[-1]], [1.0, -1.0], -np.inf, 0.0)
    if distinct:                                                                   # (14)
        same = {}
        for node, mine in zip(nodes, splits, strict=True):
            for i, u in enumerate(mine):
                s = problem.start[node] + i
                if not problem.no_split[s]:
                    same.setdefault((problem.feature[s], problem.threshold[s]), []).append(u)
        for group in same.values():
            if len(group) > 1:
                line(group, np.ones(len(group)), -np.inf, 1.0)
    rows, labels, weights = _rows(problem, target, merge_rows)
    beta = relaxation.beta
    paying = np.flatnonzero(np.abs(beta) > 1e-12)
    dual = np.zeros(len(rows))
    if not separate_duals:      # the variable of a row with the same branches pays the dual
        dual, paying = _shared_duals(master, beta, rows, paying, np.isin(problem.node_of, nodes))
    gain = weights if target is not None else np.zeros(len(rows))
    reach = follow("row", problem.goes_left[:, rows], gain - dual, dual > 0)
    if target is None:
        chosen = variables("class", np.zeros(problem.n_classes))
        line(chosen, np.ones(len(chosen)), 1.0, 1.0)                               # (3h)
        correct = variables("correct", weights)
        for z, y, label in zip(correct, reach, labels, strict=True):
            line([z, y], [1.0, -1.0], -np.inf, 0.0)                                # (3f)
            line([z, chosen[label]], [1.0, -1.0], -np.inf, 0.0)                    # (3g)
    if problem.limited:   # a leaf with rows is active, pays the penalty and has enough of them
        every = problem.representatives
        held = np.bincount(problem.signature)
        reach = follow("distinct row", problem.goes_left[:, every], np.zeros(len(every)),
                       np.ones(len(every), bool))
        active = variables("active", [-problem.penalty - relaxation.delta.sum()])
        for y in reach:
            line([y, *active], [1.0, -1.0], -np.inf, 0.0)
        line([*active, *reach], [problem.limits[0], *(-held[problem.signature[every]])], -np.inf,
             0.0)
    # other rows of the master's constraints, whose duals the path pays
    follow("other row", master.branches[:, paying], -beta[paying], beta[paying] > 0)
    return program.whole(), splits


class _Program:
    """The variables and lines of a subproblem, over the nodes of a path and where it turns left."""

    def __init__(self, problem, nodes, to_left):
        self.problem, self.nodes, self.to_left = problem, nodes, to_left
        self.model, self.lines, self.splits = Model("subproblem"), [], []

    def variables(self, name, gain, upper=1.0):
        """Add a 0/1 variable for each gain; return their numbers."""
        return self.model.add_variables(name, len(gain), cost=-np.asarray(gain), upper=upper,
                                        kind="integer")

    def line(self, index, value, low, high):
        """Add a row of variables with whole coefficients between two bounds."""
        self.lines.append((index, value, low, high))

    def follow(self, name, branches, gain, forced):
        """Add a variable for each row that says whether it reaches the leaf."""
        reach, start = self.variables(name, gain), self.problem.start
        for y, row, must in zip(reach, branches.T, forced, strict=True):
            leading = []
            for node, side, mine in zip(self.nodes, self.to_left, self.splits, strict=True):
                here = row[start[node]:start[node + 1]]
                lead = [u for u, left in zip(mine, here, strict=True) if left == side]
                self.line([y, *lead], [1.0] + [-1.0] * len(lead), -np.inf, 0.0)    # (11), (12)
                leading += lead
            if must:                                                               # (13), (3e)
                self.line([y, *leading], [-1.0] + [1.0] * len(leading), -np.inf,
                          len(self.nodes) - 1.0)
        return reach

    def whole(self):
        """Return the model with all lines."""
        index, value, low, high = zip(*self.lines, strict=True)
        self.model.add_rows(
            "path", len(low), np.repeat(np.arange(len(low)), list(map(len, index))),
            np.concatenate(index), np.concatenate(value), lower=low, upper=high)
        return self.model


def _rows(problem, target, merge_rows):
    """Return the rows that get a variable, their classes and weights: those of a target, or all."""
    rows, weights = np.arange(problem.n_rows), problem.weights
    if merge_rows:
        _, rows, group = np.unique(problem.signature * problem.n_classes + problem.y,
                                   return_index=True, return_inverse=True)
        weights = np.bincount(group, weights)
    labels = problem.y[rows]
    chosen = slice(None) if target is None else labels == target
    return rows[chosen], labels[chosen], weights[chosen]


def _shared_duals(master, beta, rows, paying, here):
    """Return the duals that rows pay, as they take the branches ``here`` alike, and who is left."""
    dual = np.zeros(len(rows))
    position = {row.tobytes(): i
                for i, row in enumerate(master.problem.goes_left[here][:, rows].T)}
    owner = np.array([position.get(row.tobytes(), -1)
                      for row in master.branches[here][:, paying].T], np.int64)
    np.add.at(dual, owner[owner >= 0], beta[paying[owner >= 0]])
    return dual, paying[owner < 0]


def pricing(kind: str, subproblems: str = "merged",
            merge_rows: bool = True) -> str | Subproblems | Sweep | None:
    """Return the exact pricing of a variant, as a parameter of an experiment names it.

    Parameters
    ----------
    kind : {"enumeration", "sweep", "cp-sat", "milp", "none"}
        "cp-sat" and "milp" are the integer programs of the papers.
    subproblems : {"merged", "per-class"}, default="merged"
        One program per leaf (Patel et al.) or one per leaf and class (Firat et al.).
    merge_rows : bool, default=True
        See :func:`build`.

    Returns
    -------
    str, Subproblems, Sweep or None
        For ``pricing`` of :class:`odtlib.ColumnGenerationSearch`.
    """
    if kind in ("cp-sat", "milp"):
        return Subproblems(kind, subproblems == "merged", merge_rows=merge_rows)
    return {"none": None, "sweep": Sweep()}.get(kind, kind)


class Subproblems:
    """Price by solving integer programs, leaf after leaf.

    Parameters
    ----------
    solver : {"cp-sat", "milp"}, default="cp-sat"
        CP-SAT, or HiGHS.
    merged : bool, default=True
        One model per leaf that chooses the class (Patel et al. 2023); else one per leaf and class
        (Firat et al. 2020).
    first_only : bool, default=True
        Stop at the first leaf that yields a path, as the published program does; else solve all
        leaves, which also gives a bound each time.
    distinct, merge_rows, separate_duals : bool
        See :func:`build`.
    scale : float, default=1e5
        CP-SAT takes integer coefficients: they are multiplied by this and rounded.  The bound
        accounts for the rounding.
    warm_start : bool, default=True
        Begin with the path that was best for the leaf in the last iteration: a hint for CP-SAT, a
        partial solution for HiGHS.
    """

    exact = True

    def __init__(self, solver: str = "cp-sat", merged: bool = True, *, first_only: bool = True,
                 distinct: bool = False, merge_rows: bool = True, separate_duals: bool = False,
                 scale: float = 1e5, warm_start: bool = True) -> None:
        library(solver)     # which may not be installed
        self.solver, self.merged, self.first_only = solver, merged, first_only
        self.options = dict(distinct=distinct, merge_rows=merge_rows, separate_duals=separate_duals)
        self.scale, self.warm_start = scale, warm_start
        self.last = {}
        self.n_solved = 0

    def __call__(self, master, relaxation, allowed, seconds=np.inf):
        """Return improving paths, as :class:`odtlib.column_generation.pricing.Enumeration` does.

        The third result holds upper bounds of the reduced costs, None where not every leaf was
        solved to the end.
        """
        end = time.perf_counter() + seconds
        problem = master.problem
        leaves, paths = [], []
        best = np.full(problem.n_leaves, -np.inf)
        complete = True
        targets = [None] if self.merged else range(problem.n_classes)
        for leaf in range(problem.n_leaves):
            for target in targets:
                left = end - time.perf_counter()
                if left <= 0:
                    return np.array(leaves, np.int64), np.array(paths, np.int64), None
                model, splits = build(master, relaxation, leaf, allowed, target=target,
                                      **self.options)
                found, bound = solutions(
                    model, self.solver, left, scale=self.scale,
                    start=self._start(model, splits, self.last.get((leaf, target))))
                self.n_solved += 1
                complete &= bound is not None
                if bound is not None:
                    best[leaf] = max(best[leaf], -bound - relaxation.alpha[leaf])
                if not found:
                    continue
                chosen = [[int(x[mine].argmax()) for mine in splits] for x in found]
                self.last[leaf, target] = chosen[-1]
                sizes = [len(mine) for mine in splits]
                found = np.unique([np.ravel_multi_index(choice, sizes) for choice in chosen])
                cost = some_reduced_costs(master, relaxation, np.full(len(found), leaf), found)
                good = found[cost > TOLERANCE]
                leaves += [leaf] * len(good)
                paths += good.tolist()
            if leaves and self.first_only:
                complete = False
                break
        return (np.array(leaves, np.int64), np.array(paths, np.int64),
                best if complete else None)

    def _start(self, model, splits, hint):
        """Return the values of a known path, NaN for all other variables; None without one."""
        if hint is None or not self.warm_start:
            return None
        start = np.full(model.n_columns, np.nan)
        for mine, choice in zip(splits, hint, strict=True):
            start[mine] = np.arange(len(mine)) == choice
        return start
