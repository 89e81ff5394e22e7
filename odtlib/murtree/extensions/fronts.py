"""Trees judged by more than one number: fronts of errors, and fairness (Section 4.8.6).

What a tree costs is here a point: a *key* and a number of errors, both sums over its leaves.  The
front of a subproblem has, for every key, the least errors; that of a tree with root ``i`` is the
sum of the fronts of its two children, taken point by point (Demirović and Stuckey, 2021).

* Key = errors of class 0, error = errors of class 1: points that another point equals or beats in
both are dropped.
* Key = how many rows of each group are predicted positive, error = all errors: nothing can be
dropped, because other leaves may offset a disparity.  Instead the cost is limited, and the limit
is raised until a fair tree is within it.  The cost is the errors plus a price on the disparity, at
which the cheapest tree, that MurTree finds, bounds the errors of all fair ones from below the most
(a Lagrangian relaxation): few points lie between.
"""

from __future__ import annotations

from collections import namedtuple
from copy import copy
from functools import cache, cached_property
from math import gcd, prod

import numpy as np
from threadpoolctl import ThreadpoolController

from odtlib._numba.warm import warm_up
from odtlib.fit import FINISHING, Fit, Pace
from odtlib.report import Clock, TimeUp, default_objective, pluralised
from odtlib.tolerance import ROUNDING

from ..columns import tree_over_columns
from ..greedy import cart, sum_columns
from ..options import MurTreeSearch, check_counts, memory_limit_alone
from ..preparation import _distinct_columns, grouped_rows, pair_sums, prepare, set_name
from ..run import Rows, Run
from ..solver import Solver, warm_up_search
from . import _front_kernels as kernels
from ._front_kernels import FIRST, IF_0, IF_1, KEY, NUMBER, ROOT

UNLIMITED = 2 ** 62
EXACT = 2 ** 51         # costs below it add up exactly
HEAVIEST = EXACT        # all rows together
MAX_KEYS = 2 ** FIRST
CELLS = 1_000_000       # of a table of pairs that are worked on between two looks at the clock

FrontEntry = namedtuple("FrontEntry", "errors optimal tree")


