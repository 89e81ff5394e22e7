"""The flow formulation of Aghaei, Gómez and Vayanos (2024) over 0/1 columns (FlowOCT)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, StrOptions

from odtbook.formulations.model import Model
from odtbook.formulations.program import Formulation, ProgramClassifier, add_terms
from odtbook.formulations.thresholds import ancestors
from odtlib.arrays import distinct_rows
from odtlib.estimator import BINARIZERS, BinarisingMixin
from odtlib.report import pluralised
from odtlib.tree import DecisionTree


class FlowModel:
    """Build FlowOCT as a mixed-integer program.

    Every row is a unit of flow from the root to a sink.  It may pass an arc only where the split of
    the node sends it, and reach the sink only from a node that predicts its class.  So the flow is
    the weight of the correctly classified rows.  Nodes are numbered level by level from 0; those
    from ``2**depth - 1`` on can only predict.  Rows that agree in all columns and in their class
    are one row with the sum of their weights.

    Parameters
    ----------
    columns : array of 0 and 1, shape (n_rows, n_columns)
        Rows; a split on a column sends zeros left and ones right.
    y : array of int, shape (n_rows,)
        Class indices.
    n_classes : int
        Number of classes.
    weight : array of float, shape (n_rows,)
        Weight of every row.
    depth : int
        Depth of the tree, at least 1.
    split_penalty : float, default=0.0
        Cost of a split, in units of misclassified weight.
    max_splits : int, optional
        Maximum number of splits.
    min_samples_leaf : int, default=1
        Minimum number of rows per leaf; above 1 a second flow ``reach`` takes every row, right or
        wrong, to its leaf.

    Attributes
    ----------
    model : Model
        The program: ``b`` (column of a node), ``p`` (node predicts), ``w`` (class of a node),
        ``z`` (flow of a row into a node), ``s`` (flow of a row from a node to the sink).  A node of
        the last level sends on to the sink what it gets, so ``z`` stands for both.
    """

    def __init__(self, columns, y, n_classes, weight, depth, *, split_penalty=0.0,
                 max_splits=None, min_samples_leaf=1):
        distinct, _, which = distinct_rows(np.column_stack([columns, y]).astype(np.int64))
        self.columns, self.y = distinct[:, :-1], distinct[:, -1]
        self.weight = np.bincount(which, weight)
        self.copies = np.bincount(which)
        self.reach = None
        self.n_classes, self.depth = n_classes, depth
        n, k = self.columns.shape
        n_inner, n_nodes = 2 ** depth - 1, 2 ** (depth + 1) - 1
        model = self.model = Model("FlowOCT")
        model.offset = float(self.weight.sum())
        # a column that is the same in all rows would only loosen the relaxation
        useful = (self.columns != self.columns[0]).any(axis=0)
        b = self.b = model.add_variables("b", (n_inner, k), kind="integer", cost=split_penalty,
                                         upper=np.tile(useful, (n_inner, 1)))
        p = self.p = model.add_variables("p", n_nodes, kind="integer")
        w = self.w = model.add_variables("w", (n_nodes, n_classes), kind="integer")
        gain = np.zeros((n, n_nodes))
        gain[:, n_inner:] = -self.weight[:, None]
        z = self.z = model.add_variables("z", (n, n_nodes), kind="implied", cost=gain)
        s = self.s = model.add_variables("s", (n, n_inner), kind="implied",
                                         cost=-self.weight[:, None])

        add = partial(add_terms, model)
        node, inner = np.arange(n_nodes), np.arange(n_inner)
        above = [(m, a) for m in range(1, n_nodes) for a in ancestors(m)]
        add("decide", n_nodes, (inner[:, None], b, 1.0), (node, p, 1.0),
            (np.array([m for m, _ in above]), p[[a for _, a in above]], 1.0), lower=1, upper=1)
        add("one_class", n_nodes, (node[:, None], w, 1.0), (node, p, -1.0), lower=0, upper=0)
        if max_splits is not None:
            add("budget", 1, (0, b, 1.0), upper=max_splits)
        pair = self._add_flow(("conserve", "left", "right"), z, s)
        add("sink", (n, n_inner), (pair, s, 1.0), (pair, w[:n_inner, self.y].T, -1.0), upper=0)
        last = np.arange(n * (n_inner + 1)).reshape(n, n_inner + 1)
        add("last_sink", (n, n_inner + 1), (last, z[:, n_inner:], 1.0),
            (last, w[n_inner:, self.y].T, -1.0), upper=0)
        if min_samples_leaf > 1:
            self._add_leaf_sizes(min_samples_leaf)

    def _add_flow(self, names, into, out):
        """Let rows flow from inner nodes out, or to the child to which the split sends them.

        ``names`` are those of the constraints, ``into`` (n_rows, n_nodes) and ``out`` (n_rows,
        n_inner) the variables.  The numbers of pairs of row and inner node are returned.
        """
        inner, pair = np.arange(out.shape[1]), np.arange(out.size).reshape(out.shape)
        children = [into[:, 2 * inner + 1 + side] for side in (0, 1)]
        add_terms(self.model, names[0], pair.shape, (pair, into[:, inner], 1.0), (pair, out, -1.0),
                  *((pair, child, -1.0) for child in children), lower=0, upper=0)
        for side, child in enumerate(children):
            row, column = np.nonzero(self.columns == side)
            add_terms(self.model, names[1 + side], pair.shape, (pair, child, 1.0),
                      (pair[row], self.b[:, column].T, -1.0), upper=0)
        return pair

    def _add_leaf_sizes(self, min_samples_leaf):
        """Let every row flow to its leaf, and count the rows that end there."""
        n, (n_inner, _), n_nodes = len(self.y), self.b.shape, len(self.p)
        reach = self.reach = self.model.add_variables("reach", (n, n_nodes), kind="implied")
        ends = self.ends = self.model.add_variables("ends", (n, n_inner), kind="implied")
        add = partial(add_terms, self.model)
        add("reach_root", n, (np.arange(n), reach[:, 0], 1.0), lower=1, upper=1)
        pair = self._add_flow(("reach_on", "reach_left", "reach_right"), reach, ends)
        add("reach_end", (n, n_inner), (pair, ends, 1.0), (pair, self.p[:n_inner], -1.0), upper=0)
        held = np.concatenate([ends, reach[:, n_inner:]], axis=1)
        add("leaf_size", n_nodes, (np.arange(n_nodes), held, self.copies[:, None].astype(float)),
            (np.arange(n_nodes), self.p, -float(min_samples_leaf)), lower=0)

    @staticmethod
    def n_nonzeros(n_rows, n_columns, depth, min_samples_leaf=1):
        """Return about how many nonzeros the model has."""
        flows = 1 if min_samples_leaf == 1 else 2
        return flows * n_rows * (2 ** depth - 1) * (n_columns + 12)

    def start(self, tree):
        """Write a tree as a solution."""
        values = np.zeros(self.model.n_columns)
        nodes = [(0, 0, np.arange(len(self.y)))]
        passed = np.zeros(self.z.shape, bool)
        while nodes:
            at, node, rows = nodes.pop()
            passed[rows, node] = True
            if self.reach is not None:
                values[self.reach[rows, node]] = 1.0
                if tree.feature[at] < 0 and node < self.ends.shape[1]:
                    values[self.ends[rows, node]] = 1.0
            if tree.feature[at] >= 0:
                values[self.b[node, tree.feature[at]]] = 1.0
                right = self.columns[rows, tree.feature[at]] > tree.threshold[at]
                nodes += [(tree.left[at], 2 * node + 1, rows[~right]),
                          (tree.right[at], 2 * node + 2, rows[right])]
                continue
            values[self.p[node]] = values[self.w[node, tree.label[at]]] = 1.0
            passed[rows[self.y[rows] != tree.label[at]]] = False       # no flow for wrong rows
            if node < self.s.shape[1]:
                values[self.s[rows[self.y[rows] == tree.label[at]], node]] = 1.0
        values[self.z[passed]] = 1.0
        return values

    def tree(self, values):
        """Read the tree from a solution; it may hold leaves that no row reaches."""
        def read(node):
            if values[self.p[node]] > 0.5:
                return int(np.argmax(values[self.w[node]]))
            return (int(np.argmax(values[self.b[node]])), 0.5, read(2 * node + 1),
                    read(2 * node + 2))

        return DecisionTree.from_nested(read(0), self.n_classes,
                                        n_features=self.columns.shape[1])


@dataclass(eq=False, repr=False)
class FlowOCTClassifier(BinarisingMixin, ProgramClassifier):
    """Find a classification tree by the flow formulation FlowOCT.

    The model of Aghaei, Gómez and Vayanos (2024) over 0/1 columns: rows are flows, and no
    constraint holds a big number, so its relaxation gives better bounds than that of OCT.  Patel
    et al. (2023) name it as the source of their pricing model.

    Parameters
    ----------
    max_depth : int or None, default=2
        Maximum depth of the tree.  None for no limit.
    max_nodes : int or None, default=None
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; None for no limit.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.  Above 1 the
        model has a second flow, of all rows.
    split_penalty : float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.  The paper's lambda is
        ``penalty / (1 + penalty)`` with the penalty in rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    solver : {"highs", "cp-sat"}, default="highs"
        Solver of the program.  CP-SAT counts in whole numbers: weights and penalties without a
        small common denominator are rounded down for it, and its bounds hold.
    start : {"cart", "local-search"}, DecisionTree, fitted estimator or None, default="cart"
        Warm start: None, a word, a :class:`DecisionTree` or a fitted tree estimator.  A
        DecisionTree is one over the 0/1 columns; of an estimator over the features the thresholds
        are taken to the nearest column.  With None the solver begins from nothing; CART is then
        returned only if it finds no tree as good (``counters["fallback"]`` tells).
    n_jobs : int or None, default=None
        Number of threads; None means 1 and -1 all processors.
    time_limit : float or None, default=None
        Time limit in seconds; None for no limit.  The best tree found so far is then returned; a
        model that cannot be built in that time is not built.
    random_state : int, RandomState or None, default=None
        Seed of the random choices.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.
    binarizer : {"auto", "mdlp", "quantile", "all"}, transformer or None, default="mdlp"
        How features that are not 0/1 become 0/1 columns; not used when all features are 0/1.
        "mdlp" cuts by entropy and class, "quantile" at quantiles, "all" between any two values,
        which makes the model large.  None refuses other features.  A transformer is cloned and
        fitted; it sees integer weights as copies of rows and ignores others.  The tree is optimal
        for the columns that it makes.  Missing values and the categories of a data frame become
        columns, too.

    Attributes
    ----------
    tree_ : DecisionTree
        The best tree found, in the original features where columns are thresholds.
    report_ : SolveReport
        Objective: weight of the errors, plus ``split_penalty`` for each split.  Counters:
        ``start_objective`` and ``gain`` over it, size of the model, seconds to build it, what the
        solver counts.
    binarizer_ : transformer or None
        What made the columns; None if the features were 0/1.

    Examples
    --------
    >>> from odtbook.formulations import FlowOCTClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> FlowOCTClassifier(max_depth=2, start=None).fit(X, y).report_.objective
    0.0
    """

    _parameter_constraints = {
        **ProgramClassifier._parameter_constraints,
        "binarizer": [StrOptions(set(BINARIZERS)), HasMethods(["fit", "transform"]), None],
    }

    _: KW_ONLY
    binarizer: str | BaseEstimator | None = "mdlp"

    _accepts_missing = True     # the binariser makes columns of them

    def _space(self, problem):
        return pluralised(problem.X.shape[1], "predicate")

    def _model_columns(self, X, y, sample_weight):
        return self._columns(X, y, sample_weight).astype(np.float64)

    def _tree_of_features(self, tree):
        return self._in_features(tree)

    def _formulate(self, problem, trees, clock):
        def build():
            return FlowModel(problem.X, problem.y, problem.n_classes, problem.units,
                             problem.depth, **problem.size_limits())

        size = FlowModel.n_nonzeros(*problem.X.shape, problem.depth, problem.min_samples_leaf)
        return Formulation(build, size, self._space(problem), {})
