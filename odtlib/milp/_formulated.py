"""What the classifiers of formulations over whole trees share: start, solve, decode, report."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from odtlib._tolerance import PROOF
from odtlib.estimator import TreeClassifier
from odtlib.heuristics import starting_tree, warm_up_start
from odtlib.mip.engines import library
from odtlib.mip.units import MOST_WHOLE, SECONDS_A_NONZERO, in_units
from odtlib.report import Clock, SolveReport, default_objective
from odtlib.tree import DecisionTree

MOST_IN_CP_SAT = 2**40      # of the sum of whole weights
MOST_ENTRIES = 60_000_000   # nonzeros; some 100 bytes each while a model is built and passed on
# HiGHS's own tolerances are absolute and larger than what weights that are not whole can bear
EXACT = dict.fromkeys(("mip_feasibility_tolerance", "primal_feasibility_tolerance",
                       "dual_feasibility_tolerance"), 1e-9)
STATUS = {"optimal": "heuristic", "died": "memory_limit"}


class FormulatedClassifier(TreeClassifier):
    """Solve a formulation that a subclass builds.

    A subclass defines ``_formulate(X, y, sample_weight, depth)``, which returns a function that
    builds the formulation for weights and a price of a split in a solver's unit, the number of
    nonzeros that it will have, and the columns on which it works.  A formulation has a ``model``,
    ``start(tree)`` and ``tree(values)``.
    """

    _parameter_constraints = {
        **TreeClassifier._parameter_constraints,
        "complexity": [Interval(Real, 0, None, closed="left")],
        "max_nodes": [Interval(Integral, 0, None, closed="left"), None],
        "solver": [StrOptions({"highs", "cp-sat"})],
        "threads": [Interval(Integral, 1, None, closed="left"), None],
    }
    _smallest_leaf = 1
    _before = None      # a tree of a smaller budget, to begin with instead of a worse start

    def _warm_up(self, X, y, sample_weight):
        library(self.solver)
        return warm_up_start(self.start)

    def _solve(self, X, y, sample_weight):
        clock = Clock(self.time_limit)
        depth, most = self._depth_within(len(y)), self._most_nodes(len(y))
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        # the model counts in a unit of its own, all else in the weights as they were given
        cp_sat = self.solver == "cp-sat"
        factor, whole = in_units(weight, MOST_IN_CP_SAT if cp_sat else MOST_WHOLE)
        if cp_sat and not whole:
            raise ValueError("CP-SAT counts in whole numbers and sample_weight has fractions; "
                             "multiply the weights by a common denominator, or use "
                             "solver='highs'.")
        units = np.rint(weight * factor) if whole else weight * factor
        baseline = float(units.sum() - np.bincount(y, units, len(self.classes_)).max())
        unit_price = round(self.complexity * baseline, 6)
        price = unit_price / factor
        scale = float(weight.sum()) + price
        evaluate = partial(_penalised_errors, price=price)
        build, n_entries, columns = self._formulate(X, y, weight, depth)
        begin = self._begin_with(columns, y, sample_weight, price, depth, most, clock)
        tree, objective, bound = begin, evaluate(begin, columns, y, weight), 0.0
        given = self.start is not None
        known = objective if given else np.inf      # what the trace may show from the beginning
        trace = [(clock.elapsed, known, bound, "start" if given else "nothing")]
        counters = {"nonzeros": n_entries}
        if given:
            counters["start_objective"] = objective
        try:
            if most == 0 or np.all(columns == columns[0]):
                status, bound = "optimal", objective        # a leaf is all there is
            elif n_entries > MOST_ENTRIES:
                status = "memory_limit"
            elif n_entries * SECONDS_A_NONZERO > clock.remaining:
                status = "time_limit"
            else:
                formulation = build(units, unit_price)
                built = clock.elapsed
                exact = whole and unit_price == 0
                settings = {} if cp_sat or exact else dict(EXACT)
                if not (cp_sat or whole):
                    # presolve of HiGHS has been seen to err where costs are not whole
                    settings["presolve"] = "off"
                solution = formulation.model.solve(
                    self.solver, threads=self.threads,
                    unit=1.0 if exact else None, settings=settings,
                    start=formulation.start(begin) if given else None,
                    time_limit=None if self.time_limit is None else max(0.05, clock.remaining),
                    random_state=int(check_random_state(self.random_state).randint(2**31 - 1)))
                status, bound = solution.status, max(0.0, solution.bound / factor)
                counters.update(formulation.model.sizes(), build_seconds=built,
                                **solution.counters)
                trace += [(built + seconds, min(incumbent / factor, known),
                           max(0.0, low / factor), event)
                          for seconds, incumbent, low, event in solution.events]
                found = None
                if solution.values is not None:
                    found = self._normal(formulation.tree(solution.values), columns, y,
                                         sample_weight, depth, most)
                if found is not None and evaluate(found, columns, y, weight) <= objective:
                    tree, objective = found, evaluate(found, columns, y, weight)
                elif not given:
                    counters["fallback"] = 1
        except KeyboardInterrupt:
            status = "interrupted"
        if status == "infeasible":
            if exact:
                raise RuntimeError("the solver calls the model infeasible, which it never is; "
                                   "please report this data set as a bug of odtlib.")
            status, bound = "heuristic", 0.0    # weights too far apart for its tolerances
        status = STATUS.get(status, status)
        if objective <= bound + PROOF * scale:
            status, bound = "optimal", objective
        elif status not in ("time_limit", "memory_limit", "interrupted"):
            status = "heuristic"
        trace.append((clock.elapsed, objective, min(bound, objective), status))
        if given:
            counters["gain"] = counters["start_objective"] - objective
        counters["time_to_best"] = next(seconds for seconds, incumbent, _, _ in trace
                                        if incumbent <= objective + PROOF * scale)
        if self.verbose:
            print(f"{type(self).__name__}: {status}, objective {objective:g}, bound {bound:g}, "
                  f"{clock.elapsed:.1f} s", flush=True)
        report = SolveReport(
            status, objective, min(bound, objective), clock.elapsed, counters=counters,
            start=self._start_word(), trace=trace,
            proof=f"optimal for {self._claim(columns)}", evaluate=evaluate,
            scale=scale)
        return tree, report

    def _most_nodes(self, n_rows):
        """Return how many feature nodes a tree whose leaves all hold rows may have."""
        full = min(2 ** self._depth_within(n_rows), n_rows) - 1
        return full if self.max_nodes is None else min(full, int(self.max_nodes))

    def _normal(self, tree, columns, y, sample_weight, depth, most):
        """Return a tree without needless splits, None where a solver's tolerance broke a limit."""
        try:
            tree = starting_tree(tree, columns, y, len(self.classes_), sample_weight,
                                 depth, self._smallest_leaf)
        except ValueError:
            return None
        return tree if tree.n_splits <= most else None

    def _claim(self, columns):
        limits = f"depth {self.max_depth}"
        if self.max_nodes is not None and (int(self.max_nodes) + 1).bit_length() <= self.max_depth:
            limits += f" and {self.max_nodes} feature nodes"
        if self._smallest_leaf > 1:
            limits += f", {self._smallest_leaf} rows a leaf"
        if self.complexity:
            limits += f", complexity {self.complexity:g}"
        return f"{self._search_space(columns)} at {limits}"

    def _begin_with(self, columns, y, sample_weight, price, depth, most, clock):
        """Return the starting tree, cut back where its splits cost more than they save.

        It also stands in where the solver finds nothing better: CART if there is no start.
        """
        n_classes = len(self.classes_)
        start = "cart" if self.start is None else self._given_start()
        limit = None if clock.time_limit is None else clock.time_limit / 4
        value = np.bincount(y, sample_weight, n_classes)[None].astype(float)
        candidates = [DecisionTree([-1], [np.nan], [-1], [-1], value,
                                   n_features=columns.shape[1])]
        for tree in (start, self._before):
            if tree is not None and columns.shape[1] > 0:
                tree = starting_tree(tree, columns, y, n_classes, sample_weight, depth,
                                     self._smallest_leaf, self.random_state, limit)
                tree = cut_back(tree.with_counts(columns, y, n_classes, sample_weight), price,
                                most)
                candidates.append(tree.with_counts(columns, y, n_classes, sample_weight))
        return min(candidates, key=lambda tree: _penalised_errors(
            tree, columns, y, sample_weight, price=price))