class FrontSearch:
    """Fronts of the subproblems of one data set.

    ``values``, (n_rows, 4), is what each row adds: key and errors if class 1 is predicted, errors
    if class 0 is, and 1.  Keys are smaller than ``n_keys``; with ``pareto`` a smaller one is
    better.  ``depth`` and ``nodes`` are of the largest tree for which there will be a limit.
    ``memory_limit``, in megabytes, is for remembered fronts.
    """

    def __init__(self, columns, values, n_keys, *, pareto, min_leaf, clock, depth=0,
                 nodes=0, memory_limit=None):
        if n_keys > MAX_KEYS:
            raise ValueError(f"a front over these rows may have {n_keys} points, more than the "
                             f"{MAX_KEYS} that fit; use fewer rows or smaller weights.")
        self.columns = _distinct_columns(columns)
        groups, first = grouped_rows(columns[:, self.columns])
        self.bits = columns[first][:, self.columns].astype(np.float64)
        self.values = np.zeros((len(first), 4))
        np.add.at(self.values, groups, values)
        self.n_keys, self.pareto, self.min_leaf = n_keys, pareto, min_leaf
        self.clock, self.depth, self.nodes = clock, depth, nodes
        self.memory_limit = np.inf if memory_limit is None else 1e6 * memory_limit
        self.options = MurTreeSearch(memory_limit=memory_limit)
        self.nothing = np.zeros((4, 0, 0)), np.zeros((4, 0))          # sums for a leaf
        self.scratch, self.known, self.bytes, self.pace = {}, {}, 0, Pace()
        self.counters = {"fronts": 0, "depth_two": 0, "cache_hits": 0, "pruned_by_bound": 0,
                         "rows_merged": len(columns) - len(first),
                         "columns_merged": columns.shape[1] - len(self.columns)}

    @property
    def all_rows(self):
        """The rows of the whole problem."""
        return np.arange(len(self.bits))

    # Sums and children ------------------------------------------------------------------------

    def sums(self, rows):
        """Return the sums over pairs of columns, single columns and all rows."""
        bits, values = self.bits[rows], self.values[rows]
        return pair_sums(bits, values, self.clock), values.T @ bits, values.sum(axis=0)

    def sides(self, rows, column, sums):
        """Return rows and sums (if given those of the parent) of both sides of a column."""
        has = self.bits[rows, column] == 1
        parts = [rows[has], rows[~has]]
        if sums is None:
            return parts, [None, None]
        smaller = 0 if len(parts[0]) <= len(parts[1]) else 1
        few = self.sums(parts[smaller])
        many = tuple(whole - some for whole, some in zip(sums, few, strict=True))
        return parts, [few, many] if smaller == 0 else [many, few]

    def splits(self, rows, depth, nodes, limit):
        """Yield ``(column, rows, sums, budgets)`` of both children of the splits within a limit."""
        largest = 2 ** (depth - 1) - 1
        budgets = [(a, nodes - 1 - a) for a in range(max(0, nodes - 1 - largest),
                                                     min(largest, nodes - 1) + 1)]
        columns, sums = np.arange(self.bits.shape[1]), None
        if limit == UNLIMITED:
            sums = self.sums(rows) if depth <= 3 else None
        else:                               # few splits are left, and fewer children need sums
            if self.least(rows, depth, nodes, limit) > limit:
                return
            columns = np.flatnonzero(self.solver[0].split_bounds() <= limit)
        for column in columns:
            self.clock.check()
            parts, part_sums = self.sides(rows, column, sums)
            if min(len(child_rows) for child_rows in parts) == 0:
                continue
            if min(self.values[child_rows, NUMBER].sum() for child_rows in parts) < self.min_leaf:
                continue
            yield column, parts, part_sums, budgets

    # The least errors, without regard to keys ---------------------------------------------------

    def with_errors(self, if_1, if_0):
        """Return the search for other errors of the rows, and what they are more than its own."""
        search, least = copy(self), np.minimum(if_1, if_0)
        # In the problem of MurTree each row is a sample: one that is never wrong always is.
        least = least - (if_1 == if_0)
        search.values = self.values.copy()
        search.values[:, IF_1], search.values[:, IF_0] = if_1 - least, if_0 - least
        search.known, search.bytes = {}, 0
        vars(search).pop("solver", None)
        return search, int(least.sum())

    @cached_property
    def solver(self):
        """MurTree for the errors as weights of rows, and which of the rows each of its rows is."""
        row, label = np.nonzero(self.values[:, [IF_1, IF_0]])
        problem = prepare(self.bits[row], label, 2, self.values[row, IF_1 + label],
                          counts=self.values[row, NUMBER] * (np.diff(row, prepend=-1) > 0),
                          min_samples_leaf=self.min_leaf, merge_rows=False, merge_columns=False)
        self.clock.leave_out(warm_up_search(problem.kernel))
        solver = Solver(problem, self.depth, self.nodes, min_samples_leaf=self.min_leaf,
                        search=self.options)
        groups, _ = grouped_rows(np.concatenate([self.bits.astype(np.uint8), problem.rows]))
        return solver, groups[len(self.bits):]

    def least(self, rows, depth, nodes, limit):
        """Return the least number of errors of a tree or, above the limit, a bound above it."""
        if nodes == 0:
            return self.values[rows][:, [IF_1, IF_0]].sum(axis=0).min()
        (solver, row), member = self.solver, np.zeros(len(self.bits), bool)
        member[rows] = True
        if not solver.solve(depth, nodes, rows=np.flatnonzero(member[row]).astype(np.int32),
                            upper=limit + 1, clock=self.clock):
            raise TimeUp
        return solver.value()

    def cheapest(self, depth, nodes, upper):
        """Return a tree with the least errors, fewer than ``upper``, as nested tuples; or None."""
        solver, _ = self.solver
        if not solver.solve(depth, nodes, upper=upper, clock=self.clock):
            raise TimeUp
        return None if solver.incumbent() == np.inf else solver.tree(depth)

    def room_for(self, size):
        """Tell whether the memory limit leaves this many bytes, and reserve them."""
        if self.bytes + size > self.memory_limit:
            return False
        self.bytes += size
        return True

    # Fronts -------------------------------------------------------------------------------------

    def arrays(self, depth):
        """Return the arrays in which fronts of a depth are collected."""
        if depth not in self.scratch:
            self.scratch[depth] = (np.full(self.n_keys, -1), np.zeros(self.n_keys, np.int64),
                                   np.zeros(self.n_keys, np.int64))
        return self.scratch[depth]

    def collected(self, best, choices, touched, n):
        """Take keys, errors and choices out of the arrays in which a front was collected."""
        keys = np.sort(touched[:n])
        errors, choices = best[keys], choices[keys]
        kernels.clear(best, touched, n)
        if self.pareto and n:
            better = np.ones(n, bool)
            better[1:] = errors[1:] < np.minimum.accumulate(errors)[:-1]
            keys, errors, choices = keys[better], errors[better], choices[better]
        return keys, errors, choices

    def front(self, rows, depth, nodes, limit=UNLIMITED, sums=None):
        """Return keys, least errors and choices of all trees with at most ``limit`` errors."""
        nodes = min(nodes, 2 ** depth - 1)
        depth = min(depth, nodes)
        self.counters["fronts"] += 1
        name = (set_name(rows, len(self.bits)), depth, nodes) if depth > 2 else None
        known_front = self.known.get(name)
        if known_front is not None and known_front[0] >= limit:
            self.counters["cache_hits"] += 1
            within = known_front[2] <= limit
            return tuple(array[within] for array in known_front[1:])
        arrays, n = self.arrays(max(depth, 2)), 0

        def add(kernel, *arguments, first):
            nonlocal n
            while True:
                n, first = self.pace.slice(
                    lambda work, n=n, first=first: kernel(*arguments, first, work, limit, *arrays,
                                                          n),
                    lambda answer: answer[1] < 0)
                if first < 0:
                    return
                self.clock.check()

        try:
            if depth <= 2:
                self.counters["depth_two"] += 1
                if nodes == 0:
                    sums = *self.nothing, self.values[rows].sum(axis=0)
                add(kernels.front_two, *(self.sums(rows) if sums is None else sums), nodes,
                    self.min_leaf, self.pareto, first=-1)
                return self.collected(*arrays, n)
            total = self.values[rows].sum(axis=0)
            for key, error, label in ((0, total[IF_0], 0), (total[KEY], total[IF_1], 1)):
                n = kernels.insert(np.int64(key), np.int64(error), np.int64(label), limit,
                                   *arrays, n)
            for column, parts, part_sums, budgets in self.splits(rows, depth, nodes, limit):
                for a, b in budgets:
                    fronts = self.both(parts, part_sums, depth - 1, a, b, limit)
                    if fronts is not None:
                        add(kernels.merge, *fronts[0][:2], *fronts[1][:2], column, a, first=0)
        except BaseException:
            kernels.clear(arrays[0], arrays[2], n)
            raise
        front = self.collected(*arrays, n)
        if self.room_for(sum(array.nbytes for array in front) + len(name[0]) + 300):
            self.known[name] = limit, *front
        return front

    def both(self, parts, sums, depth, a, b, limit):
        """Return the fronts of both children, or None if no tree of theirs is within the limit."""
        bound_1 = bound_0 = 0
        if limit < UNLIMITED:
            bound_1 = self.least(parts[0], depth, a, limit)
            bound_0 = self.least(parts[1], depth, b, limit - bound_1)
            if bound_1 + bound_0 > limit:
                self.counters["pruned_by_bound"] += 1
                return None
        return (self.front(parts[0], depth, a, int(limit - bound_0), sums[0]),
                self.front(parts[1], depth, b, int(limit - bound_1), sums[1]))

    # Trees --------------------------------------------------------------------------------------

    def tree(self, rows, depth, nodes, key, choice, limit=UNLIMITED):
        """Return the tree of a point as nested tuples over the given columns.

        No part of it has more than ``limit`` errors.
        """
        nodes = min(nodes, 2 ** depth - 1)
        depth = min(depth, nodes)
        root, first, last = (choice >> ROOT) - 1, choice >> FIRST & (1 << ROOT - FIRST) - 1, \
            choice & (1 << FIRST) - 1
        if root < 0:
            return int(last)
        column = int(self.columns[root])
        if depth <= 2:
            return column, self.side(last), self.side(first)
        has = self.bits[rows, root] == 1
        parts, sizes, children = (rows[has], rows[~has]), (int(first), int(nodes - 1 - first)), []
        fronts = self.both(parts, [None, None], depth - 1, *sizes, limit)
        for child_rows, size, child_key, (keys, errors, choices) in zip(
                parts, sizes, (last, key - last), fronts, strict=True):
            position = np.searchsorted(keys, child_key)
            children.append(self.tree(child_rows, depth - 1, size, child_key, choices[position],
                                      UNLIMITED if limit == UNLIMITED else int(errors[position])))
        return column, children[1], children[0]

    def side(self, code):
        """Return the tree with at most one feature node of a code."""
        column, turn = divmod(int(code) - 2, 2)
        return int(code) if code < 2 else (int(self.columns[column]), turn, 1 - turn)


