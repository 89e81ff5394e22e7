"""What estimators are made of: trees, reports, binarisers."""

import exporting
import numpy as np
from fuzz.judging import demand, depth_of, level_of, route
from fuzz.registry import fuzz
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import odtlib
from odtbook.formulations import BinOCTClassifier, BinOCTSearch
from odtlib.binarize import AutoBinarizer, MDLPBinarizer, QuantileBinarizer, ThresholdBinarizer
from odtlib.report import Clock


class Part:
    """Something that is not an estimator; ``look(model)`` compares what it says."""

    def __init__(self, model, look, **data):
        self.model, self.look, self.data = model, look, data

    def run(self, draw):
        """Compare."""
        self.look(self.model)


def random_tree(draw, X, n_classes, depth):
    """Return nested tuples ``(feature, threshold, left, right)`` or a label, and its prediction."""
    values = draw.values

    def grow(depth):
        if depth == 0 or values.random() < 0.2:
            return int(values.integers(n_classes))
        j = int(values.integers(X.shape[1]))
        here = X[~np.isnan(X[:, j]), j]
        threshold = float(values.choice(here)) if len(here) else 0.5
        return j, threshold, grow(depth - 1), grow(depth - 1)

    def say(nested, row):
        while isinstance(nested, tuple):
            nested = nested[2] if row[nested[0]] <= nested[1] else nested[3]
        return nested

    nested = grow(depth)
    return nested, np.array([say(nested, row) for row in X])


TREE = ("apply", "decision_path", "depth", "feature_importances", "feature_name", "from_json",
        "from_nested", "from_sklearn", "impurity", "is_condition", "leaf_text", "n_leaves",
        "n_nodes", "n_splits", "node_depth", "predict", "predict_codes", "predict_proba", "pruned",
        "questions", "replace", "rules", "split_text", "to_dot", "to_frame", "to_json", "to_nested",
        "to_sklearn", "to_text", "with_counts", "with_weights")


LIKE_SCIKIT_LEARN = ("children_left", "children_right", "max_depth", "n_classes",
                     "n_node_samples", "n_outputs", "node_count", "weighted_n_node_samples")


@fuzz(6, *(f"DecisionTree.{name}" for name in (*TREE, *LIKE_SCIKIT_LEARN)))
def trees(draw):
    """A random tree says the same in every form."""
    problem = draw.classified(rows=12, features=3, named=False)
    X, n_classes = problem.X, 3
    nested, said = random_tree(draw, X, n_classes, draw.pick(2, 0, 1, 3))
    codes = draw.left(draw.values.integers(0, n_classes, draw.n))
    weight = np.ones(len(X)) if problem.weight is None else problem.weight
    names = [f"f{j}" for j in range(X.shape[1])]

    def look(kind):
        tree = kind.from_nested(nested, n_classes=n_classes, n_features=X.shape[1])
        label = tree.predict(X)
        demand(np.array_equal(label, said), "predict says", label, "and should say", said)
        demand(np.array_equal(tree.predict_codes(X), said), "predict_codes says something else")
        demand(np.array_equal(tree.apply(X), route(tree, X)), "apply leads elsewhere")
        path = tree.decision_path(X).toarray().astype(bool)
        demand(np.all(path.sum(axis=1) == 1 + level_of(tree)[tree.apply(X)]), "decision_path")
        demand(tree.depth == depth_of(tree) and tree.n_leaves == tree.n_splits + 1
               and tree.n_nodes == 2 * tree.n_leaves - 1, "the tree has another shape")
        demand(np.array_equal(tree.node_depth, level_of(tree)), "node_depth is", tree.node_depth)
        theirs = tree.to_sklearn().tree_
        for name in LIKE_SCIKIT_LEARN:
            demand(np.array_equal(getattr(tree, name), getattr(theirs, name)), name, "is",
                   getattr(tree, name), "and in scikit-learn", getattr(theirs, name))
        demand(np.array_equal(tree.impurity, theirs.impurity), "impurity is", tree.impurity)
        frame = tree.to_frame()
        demand(frame.prediction[tree.apply(X)].tolist() == said.tolist(), "to_frame predicts")
        for node, question in tree.questions().items():
            demand((frame.yes[node], frame.no[node]) == question[-2:], "to_frame asks otherwise")
        for other in (kind.from_json(tree.to_json()), kind.from_nested(
                tree.to_nested(), n_classes=n_classes, n_features=X.shape[1])):
            demand(other == tree, "a written tree is read as another one")
        demand(np.array_equal(tree.pruned().predict(X), said), "pruned predicts otherwise")
        demand(tree.pruned().n_splits <= tree.n_splits, "pruned is larger")
        counted = tree.with_counts(X, codes, n_classes, weight)
        for leaf in np.flatnonzero(tree.feature < 0):
            here = route(tree, X) == leaf
            sums = np.bincount(codes[here], weight[here], n_classes)
            demand(np.allclose(counted.value[leaf], sums, rtol=1e-12), "with_counts sums to",
                   counted.value[leaf], "and should to", sums)
            demand(not sums.any() or sums[counted.label[leaf]] >= sums.max() * (1 - 1e-12),
                   "with_counts relabels a leaf wrongly")
        demand(np.allclose(counted.predict_proba(X).sum(axis=1), 1), "shares do not add up to 1")
        named = tree.replace(feature_names=names, classes=np.array(["a", "b", "c"]))
        demand(np.array_equal(named.predict(X), np.array(["a", "b", "c"])[said]), "replace")
        text, dot, rules = named.to_text(), named.to_dot(), named.rules()
        demand(len(rules) == tree.n_leaves, len(rules), "rules for", tree.n_leaves, "leaves")
        for node in range(tree.n_nodes):
            if tree.feature[node] >= 0:
                name = named.feature_name(tree.feature[node])
                demand(name in text and name in dot and name in named.split_text(node),
                       name, "is not in the text")
            else:
                demand(named.leaf_text(node), "a leaf without a text")
        shares = counted.feature_importances()
        demand(np.all(shares >= 0) and (not shares.any() or np.isclose(shares.sum(), 1)),
               "importances are", shares)

    return Part(odtlib.DecisionTree, look, nested=nested, X=X, codes=codes, weight=weight)


