"""BinOCT: the estimator that builds the binary linear program and lets a solver solve it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from odtbook.formulations.binoct_model import FORMS, BinOCTModel
from odtbook.formulations.lns import NeighbourhoodSearch
from odtbook.formulations.program import Formulation, ProgramClassifier
from odtbook.formulations.thresholds import candidate_cuts, from_full_tree
from odtlib.estimator import SearchOptions, plain_copy
from odtlib.heuristics.ranks import RankedRows
from odtlib.report import Clock


@dataclass(repr=False)
class BinOCTSearch(SearchOptions):
    """Choose what BinOCT does beside solving its program.

    Parameters
    ----------
    add_thresholds : bool, default=True
        Whether the thresholds of CART and of the starting tree are added to the candidates, as in
        the authors' scripts.  With False a starting tree moves to the nearest candidates.

    Raises
    ------
    ValueError
        If an option has a value that does not exist.
    """

    add_thresholds: bool = True

    _parameter_constraints = {"add_thresholds": ["boolean"]}


@dataclass(eq=False, repr=False)
class BinOCTClassifier(ProgramClassifier):
    """Find a classification tree by the binary linear program of Verwer & Zhang (2019).

    One binary variable says which feature a node tests; a few bits say which threshold, by a
    binary search through the list of candidates.  The program is given to a solver together with a
    starting tree.  On more than a few hundred rows open solvers seldom improve a good start within
    minutes: ``report_`` says what the start was worth and what the solver gained.

    Parameters
    ----------
    max_depth : int or None, default=2
        Maximum depth of the tree.  None for no limit.  Variables and constraints double with every
        level.
    max_nodes : int or None, default=None
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; None for no limit.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.
    split_penalty : float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.  The published program has full
        trees; a penalty, and each of the three limits above, adds a variable per node that says
        whether it is split.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    solver : {"highs", "cp-sat", "lns"}, default="highs"
        "highs": branch and cut.  "cp-sat": constraint programming on the same program; finds better
        trees in the same time.  It counts in whole numbers: weights and penalties without a small
        common denominator are rounded down for it, and its bounds hold; groups need weights with
        one.  "lns": BinOCT-LNS, a large-neighbourhood search; CP-SAT solves the program for two or
        three nodes at a time while all others stay.  It needs a start and proves nothing.
    start : {"cart", "local-search"}, DecisionTree, fitted estimator or None, default="cart"
        Warm start: None, a word, a :class:`DecisionTree` or a fitted tree estimator.  A run never
        ends with a worse tree.  With None the solver begins from nothing, and CART is returned
        where it finds no tree as good (``counters["fallback"]`` tells).
    n_jobs : int or None, default=None
        Number of threads; None means 1 and -1 all processors.
    time_limit : float or None, default=None
        Time limit in seconds; None for no limit.  It includes finding the start and building the
        program.
    random_state : int, RandomState or None, default=None
        Seed of the random choices.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.
    max_disparity : float or None, default=None
        Maximum difference in the shares of rows predicted as ``classes_[1]`` between the two
        groups given to ``fit`` as ``protected``; None for no limit.
    thresholds : {"all", "boundary", "forest"}, default="all"
        Candidate thresholds.  "all": all midpoints; "boundary": without those between two values
        that only have rows of one class (published; fewer, but from depth 2 on the best tree may be
        lost); "forest": those of a random forest of 20 trees (fewest, a heuristic restriction).
    constraint_form : {"summed", "per_row", "ordered"}, default="summed"
        Form of the constraints.  "summed": published sums with big Ms; "per_row": one constraint
        per row, many times as many.  "ordered" is not BinOCT's encoding: a variable per threshold
        in place of the bits, and two constraints per row and node.  All have the same trees as
        solutions; the last helps solvers most: at depth 3, from CART and within 30 s, HiGHS
        improves Monk's 2 from 24 errors to 18, with "summed" to 23; CP-SAT proves Monk's 1 in 0.9
        instead of 2.3 CPU seconds.
    search : BinOCTSearch or None, default=None
        Options of the search as a :class:`BinOCTSearch`; None for the defaults.

    Attributes
    ----------
    tree_ : DecisionTree
        The best tree found.
    report_ : SolveReport
        ``optimal`` only with the solver's proof.  Counters: ``start_objective``, ``gain`` over it,
        ``thresholds``, ``disparity`` where groups are given, sizes of the program,
        ``time_to_best``, and what the solver counts.
    classes_ : array
        The labels.

    Notes
    -----
    The discrimination-aware objective is one of the variations that Firat et al. (2020, Section 2)
    call easy.

    Examples
    --------
    >>> from odtbook.formulations import BinOCTClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = BinOCTClassifier(max_depth=2).fit(X, y)
    >>> model.report_.objective, model.report_.status
    (0.0, 'optimal')
    """

    _parameter_constraints = {
        **ProgramClassifier._parameter_constraints,
        "solver": [StrOptions({"highs", "cp-sat", "lns"})],
        "max_disparity": [Interval(Real, 0, 1, closed="both"), None],
        "thresholds": [StrOptions({"all", "boundary", "forest"})],
        "constraint_form": [StrOptions(set(FORMS))],
        "search": [BinOCTSearch, None],
    }

    _: KW_ONLY
    max_disparity: float | None = None
    thresholds: str = "all"
    constraint_form: str = "summed"
    search: BinOCTSearch | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None,
            protected: ArrayLike | None = None) -> Self:
        """Fit the tree.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows, without missing values.
        y : array, shape (n_rows,)
            Labels of any type.
        sample_weight : array, shape (n_rows,), optional
            Weight of every row (default: one each), from 1e-100 to 1e100.  A row of weight zero is
            left out.
        protected : array, shape (n_rows,), optional
            Two distinct values that tell two groups apart; needed with ``max_disparity``
            and used for nothing else.  It may, but need not, be one of the features.

        Returns
        -------
        self
            With ``tree_`` and ``report_``.

        Raises
        ------
        ValueError
            If the data or a parameter cannot be used; the message says what to do instead.
        """
        self._fit(X, y, sample_weight, protected)
        return self

    def formulate(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None,
                  protected: ArrayLike | None = None) -> BinOCTModel:
        """Build the program without solving it.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            Labels.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).
        protected : array, shape (n_rows,), optional
            As for :meth:`fit`.

        Returns
        -------
        BinOCTModel
            Its ``model`` can be looked at, relaxed and solved.
        """
        copied = plain_copy(self)
        X, codes, weight, used = copied._training_arrays(X, y, sample_weight)
        problem = copied._problem(X, codes, weight,
                                  None if protected is None else np.asarray(protected)[used])
        if problem.depth == 0 or np.all(X == X[0]):
            raise ValueError("no model is needed: max_depth is 0 or every feature is constant.")
        return copied._formulate(problem, [], Clock()).build()

    @property
    def _adds_thresholds(self):
        """Whether the thresholds of CART and of the start are candidates too."""
        return self.search is None or self.search.add_thresholds

    def _solve(self, X, y, sample_weight, protected=None):
        if self.solver == "lns" and self.start is None:
            raise ValueError("solver='lns' improves a tree; give a start, such as 'cart'.")
        return super()._solve(X, y, sample_weight, protected)

    def _ranked(self, problem):
        return RankedRows(problem.X, problem.y, problem.n_classes, problem.units)

    def _lower_bound(self, problem):
        """Return the weight of the errors among rows that agree in all features."""
        rows = self._ranked(problem)
        return float(rows.weights.sum() - rows.merged().attainable) / problem.factor

    def _space(self, problem, cuts=None):
        kind = {"all": "", "boundary": "boundary ", "forest": "forest "}[self.thresholds]
        if cuts is None:
            return f"the {kind}thresholds"
        added = "and added " if self._adds_thresholds and kind else ""
        return f"the {sum(map(len, cuts))} {kind}{added}thresholds"

    def _cuts(self, rows, problem, trees):
        """Return the candidates, with the thresholds of CART and of the starting tree."""
        added = ()
        if self._adds_thresholds:
            added = list(trees)
            if not (trees and self.start in (None, "cart")):
                added.append(problem.start("cart", self.random_state, None))
        cuts = candidate_cuts(rows, self.thresholds, max_depth=problem.depth,
                              random_state=self.random_state, trees=added)
        if not any(map(len, cuts)):     # nothing but one class between any two values
            cuts = candidate_cuts(rows, "all", max_depth=problem.depth)
        return cuts

    def _formulate(self, problem, trees, clock):
        rows, n_leaves = self._ranked(problem), 2**problem.depth
        # a variable per row and leaf, or a pair of nodes per node and level
        least = n_leaves * max(3 * len(problem.y), 100 * problem.depth)
        cuts = self._cuts(rows, problem, trees)

        def build():
            if self.solver == "lns":
                return rows, cuts
            program = BinOCTModel(rows, cuts, problem.depth, self.constraint_form, clock=clock,
                                  **problem.limits())
            return program if program.complete else None

        return Formulation(build, least, self._space(problem, cuts),
                           {"thresholds": int(sum(map(len, cuts)))})

    def _priorities(self, program):
        # as the authors' scripts do; at depth 3 in 15 s they took CP-SAT from 74 to 70 errors on
        # Balance, and from 19 to 18 on Monk's 2
        return program.priorities() if self.solver == "cp-sat" else None

    def _run_solver(self, problem, formulation, run):
        if self.solver != "lns":
            super()._run_solver(problem, formulation, run)
            return
        rows, cuts = formulation.build()
        search = NeighbourhoodSearch(rows, cuts, problem.depth, **problem.limits())

        def found(splits, label, event):
            tree = problem.checked(from_full_tree(splits, label, rows, cuts))
            if tree is not None:
                run.offer(tree, event=event, equal=True)

        try:
            run.ended = search.run(
                run.tree, run.clock, found, floor=run.bound * problem.factor,
                unit=1.0 if problem.counted else None, n_jobs=effective_n_jobs(self.n_jobs),
                random_state=self.random_state)
        finally:
            run.counters.update(search.counters)