def warm_up_fronts():
    """Compile the kernels of fronts; return the seconds that it took."""
    def run():
        search = FrontSearch(np.zeros((1, 1), np.uint8), np.array([[0, 0, 0, 1]]), 1, pareto=True,
                             min_leaf=1, clock=Clock())
        nothing = np.zeros(0, np.int64)
        search.front(nothing, 2, 3)
        sum_columns(search.bits.astype(np.uint8), np.ones((1, 1)), nothing, np.zeros((1, 1)))
        kernels.insert(*[np.int64(0)] * 3, UNLIMITED, *search.arrays(2), 0)
        kernels.merge(*[nothing] * 4, 0, 0, 0, 1, UNLIMITED, *search.arrays(2), 0)

    return warm_up("fronts of trees", kernels.front_two, run)


@cache
def blas():
    """Return the thread pools of this process; to find them takes longer than a small fit.

    Threads cost more than small products, and more still where others use the processor.
    """
    return ThreadpoolController()


class DepthwiseRun:
    """One fit depth by depth, so that a limit leaves the best tree of a smaller depth."""

    # Parameters without a meaning here.
    refused: tuple[str, ...] = ("start", "search", "n_jobs")

    def __init__(self, model, columns, y, sample_weight, clock, what):
        self.memory_limit = memory_limit_alone(model, what, self.refused)
        self.columns, self.y = columns, y
        self.weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.model, self.clock = model, clock
        self.nodes = model._nodes(len(y))
        self.depth = min(model._depth_within(len(y)), self.nodes)
        self.n_classes = len(model.classes_)
        self.fit = Fit(clock, self.judge, scale=float(self.weight.sum()), verbose=model.verbose)
        self.fit.proof = (f"optimal for {pluralised(columns.shape[1], 'predicate')} at "
                          f"{model._limits(len(y))}, {what}")

    def built(self, nested, names=None):
        """Turn nested tuples into a tree that keeps their labels."""
        return tree_over_columns(nested, self.columns, self.y, self.n_classes, self.weight, names,
                                 relabel=False)

    def constants(self):
        """Return the trees that predict one class."""
        return [self.built(label) for label in range(self.n_classes)]

    def judge(self, tree):
        """Return the objective of a tree over the columns and in class codes."""
        return default_objective(tree, self.columns, self.y, self.weight, self.model.split_penalty)

    def update_incumbent(self, tree, event):
        """Keep a tree if it is the best so far."""
        self.fit.offer(tree)
        self.fit.note(event)

    def run(self):
        """Search depth by depth; return tree and report."""
        fit = self.fit
        for tree in self.constants():
            self.update_incumbent(tree, "one leaf")
        with fit.stops():
            self.begin()
            with blas().limit(limits=1, user_api="blas"):
                for depth in range(1, self.depth + 1):
                    self.solve(depth, min(self.nodes, 2 ** depth - 1))
            fit.finish()
        if fit.stopped:
            self.update_incumbent(self.built(self.cart()), "cart")
        fit.counters = self.counters(fit.tree)
        return fit.tree, fit.report()

    def begin(self):
        """Look for trees of the whole depth before the small ones are searched."""

    def cart(self):
        """Grow a CART as deep as any tree fits the node budget; nested tuples."""
        of_class = np.eye(self.n_classes)[self.y] * self.weight[:, None]

        def leaf(rows):
            sums = of_class[rows].sum(axis=0)
            return sums.sum() - sums.max(), int(sums.argmax())

        depth = min(self.depth, int(np.log2(self.nodes + 1)))
        return cart(self.columns, of_class, np.ones(len(self.y)), depth,
                    self.model.min_samples_leaf, leaf, np.arange(len(self.y)), Clock(0.0))

    def solve(self, depth, nodes):
        """Find the best tree of a depth, and update the incumbent."""
        raise NotImplementedError

    def counters(self, tree):
        """Return what the report counts."""
        return {}


