"""Write a tree as text, dot, JSON, a picture or a scikit-learn tree, and read the last two."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from odtlib import text as _text
from odtlib import writers
from odtlib.columns import SCHEMA as COLUMNS
from odtlib.columns import Columns, Question, asks
from odtlib.requirements import needs
from odtlib.schema import brief, check, read_json
from odtlib.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

SHOWN_LEVELS = 2000     # of a text, whose lines grow with the depth
FORMAT = "odtlib.DecisionTree/1"
# Labels of these kinds of numpy types can be written as JSON, in these types of it.
LABELS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "S": str, "M": str, "m": int,
          "O": (bool, int, float, str, None)}
MOST_DRAWN, MOST_ROWS = 32, 63      # leaves and nodes that a notebook shows
LARGEST_LABELS = 2**24   # bytes of all labels: a type such as U1000000 is more than its labels need
SCHEMA = {
    "format": FORMAT, "kind": ("classification", "regression"),
    "feature": [int], "threshold": [(float, None, "inf")], "left": [int], "right": [int],
    "value": [[float]], "label": ([int], None), "classes": ([LABELS["O"]], None),
    "classes_dtype": (str, None), "feature_names": ([str], None), "n_features": int,
    "weight": ([float], None), "impurity": ([float], None), "missing_left": ([int], None),
    "slopes": ([[float]], None), "columns": (COLUMNS, None),
    "criterion": ("gini", "entropy", None)}
# Left out by default.
OPTIONAL = ("weight", "impurity", "missing_left", "slopes", "columns", "criterion")


class Exports:
    """The forms that a :class:`~odtlib.DecisionTree` can be written in."""

    def feature_name(self, feature: int) -> str:
        """Return the name of a feature.

        Parameters
        ----------
        feature : int
            Its column.

        Returns
        -------
        str
        """
        return f"x{feature}" if self.feature_names is None else self.feature_names[feature]

    def split_text(self, node: int, branch: str = "left") -> str:
        """Return the test of a feature node as text.

        Parameters
        ----------
        node : int
            A feature node.
        branch : {"left", "right"}, default="left"
            The condition that leads to this child.

        Returns
        -------
        str
            For instance ``petal width <= 0.8``, or ``petal width <= 0.8 or missing`` where rows of
            the training set were missing; a threshold is shortened only as far as it stays the
            same number.  For a 0/1 column that is named by a condition, ``not colour = red`` on
            the left and ``colour = red`` on the right.
        """
        feature, threshold = self.feature[node], self.threshold[node]
        name = visible(self.feature_name(feature))
        if self.is_condition(node):
            no = f"not ({name})" if name.endswith(" or missing") else f"not {name}"
            return no if branch == "left" else name
        if np.isinf(threshold):
            if self.columns is not None:        # that of the table, of which this is a category
                name = visible(self._table_columns()[self.columns.feature[feature]])
            return f"{name} is not missing" if branch == "left" else f"{name} is missing"
        here = self.missing_left is not None and self.missing_left[node] == (branch == "left")
        sign = "<=" if branch == "left" else ">"
        return f"{name} {sign} {_text.number_text(threshold)}{' or missing' if here else ''}"

    def is_condition(self, node: int) -> bool:
        """Return whether a feature node asks for a 0/1 column that is named by a condition.

        Parameters
        ----------
        node : int
            A feature node.

        Returns
        -------
        bool
            Rows that meet the condition, such as ``colour = red``, are 1 and go right.
        """
        name = self.feature_name(self.feature[node])
        return bool(0 <= self.threshold[node] < 1) and any(
            sign in name for sign in (" <= ", " > ", " = ", " in (", " is missing", " or missing"))

    def _test(self, node):
        """Return the test of a feature node, and the children where it holds and where not."""
        children = self.left[node], self.right[node]
        if self.is_condition(node):
            return f"{self.split_text(node, 'right')}?", children[::-1]
        return self.split_text(node), children

    def leaf_text(self, node: int) -> str:
        """Return what a node predicts, with its training weights, as text.

        Parameters
        ----------
        node : int
            Any node.

        Returns
        -------
        str
        """
        if self.kind == "regression":
            used = () if self.slopes is None else np.flatnonzero(self.slopes[node])
            return ", ".join(_text.short_text(v) for v in self.value[node]) + "".join(
                f" {'-' if self.slopes[node, j] < 0 else '+'} "
                f"{_text.short_text(abs(self.slopes[node, j]))} {visible(self.feature_name(j))}"
                for j in used)
        counts = " ".join(_text.short_text(v) for v in self.value[node])
        return f"{visible(self.classes[self.label[node]])}  [{counts}]"

    def to_text(self) -> str:
        """Return the tree as lines of text.

        Returns
        -------
        str
            Each leaf shows its prediction and the training weight of every class.  Nodes deeper
            than 2,000 splits are counted, not shown.
        """
        lines, stack = [], [(0, "", "")]
        leaves = self._with_sums_below((self.feature < 0).astype(np.int64))
        while stack:
            node, first, rest = stack.pop()
            if self.feature[node] < 0:
                lines.append(first + self.leaf_text(node))
                continue
            if len(rest) > 8 * SHOWN_LEVELS:
                lines.append(f"{first}... {2 * leaves[node] - 1} nodes, not shown")
                continue
            text, (yes, no) = self._test(node)
            lines.append(first + text)
            stack.append((no, f"{rest}└─ no:  ", rest + "        "))
            stack.append((yes, f"{rest}├─ yes: ", rest + "│       "))
        return "\n".join(lines)

    __str__ = to_text

    def rules(self) -> list[str]:
        """Return one rule per leaf, in the order of :meth:`to_text`.

        Returns
        -------
        list of str
            For instance ``if a <= 1 and b > 2 then yes  [0 7]``.

        Raises
        ------
        ValueError
            If the tree is deeper than 2,000 splits.
        """
        if self.depth > SHOWN_LEVELS:
            raise ValueError(f"the tree has {self.depth} splits on a path, too many for a rule; "
                             f"cut it back to {SHOWN_LEVELS}, or use decision_path.")
        rules, stack = [], [(0, ())]
        while stack:
            node, conditions = stack.pop()
            if self.feature[node] < 0:
                condition = " and ".join(conditions) or "always"
                rules.append(f"if {condition} then {self.leaf_text(node)}")
                continue
            # What is pushed last comes first: the branch where the test holds.
            branches = ("left", "right") if self.is_condition(node) else ("right", "left")
            for branch in branches:
                text = self.split_text(node, branch)
                text = f"({text})" if text.endswith(" or missing") else text
                stack.append((getattr(self, branch)[node], (*conditions, text)))
        return rules

    def to_dot(self) -> str:
        """Return the tree in the language of Graphviz.

        Returns
        -------
        str
        """
        lines = ["digraph tree {", "  node [shape=box, style=rounded];"]
        for node in range(self.n_nodes):
            inner = self.feature[node] >= 0
            text, children = self._test(node) if inner else (self.leaf_text(node), ())
            lines.append(f"  {node} [label={_text.dot(text)}];")
            for child, answer in zip(children, ("yes", "no")):
                lines.append(f'  {node} -> {child} [label="{answer}"];')
        return "\n".join([*lines, "}"])

    def questions(self) -> dict[int, Question]:
        """Return what each feature node asks of the table that was given.

        Every form that a tree is written in asks these.

        Returns
        -------
        dict of int to odtlib.columns.Question

        Raises
        ------
        ValueError
            If the tree tests a column of zeros and ones elsewhere than between them.
        """
        sides = [None] * self.n_nodes if self.missing_left is None else \
            self._missing_goes_left().tolist()
        ask = asks if self.columns is None else self.columns.question
        return {node: ask(int(self.feature[node]), float(self.threshold[node]), sides[node],
                          int(self.left[node]), int(self.right[node]))
                for node in np.flatnonzero(self.feature >= 0).tolist()}

    def _table_columns(self):
        """Return the names of the columns of the table, or their numbers where they have none."""
        names, number = (self.feature_names, self.n_features) if self.columns is None else \
            (self.columns.names, self.columns.n_given)
        return list(range(number) if names is None else names)

    def _written_labels(self):
        """Return the labels as JSON has them, None for a regression tree; ValueError for others."""
        if self.classes is None:
            return None
        labels = _plain(self.classes)
        for label in labels:
            if type(label) not in LABELS["O"] and label is not None or label in (np.inf, -np.inf):
                raise ValueError(f"labels of type {type(label).__name__} cannot be written as "
                                 "JSON or as a program; pickle the tree, or turn them into text "
                                 "before the fit.")
        return labels

    def to_frame(self) -> DataFrame:
        """Return the nodes as a data frame, one row for each.

        Returns
        -------
        pandas.DataFrame
            ``depth``, ``parent``, ``test`` and the nodes that follow its ``yes`` and ``no``;
            ``weight`` and ``impurity`` of the training rows; ``prediction``, and the share of each
            class.  With several targets there is a prediction for each.
        """
        pd = needs("pandas", "plot", "to_frame")
        inner = self.feature >= 0
        parent = np.full(self.n_nodes, -1)
        for child in (self.left, self.right):
            parent[child[inner]] = np.flatnonzero(inner)
        tests = [self._test(node) if is_inner else (None, (-1, -1))
                 for node, is_inner in enumerate(inner)]

        def nodes(numbers):
            return pd.arrays.IntegerArray(np.array(numbers), np.array(numbers) < 0)

        columns = {
            "depth": self.node_depth, "parent": nodes(parent), "test": [text for text, _ in tests],
            "yes": nodes([yes for _, (yes, _) in tests]),
            "no": nodes([no for _, (_, no) in tests]), "weight": self.weighted_n_node_samples,
            "impurity": self.impurity}
        if self.kind == "classification":
            columns["prediction"] = self.classes[self.label]
            for label, share in zip(self.classes, self._probabilities().T):
                columns[f"share of {visible(label)}"] = share
        else:
            for k, value in enumerate(self.value.T):
                columns["prediction" if len(self.value.T) == 1 else f"prediction {k}"] = value
            if self.slopes is not None:      # the prediction is then that at zero
                columns["prediction"] = [self.leaf_text(node) for node in range(self.n_nodes)]
        return pd.DataFrame(columns, index=pd.RangeIndex(self.n_nodes, name="node"))

    def _repr_html_(self):
        """Return the picture and the table of nodes for a notebook, or text without packages."""
        try:
            from odtlib.plotting import as_svg
            picture = as_svg(self.plot()) if self.n_leaves <= MOST_DRAWN else ""
            table = self.to_frame()
        except ModuleNotFoundError:
            return f"<pre>{_text.html_lines(self.to_text())}</pre>"
        shown = table.head(MOST_ROWS).map(lambda cell: visible(cell) if isinstance(cell, str)
                                          else cell)
        rest = f"<p>{len(table) - MOST_ROWS} more nodes</p>" if len(table) > MOST_ROWS else ""
        return (f"<p>{_text.html(repr(self))}</p>{picture}"
                f"{shown.to_html(na_rep='', float_format='{:.6g}'.format)}{rest}")

    def _refuse_lines(self, form):
        """Refuse to write a tree with lines in its leaves in a form that has numbers there."""
        if self.slopes is not None:
            raise ValueError(f"the leaves of this tree have lines, and those of {form} numbers; "
                             "replace(slopes=None) leaves the lines out.")

    def to_python(self, units: dict[str, str] | None = None) -> str:
        """Return the tree as a Python file that needs no package.

        Parameters
        ----------
        units : dict of str to str, optional
            What to say of columns beside their names: ``{"bought": "days since 2012-01-01"}``.

        Returns
        -------
        str
            Source of ``predict(row)`` and, for classes, ``predict_proba(row)``, where ``row`` is a
            dict of the columns of the table, or a sequence where they have no names.  None, NaN
            and pandas' NA are missing values.  The predictions are those of the tree.

        Raises
        ------
        ValueError
            If the labels or categories are objects for which there is no literal.
        """
        return writers.program(self, writers.PYTHON, units)

    def to_javascript(self, units: dict[str, str] | None = None) -> str:
        """Return the tree as a JavaScript file that needs no package.

        Parameters
        ----------
        units : dict of str to str, optional
            What to say of columns beside their names, as in :meth:`to_python`.

        Returns
        -------
        str
            Source of ``predict(row)`` and, for classes, ``predictProba(row)``, in the order of
            ``CLASSES``; for a page, or for node, which finds them in ``module.exports``.
            null, undefined and NaN are missing values.
        """
        return writers.program(self, writers.JAVASCRIPT, units)

    def to_sql(self, output: Any = None) -> str:
        """Return the tree as a ``CASE`` of SQL: ``SELECT ..., CASE ... END AS prediction``.

        Parameters
        ----------
        output : label or int, optional
            A class, whose share is wanted (default: the predicted label); the number of a target,
            where a regression tree has several (default: the first).

        Returns
        -------
        str
            NULL is a missing value; where the tree refuses these, the answer is NULL.  It is
            standard SQL, tried with SQLite.  Texts are the same where the database says so: some
            do not tell small letters from capitals.

        Raises
        ------
        ValueError
            If there is no such output, or SQL has no form for a label, category or name.
        """
        return writers.sql(self, output)

    def to_json(self) -> str:
        """Return the tree as JSON, exact to the last bit.

        Returns
        -------
        str
            With what the tree knows of the columns of the table that it was fitted to:
            ``DecisionTree.from_json(text).predict(table)`` predicts as the estimator does.

        Raises
        ------
        ValueError
            If labels or categories are objects for which JSON has no form.
        """
        classes = self._written_labels()
        written = {name: value.tolist() if isinstance(value, np.ndarray) else value
                   for name, value in self._arguments().items()}
        written.update(
            format=FORMAT, classes=classes,
            threshold=[None if np.isnan(t) else float(t) if np.isfinite(t) else "inf"
                       for t in self.threshold],
            classes_dtype=None if classes is None else self.classes.dtype.str,
            columns=None if self.columns is None else self.columns.to_plain())
        return _text.json({name: written[name] for name in SCHEMA if name not in OPTIONAL
                           or written[name] not in (None, "gini")})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Build a tree from what ``to_json`` wrote.

        Parameters
        ----------
        text : str
            The JSON text.

        Returns
        -------
        DecisionTree

        Raises
        ------
        ValueError
            If the text is not that of one tree, in all its parts: nothing is rounded or left out.
        """
        data = read_json(text, "the text of the tree")
        written = data.get("format") if isinstance(data, dict) else None
        if written != FORMAT:
            if isinstance(written, str) and written.startswith("odtlib.DecisionTree/"):
                raise ValueError(f"the tree was written as {brief(written)}, and this version "
                                 f"reads {FORMAT}; update odtlib.")
            raise ValueError("this is not a tree written by DecisionTree.to_json.")
        check(data, SCHEMA, "")
        arguments = {name: entry for name, entry in data.items()
                     if name not in ("format", "classes_dtype")}
        if data.get("classes") is not None:
            arguments["classes"] = _typed(data["classes"], data.get("classes_dtype"))
        arguments["threshold"] = [np.nan if t is None else float(t) for t in data["threshold"]]
        try:
            if data.get("columns") is not None:
                arguments["columns"] = Columns.from_plain(data["columns"])
            tree = cls(**arguments)
            again = json.loads(tree.to_json())
        except OverflowError as error:
            raise ValueError(f"the tree holds a number that is too large: {error}.") from None
        for name, entry in again.items():
            if data.get(name) != entry:
                raise ValueError(f"{name} of the tree is not as to_json writes it: it would be "
                                 "changed when the tree is read.")
        return tree

    @classmethod
    def from_sklearn(cls, model: DecisionTreeClassifier | DecisionTreeRegressor) -> Self:
        """Return the tree of a fitted scikit-learn estimator.

        It predicts the same for every value that float32 represents (scikit-learn compares
        ``float32(x) <= threshold``).

        Parameters
        ----------
        model : sklearn.tree.DecisionTreeClassifier or sklearn.tree.DecisionTreeRegressor
            Fitted on data without missing values; a classifier with one output.

        Returns
        -------
        DecisionTree
            With the class weights, or the means, node weights and variances, of its training rows.

        Raises
        ------
        ValueError
            If ``model`` is not such an estimator, or is not fitted.
        """
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        if not isinstance(model, DecisionTreeClassifier | DecisionTreeRegressor):
            raise ValueError(f"model is a {type(model).__name__}; give a fitted "
                             "DecisionTreeClassifier or DecisionTreeRegressor.")
        if not hasattr(model, "tree_"):
            raise ValueError(f"the {type(model).__name__} is not fitted; call fit first.")
        tree, options = model.tree_, {}
        if isinstance(model, DecisionTreeClassifier):
            if model.n_outputs_ > 1:
                raise ValueError(f"the classifier has {model.n_outputs_} outputs; give one with a "
                                 "single output.")
            value = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None]
            options["classes"] = model.classes_
            options["criterion"] = "gini" if model.criterion == "gini" else "entropy"
            options["label"] = np.argmax(tree.value[:, 0, :], axis=1)
        else:
            value = tree.value[:, :, 0]
            options.update(kind="regression", weight=tree.weighted_n_node_samples,
                           impurity=np.fmax(tree.impurity, 0.0))   # rounding, even to NaN
        return cls(tree.feature, tree.threshold, tree.children_left, tree.children_right, value,
                   n_features=model.n_features_in_,
                   feature_names=getattr(model, "feature_names_in_", None), **options)

    def to_sklearn(self,
                   X: ArrayLike | None = None) -> DecisionTreeClassifier | DecisionTreeRegressor:
        """Return a fitted scikit-learn tree that predicts the same.

        scikit-learn compares ``float32(x) <= threshold``: the predictions are the same for every
        value that float32 represents.  Node weights and impurities (Gini; variance for regression)
        are those of the training rows, so that ``feature_importances_`` and tools such as SHAP
        work; in a regression tree built by hand, without weights, every leaf counts as one row.
        It takes the features of the tree; the ``to_sklearn`` of an estimator fitted to words is a
        pipeline that takes the table.

        Parameters
        ----------
        X : array, shape (n_rows, n_features), optional
            Rows to check: a warning says how many of them the float32 comparison sends to another
            leaf.

        Returns
        -------
        sklearn.tree.DecisionTreeClassifier or sklearn.tree.DecisionTreeRegressor
        """
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
        from sklearn.tree._tree import Tree

        self._refuse_lines("a tree of scikit-learn")
        if self.n_features == 0:
            raise ValueError("the tree has no feature, and one of scikit-learn needs at least one; "
                             "predict with this tree, or fit to columns that vary.")
        classify = self.kind == "classification"
        n_columns = self.value.shape[1]
        if classify:
            shape = (np.array([n_columns], np.intp), 1)
            share, impurity = self._shares(), self.impurity
            changed = np.argmax(share, axis=1) != self.label   # sklearn knows majorities only
            changed &= self.feature < 0
            changed |= ~self.value.any(axis=1)
            share[changed] = np.eye(n_columns)[self.label[changed]]
            value = share[:, None, :]
        else:
            shape = (np.ones(n_columns, np.intp), n_columns)
            value = self.value[:, :, None]
            impurity = 0.0 if self.impurity is None else self.impurity
        tree = Tree(self.n_features, *shape)
        state = tree.__getstate__()
        nodes: np.ndarray = np.zeros(self.n_nodes, dtype=state["nodes"].dtype)
        leaf = self.feature < 0
        nodes["left_child"], nodes["right_child"] = self.left, self.right
        nodes["feature"] = np.where(leaf, -2, self.feature)
        nodes["threshold"] = np.where(leaf, -2.0, self.threshold)
        nodes["impurity"] = impurity
        if self.missing_left is not None:
            nodes["missing_go_to_left"] = ~leaf & self._missing_goes_left()
        nodes["n_node_samples"] = self.n_node_samples
        nodes["weighted_n_node_samples"] = self.weighted_n_node_samples
        tree.__setstate__({**state, "max_depth": self.depth, "node_count": self.n_nodes,
                           "nodes": nodes, "values": np.ascontiguousarray(value)})
        model = (DecisionTreeClassifier if classify else DecisionTreeRegressor)(
            max_depth=max(1, self.depth), **({"criterion": self.criterion} if classify else {}))
        model.tree_, model.n_features_in_, model.max_features_ = (
            tree, self.n_features, self.n_features)
        model.n_outputs_ = 1 if classify else n_columns
        if classify:
            model.classes_, model.n_classes_ = np.array(self.classes), np.intp(n_columns)
        if self.feature_names is not None:
            model.feature_names_in_ = np.array(self.feature_names, dtype=object)

        inner = np.abs(self.threshold[np.isfinite(self.threshold)])
        limits = np.finfo(np.float32)
        if np.any(inner > limits.max) or np.any((inner > 0) & (inner < limits.tiny)):
            warnings.warn("a threshold lies outside the range of float32, in which scikit-learn "
                          "compares; rescale the feature before exporting.", stacklevel=2)
        if X is not None:
            with np.errstate(over="ignore"):
                rounded = self._rows(X).astype(np.float32).astype(np.float64)
            moved = np.count_nonzero(self.apply(X) != self.apply(rounded))
            if moved:
                warnings.warn(f"{moved} of the {len(rounded)} rows reach another leaf once their "
                              "values are rounded to float32 as scikit-learn does; rescale the "
                              "features or predict with the DecisionTree itself.", stacklevel=2)
        return model

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the tree with matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw (default: a new figure of fitting size).
        **options
            Passed to :func:`odtlib.plotting.draw_tree`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from odtlib.plotting import draw_tree
        return draw_tree(self, ax=ax, **options)


def _plain(labels):
    """Write labels as JSON can: dates as ISO text, spans as numbers, bytes as Latin-1."""
    if labels.dtype.kind == "M":
        return labels.astype(str).tolist()
    if labels.dtype.kind == "m":
        return labels.astype(np.int64).tolist()
    if labels.dtype.kind == "S":
        return [label.decode("latin-1") for label in labels.tolist()]
    return labels.tolist()


def _typed(labels, dtype):
    """Read labels that ``_plain`` has written, and the name of their numpy type."""
    try:
        kind = LABELS[np.dtype(str(dtype)).kind]
        dtype = np.dtype(dtype)
    except (KeyError, SyntaxError, TypeError, ValueError):
        raise ValueError(f"classes_dtype {brief(dtype)} is no type of labels.") from None
    if dtype.itemsize * len(labels) > LARGEST_LABELS:
        raise ValueError(f"classes_dtype {brief(dtype.str)} makes labels of more than "
                         f"{LARGEST_LABELS} bytes.")
    check(labels, [kind], "classes")
    try:
        if dtype.kind == "S":
            labels = [label.encode("latin-1") for label in labels]
        return np.array(labels, dtype=dtype)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"classes are no labels of the type {dtype.str}: {error}.") from None
