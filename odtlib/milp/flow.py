"""The flow formulation of Aghaei, Gómez and Vayanos (2024) over 0/1 columns (FlowOCT)."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.utils._param_validation import HasMethods, StrOptions

from odtlib.estimator import BINARIZERS, OverBinaryColumns
from odtlib.milp._formulated import FormulatedClassifier, add_terms
from odtlib.milp.thresholds import ancestors
from odtlib.mip.model import Model
from odtlib.report import these
from odtlib.tree import DecisionTree


class FlowModel:
    """Build FlowOCT as a mixed-integer program.

    Every row is a unit of flow from the root to a sink.  It may pass an arc only where the split of
    the node sends it, and reach the sink only from a node that predicts its class.  So the flow is
    the weight of the rows that are right.  Nodes are numbered in heap order from 0; those from
    ``2**depth - 1`` on can only predict.  Rows that agree in all columns and in their class are one
    row with the sum of their weights.

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
    price : float, default=0.0
        Cost of a split, in units of misclassified weight.
    max_nodes : int, optional
        Most splits.

    Attributes
    ----------
    model : Model
        The program: ``b`` (column of a node), ``p`` (node predicts), ``w`` (class of a node),
        ``z`` (flow of a row into a node), ``s`` (flow of a row from a node to the sink).  A node of
        the last level sends on to the sink what it gets, so ``z`` stands for both.
    """

    def __init__(self, columns, y, n_classes, weight, depth, *, price=0.0, max_nodes=None):
        distinct, which = np.unique(np.column_stack([columns, y]).astype(np.int64), axis=0,
                                    return_inverse=True)
        self.columns, self.y = distinct[:, :-1], distinct[:, -1]
        self.weight = np.bincount(which.ravel(), weight)
        self.n_classes, self.depth = n_classes, depth
        n, k = self.columns.shape
        n_inner, n_nodes = 2 ** depth - 1, 2 ** (depth + 1) - 1
        model = self.model = Model("FlowOCT")
        model.offset = float(self.weight.sum())
        # a column that is the same in all rows would only loosen the relaxation
        useful = (self.columns != self.columns[0]).any(axis=0)
        b = self.b = model.add_variables("b", (n_inner, k), kind="integer", cost=price,
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
        if max_nodes is not None:
            add("budget", 1, (0, b, 1.0), upper=max_nodes)
        pair = np.arange(n * n_inner).reshape(n, n_inner)
        add("conserve", (n, n_inner), (pair, z[:, :n_inner], 1.0), (pair, s, -1.0),
            (pair, z[:, 2 * inner + 1], -1.0), (pair, z[:, 2 * inner + 2], -1.0),
            lower=0, upper=0)
        for side, name in enumerate(("left", "right")):
            row, column = np.nonzero(self.columns == side)
            add(name, (n, n_inner), (pair, z[:, 2 * inner + 1 + side], 1.0),
                (pair[row], b[:, column].T, -1.0), upper=0)
        add("sink", (n, n_inner), (pair, s, 1.0), (pair, w[:n_inner, self.y].T, -1.0), upper=0)
        last = np.arange(n * (n_inner + 1)).reshape(n, n_inner + 1)
        add("last_sink", (n, n_inner + 1), (last, z[:, n_inner:], 1.0),
            (last, w[n_inner:, self.y].T, -1.0), upper=0)

    @staticmethod
    def entries(n_rows, n_columns, depth):
        """Return about how many nonzeros the model has.

        Parameters
        ----------
        n_rows, n_columns, depth : int
            Sizes.

        Returns
        -------
        int
        """
        return n_rows * (2 ** depth - 1) * (n_columns + 12)

    def start(self, tree):
        """Write a tree as a solution.

        Parameters
        ----------
        tree : DecisionTree
            Over class indices and columns, within the limits.

        Returns
        -------
        array of float, shape (n_columns,)
        """
        values = np.zeros(self.model.n_columns)
        nodes = [(0, 0, np.arange(len(self.y)))]
        passed = np.zeros(self.z.shape, bool)
        while nodes:
            at, heap, rows = nodes.pop()
            passed[rows, heap] = True
            if tree.feature[at] >= 0:
                values[self.b[heap, tree.feature[at]]] = 1.0
                right = self.columns[rows, tree.feature[at]] > tree.threshold[at]
                nodes += [(tree.left[at], 2 * heap + 1, rows[~right]),
                          (tree.right[at], 2 * heap + 2, rows[right])]
                continue
            values[self.p[heap]] = values[self.w[heap, tree.label[at]]] = 1.0
            passed[rows[self.y[rows] != tree.label[at]]] = False       # no flow for wrong rows
            if heap < self.s.shape[1]:
                values[self.s[rows[self.y[rows] == tree.label[at]], heap]] = 1.0
        values[self.z[passed]] = 1.0
        return values

    def tree(self, values):
        """Read the tree from a solution.

        Parameters
        ----------
        values : array of float, shape (n_columns,)
            Values of all variables, whole up to the solver's tolerance.

        Returns
        -------
        DecisionTree
            Over class indices and columns; it may hold leaves that no row reaches.
        """
        def read(heap):
            if values[self.p[heap]] > 0.5:
                return int(np.argmax(values[self.w[heap]]))
            return (int(np.argmax(values[self.b[heap]])), 0.5, read(2 * heap + 1),
                    read(2 * heap + 2))

        return DecisionTree.from_nested(read(0), self.n_classes,
                                        n_features=self.columns.shape[1])


class FlowOCTClassifier(OverBinaryColumns, FormulatedClassifier):
    """Find a classification tree by the flow formulation FlowOCT.

    The model of Aghaei, Gómez and Vayanos (2024) over 0/1 columns: rows are flows, and no
    constraint holds a big number, so its relaxation gives better bounds than that of OCT.  Patel
    et al. (2023) name it as the source of their pricing model.

    Parameters
    ----------
    max_depth : int, default=2
        Most tests on a path.
    complexity : float, default=0.0
        Price of a split as a share of the errors of the best single leaf, as in
        :class:`OCTClassifier`.  The paper's lambda is ``price / (1 + price)`` with the price in
        rows.
    max_nodes : int, optional
        Most splits (default: a full tree).
    binarizer : {"mdlp", "quantile", "all"}, transformer or None, default="mdlp"
        How features that are not 0/1 become 0/1 columns; not used when all features are 0/1.
        "mdlp" cuts by entropy and class, "quantile" at quantiles, "all" between any two values,
        which makes the model large.  None refuses other features.  A transformer is cloned and
        fitted; it sees whole weights as copies of rows, other weights not at all.  The tree is
        optimal for the columns that it makes.
    solver : {"highs", "cp-sat"}, default="highs"
        Who solves it.
    start : {"cart", "local-search", None}, DecisionTree or fitted estimator, default="cart"
        Tree that the solver starts from: a DecisionTree over the 0/1 columns, or an estimator
        over the features, whose thresholds are taken to the nearest column.  None gives it
        nothing; CART then comes back only if the solver finds no tree as good
        (``counters["fallback"]`` tells).
    threads : int, optional
        Threads of HiGHS (default: 1), workers of CP-SAT (default: 2).
    time_limit : float or None, default=None
        Seconds, all included; the best tree so far then comes back.  A model that cannot be built
        in that time is not built.
    random_state : int, RandomState or None, default=None
        Seed of start and solver.
    verbose : int, default=0
        1 prints the outcome.

    Attributes
    ----------
    tree_ : DecisionTree
        The best tree found, in the original features where columns are thresholds.
    report_ : SolveReport
        Objective: weight of the errors, plus ``complexity`` times the errors of the best single
        leaf for each split.  Counters: ``start_objective`` and ``gain``
        over it, size of the model, seconds to build it, what the solver counts.
    binarizer_ : transformer or None
        What made the columns; None if the features were 0/1.

    Examples
    --------
    >>> from odtlib import FlowOCTClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> FlowOCTClassifier(max_depth=2, start=None).fit(X, y).report_.objective
    0.0
    """

    _parameter_constraints = {
        **FormulatedClassifier._parameter_constraints,
        "binarizer": [StrOptions(set(BINARIZERS)), HasMethods(["fit", "transform"]), None],
    }

    def __init__(self, max_depth=2, *, complexity=0.0, max_nodes=None, binarizer="mdlp",
                 solver="highs", start="cart", threads=None, time_limit=None, random_state=None,
                 verbose=0):
        self.max_depth = max_depth
        self.complexity = complexity
        self.max_nodes = max_nodes
        self.binarizer = binarizer
        self.solver = solver
        self.start = start
        self.threads = threads
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _search_space(self, columns):
        return these(columns.shape[1], "predicate")

    def _formulate(self, X, y, weight, depth):
        X = self._columns(X, y, weight).astype(np.float64)

        def build(weight, price):
            return FlowModel(X, y, len(self.classes_), weight, depth, price=price,
                             max_nodes=None if self.max_nodes is None
                             else self._most_nodes(len(y)))

        return build, FlowModel.entries(*X.shape, depth), X

    def _solve(self, X, y, sample_weight):
        tree, report = super()._solve(X, y, sample_weight)
        return self._in_features(tree), report