class FrontRun(DepthwiseRun):
    """One fit on fronts: two classes and whole weights."""

    refused = (*DepthwiseRun.refused, "split_penalty")

    def __init__(self, model, columns, y, sample_weight, clock, what):
        super().__init__(model, columns, y, sample_weight, clock, what)
        check_counts(what, model.classes_, self.weight, HEAVIEST)
        self.weight = self.weight.astype(np.int64)

    def search_over(self, key, if_1, if_0, n_keys, *, pareto):
        """Set up the search for what each row adds to key and errors."""
        values = np.stack([key, if_1, if_0, np.ones(len(key), np.int64)], axis=1)
        self.search = FrontSearch(
            self.columns, values, int(n_keys), pareto=pareto, clock=self.clock,
            depth=self.depth, nodes=self.nodes, min_leaf=self.model.min_samples_leaf,
            memory_limit=self.memory_limit)

    def counters(self, tree):
        return {**self.search.counters, "cache_bytes": self.search.bytes}


class ParetoRun(FrontRun):
    """Trees on the front of (errors of class 0, errors of class 1)."""

    def __init__(self, model, columns, y, sample_weight, clock, what):
        super().__init__(model, columns, y, sample_weight, clock, what)
        zeros = np.zeros(len(self.y), np.int64)
        negative = np.where(self.y == 0, self.weight, 0)
        self.search_over(negative, zeros, self.weight - negative, negative.sum() + 1, pareto=True)
        self.front = 0, 0, *self.search.front(self.search.all_rows, 0, 0)

    def solve(self, depth, nodes):
        rows = self.search.all_rows
        front = self.search.front(rows, depth, nodes)
        keys, errors, choices = front
        best = int(np.argmin(keys + errors))
        self.update_incumbent(self.built(self.search.tree(
            rows, depth, nodes, keys[best], choices[best])), f"depth {depth}")
        self.front = depth, nodes, *front

    def answer(self):
        """Return ``(errors, optimal, tree)`` for the points of the last finished front.

        Where the time does not suffice for all their trees, they are some from all parts of it.
        """
        depth, nodes, keys, errors, choices = self.front
        optimal, trees = self.fit.ended == "optimal", {}
        limit = self.clock.time_limit
        self.search.clock = Clock(None if limit is None and optimal
                                  else FINISHING + (self.clock.remaining if optimal else 0.0))
        try:
            for k in sorted(range(len(keys)), key=lambda k: -(k & -k) if k else -len(keys)):
                trees[k] = self.built(self.search.tree(
                    self.search.all_rows, depth, nodes, keys[k], choices[k]))
                self.search.clock.check()
        except (TimeUp, KeyboardInterrupt):
            optimal = False
        return [((float(keys[k]), float(errors[k])), optimal, trees[k]) for k in sorted(trees)]


