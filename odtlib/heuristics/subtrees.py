"""Good deep trees from an exact solver of shallow ones, for as long as there is time.

Trees are *plans* here: None for a leaf, else (feature, threshold, left plan, right plan).
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from odtlib.report import TimeUp
from odtlib.tree import midpoint
from odtlib.trees import plan_of

TURN = 0.1              # of the time limit, before an exact search gives way to this one
LOOKS = {False: 0.4, True: 0.9}     # of the time that is left then, for this one: hopeless or not
DEEP = 4                # a deeper search that has achieved nothing in its turn is hopeless
DEEPEST = 64            # a tree of more levels is left as it is
HORIZON = 2             # levels that are solved exactly
SHARE = 0.7             # of the rows, for the splits that a kick draws
MOST_KNOWN = 1 << 14    # solved subtrees that are kept


class SubtreeSearch:
    """Improve a tree by exact subtrees of depth two, and by one split while all others stay.

    A sweep goes from the leaves up.  The last two levels become optimal for the rows that reach
    them, a leaf above is grown by looking ahead, and a split above is replaced by the best one
    for the subtrees that stand below it.  Where nothing is gained any more, a part of the tree is
    grown anew from a share of its rows, and stays unless the tree is then worse.

    Parameters
    ----------
    X : array, shape (n_rows, n_features)
        Training rows.
    depth : int
        Maximum depth of a tree.
    solve : callable
        ``solve(rows, levels)`` returns the plan of an optimal tree of one or two levels.
    loss : callable
        ``loss(inside, asked)`` returns what the rows ``asked`` cost in the best leaf for the rows
        ``inside``; infinity where a leaf must not be so small.
    judge : callable
        ``judge(plan)`` returns the best tree that the plan contains, and its cost.
    penalty : float
        Cost of one split.
    clock : Clock
        Its limit ends the search.
    random : RandomState
        Draws the parts and the rows of the kicks.
    """

    def __init__(self, X, depth, solve, loss, judge, penalty, clock, random):
        self.X, self.depth, self.judge = X, min(depth, DEEPEST), judge
        self.solve, self.loss = solve, loss
        self.penalty, self.clock, self.random = penalty, clock, random
        self.known = {}

    def run(self, tree, cost, keep, sweeps=np.inf):
        """Improve a tree of some cost; ``keep(tree, cost)`` hears of every better one.

        The search ends with the clock, or after so many sweeps.
        """
        if tree.depth > DEEPEST:
            return
        rows, plan, ahead = np.arange(len(self.X)), plan_of(tree), True
        while sweeps > 0 and not self.clock.expired:
            plan = self.sweep(plan, rows, self.depth)
            found, its_cost = self.judge(plan)
            sweeps -= 1
            gained = its_cost < cost
            if its_cost <= cost:
                tree, cost = found, its_cost
            if gained:
                keep(tree, cost)
                plan = plan_of(tree)
            else:
                with suppress(TimeUp):
                    plan = self.grown(rows, self.depth) if ahead else \
                        self.kicked(plan_of(tree), rows, self.depth)
                ahead = False

    def sides(self, plan, rows):
        """Return the rows on both sides of a split."""
        left = self.X[rows, plan[0]] <= plan[1]
        return rows[left], rows[~left]

    def losses(self, plan, inside, asked):
        """Return what the rows ``asked`` cost in a plan whose leaves fit the rows ``inside``."""
        if plan is None:
            return self.loss(inside, asked)
        left = self.X[asked, plan[0]] <= plan[1]
        answer = np.empty(len(asked))
        for some, child, rows in zip((left, ~left), plan[2:], self.sides(plan, inside),
                                     strict=True):
            answer[some] = self.losses(child, rows, asked[some])
        return answer

    def cost(self, plan, rows):
        """Return the cost of a plan for its rows."""
        return self.losses(plan, rows, rows).sum() + self.penalty * _n_splits(plan)

    def grown(self, rows, levels, share=1.0):
        """Grow a plan from the root down: each split is that of the best tree of depth two.

        With a ``share`` below 1, splits are chosen for so many of the rows, drawn anew for each.
        """
        if levels == 0:
            return None
        some = rows
        if share < 1 and levels > HORIZON:
            some = np.sort(self.random.permutation(rows)[:int(share * len(rows)) + 1])
        plan = self.solved(some, min(levels, HORIZON))
        if plan is None or levels <= HORIZON:
            return plan
        left, right = self.sides(plan, rows)
        return (*plan[:2], self.grown(left, levels - 1, share),
                self.grown(right, levels - 1, share))

    def solved(self, rows, levels):
        """Return the plan of the optimal tree of some rows, which may be known."""
        key = levels, len(rows), hash(rows.tobytes())
        if key not in self.known:
            self.clock.check()
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            self.known[key] = self.solve(rows, levels)
        return self.known[key]

    def sweep(self, plan, rows, levels):
        """Return a plan that is no worse for its rows."""
        new = plan
        with suppress(TimeUp):
            self.clock.check()
            if levels <= HORIZON:
                new = self.solved(rows, levels)
            elif plan is None:
                new = self.grown(rows, levels)
            else:
                new = (*plan[:2], *(self.sweep(child, some, levels - 1) for child, some in zip(
                    plan[2:], self.sides(plan, rows), strict=True)))
                new = min(new, self.resplit(new, rows), key=lambda plan: self.cost(plan, rows))
        return new if self.cost(new, rows) < self.cost(plan, rows) else plan

    def resplit(self, plan, rows):
        """Return the plan with the best split of its root for the subtrees that it has."""
        left, right = (self.losses(child, some, rows) for child, some in zip(
            plan[2:], self.sides(plan, rows), strict=True))
        gain, best = left - right, np.inf
        for f in range(self.X.shape[1]):
            self.clock.check()
            values = self.X[rows, f]
            order = np.argsort(values)
            values = values[order]
            ends = np.flatnonzero(values[1:] != values[:-1])
            if len(ends):
                costs = np.cumsum(gain[order])[ends]
                at = ends[k := np.argmin(costs)]
                if costs[k] < best:
                    best, split = costs[k], (f, midpoint(*values[at:at + 2]))
        return plan if best == np.inf else (*split, *plan[2:])

    def kicked(self, plan, rows, levels):
        """Return the plan with a random part grown anew from a share of the rows."""
        if plan is None or levels <= HORIZON or self.random.rand() * (levels - HORIZON) < 1:
            return self.grown(rows, levels, SHARE)
        sides, children = self.sides(plan, rows), list(plan[2:])
        k = int(self.random.rand() * len(rows) >= len(sides[0]))
        children[k] = self.kicked(children[k], sides[k], levels - 1)
        return (*plan[:2], *children)


def _n_splits(plan):
    return 0 if plan is None else 1 + _n_splits(plan[2]) + _n_splits(plan[3])