@fuzz(1, "DecisionTree.to_python", "DecisionTree.to_sql", "DecisionTree.to_javascript")
def exports(draw):
    """A tree that is handed over predicts on the table as the estimator does."""
    X, score, rng = exporting.drawn_table(int(draw.values.integers(2**31)))
    model = exporting.fitted(X, score, rng)

    def look(model):
        tree = odtlib.DecisionTree.from_json(model.tree_.to_json())
        table = exporting.probes(X, tree)
        said = model.predict(table).tolist()
        demand(tree.predict(table).tolist() == said, "the tree read from JSON predicts otherwise")
        demand(exporting.by_python(tree, table) == said, "to_python predicts otherwise")
        demand(exporting.by_sql(tree, table) == said, "to_sql predicts otherwise")
        # tests/shared/test_exports.py runs it
        demand(tree.to_javascript().count("row[") == tree.to_python().count("row["),
               "to_javascript does not ask what to_python asks")

    return Part(model, look, X=X)


@fuzz(3, "DecisionTree.from_sklearn", "DecisionTree.to_sklearn", "DecisionTree.with_weights")
def trees_of_scikit_learn(draw):
    """Trees of scikit-learn, both ways."""
    problem = draw.classified(rows=12, features=3, binary=True, named=False)
    X, y, regression = problem.X, problem.y, draw.chance(0.5)
    kind = DecisionTreeRegressor if regression else DecisionTreeClassifier
    theirs = kind(max_depth=draw.pick(2, 1, 3), random_state=0).fit(X, y, problem.weight)

    def look(kind):
        tree = kind.from_sklearn(theirs)
        demand(np.array_equal(np.ravel(tree.predict(X)), theirs.predict(X)), "other predictions")
        back = tree.to_sklearn(X)
        demand(np.array_equal(back.predict(X), theirs.predict(X)), "other predictions, and back")
        if regression:
            weighed = tree.with_weights(X, y[:, None].astype(float), problem.weight)
            demand(np.array_equal(weighed.predict(X), tree.predict(X)), "with_weights predicts")

    return Part(odtlib.DecisionTree, look, X=X, y=y, weight=problem.weight)


@fuzz(4, "DecisionTree.remap", *(
    f"{name}.{method}" for name in (
        "AutoBinarizer", "MDLPBinarizer", "QuantileBinarizer", "ThresholdBinarizer")
    for method in ("fit", "transform", "get_feature_names_out", "column_names_",
                   "columns_", "to_original", "to_columns")))
