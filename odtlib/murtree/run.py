"""One fit: from weighted rows to the tree and its report."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from odtlib.estimator import Outcome
from odtlib.fit import FINISHING, Fit
from odtlib.heuristics.start import starting_tree
from odtlib.report import Clock, TimeUp, pluralised
from odtlib.text import number_text
from odtlib.tolerance import PROOF
from odtlib.trees import cut_back

from . import _search as S
from .allowed import AllowedSearch, allowed_splits, keeps_to, words_of
from .columns import SMALL_DEPTHS, tree_over_columns
from .preparation import Problem, prepare
from .solver import Solver, warm_up_search

MAX_DISCREPANCIES = 16
CUT_HORIZON = 3         # depths of the looks ahead whose trees are cut back to a node budget
CUT_WORK = 2 ** 18      # splits times budget of a tree that is cut back: tenths of a second
TURNS = 0.05, 0.15      # of the time limit: the search before it looks ahead, and after
AT_ANY_DEPTH = 0.2      # the first of them for a search whose subproblems have no depth
HOPELESS = 5            # times the time limit: a predicted search that gets no second turn
# Of the time that is left, looking ahead and discrepancies: before a search that may end in time,
# which has most of the limit, and before a hopeless one.
LOOKS = {False: (0.2, 0.1), True: (0.5, 0.5)}
# Of the time that is left, looking ahead before a hopeless search within a node budget; and of
# that, the small depths.
NEARLY_ALL, SMALL_FIRST = 0.9, 0.6
FEW_COLUMNS = 256       # more than twice as many are first looked at by halves, quarters, ...
HALF = 0.5              # of the time that is left for discrepancies that are asked for
DEEP_BYTES = 2 ** 28    # of the levels of a search without a limit on depth


class Rows(NamedTuple):
    """What a run sees.  The report says ``unit`` times their cost, plus ``shift``."""

    columns: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    unit: float = 1.0
    shift: float = 0.0
    counts: np.ndarray | None = None        # of samples that each row is
    groups: tuple | None = None             # see ``grouped_rows``
    start: tuple | None = None              # the same three for which a starting tree is grown
    errors: tuple | None = None             # the same three for which errors are counted
    problem: Problem | None = None          # of these rows, where it is known
    words: str = ""                         # what a proof says about the objective
    factors: np.ndarray | None = None       # of each class, if its weight was rounded down
    as_given: Callable = lambda tree: tree  # gives a tree the weights of the given rows


def outcome_of(kind, model, rows, clock, search, task):
    """Run a search of some kind; return tree and report, and the answer to a task."""
    data = model, rows, clock, search
    if task is None and model._begins_with_small_depths(len(rows.y), search):
        tree, report = run_at_any_depth(kind, *data)
        return Outcome(model._in_features(tree), report)
    return model._outcome(kind(*data, path=task == "path"), task)


def run_at_any_depth(kind, model, rows, clock, search):
    """Fit without a limit on depth, or with a large one; return the best tree and the report.

    The small depths come first: their trees are soon found, and proved optimal at any depth where
    the splits of a deeper tree alone cost as much.  Where splits have a price, subproblems that
    have no depth follow: the price ends them, and their optimum bounds the trees of a large depth.
    The last search has that depth and all node budgets.
    """
    fit, run, tree, levels = None, None, None, None
    for depth in (*SMALL_DEPTHS, S.ANY_DEPTH, None):
        if depth == S.ANY_DEPTH and (levels := run.limit_levels(tree)) is None:
            continue
        limited = clock.time_limit is not None and (
            depth == 3 or depth == S.ANY_DEPTH and model.max_depth is not None)
        until = Clock(clock.remaining / 2) if limited else clock
        before = run
        if fit is None:
            run = kind(model, rows, until, search, depth=depth)
            fit = run.fit
        else:
            counters = fit.counters
            with fit.stops():
                if clock.expired:
                    raise TimeUp
                run = kind(model, rows, until, search, depth=depth, fit=fit, levels=levels)
                run.begin_from(tree)
                if depth == S.ANY_DEPTH:
                    run.look(before.solver, min(run.levels, run.deepest), before.depth,
                             Clock(clock.remaining / 2))
            if fit.stopped:
                tree = run.improved(tree, Clock(FINISHING))
                break
        rows = rows._replace(problem=run.problem)
        tree = run.solved()
        if before is not None:
            for name, count in counters.items():
                fit.counters[name] = fit.counters.get(name, 0) + count
        if fit.ended == "interrupted" or not (depth in SMALL_DEPTHS or run.relaxed):
            break
        if fit.ended == "optimal":
            if fit.objective - fit.bound <= run.unit * run.solver.rounding \
                    and not search.minimise_nodes:
                break
            fit.ended = "heuristic"         # of this depth alone, or deeper than the limit
        elif not clock.expired:
            fit.ended = "heuristic"
    return run.rows.as_given(tree), fit.report()


class Run:
    """One fit: the rows, the start, the search, and the tree with its report.

    With ``depth`` only trees of that depth are searched, and what is proved holds for all; ``fit``
    is then that of the depths before.  With ``ANY_DEPTH`` no tree that is wanted has more than
    ``levels`` levels.
    """

    solver_type = Solver
    takes_turns = True      # False: no discrepancies, and so no turns under a time limit

    def __init__(self, model, rows, clock, search, *, path=False, depth=None, fit=None, levels=None,
                 hear=None):
        self.hear, self.levels = hear, levels        # the first is told of every tree
        self.model, self.rows, self.clock, self.options = model, rows, clock, search
        self.columns, self.y, self.sample_weight = rows.columns, rows.y, rows.weight
        self.split_penalty = np.divide(model.split_penalty, rows.unit)
        self.depth = model._depth_within(len(self.y))
        self.nodes = model._nodes(len(self.y), most=depth is not None or fit is not None)
        # As deep as any tree fits the node budget.
        self.safe_depth, self.most_nodes = min(self.depth, int(np.log2(self.nodes + 1))), self.nodes
        self.deepest = self.depth               # a search at any depth may find deeper trees
        self.relaxed = depth == S.ANY_DEPTH and model.max_depth is not None
        self.cut_depth = min(self.depth, self.nodes, int(np.log2(CUT_WORK // (self.nodes + 1) + 1)))
        # A tree of so many splits is no deeper than is searched.
        whole = depth is None or depth >= min(self.depth, self.nodes)
        if depth == S.ANY_DEPTH:
            self.depth, self.nodes = depth, S.ANY_NODES
        elif depth is not None:
            self.depth = min(depth, self.depth)
            self.nodes = min(self.nodes, 2 ** self.depth - 1)
        self.smallest = 0 if path else self.nodes
        self.allowed = allowed_splits(model, search, self.columns.shape[1],
                                      model._depth_within(len(self.y)))
        # Equal columns may be of features that are not equally allowed; and a root that must test
        # some feature may only split rows that cancel each other out.
        self.merges_columns = search.merge_columns and self.allowed is None
        # So may a cheap split above cheaper ones, where a deeper level has a smaller price.
        cheaper = (np.diff(np.ravel(model.split_penalty)) < 0).any()
        self.merges_rows = (search.merge_rows and not cheaper
                            and (self.allowed is None or self.allowed.first.all()))
        # The depth that is searched; less than the tree's with a look-ahead.
        self.horizon = min(self.depth, search.lookahead or self.depth)
        self.problem = problem = self.prepared()
        # most often compiled before the clock of the fit started
        clock.leave_out(warm_up_search(problem.kernel, search))
        self.solver = self.solver_of(self.horizon, self.nodes)
        # The report says unit * cost + shift.
        self.unit, self.shift = rows.unit, rows.shift
        self.fit = fit or Fit(clock, start=model._start_word(), verbose=model.verbose,
                              bound=-np.inf, scale=self.unit * problem.scale + abs(self.shift))
        self.fit.floor = self.shift
        self.bound, self.found = -np.inf, {}
        self.known = self.fit.bound                  # what no tree costs less than anyhow
        # A tree to begin with, its cost, and what a tree costs that may be too deep.
        self.start, self.best, self.upper = None, np.inf, np.inf
        # Seconds and pairs when the search began, and the seconds that it may take.
        self.begun, self.pairs_before, self.predicted = 0.0, 0, None
        self.finishing = Clock()                     # for the trees of a search that was cut short
        # A deeper tree has more splits than the depth.
        self.ceiling = np.inf if whole else (problem.offset + self.solver.least
                                             + (self.depth + 1) * self.solver.penalty)
        self.any_depth, self.looked = depth is not None, 2
        self.within = None
        if self.allowed is not None:
            self.within = AllowedSearch(self.solver, self.allowed, clock, self.adopt_allowed)
        if model.start is not None:
            self.begin_with(model._given_start())

    def solver_of(self, depth, nodes):
        """Return a solver for trees of some depth and number of feature nodes."""
        model = self.model
        any_depth = depth == S.ANY_DEPTH
        return self.solver_type(
            self.problem, self.levels if any_depth else depth, nodes, any_depth=any_depth,
            search=self.options, random_state=model.random_state,
            split_penalty=self.split_penalty, min_samples_leaf=model.min_samples_leaf,
            n_jobs=effective_n_jobs(model.n_jobs))

    def limit_levels(self, tree):
        """Return of how many levels trees can be that cost less than one that was found.

        None where the price of a split does not tell, or a search of so many takes much memory.
        """
        problem = self.problem
        if not self.model._price_ends_search(self.options):
            return None
        with np.errstate(over="ignore"):                # a tiny price limits nothing
            splits = np.divide(self.cost(tree) - problem.offset, self.solver.penalty)
        levels = int(min(len(problem.bits), len(problem.columns), max(0.0, splits))) + 2
        return levels if levels * 8.0 * len(problem.columns) ** 2 <= DEEP_BYTES else None

    def prepared(self):
        """Return the reduced problem."""
        model, rows = self.model, self.rows
        problem = rows.problem or prepare(
            self.columns, self.y, len(model.classes_), self.sample_weight, counts=rows.counts,
            min_samples_leaf=model.min_samples_leaf, merge_rows=self.merges_rows,
            merge_columns=self.merges_columns, clock=self.clock, groups=rows.groups)
        return problem if rows.factors is None else replace(
            problem, lost=float(rows.weight @ (rows.factors[rows.y] - 1)))

    def begin_with(self, start):
        """Take a start that respects all limits as the tree to beat."""
        if isinstance(start, str) and self.columns.shape[1] == 0:
            return                                   # every tree is one leaf
        tree = self.started(start)
        if tree.n_splits > self.most_nodes:
            raise ValueError(f"start has {tree.n_splits} feature nodes and max_nodes is "
                             f"{self.most_nodes}; give a smaller tree or raise max_nodes.")
        if self.allowed is not None and not keeps_to(self.allowed, tree.to_nested()):
            has = f"start={start!r} grew" if isinstance(start, str) else "start has"
            raise ValueError(f"{has} splits that are not allowed; give a tree within "
                             "first_features, not_first_features and interaction_cst, or none.")
        self.set_incumbent(tree)

    def started(self, start):
        """Return the tree that a start gives, with the class weights of the rows."""
        depth = self.safe_depth if isinstance(start, str) else self.depth
        n_classes = len(self.model.classes_)
        columns, y, weight = self.rows.start or (self.columns, self.y, self.sample_weight)
        tree = starting_tree(start, columns.astype(np.float64), y, n_classes, weight, depth,
                             self.model.min_samples_leaf, self.model.random_state,
                             self.clock.remaining)
        if self.rows.start is not None:
            tree = tree.with_counts(self.columns, self.y, n_classes, self.sample_weight)
        return tree

    def set_incumbent(self, tree):
        """Make a tree the one to beat, if it is better, and tell so; a deeper one only prunes."""
        cost = self.cost(tree) - self.problem.offset
        self.upper, better = min(self.upper, cost), cost < self.best and tree.depth <= self.deepest
        if better:
            self.start, self.best = tree, cost
        return better

    def begin_from(self, tree):
        """Make a tree of a search before this one the one to beat, if it is better."""
        self.set_incumbent(tree)

    def cost(self, tree):
        """Return the objective of a tree that carries the class weights of the training rows."""
        leaves = np.flatnonzero(tree.feature < 0)
        value = tree.value[leaves]
        if self.rows.factors is not None:
            value = value * self.rows.factors
        right = value[np.arange(len(leaves)), tree.label[leaves]]
        spent = (self.split_penalty[tree.node_depth[tree.feature >= 0]].sum()
                 if np.ndim(self.split_penalty) else self.split_penalty * tree.n_splits)
        return float((value.sum(axis=1) - right).sum() + spent)

    def convert(self, cost):
        """Return a cost in the unit of the report."""
        return self.unit * cost + self.shift

    def record(self, event):
        """Note incumbent and bound, if one of them is new."""
        incumbent = min(self.solver.incumbent(), self.upper) + self.problem.offset
        self.bound = min(self.solver.bound() + self.problem.offset, incumbent, self.ceiling)
        self.known = max(self.known, self.convert(self.bound))
        best = min(np.inf if self.relaxed else self.solver.incumbent(), self.best)
        known = self.convert(best + self.problem.offset), self.known
        if not self.fit.trace or self.fit.trace[-1][1:3] != known or event != "search":
            self.fit.note(event, *known)

    def note(self, cost, bound, event):
        """Add a line of costs of the search to the trace."""
        self.fit.note(event, self.convert(cost), max(self.known, self.convert(bound)))

    def predict_time(self):
        """Tell from the first slice of a search how long all of it may take, to a factor of five.

        Over the data sets of the paper the number of pairs of depth-two problems grows about as
        ``columns ** (depth - 2.5)``; what one takes is measured.
        """
        pairs = int(self.solver.counters[S.DEPTH_TWO_PAIRS]) - self.pairs_before
        columns = int(self.solver.state[0, S.N_ACTIVE])
        if self.predicted is None and pairs > 0 and columns > 0 and self.depth != S.ANY_DEPTH:
            expected = 1.5 * columns ** min(max(0.5, self.depth - 2.5), 50)
            self.predicted = (self.clock.elapsed - self.begun) * max(1.0, expected / pairs)
            self.record(f"predicted {self.predicted:.3g} s, within a factor of five")

    def watch(self, solver):
        """Note what the search knows after a slice."""
        if self.predicted is None:
            self.predict_time()
        self.record("search")

    def explore(self, share):
        """Look for good trees by limited discrepancy, the first choices first."""
        if self.nodes < 2 ** self.depth - 1:
            raise ValueError("discrepancy_search needs the full node budget; leave out max_nodes "
                             "and max_leaf_nodes, or use deepening.")
        until, known = Clock(self.clock.remaining * share), {}
        for allowed in range(MAX_DISCREPANCIES + 1):
            if self.upper <= 0 or until.expired:
                break
            cost, nested = self.solver.discrepancy_tree(self.depth, allowed, until, known)
            if cost < self.upper:
                self.adopt(nested, f"{allowed} discrepancies", cost + self.problem.offset)

    def adopt(self, nested, event, claim=np.inf):
        """Make a tree of the solver, or what fits the budget, the one to beat if it is better."""
        self.adopt_tree(self.within_budget(self.checked(nested, claim)), event)

    def adopt_found(self, depth, event, ended=False):
        """Adopt what the last search found; one that ended knows the cost, and all of the tree."""
        cost = self.solver.incumbent()
        if cost < self.upper:
            clock = Clock(None if ended else FINISHING / 4)
            nested, = self.solver.trees(depth, [self.solver.nodes], clock)
            self.adopt(nested, event, cost + self.problem.offset if ended else np.inf)

    def within_budget(self, tree):
        """Return the best part of a tree that the node budget of the model allows."""
        if tree.n_splits <= self.most_nodes:
            return tree
        return cut_back(tree, self.most_nodes, self.split_penalty)

    def adopt_tree(self, tree, event):
        """Make a tree the one to beat, if it is better."""
        if self.set_incumbent(tree):
            self.note(self.cost(tree), self.problem.offset, event)

    def try_lookahead(self, share):
        """Look for good trees by looking ahead, a level further each time.

        Under a node budget small depths come first, and have nearly all of the time where the
        search is hopeless.
        """
        whole = self.nodes >= 2 ** self.depth - 1
        depth = self.depth if whole else self.cut_depth
        until = Clock(self.clock.remaining * (share if whole or not self.hopeless else NEARLY_ALL))
        if not whole:
            for tree in self.quick(until):
                self.adopt_tree(tree, "CART")
            self.deepen(Clock(until.remaining * SMALL_FIRST))
        for horizon in range(2, depth if whole else CUT_HORIZON + 1):
            # a tree that is cut back to the budget comes from a solver that knows of none
            solver = self.solver if whole else self.solver_of(horizon, 2 ** horizon - 1)
            if not self.look(solver, depth, horizon, until) or self.upper <= 0:
                break

    def look_at_few(self):
        """Look ahead two levels over few columns, over twice as many each time, but not over all.

        Where there are many columns, a single step over all of them may take the whole limit.
        """
        if self.clock.time_limit is None or self.fit.trace or self.within is not None \
                or self.smallest < self.nodes or np.ndim(self.model.split_penalty):
            return
        n_columns, depth = len(self.problem.columns), max(self.safe_depth, self.cut_depth)
        solver = None
        for halvings in range((n_columns // FEW_COLUMNS).bit_length() - 1, 0, -1):
            solver = solver or self.solver_of(2, 3)
            some = np.linspace(0, n_columns - 1, n_columns >> halvings).astype(np.int64)
            solver.see(some, halvings)
            nested, _, ended = solver.lookahead_tree(depth, 2, self.clock, FINISHING / 4)
            self.adopt(nested, f"look-ahead 2 over {len(some)} columns")
            if ended == "interrupted":
                raise KeyboardInterrupt
            if self.clock.remaining < 4 * solver.longest_step:      # that of twice as many columns
                break

    def look(self, solver, depth, horizon, until):
        """Grow a tree of some depth by looking ahead; tell whether there was time.

        The optimum of so many levels bounds those of any depth, whose trees have more splits.
        """
        nested, first, ended = solver.lookahead_tree(depth, horizon, until, FINISHING / 4)
        self.adopt(nested, f"look-ahead {horizon}")
        if ended == "interrupted":
            raise KeyboardInterrupt
        if first is not None and self.depth == S.ANY_DEPTH:
            self.looked, most = horizon, solver.least + (horizon + 1) * solver.penalty
            self.known = max(self.known, self.convert(self.problem.offset + min(first, most)))
        return ended == "heuristic"

    def look_further(self, share):
        """Look ahead at any depth, a level further each time."""
        until, timely = Clock(self.clock.remaining * share), True
        while timely and self.upper > 0 and self.looked < self.levels:
            horizon = self.looked + 1
            timely = self.look(self.solver_of(horizon, 2 ** horizon - 1),
                               min(self.levels, self.deepest), horizon, until)

    @property
    def looks(self):
        """The looks for good trees that a search under a time limit takes turns with."""
        if not self.takes_turns or np.ndim(self.model.split_penalty) \
                or self.options.discrepancy_search is not None or self.options.deepening \
                or self.smallest < self.nodes or self.depth < 4 or self.horizon < self.depth:
            return ()
        if self.depth == S.ANY_DEPTH:
            return (self.look_further,)
        if self.nodes >= 2 ** self.depth - 1:
            return self.try_lookahead, self.explore
        return (self.try_lookahead,) if self.cut_depth >= 4 else ()

    @property
    def hopeless(self):
        """Whether the search will not end within the time limit, as far as it is known."""
        return (self.predicted or 0.0) > HOPELESS * self.clock.time_limit

    def turn(self, k, look):
        """Search for a small part of the time limit, then look; tell whether the search ended."""
        solver, limit = self.solver, self.clock.time_limit
        seconds = limit * (AT_ANY_DEPTH if self.depth == S.ANY_DEPTH else TURNS[k])
        turn = Clock(min(self.clock.remaining, 0.0 if self.hopeless else seconds))
        if solver.solve(self.depth, self.nodes, upper=self.upper, clock=turn, watch=self.watch):
            return True
        self.adopt_found(self.depth, "search")
        if k == 0 and self.hopeless and self.rows.errors is not None:
            self.look_safely(self.ask_errors)
        slow = self.hopeless or (self.predicted is None and self.depth != S.ANY_DEPTH)
        self.look_safely(look, LOOKS[slow][k])
        return False

    def glance(self):
        """Only begin a search under a time limit, so that its first trees are heard."""
        self.look_at_few()
        self.begun = self.clock.elapsed
        if self.looks and self.turn(0, self.try_lookahead):
            self.checked(self.solver.tree(self.depth), np.inf)

    def ask_errors(self):
        """Look for the fewest errors: rows are counted, and deep trees cost little either way."""
        model = copy(self.model)
        model.start, model.verbose = None, 0

        def hear(tree):
            tree = tree.with_counts(self.columns, self.y, len(model.classes_), self.sample_weight)
            self.adopt_tree(self.within_budget(tree.pruned()), "errors")

        Run(model, Rows(*self.rows.errors), self.clock, self.options, hear=hear).glance()

    def look_safely(self, look, *limit):
        """Look for good trees; Ctrl-C then leaves the solver at the root, and not at a part."""
        try:
            look(*limit)
        except KeyboardInterrupt:
            self.solver.solve(self.depth, self.nodes, smallest=self.smallest, upper=self.upper,
                              clock=Clock(0.0))
            raise

    def deepen(self, limit):
        """Solve the smaller depths, as far as time allows."""
        solver = self.solver
        for depth in range(3, self.depth):
            ended = solver.solve(depth, self.nodes, upper=self.upper, clock=limit)
            self.adopt_found(depth, f"depth {depth}", ended)
            if not ended:
                break

    def look_ahead(self):
        """Grow a tree deeper than is searched; keep the end, bound and tree."""
        if self.nodes < min(2 ** self.depth, len(self.y)) - 1:
            raise ValueError("lookahead needs the full node budget; leave out max_nodes and "
                             "max_leaf_nodes, or give split_penalty for a smaller tree.")
        solver, offset = self.solver, self.problem.offset
        nested, first, self.fit.ended = solver.lookahead_tree(self.depth, self.horizon, self.clock,
                                                          FINISHING)
        left = self.clock.remaining if self.fit.ended == "heuristic" else 0.0
        self.finishing = Clock(max(FINISHING, left))
        self.bound = offset + solver.least
        if first is not None:       # a tree of more depth has at least so many splits
            self.bound = offset + min(first, solver.least
                                      + (self.horizon + 1) * solver.penalty)
        self.found = {self.nodes: self.checked(nested, np.inf)}
        for cost, event in ((first, f"depth {self.horizon}"),
                            (self.cost(self.found[self.nodes]) - offset, "look-ahead")):
            if cost is not None:
                cost = min(cost, self.upper) + offset
                self.note(cost, min(self.bound, cost), event)
        self.count()

    def count(self):
        """Keep what the search counted."""
        self.fit.counters = {**self.problem.counters, **self.solver.counted(),
                             "cache_bytes": self.solver.space.table.nbytes}

    def search(self):
        """Run the search; keep its end, bound, and cost and tree for each node budget."""
        if self.horizon < self.depth:
            self.look_ahead()
            return
        if self.within is not None:
            self.search_within()
            return
        solver = self.solver
        with self.fit.stops():
            if self.options.discrepancy_search and self.smallest == self.nodes and self.depth > 3:
                self.look_safely(self.explore, HALF)
            if self.options.deepening and self.smallest == self.nodes:
                self.look_safely(self.deepen, self.clock)
            self.begun = self.clock.elapsed
            self.pairs_before = int(solver.counters[S.DEPTH_TWO_PAIRS])
            limited = self.clock.time_limit is not None
            looks = self.looks if limited else ()
            self.look_at_few()
            if not any(self.turn(k, look) for k, look in enumerate(looks)) and not solver.solve(
                    self.depth, self.nodes, smallest=self.smallest, upper=self.upper,
                    clock=self.clock, watch=self.watch):
                raise TimeUp
            self.fit.ended = "optimal"
        self.record("search")
        self.count()
        if self.predicted is not None:
            self.fit.counters["predicted_seconds"] = self.predicted
        finished = self.fit.ended == "optimal"
        self.finishing = Clock(None if finished else FINISHING)
        least, claims = np.inf, {}
        for n in range(self.smallest, self.nodes + 1):
            cost = solver.incumbent(n)
            if cost < least:        # else the tree is that of the budget below
                least = cost
                claims[n] = cost + self.problem.offset if finished else np.inf
        trees = solver.trees(self.depth, list(claims), self.finishing)
        self.found = {n: self.checked(nested, claim) for (n, claim), nested in zip(
            claims.items(), trees, strict=True)}
        if claims:
            self.found[self.nodes] = self.found[max(claims)]

    def search_within(self):
        """Search the trees whose splits are allowed; keep what :meth:`search` keeps."""
        within, offset = self.within, self.problem.offset
        plans, least, n = {}, np.inf, None      # no budget as long as a first tree is grown
        with self.fit.stops():
            if self.smallest == self.nodes:
                self.adopt(within.greedy(self.safe_depth, self.clock), "greedy")
            for n in range(self.smallest, self.nodes + 1):
                within.bound = 0.0          # that of a smaller budget holds for that budget alone
                cost, plan = within.best(within.rows, self.depth, n, min(least, self.upper))
                if plan is not None:
                    least, plans[n] = cost, plan
            self.bound = offset + min(least, self.upper)
            self.fit.ended = "optimal"
        finished = self.fit.ended == "optimal"
        if not finished:
            self.bound = offset + (within.bound if n == self.nodes else 0.0)
        self.finishing = Clock(None if finished else FINISHING)
        self.found = {n: self.checked(within.built(plan, self.finishing), np.inf)
                      for n, plan in plans.items()}
        if self.found:
            self.found[self.nodes] = self.found[max(self.found)]
        self.count()

    def adopt_allowed(self, nested, cost):
        """Take note of a better tree whose splits are allowed."""
        if self.smallest == self.nodes:
            self.adopt(nested, "search", cost + self.problem.offset)

    def smaller(self, tree):
        """Return a tree of the same cost with the fewest feature nodes (Algorithm 7).

        With it, whether that is proved: a search that is cut short leaves the tree.
        """
        cost = self.cost(tree)
        value = cost - self.problem.offset
        if tree.n_splits == 0:
            return tree, True
        if tree.n_splits > self.nodes:          # a start, or of quick methods: a later depth asks
            return tree, False
        try:
            if not self.solver.solve(self.depth, tree.n_splits - 1, smallest=0, lower=value,
                                     upper=self.solver.just_above(value), clock=self.clock):
                return tree, False
        except KeyboardInterrupt:
            return tree, False
        budgets = [n for n in range(tree.n_splits) if np.isfinite(self.solver.incumbent(n))]
        for nested in self.solver.trees(self.depth, budgets):
            smaller = self.checked(nested, cost)
            if self.cost(smaller) <= cost + self.solver.slack:
                return smaller, True
        return tree, True

    def over_columns(self, nested):
        """Turn the solver's nested tuples into a tree over the columns."""
        return tree_over_columns(nested, self.columns, self.y, len(self.model.classes_),
                                 self.sample_weight, self.problem.columns)

    def as_written(self, nested):
        """Return the same with the labels of the tuples, and with splits that save nothing."""
        return tree_over_columns(nested, self.columns, self.y, len(self.model.classes_),
                                 self.sample_weight, self.problem.columns, relabel=False)

    def checked(self, nested, claim):
        """Turn the solver's nested tuples into a tree over the columns that costs as claimed."""
        tree = self.over_columns(nested)
        if self.hear is not None:
            self.hear(tree)
        if self.cost(tree) > claim + PROOF * self.problem.scale:
            raise RuntimeError(f"the tree has cost {self.cost(tree):g}, the search counted "
                               f"{claim:g}; please report this as a bug of odtlib.")
        return tree

    def run(self):
        """Search; return the best tree, with the weights of the given rows, and the report."""
        tree = self.solved()
        return self.rows.as_given(tree), self.fit.report()

    def quick(self, clock):
        """Return the trees of quick methods; best-first CART has no better one for its budget."""
        solver, rows = self.solver, np.arange(len(self.problem.bits))
        if self.within is not None:
            return [self.checked(nested, np.inf) for nested in (
                self.within.greedy(self.safe_depth, clock), solver._leaf(rows)[1])]
        grown = [solver.greedy_tree(self.safe_depth, clock), solver._leaf(rows)[1]]
        depth = self.cut_depth
        if self.safe_depth < depth and not np.ndim(self.model.split_penalty):
            grown.append(solver.cart(rows, depth, 2 ** depth - 1, clock))
        return [self.within_budget(self.checked(nested, np.inf)) for nested in grown]

    def improved(self, tree, clock):
        """Return the best of a tree and those that quick methods give: never worse than CART."""
        known = [one for one in (tree, self.start) if one is not None]
        tree = min([*known, *self.quick(clock)], key=self.cost)
        self.fit.objective = self.convert(self.cost(tree))
        return tree

    def solved(self):
        """Search; return the best tree, over the columns, and tell the fit what is known."""
        model, fit = self.model, self.fit
        self.search()
        fewest = ""
        trees = [tree for tree in (self.found.get(self.nodes), self.start)
                 if tree is not None and tree.depth <= self.deepest]
        tree = min(trees, key=self.cost) if len(trees) > 1 else trees[0] if trees else None
        if fit.ended != "optimal":
            tree = self.improved(tree, self.finishing)
        if fit.ended == "optimal" and self.options.minimise_nodes and self.smallest == self.nodes:
            tree, proved = self.smaller(tree)
            fewest = ", with the fewest feature nodes" if proved else ""
        self.found[self.nodes], cost = tree, self.cost(tree)
        # The splits of a deeper tree alone may cost as much.
        limits = model._limits(len(self.y), any_depth=self.any_depth or (
            self.nodes == 2 ** self.depth - 1 and self.solver.penalty > 0
            and np.ndim(model.split_penalty) == 0
            and cost <= (self.problem.offset + self.solver.least
                         + (self.depth + 1) * self.solver.penalty)))
        if np.any(model.split_penalty):
            limits += (", split penalties per level" if np.ndim(model.split_penalty)
                       else f", split penalty {number_text(model.split_penalty)}")
        fit.proof = (f"optimal for {pluralised(self.columns.shape[1], 'predicate')} at "
                     f"{limits}{words_of(self.options)}{fewest}{self.rows.words}")
        fit.objective, fit.bound = self.convert(cost), max(self.known, self.convert(self.bound))
        return tree

    def answer(self):
        """Return how the search ended, and ``(nodes, cost, tree)`` for every node budget."""
        if 0 not in self.found:
            leaf = self.solver._leaf(np.arange(len(self.problem.bits)))[1]
            self.found[0] = self.checked(leaf, np.inf)
        best, least, entries = None, np.inf, []
        for nodes in range(self.nodes + 1):
            tree = self.found.get(nodes)
            if tree is not None and (cost := self.cost(tree)) < least - self.solver.slack:
                best, least = self.rows.as_given(tree), cost
            entries.append((nodes, self.convert(least), best))
        return self.fit.ended, entries