def add_terms(model, name, shape, *terms, **sides):
    """Add a block of rows to a model, written as a sum of terms.

    Parameters
    ----------
    model : Model
        Gets the rows.
    name, shape
        As for :meth:`~odtlib.milp.Model.add_rows`.
    *terms : tuple (row, column, value)
        Each of the three broadcast against the others.
    **sides
        ``lower`` and ``upper``.
    """
    parts = [np.broadcast_arrays(*term) for term in terms]
    model.add_rows(name, shape, *(np.concatenate([part[k].ravel() for part in parts])
                                  for k in range(3)), **sides)


def cut_back(tree, price, most):
    """Return the best subtree with the same root: errors, plus a price for each split.

    Parameters
    ----------
    tree : DecisionTree
        With the class weights of the rows at every node.
    price : float
        Of a split.
    most : int
        Splits allowed.

    Returns
    -------
    DecisionTree
        Of several best ones, one with the fewest splits.
    """
    if most >= tree.n_splits:
        nested, cost = [None] * len(tree.feature), np.zeros(len(tree.feature))
        for node in range(len(tree.feature) - 1, -1, -1):       # children come after parents
            value, split = tree.value[node], int(tree.feature[node])
            cost[node], nested[node] = value.sum() - value.max(), int(np.argmax(value))
            if split >= 0:
                left, right = tree.left[node], tree.right[node]
                below = cost[left] + cost[right] + price
                if below < cost[node]:
                    cost[node] = below
                    nested[node] = (split, float(tree.threshold[node]), nested[left],
                                    nested[right])
        return DecisionTree.from_nested(nested[0], tree.value.shape[1],
                                        n_features=tree.n_features)

    def best(node):
        """Return, for each number of splits from 0, the cost and the nested tree."""
        value = tree.value[node]
        table = [(float(value.sum() - value.max()), int(np.argmax(value)))]
        if tree.feature[node] >= 0 and most > 0:
            left, right = best(tree.left[node]), best(tree.right[node])
            for n in range(1, min(most, len(left) + len(right) - 1) + 1):
                table.append(min(
                    ((left[k][0] + right[n - 1 - k][0] + price,
                      (int(tree.feature[node]), float(tree.threshold[node]), left[k][1],
                       right[n - 1 - k][1]))
                     for k in range(max(0, n - len(right)), min(n, len(left)))),
                    key=lambda entry: entry[0]))
        return table

    _, nested = min(best(0), key=lambda entry: entry[0])
    return DecisionTree.from_nested(nested, tree.value.shape[1], n_features=tree.n_features)


def _penalised_errors(tree, X, y, sample_weight=None, *, price):
    return default_objective(tree, X, y, sample_weight) + price * tree.n_splits