def binarisers(draw):
    """Columns are tests of the features, and trees are written over either."""
    problem = draw.classified(rows=12, features=3, missing=draw.chance(0.3), named=False)
    X, y = problem.X, problem.y
    model = draw.pick(ThresholdBinarizer(), QuantileBinarizer(draw.pick(2, 3, 5)),
                      MDLPBinarizer(), AutoBinarizer())
    nested_depth = draw.pick(1, 2)

    def look(model):
        model.fit(X, y)
        columns = model.transform(X)
        names = model.get_feature_names_out()
        demand(columns.shape == (len(X), len(names)) and np.isin(columns, (0, 1)).all(),
               "columns are not 0/1 or not named")
        demand(np.array_equal(model.column_names_, names), "column_names_ are other names")
        demand(np.array_equal(model.columns_.encode(np.asarray(X, float)), columns),
               "columns_ makes other columns")
        timed = type(model)(**model.get_params())._fit_until(Clock(), X, y)
        demand(np.array_equal(timed.transform(X), columns), "_fit_until makes other columns")
        if isinstance(model, ThresholdBinarizer) and not np.isnan(X).any():
            seen = {tuple(c) for c in columns.T} | {tuple(1 - c) for c in columns.T}
            for x in X.T:
                for value in np.unique(x)[:-1]:
                    demand(tuple((x <= value).astype(columns.dtype)) in seen, "no column asks x <=",
                           value)
        for j, column in zip(model.feature_, columns.T):
            known = ~np.isnan(X[:, j])
            order = np.argsort(X[known, j], kind="stable")
            steps = np.diff(column[known][order].astype(int))
            demand(np.isnan(X).any() or np.abs(steps).sum() <= 1, "a column is no threshold")
        if not len(names) or np.isnan(X).any():
            return
        nested, _ = random_tree(draw, columns.astype(float), 2, nested_depth)
        nested = halved(nested)
        tree = odtlib.DecisionTree.from_nested(nested, n_classes=2, n_features=len(names))
        original = model.to_original(tree)
        demand(np.array_equal(original.predict(X), tree.predict(columns)), "to_original predicts")
        back = model.to_columns(original)
        demand(np.array_equal(back.predict(columns), tree.predict(columns)), "to_columns predicts")

    return Part(model, look, X=X, y=y)


def halved(nested):
    """Return nested tuples with all thresholds one half."""
    if not isinstance(nested, tuple):
        return nested
    return nested[0], 0.5, halved(nested[2]), halved(nested[3])


@fuzz(2, "SolveReport.gap", "SolveReport.trace",
      "SolveReport.primal_integral", "SolveReport.verify", "SolveReport.notes")
def reports(draw):
    """What a report says of gap and trace follows from objective and bound."""
    problem = draw.classified(features=3, classes=3)
    model = odtlib.MurTreeClassifier(2, binarizer="all", time_limit=draw.pick(None, 1e-3, 1e-5))

    def look(model):
        report = model.fit(problem.X, problem.y, problem.weight).report_
        gap = report.objective - report.lower_bound
        slack = 1e-9 * problem.kept.sum()
        demand(report.gap == gap >= 0 and (gap <= slack) == (report.status == "optimal"),
               "the gap is", report.gap, "and the status", report.status)
        trace = report.trace
        demand((np.diff(trace["seconds"]) >= 0).all()
               and (np.diff(trace["incumbent"]) <= slack).all(),
               "the trace goes back")
        tested = np.unique(report.tree.feature[report.tree.feature >= 0])
        demand(report.notes or len(tested) == problem.X.shape[1], "notes say nothing")
        demand(report.primal_integral() >= 0, "the primal integral is negative")
        demand(abs(report.verify(problem.X, problem.y, problem.weight) - report.objective)
               <= slack, "verify")

    return Part(model, look, X=problem.X, y=problem.y, weight=problem.weight)


@fuzz(1, "BinOCTSearch.set_params", "ColumnGenerationSearch.set_params",
      "MurTreeSearch.set_params")
def options_of_a_search(draw):
    """Options that are set are those that a new object has, and the estimator passes them on."""
    murtree = odtlib.MurTreeSearch, odtlib.MurTreeClassifier
    name, values, (kind, of) = draw.pick(
        ("merge_rows", (True, False), murtree), ("cache", ("dataset", None), murtree),
        ("feature_order", ("gini", "random"), murtree),
        ("link", ("node", "prefix"),
         (odtlib.ColumnGenerationSearch, odtlib.ColumnGenerationClassifier)),
        ("add_thresholds", (True, False), (BinOCTSearch, BinOCTClassifier)))
    value = draw.pick(*values)

    def look(kind):
        search = kind().set_params(**{name: value})
        demand(search == kind(**{name: value}) and getattr(search, name) == value, "set_params")
        model = of(search=kind()).set_params(**{f"search__{name}": value})
        demand(model.get_params()[f"search__{name}"] == value, "search__ is not passed on")

    return Part(kind, look, name=name, value=value)


@fuzz(1, "CARTClassifier.cost_complexity_pruning_path")
def pruning_path(draw):
    """The costs of complexity at which CART becomes smaller, as scikit-learn finds them."""
    problem = draw.classified(rows=12, features=3, binary=True, named=False)
    depth = draw.pick(2, 1, 3, None)

    def look(model):
        found = model.cost_complexity_pruning_path(problem.X, problem.y, problem.weight)
        theirs = DecisionTreeClassifier(max_depth=depth, random_state=0) \
            .cost_complexity_pruning_path(problem.rows, problem.labels, problem.kept)
        for name in ("ccp_alphas", "impurities"):
            demand(len(found[name]) == len(theirs[name])
                   and np.allclose(found[name], theirs[name], atol=1e-9), name, "are", found[name],
                   "and in scikit-learn", theirs[name])

    return Part(odtlib.CARTClassifier(depth, random_state=0), look, X=problem.X, y=problem.y,
                weight=problem.weight)
