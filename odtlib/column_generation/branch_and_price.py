"""Branch-and-price: prove the best tree of the candidates by branching on splits."""

from __future__ import annotations

import heapq

import numpy as np

from odtlib.tolerance import PROOF, ROUNDING


class BranchAndPrice:
    """Search over restrictions of the candidates, best bound first.

    A node of the search allows some of the splits at each node of the tree; its bound is the
    relaxation with paths generated for these.  Branching takes the first node of the tree whose
    split is fractional and divides its allowed splits in two: the one that the relaxation uses
    most, and the others.  With side constraints the classes of the leaves are choices, too.

    Parameters
    ----------
    generation : ColumnGeneration
        Solves relaxations; its pricing must end with an exact one.
    choices : array of int, shape (n_choices,)
        A known tree, whose paths are in the master.

    Attributes
    ----------
    best : float
        Value of the best tree: weight of correct rows minus penalties.
    choices : array of int
        Its splits, with side constraints also the classes of its leaves.
    bound : float
        No tree has a larger value.
    n_solved : int
        Relaxations solved.
    proved : bool
        Whether the best tree is proved best.
    """

    def __init__(self, generation, choices):
        self.generation, self.master = generation, generation.master
        self.problem = generation.master.problem
        self.choices = np.array(choices)
        self.best = self.problem.total - self.problem.cost(choices)
        self.bound = np.inf
        self.n_solved = 0
        self.proved = False
        # whole weights: a better tree is better by one
        whole = self.problem.unit == 1.0
        self.step = 1.0 - 1e-6 if whole else PROOF * self.problem.total
        # every tree within the limits is worth more
        self.least = -self.problem.penalty * self.problem.n_leaves - PROOF * self.problem.total

    def run(self):
        """Search to the end, or until the time limit of the generation's clock has passed."""
        problem = self.problem
        everything = np.ones(problem.start[-1], bool)
        queue = [(-np.inf, 0, everything)]
        pushed = 1
        while queue:
            self._improve_bound(-queue[0][0])
            if -queue[0][0] < max(self.best + self.step, self.least):
                break
            above, _, allowed = heapq.heappop(queue)
            self._make_feasible(allowed)
            self.master.restrict(allowed)
            outcome = self.generation.solve(allowed)
            self.n_solved += 1
            bound = min(-above, outcome.bound)
            if outcome.relaxation is not None:
                self._round(outcome.relaxation, allowed)
            if not outcome.converged:
                heapq.heappush(queue, (-bound, 0, allowed))
                self._improve_bound(-queue[0][0])
                return
            if bound < max(self.best + self.step, self.least):
                continue
            for restriction in self._branch(outcome.relaxation, allowed):
                heapq.heappush(queue, (-bound, pushed, restriction))
                pushed += 1
        self.proved = True
        self._improve_bound(self.best)

    def _improve_bound(self, bound):
        self.bound = min(self.bound, max(bound, self.best))

    def _make_feasible(self, allowed):
        """Give the master a tree that uses allowed splits only."""
        choices = self.choices.copy()
        for node in range(self.problem.n_choices):
            mine = allowed[self.problem.span(node)]
            if not mine[choices[node]]:
                choices[node] = int(mine.argmax())
        self.master.add_tree(choices)

    def _round(self, relaxation, allowed):
        """Try the tree of the split used most at each node."""
        choices = self.problem.within_limits(
            np.array([use.argmax() for use in self.master.split_values(relaxation)]))
        value = self.problem.total - self.problem.cost(choices)
        if value > self.best + ROUNDING * self.problem.total:
            self.best, self.choices = value, choices
            self.master.add_tree(choices)

    def _branch(self, relaxation, allowed):
        problem = self.problem
        values = self.master.split_values(relaxation)
        free = [node for node in range(problem.n_choices) if allowed[problem.span(node)].sum() > 1]
        fractional = [node for node in free if values[node].max() < 1.0 - 1e-6]
        if not fractional:
            # integral choices make the relaxation a tree, which has been counted: what is left of
            # the bound is rounding, unless the tree breaks a limit by a solver's tolerance
            chosen = np.array([use.argmax() for use in values])
            if problem.cost(chosen) < problem.limits[2]:
                return
            fractional = free
            if not free:
                return
        node = fractional[0]
        span, split = problem.span(node), problem.start[node] + int(values[node].argmax())
        only, others = allowed.copy(), allowed.copy()
        only[span] = False
        only[split] = True
        others[split] = False
        yield only
        yield others


def dive(generation, choices):
    """Fix the split used most at each node, from the root down, solving anew in between.

    The diving heuristic that Patel et al. (2023), Section 5, propose for the master without row
    constraints.  ``choices`` is a known tree, whose paths are in the master; at nodes that time did
    not reach the result has the split used most when it ended.
    """
    master, problem = generation.master, generation.master.problem
    allowed = np.ones(problem.start[-1], bool)
    rounded_choices = np.array(choices)
    for node in range(problem.n_choices):
        outcome = generation.solve(allowed)
        if outcome.relaxation is None:
            break
        use = master.split_values(outcome.relaxation)
        rounded_choices[node:] = [values.argmax() for values in use[node:]]
        if all(values.max() > 1.0 - 1e-6 for values in use):
            break
        allowed[problem.span(node)] = False
        allowed[problem.start[node] + rounded_choices[node]] = True
        tree = np.where(np.arange(problem.n_choices) <= node, rounded_choices, choices)
        master.add_tree(tree)
        master.restrict(allowed)
        if generation.clock.expired:
            break
    master.restrict(np.ones(problem.start[-1], bool))
    return rounded_choices