class FairRun(FrontRun):
    """The tree of least errors with a limit on the disparity."""

    refused = (*FrontRun.refused, "class_weight")

    def __init__(self, model, columns, y, sample_weight, clock, what, protected):
        super().__init__(model, columns, y, sample_weight, clock, what)
        groups, codes = np.unique(protected, return_inverse=True)
        parity = model.disparity == "demographic-parity"
        self.group = np.where(parity | (y == 1), codes.ravel(), -1)
        if len(groups) < 2 or len(np.setdiff1d(self.group, -1)) < len(groups):
            raise ValueError(
                f"protected has {len(groups)} distinct values; there must be at least two groups"
                + ("." if parity else f", each with rows of class {model.classes_[1]}."))
        self.limit = ROUNDING + model.max_disparity
        self.sizes = np.bincount(self.group + 1, weights=self.weight).astype(np.int64)[1:]
        # A key is a number with one digit for each group: of its rows that are predicted positive.
        self.place_values = [prod((self.sizes[g + 1:] + 1).tolist()) for g in range(len(groups))]
        n_keys = self.place_values[0] * int(self.sizes[0] + 1)
        key = self.weight * np.array([*self.place_values, 0])[self.group]    # group -1: the last
        positive = self.y == 1
        self.search_over(key, np.where(positive, 0, self.weight),
                         np.where(positive, self.weight, 0), n_keys, pareto=False)
        self.values = self.search.values

    def judge(self, tree):
        errors, positive = self.measured(tree)
        return float(errors) if self.disparity(positive) <= self.limit else np.inf

    def begin(self):
        """Under a time limit begin with trees of few errors, whose labels become fair."""
        if self.clock.time_limit is not None:
            weight = None if (self.weight == 1).all() else self.weight.astype(np.float64)
            run = Run(self.model, Rows(self.columns, self.y, weight), self.clock,
                      self.search.options, hear=lambda tree: self.fit.offer(
                          self.with_fair_labels(run.within_budget(tree)), event="errors"))
            run.glance()

    def with_fair_labels(self, tree):
        """Return a tree with other labels in leaves that cost few errors for much less disparity.

        They change one by one until the disparity is within the limit, or can be no smaller.
        """
        leaves, label = np.flatnonzero(tree.feature < 0), tree.label.copy()
        leaf, counted = tree.apply(self.columns), self.group >= 0
        inside = np.zeros((len(self.sizes), tree.n_nodes))
        np.add.at(inside, (self.group[counted], leaf[counted]), self.weight[counted])
        inside = inside[:, leaves] / self.sizes[:, None]
        for _ in leaves:
            shares = inside @ label[leaves]
            if np.ptp(shares) <= self.limit:
                break
            sign = 1 - 2 * label[leaves]
            lead = sign * (inside[shares.argmax()] - inside[shares.argmin()])
            errors = sign * (tree.value[leaves, 0] - tree.value[leaves, 1])
            gain = -lead / np.maximum(errors, 0.5)
            label[leaves[gain.argmax()]] ^= 1
        return tree._with(label=label).pruned()

    def positive(self, keys):
        """Return the positive predictions in each group that keys stand for."""
        return [keys // place_value % (size + 1)
                for place_value, size in zip(self.place_values, self.sizes, strict=True)]

    def disparity(self, positive):
        """Return the largest difference between two groups' shares of positive predictions."""
        return np.ptp([some / size for some, size in zip(positive, self.sizes, strict=True)],
                      axis=0)

    def lead(self, positive, pair):
        """Return the difference between the shares of two groups, times the sizes of both."""
        (g, h), sizes = pair, self.sizes.tolist()
        return positive[g] * sizes[h] - positive[h] * sizes[g]

    def measured(self, tree):
        """Return the errors of a tree and its positive predictions in each group."""
        predicted = tree.predict_codes(self.columns)
        positive = [int(self.weight[(predicted == 1) & (self.group == g)].sum())
                    for g in range(len(self.sizes))]
        return int(self.weight[predicted != self.y].sum()), positive

    def priced(self, scale, price, pair):
        """Let the search count ``scale * errors + price * lead``, less what no tree changes."""
        errors = self.values.astype(np.int64)
        lead = self.lead(self.positive(errors[:, KEY]), pair)
        self.search, rest = self.search.with_errors(
            scale * errors[:, IF_1] + price * lead, scale * errors[:, IF_0])
        self.prices = scale, price, pair, rest

    def solve(self, depth, nodes):
        """Find the price, then raise the limit until a tree within it is fair.

        Two trees, of too large a lead and of a small one, are equally dear at one price.  It is
        the right one if no tree is cheaper, and such a tree takes the place of one of them
        (Jüttner et al., 2001).
        """
        scale, price, pair, over, least = 1, 0, (0, 1), None, 0
        cost, allowed = UNLIMITED, 0.0
        while True:
            self.priced(scale, price, pair)
            nested = self.search.cheapest(depth, nodes, cost - self.prices[-1])
            if nested is not None:
                tree = self.built(nested, self.search.columns)
                self.update_incumbent(tree, f"depth {depth}")
                errors, positive = self.measured(tree)
                if over is None:
                    shares = np.divide(positive, self.sizes)
                    pair = int(shares.argmax()), int(shares.argmin())
                    allowed = self.limit * float(self.sizes[pair[0]] * self.sizes[pair[1]])
                    fair, others = self.measured(self.fit.tree)
                    under = fair, self.lead(others, pair)
                lead = self.lead(positive, pair)
                cost = scale * errors + price * lead
            least = max(least, int(np.ceil((cost - price * allowed) / scale - 1e-6)))
            if depth == self.depth:
                self.fit.bound = least
            if least >= self.fit.objective:
                return
            if nested is None:
                break
            if over is None or lead > allowed:
                over = errors, lead
            else:
                under = errors, lead
            wider, dearer = over[1] - under[1], under[0] - over[0]
            common = gcd(wider, dearer)
            largest_cost = (wider * int(self.weight.sum())
                            + dearer * int(np.prod(self.sizes[[*pair]])))
            if wider <= 0 or largest_cost // common >= EXACT:
                break
            scale, price = wider // common, dearer // common
            cost = scale * over[0] + price * over[1]
        self.raise_limit(depth, nodes, least, allowed)

    def raise_limit(self, depth, nodes, least, allowed):
        """Raise the limit on errors, from the least, until a tree within it is fair."""
        scale, price, pair, rest = self.prices
        rows, limit, step = self.search.all_rows, least - 1, 1 + int(self.weight.sum()) // 1000
        while limit + 1 < self.fit.objective:
            limit = min(limit + step, int(np.ceil(self.fit.objective)) - 1)
            step *= 2
            within = scale * limit + int(price * allowed) - rest
            keys, costs, choices = self.search.front(rows, depth, nodes, within)
            positive = self.positive(keys)
            errors = (costs + rest - price * self.lead(positive, pair)) // scale
            errors = np.where(self.disparity(positive) <= self.limit, errors, np.inf)
            best = int(np.argmin(errors)) if len(errors) else 0
            if len(errors) and errors[best] < self.fit.objective:
                self.update_incumbent(self.built(self.search.tree(
                    rows, depth, nodes, keys[best], choices[best], within)), f"depth {depth}")
            if depth == self.depth:
                self.fit.bound = limit + 1

    def counters(self, tree):
        _, positive = self.measured(tree)
        return {**super().counters(tree), "disparity": float(self.disparity(positive))}
