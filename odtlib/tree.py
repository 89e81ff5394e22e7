"""The tree that every solver returns: immutable, stored in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from odtlib.columns import Columns, plain_columns
from odtlib.export import Exports

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

LEAF = -1
ARGUMENTS = ("feature", "threshold", "left", "right", "value", "label", "classes",
             "feature_names", "n_features", "kind", "weight", "impurity", "missing_left", "columns",
             "criterion", "slopes")
CRITERIA = ("gini", "entropy")
ROUTED = (np.float64, np.float32, np.uint8, np.int64)     # rows of other types become the first


class DecisionTree(Exports):
    """Store a binary decision tree as arrays and predict with it.

    Node 0 is the root, and children come after their parent.  A row goes left at a feature node
    when ``x[feature] <= threshold``, compared in float64, and right otherwise.

    Parameters
    ----------
    feature : array of int, shape (n_nodes,)
        Feature tested at each feature node; -1 marks a leaf.
    threshold : array of float, shape (n_nodes,)
        Threshold of each feature node; ignored (stored as NaN) at leaves.
    left, right : array of int, shape (n_nodes,)
        Children of each feature node; ignored (stored as -1) at leaves.
    value : array of float, shape (n_nodes, n_classes) or (n_nodes, n_outputs)
        Training weight of every class at the node, or the prediction of a regression tree.
    label : array of int, shape (n_nodes,), optional
        Predicted class index of each node.  By default the class of largest weight; the first
        class wins ties.  Give it where the prediction is not the majority class.
    classes : array, shape (n_classes,), optional
        The labels that class indices stand for (default: 0, 1, ...).
    feature_names : sequence of str, optional
        Names used by everything that prints (default: ``x0``, ``x1``, ...).
    n_features : int, optional
        Number of columns that prediction expects (default: as many as the names, or as the
        largest feature tested).
    kind : {"classification", "regression"}, default="classification"
        What ``value`` means and what ``predict`` returns.
    weight, impurity : array of float, shape (n_nodes,), optional
        For a regression tree: training weight at every node, and variance of the targets there
        (their mean over several outputs), which scikit-learn's tools ask for.  ``with_weights``
        fills them in.  In a classification tree ``value`` tells them; ``impurity`` is then what
        ``criterion`` makes of it.
    missing_left : array of int, shape (n_nodes,), optional
        Where a row goes whose value is missing (NaN): 1 left, 0 right, -1 to the child with the
        larger training weight (left where it is equal or unknown); ignored (stored as -1) at
        leaves.  Where it is 0, a threshold may be infinite: the node then tests whether the value
        is missing.  By default the tree refuses NaN.
    columns : odtlib.columns.Columns, optional
        What the features are in the columns of a table with text, categories and gaps.  The tree
        then takes such a table, as a data frame or a list of dicts, as well as its features.
    criterion : {"gini", "entropy"}, default="gini"
        What ``impurity``, and the importance of features, are in a classification tree.
    slopes : array of float, shape (n_nodes, n_features), optional
        For a regression tree of one target: a line in each leaf, which predicts
        ``value + slopes @ x`` (default: ``value``).

    Raises
    ------
    ValueError
        If the arrays do not describe one tree.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    label: np.ndarray | None
    classes: np.ndarray | None
    feature_names: tuple[str, ...] | None
    n_features: int
    kind: str
    weight: np.ndarray | None
    missing_left: np.ndarray | None
    slopes: np.ndarray | None
    columns: Columns | None
    criterion: str

    def __init__(self, feature: ArrayLike, threshold: ArrayLike, left: ArrayLike, right: ArrayLike,
                 value: ArrayLike, *, label: ArrayLike | None = None,
                 classes: ArrayLike | None = None, feature_names: Sequence[str] | None = None,
                 n_features: int | None = None, kind: str = "classification",
                 weight: ArrayLike | None = None, impurity: ArrayLike | None = None,
                 missing_left: ArrayLike | None = None, columns: Columns | None = None,
                 criterion: str = "gini", slopes: ArrayLike | None = None) -> None:
        if criterion not in CRITERIA:
            raise ValueError(f"criterion is {criterion!r}; use 'gini' or 'entropy'.")
        if kind not in ("classification", "regression"):
            raise ValueError(f"kind is {kind!r}; use 'classification' or 'regression'.")
        feature = _whole("feature", feature)
        n_nodes = len(feature)
        try:
            value = np.array(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):      # no numbers, or rows of unequal length
            value = np.array(np.nan)
        if value.ndim == 1:
            value = value[:, None]
        if value.ndim != 2 or not np.isfinite(value).all():
            raise ValueError("value needs one row of finite numbers per node.")
        threshold = np.array(threshold, dtype=np.float64, ndmin=1)
        left, right = _whole("left", left), _whole("right", right)
        parts = (feature, threshold, left, right)
        if n_nodes == 0 or any(a.shape != (n_nodes,) for a in parts) or len(value) != n_nodes:
            raise ValueError("feature, threshold, left, right and value must have one entry per "
                             "node and at least one node.")
        leaf = feature < 0
        feature[leaf], left[leaf], right[leaf], threshold[leaf] = LEAF, LEAF, LEAF, np.nan
        inner = np.flatnonzero(~leaf)
        children = np.concatenate([left[inner], right[inner]])
        if (len(children) != n_nodes - 1 or (np.sort(children) != np.arange(1, n_nodes)).any()
                or (left[inner] <= inner).any() or (right[inner] <= inner).any()):
            raise ValueError("left and right must make one tree: every node but node 0 is the "
                             "child of exactly one earlier node.")
        finite = np.isfinite(threshold)
        if missing_left is not None:
            missing_left = _whole("missing_left", missing_left, np.int8)
            if missing_left.shape != (n_nodes,) or ((missing_left < -1) | (missing_left > 1)).any():
                raise ValueError("missing_left needs one number per node: 1, 0 or -1.")
            missing_left[leaf] = -1
            finite |= (threshold == np.inf) & (missing_left == 0)
        if not finite[inner].all():
            raise ValueError("every feature node needs a finite threshold, or an infinite one with "
                             "missing_left 0, which tests whether the value is missing.")
        if feature_names is not None:
            feature_names = tuple(str(name) for name in feature_names)
        needed = int(feature.max()) + 1 if len(inner) else 0
        if n_features is None:
            n_features = needed if feature_names is None else len(feature_names)
        n_features = _whole("n_features", n_features, np.int32).item()
        if n_features < needed or (feature_names is not None and len(feature_names) != n_features):
            raise ValueError(f"the tree tests feature {needed - 1}, but n_features is "
                             f"{n_features} and names are given for "
                             f"{0 if feature_names is None else len(feature_names)}.")
        if columns is not None and len(columns.feature) != n_features:
            raise ValueError(f"columns describe {len(columns.feature)} features and the tree has "
                             f"{n_features}.")
        if kind == "regression":
            label = classes = None
        else:
            classes = np.arange(value.shape[1]) if classes is None else np.array(classes)
            if classes.shape != value.shape[1:]:
                raise ValueError(f"value has {value.shape[1]} columns for {len(classes)} classes.")
            if len(set(classes.tolist())) < len(classes):
                raise ValueError("classes names the same label twice; give each class its own.")
            if (value < 0).any():
                raise ValueError("value holds a negative number; the weights of classes are at "
                                 "least 0.")
            label = np.argmax(value, axis=1) if label is None else _whole("label", label)
            if label.shape != (n_nodes,) or ((label < 0) | (label >= len(classes))).any():
                raise ValueError("label needs one class index per node.")
        weight, impurity = (None if a is None else np.array(a, dtype=np.float64)
                            for a in (weight, impurity))
        for array in (weight, impurity):
            if array is not None and (kind == "classification" or array.shape != (n_nodes,)
                                      or not (np.isfinite(array) & (array >= 0)).all()):
                raise ValueError("weight and impurity belong to regression trees, with one number "
                                 "per node, finite and at least 0.")
        if slopes is not None:
            slopes = np.array(slopes, dtype=np.float64)
            if (kind == "classification" or value.shape[1] != 1
                    or slopes.shape != (n_nodes, n_features) or not np.isfinite(slopes).all()):
                raise ValueError("slopes belong to regression trees of one target, with one finite "
                                 "number per node and feature.")
        self._keep(feature=feature, threshold=threshold, left=left, right=right, value=value,
                   label=label, classes=classes, feature_names=feature_names,
                   n_features=n_features, kind=kind, weight=weight, impurity=impurity,
                   missing_left=missing_left, columns=columns, criterion=criterion,
                   slopes=slopes)

    def _keep(self, **arguments):
        """Store arguments that are right, None where one is not given, and freeze the arrays."""
        for name in ARGUMENTS:
            value = arguments.get(name, "gini" if name == "criterion" else None)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            vars(self)[name] = value
        return self

    @classmethod
    def _of_parts(cls, **arguments):
        """Build a tree of what odtlib made, unchecked: arrays of its own, as they are stored."""
        return cls.__new__(cls)._keep(**arguments)

    def __setattr__(self, name, value):
        raise AttributeError("a DecisionTree is immutable; build a new one instead.")

    def __reduce__(self):
        return _rebuilt, (self._arguments(),)

    def _arguments(self, **changes):
        return {**vars(self), **changes}

    def _with(self, **changes):
        """As :meth:`replace`, without a look at changes that odtlib made."""
        return DecisionTree._of_parts(**{**vars(self), **changes})

    def replace(self, **changes: Any) -> DecisionTree:
        """Return a copy with some constructor arguments changed.

        Parameters
        ----------
        **changes
            Any argument of the constructor; the others keep their value.

        Returns
        -------
        DecisionTree
        """
        return DecisionTree(**self._arguments(**changes))

    # ------------------------------------------------------------------ building

    @classmethod
    def from_nested(cls, nested: int | ArrayLike | tuple, n_classes: int | None = None,
                    **options: Any) -> DecisionTree:
        """Build a tree from nested tuples.

        Parameters
        ----------
        nested : int, sequence of float, or tuple (feature, threshold, left, right)
            A class index is a leaf that predicts it, a list or array is a leaf with that value,
            and a tuple of four is a feature node over two further nested trees.
        n_classes : int, optional
            Number of classes where leaves are class indices (default: largest index plus one).
        **options
            Passed to the constructor (``classes``, ``feature_names``, ``kind`` ...).

        Returns
        -------
        DecisionTree
            With its nodes in preorder.  Feature nodes carry the sum (classification) or the mean
            (regression) of their leaves' values; ``with_counts`` replaces them by real counts.
        """
        nodes: list[list] = []
        stack: list[tuple] = [(nested, None, None)]
        while stack:
            subtree, parent, side = stack.pop()
            if parent is not None:
                parent[side] = len(nodes)
            if isinstance(subtree, tuple) and len(subtree) == 4:
                feature, threshold, low, high = subtree
                nodes.append([feature, threshold, LEAF, LEAF, None])
                stack += [(high, nodes[-1], 3), (low, nodes[-1], 2)]
            else:
                nodes.append([LEAF, np.nan, LEAF, LEAF, subtree])
        regression = options.get("kind") == "regression"
        scalars = [node[4] for node in nodes if node[0] == LEAF and np.ndim(node[4]) == 0]
        if scalars and not regression:
            codes = _whole("a leaf", scalars)
            n_classes = int(codes.max()) + 1 if n_classes is None else n_classes
            if codes.min() < 0 or codes.max() >= n_classes:
                raise ValueError(f"a leaf holds the class index {codes.min()} or {codes.max()}; "
                                 f"give one from 0 to {n_classes - 1}, or the leaf's value.")
        for node in reversed(nodes):
            if node[0] != LEAF:
                both = nodes[node[2]][4] + nodes[node[3]][4]
                node[4] = both / 2 if regression else both
            elif np.ndim(node[4]) == 0:
                node[4] = (np.array([node[4]], float) if regression
                           else np.eye(n_classes)[int(node[4])])
            else:
                node[4] = np.asarray(node[4], float)
        return cls(*map(list, zip(*nodes, strict=True)), **options)

    def to_nested(self, node: int = 0) -> int | np.ndarray | tuple:
        """Return the subtree at ``node`` as nested tuples, the inverse of ``from_nested``.

        Parameters
        ----------
        node : int, default=0
            Where to start; 0 is the whole tree.

        Returns
        -------
        int, array or tuple
            A leaf's class index (or its value, for regression), or
            ``(feature, threshold, left, right)``.
        """
        nested: dict[int, Any] = {}
        for k in range(self.n_nodes - 1, node - 1, -1):     # children stand behind their parent
            if self.feature[k] >= 0:
                nested[k] = (int(self.feature[k]), float(self.threshold[k]),
                             nested.pop(self.left[k]), nested.pop(self.right[k]))
            else:
                nested[k] = self.value[k] if self.label is None else int(self.label[k])
        return nested[node]

    def with_counts(self, X: ArrayLike, y: ArrayLike, n_classes: int | None = None,
                    sample_weight: ArrayLike | None = None, relabel: bool = True) -> DecisionTree:
        """Fill a classification tree with the class weights of the rows that reach each node.

        Parameters
        ----------
        X : array, shape (n_rows, n_features)
            Training rows; a tree without feature names takes its number of features from them.
        y : array of int, shape (n_rows,)
            Class indices.
        n_classes : int, optional
            Number of classes (default: as many as the tree has).
        sample_weight : array, shape (n_rows,), optional
            Weight of every row (default: one).
        relabel : bool, default=True
            Predict the class of largest weight (the first wins ties; a node that no row reaches
            takes its parent's class).  With False the labels stay.

        Returns
        -------
        DecisionTree
        """
        self._only_for("classification", "with_counts")
        n_classes = self.value.shape[1] if n_classes is None else n_classes
        if self.feature_names is None and np.shape(X)[1] > self.n_features:
            self = self.replace(n_features=np.shape(X)[1])
        value = np.zeros((self.n_nodes, n_classes))
        np.add.at(value, (self.apply(X), np.asarray(y)),
                  1.0 if sample_weight is None else sample_weight)
        value = self._with_sums_below(value)
        label = np.argmax(value, axis=1) if relabel else self.label
        if relabel:
            for node in np.flatnonzero(self.feature >= 0):
                for child in (self.left[node], self.right[node]):
                    if not value[child].any():
                        label[child] = label[node]
        classes = self.classes if len(self.classes) == n_classes else None
        return self.replace(value=value, label=label, classes=classes)

    def with_weights(self, X: ArrayLike, y: ArrayLike,
                     sample_weight: ArrayLike | None = None) -> DecisionTree:
        """Fill a regression tree with the weight and the variance of the rows at each node.

        Parameters
        ----------
        X : array, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,) or (n_rows, n_outputs)
            Their targets.
        sample_weight : array, shape (n_rows,), optional
            Weight of every row (default: one).

        Returns
        -------
        DecisionTree
        """
        self._only_for("regression", "with_weights")
        y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        y = y - np.average(y, axis=0, weights=w)       # far from zero their squares would cancel
        size = np.abs(y).max(initial=0.0) or 1.0       # and squares of tiny ones vanish
        y /= size
        sums = self._sums_of(X, (w, *(w * y.T), *(w * (y * y).T)))
        first, second = np.split(sums[:, 1:] / np.where(sums[:, :1] > 0, sums[:, :1], 1.0), 2,
                                 axis=1)
        variance = np.maximum(second - first**2, 0.0).mean(axis=1) * size**2
        return self.replace(weight=sums[:, 0], impurity=variance)

    def pruned(self) -> DecisionTree:
        """Drop every split that changes no prediction.

        A feature node goes when both its branches predict the same leaf, or when earlier tests
        of the same feature already decide it.

        Returns
        -------
        DecisionTree
            A tree with the same prediction for every row.
        """
        features, thresholds, left, right = (
            array.tolist() for array in (self.feature, self.threshold, self.left, self.right))
        missing_left = None if self.missing_left is None else self._missing_goes_left().tolist()

        # The values that a node can have: low < x <= high, or missing unless in ``present``.
        visited, stack = [], [(0, {}, {}, frozenset())]
        becomes = np.arange(self.n_nodes)       # the first node that earlier tests do not decide
        while stack:
            first, low, high, present = stack.pop()
            node = first
            while (f := features[node]) >= 0:
                t, lower, upper = thresholds[node], low.get(f, -np.inf), high.get(f, np.inf)
                to_left, to_right = lower < min(t, upper), max(t, lower) < upper
                if missing_left is not None and f not in present:
                    to_left |= missing_left[node]
                    to_right |= not missing_left[node]
                if to_left and to_right:
                    break
                node = left[node] if to_left else right[node]
            becomes[first] = node
            visited.append(node)
            if f >= 0:
                sides = [present, present]
                if missing_left is not None:    # one side has the missing values, the other none
                    sides[missing_left[node]] = present | {f}
                stack.append((right[node], {**low, f: max(t, lower)}, high, sides[1]))
                stack.append((left[node], low, {**high, f: min(t, upper)}, sides[0]))

        left, right = becomes[self.left].tolist(), becomes[self.right].tolist()
        predicted = self.value if self.label is None else self.label
        predicted = (predicted if self.slopes is None else
                     np.column_stack([predicted, self.slopes])).tolist()
        like = {}       # of a node that predicts the same for all its rows, a leaf that does so
        for node in reversed(visited):          # children stand behind their parent
            if features[node] < 0:
                like[node] = node
            elif left[node] in like and right[node] in like:
                one, other = like[left[node]], like[right[node]]
                if predicted[one] == predicted[other]:
                    like[node] = one
        nodes, left, right = in_preorder([node not in like for node in range(self.n_nodes)],
                                         left, right, visited[0])
        if len(nodes) == self.n_nodes:
            return self
        predicts = [like.get(node, node) for node in nodes]
        return self.replace(feature=[LEAF if node in like else features[node] for node in nodes],
                            threshold=self.threshold[nodes], left=left, right=right,
                            value=self.value[predicts if self.label is None else nodes],
                            label=None if self.label is None else self.label[predicts],
                            slopes=None if self.slopes is None else self.slopes[predicts],
                            **self._at("weight", "impurity", "missing_left", nodes=nodes))

    def remap(self, feature: ArrayLike, threshold: ArrayLike, swap: ArrayLike, n_features: int,
              feature_names: Sequence[str] | None = None,
              missing_left: ArrayLike | None = None) -> DecisionTree:
        """Rewrite a tree over 0/1 columns as a tree over the features behind them.

        Parameters
        ----------
        feature, threshold : array, shape (n_columns,)
            Feature and threshold that each column stands for.
        swap : array of bool, shape (n_columns,)
            True where the column is 1 for ``x <= threshold``: its zeros, which go left here, are
            the rows that go right there.
        n_features : int
            Number of features behind the columns.
        feature_names : sequence of str, optional
            Their names.
        missing_left : array of int, shape (n_columns,), optional
            Where a missing value goes in the test that each column stands for, as in the
            constructor (default: the new tree refuses NaN).

        Returns
        -------
        DecisionTree
        """
        inner = self.feature >= 0
        column = self.feature[inner]
        turned = np.zeros(self.n_nodes, bool)
        turned[inner] = np.asarray(swap, bool)[column]
        order, left, right = in_preorder(inner, *np.where(turned, (self.right, self.left),
                                                          (self.left, self.right)))

        def of_columns(values, dtype):
            """Return what each node takes from the column that it tests, in the new order."""
            node_values = np.full(self.n_nodes, LEAF, dtype)
            node_values[inner] = np.asarray(values)[column]
            return node_values[order]

        return self.replace(feature=of_columns(feature, np.int64),
                            threshold=of_columns(threshold, np.float64), left=left,
                            right=right, n_features=n_features, feature_names=feature_names,
                            columns=None,
                            missing_left=None if missing_left is None
                            else of_columns(missing_left, np.int64),
                            **self._at("value", "label", "weight", "impurity", nodes=order))

    def _sums_of(self, X, numbers):
        """Return the sums of some numbers, each (n_rows,), over the rows at each node."""
        leaf = self.apply(X)
        return self._with_sums_below(np.column_stack(
            [np.bincount(leaf, one, self.n_nodes) for one in numbers]))

    def _with_sums_below(self, amounts):
        """Fill feature nodes with the sums over the leaves below them."""
        for node in np.flatnonzero(self.feature >= 0)[::-1]:    # children stand behind parents
            amounts[node] = amounts[self.left[node]] + amounts[self.right[node]]
        return amounts

    @property
    def impurity(self) -> np.ndarray | None:
        """Impurity of the training rows at every node, shape (n_nodes,).

        Gini's index or the entropy (bits) by ``criterion``; in a regression tree the variance, None
        where it is not known.
        """
        if self.kind == "regression":
            return vars(self)["impurity"]
        share = self._shares()
        if self.criterion == "entropy":
            return entr(share).sum(axis=1) / np.log(2)
        return np.where(self.value.any(axis=1), 1.0 - (share**2).sum(axis=1), 0.0)

    def _shares(self):
        """Return the share of each class at every node; zeros where no row arrived."""
        weight = self.value.sum(axis=1)
        return self.value / np.where(weight > 0, weight, 1.0)[:, None]

    def _at(self, *names, nodes):
        """Return the entries of arrays at some nodes; None where there is no such array."""
        arrays = {name: vars(self)[name] for name in names}
        return {name: None if a is None else a[nodes] for name, a in arrays.items()}

    # ------------------------------------------------------------------ measures

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_splits(self) -> int:
        """Number of feature nodes."""
        return int(np.count_nonzero(self.feature >= 0))

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.n_nodes - self.n_splits

    @property
    def node_depth(self) -> np.ndarray:
        """Depth of every node, shape (n_nodes,); the root has depth 0."""
        depth = np.zeros(self.n_nodes, np.int64)
        for node in np.flatnonzero(self.feature >= 0):
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return depth

    @property
    def depth(self) -> int:
        """Number of splits on the longest path from the root to a leaf."""
        return int(self.node_depth.max())

    # ------------------------------------------------- under the names of scikit-learn's tree_

    node_count, max_depth = n_nodes, depth

    @property
    def children_left(self) -> np.ndarray:
        """Left child of each node, shape (n_nodes,); -1 at a leaf."""
        return self.left

    @property
    def children_right(self) -> np.ndarray:
        """Right child of each node, shape (n_nodes,); -1 at a leaf."""
        return self.right

    @property
    def n_outputs(self) -> int:
        """Number of targets; 1 for a classification tree."""
        return 1 if self.kind == "classification" else self.value.shape[1]

    @property
    def n_classes(self) -> np.ndarray:
        """Number of classes of each output, shape (n_outputs,); ones in a regression tree."""
        return np.array([self.value.shape[1]] if self.kind == "classification"
                        else [1] * self.n_outputs)

    @property
    def weighted_n_node_samples(self) -> np.ndarray:
        """Training weight of the rows at each node, shape (n_nodes,).

        In a regression tree built by hand, without weights, every leaf counts as one row.
        """
        if self.kind == "classification":
            return self.value.sum(axis=1)
        return self._with_sums_below((self.feature < 0).astype(np.float64)) \
            if self.weight is None else self.weight

    @property
    def n_node_samples(self) -> np.ndarray:
        """Number of training rows at each node, shape (n_nodes,): its weight, rounded."""
        return np.maximum(1, np.rint(self.weighted_n_node_samples)).astype(np.int64)

    # ---------------------------------------------------------------- prediction

    def feature_importances(self) -> np.ndarray:
        """Return how much of the impurity of the training rows the splits of each feature remove.

        The impurity is that of ``impurity``, as in scikit-learn.

        Returns
        -------
        array of float, shape (n_features,)
            With sum one; zeros for a tree without splits or without impurity.

        Raises
        ------
        ValueError
            If a regression tree does not know its node weights; see :meth:`with_weights`.
        """
        if self.kind == "regression" and (self.weight is None or self.impurity is None):
            raise ValueError("the regression tree does not know the weight of its nodes; call "
                             "with_weights(X, y) with the training rows first.")
        impurity = self.weighted_n_node_samples * self.impurity
        inner = np.flatnonzero(self.feature >= 0)
        removed = np.zeros(self.n_features)
        np.add.at(removed, self.feature[inner], np.maximum(     # rounding may make it negative
            impurity[inner] - impurity[self.left[inner]] - impurity[self.right[inner]], 0.0))
        total = removed.sum()
        return removed / total if total > 0 else np.zeros(self.n_features)

    def _rows(self, X):
        if hasattr(X, "toarray"):
            X = X.toarray()
        X = np.asarray(self._features_of(X))
        X = X.view(np.uint8) if X.dtype == bool else X
        try:
            X = np.ascontiguousarray(X, X.dtype if X.dtype in ROUTED else ROUTED[0])
        except OverflowError:
            raise ValueError("X holds a number larger than 1e308; replace it or leave such rows "
                             "out.") from None
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X has shape {X.shape}; the tree expects (n_rows, "
                             f"{self.n_features}).")
        if self.missing_left is None and X.dtype.kind == "f" and np.isnan(X).any():
            raise ValueError("X contains NaN; fill in or drop missing values first.")
        return X

    def _features_of(self, X):
        """Return rows as the tree's features: from a table with its columns, or as they are."""
        if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
            return X
        for columns in (self.columns, self.feature_names and plain_columns(self.feature_names)):
            table = columns and columns.chosen(X)
            if table is not None:
                return columns.encode(columns.numbers(table))
        return X

    def _missing_goes_left(self):
        """Return whether a missing value goes left at each feature node."""
        weight = self.value.sum(axis=1) if self.kind == "classification" else self.weight
        heavier = True if weight is None else weight[self.left] >= weight[self.right]
        return np.where(self.missing_left < 0, heavier, self.missing_left == 1)

    def apply(self, X: ArrayLike) -> np.ndarray:
        """Return the leaf that each row reaches.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_rows, n_features)
            Rows; with missing values (NaN) if the tree has ``missing_left``.

        Returns
        -------
        array of int, shape (n_rows,)
        """
        from odtlib import _tree_kernels
        if hasattr(X, "tocsc") and np.shape(X)[1:] == (self.n_features,):
            # only the columns that the tree tests are written out
            used, column = np.unique(self.feature, return_inverse=True)
            leaves = int(used[0] == LEAF)
            return self.replace(feature=column - leaves, feature_names=None, columns=None,
                                slopes=None, n_features=len(used) - leaves).apply(
                                    X.tocsc()[:, used[leaves:]].toarray())
        X = self._rows(X)
        leaf = np.empty(len(X), np.int64)
        missing_left = np.zeros(self.n_nodes, bool) if self.missing_left is None \
            else self._missing_goes_left()
        _tree_kernels.apply(X, self.feature, self.threshold,
                            np.column_stack([self.left, self.right]).ravel(), missing_left, leaf)
        return leaf

    def predict_codes(self, X: ArrayLike) -> np.ndarray:
        """Return the class index predicted for each row.

        Parameters
        ----------
        X : array, shape (n_rows, n_features)
            Rows; with missing values (NaN) if the tree has ``missing_left``.

        Returns
        -------
        array of int, shape (n_rows,)
        """
        self._only_for("classification", "predict_codes")
        return self.label.take(self.apply(X))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict a label, or the target values of a regression tree, for each row.

        Parameters
        ----------
        X : array, data frame or list of dicts, shape (n_rows, n_features)
            Rows; with missing values (NaN) if the tree has ``missing_left``.  A data frame, or
            dicts, are read by their names: those of the table that the tree was fitted to, words
            and categories included, where ``columns`` knows it.

        Returns
        -------
        array, shape (n_rows,) or (n_rows, n_outputs)
            One column of regression values is returned flat.
        """
        if self.kind == "classification":
            return self.classes[self.label].take(self.apply(X))
        leaf = self.apply(X)
        value = self.value.take(leaf, axis=0)
        if self.slopes is not None:
            used = np.flatnonzero(self.slopes.any(axis=0))
            x = X[:, used].toarray() if hasattr(X, "toarray") else self._rows(X)[:, used]
            if np.isnan(x).any():
                raise ValueError("a row misses a value of a feature that the lines in the leaves "
                                 "use; fill it in.")
            value = value + (x * self.slopes[leaf][:, used]).sum(axis=1, keepdims=True)
        return value[:, 0] if value.shape[1] == 1 else value

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the share of each class among the training weight of the leaf reached.

        Parameters
        ----------
        X : array, shape (n_rows, n_features)
            Rows; with missing values (NaN) if the tree has ``missing_left``.

        Returns
        -------
        array, shape (n_rows, n_classes)
            A leaf that no training row reached gives its label probability one.
        """
        self._only_for("classification", "predict_proba")
        return self._probabilities().take(self.apply(X), axis=0)

    def _probabilities(self):
        """Return the share of each class at every node, shape (n_nodes, n_classes)."""
        share, empty = self._shares(), ~self.value.any(axis=1)
        share[empty, self.label[empty]] = 1.0
        return share

    def decision_path(self, X: ArrayLike) -> csr_matrix:
        """Return which nodes each row passes.

        Parameters
        ----------
        X : array, shape (n_rows, n_features)
            Rows; with missing values (NaN) if the tree has ``missing_left``.

        Returns
        -------
        scipy.sparse.csr_matrix, shape (n_rows, n_nodes)
            One where the row passes the node, root and leaf included.
        """
        from scipy.sparse import csr_matrix
        parent = np.full(self.n_nodes, -1)
        inner = np.flatnonzero(self.feature >= 0)
        parent[self.left[inner]] = parent[self.right[inner]] = inner
        leaves, which = np.unique(self.apply(X), return_inverse=True)
        paths, passed = [], []
        for path, node in enumerate(leaves):
            while node >= 0:
                paths.append(path)
                passed.append(node)
                node = parent[node]
        return csr_matrix((np.ones(len(paths), np.int64), (paths, passed)),
                          shape=(len(leaves), self.n_nodes))[which]

    def _only_for(self, kind, what):
        if self.kind != kind:
            raise ValueError(f"{what} needs a {kind} tree; this one is for {self.kind}.")

    def __repr__(self):
        return (f"<DecisionTree for {self.kind}: depth {self.depth}, {self.n_splits} feature "
                f"nodes, {self.n_leaves} leaves>")

    def __eq__(self, other):
        if not isinstance(other, DecisionTree):
            return False
        theirs = other._arguments()
        return all(_same(mine, theirs[name]) for name, mine in self._arguments().items())

    def __hash__(self):
        return hash((self.feature.tobytes(), self.left.tobytes(), self.n_features, self.kind))


def _whole(name, values, dtype=np.int64):
    """Return whole numbers as a vector of integers; refuse all others."""
    given = np.array(values, ndmin=1)
    if given.dtype == dtype:
        return given
    with np.errstate(invalid="ignore"):
        whole = given.astype(dtype) if given.dtype.kind in "biuf" else None
    if whole is None or (whole != given).any():
        raise ValueError(f"{name} holds something that is no whole number, or one outside the "
                         f"range of {np.dtype(dtype)}.")
    return whole


def _rebuilt(arguments):
    """Return a tree from its constructor's arguments: what pickles call."""
    return DecisionTree(**arguments)


def _same(a, b):
    """Return whether two constructor arguments are the same."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return a is b or (type(a) is type(b) and a == b)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fmM")


def in_preorder(inner, left, right, root=0):
    """Return the nodes of a tree in preorder, and where the children of each stand in that order.

    ``inner``, ``left`` and ``right``, (n_nodes,), tell whether a node is split, and its children;
    what is not below ``root`` is left out.
    """
    inner, left, right = (np.asarray(of_node).tolist() for of_node in (inner, left, right))
    order, stack = [], [root]
    while stack:
        order.append(node := stack.pop())
        if inner[node]:
            stack += [right[node], left[node]]
    place = {node: k for k, node in enumerate(order)}
    return order, *(np.array([place[child[node]] if inner[node] else LEAF for node in order])
                    for child in (left, right))


def midpoint(low: ArrayLike, high: ArrayLike) -> Any:
    """Return a threshold that separates two values: ``low <= t < high``, exactly.

    It is the midpoint of neighbouring finite values, ``low < high``, or ``low`` where the midpoint
    rounds to ``high``; elementwise for arrays.  Where rounding errors keep it from a number of at
    most 13 digits, it is that number: 15.35, not 15.350000000000001, between 15.3 and 15.4.
    """
    middle = 0.5 * low + 0.5 * high   # no overflow near the largest float
    size = np.maximum(np.maximum(np.abs(low), np.abs(high)), np.finfo(float).tiny)
    # exactly the nearest number of so many digits: both whole numbers below have no error
    tens = 10.0 ** np.clip(12 - np.floor(np.log10(size)), 0, 22)
    short = np.rint(middle * tens) / tens
    same = (np.abs(short - middle) <= 2 * np.spacing(size)) & (low <= short) & (short < high)
    middle = np.where(same, short, middle)
    return np.where((middle < high) & (middle >= low), middle, low)[()]
