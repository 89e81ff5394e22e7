"""One fit and what is known of its answer; and the checks that hold for every estimator."""

import inspect

import numpy as np
from naive import best_tree_cost, class_leaves, least_costs, same_everywhere, sides
from scipy.sparse import issparse
from sklearn.base import is_classifier

from odtlib.tolerance import ROUNDING

PROOF = 1e-9            # of the scale: what "optimal" may leave open
SOLVERS = 1e-6          # the same for integer programs


class Disagreement(Exception):
    """The estimator and the reference do not say the same."""


def demand(condition, *what):
    """Raise a disagreement unless a condition holds."""
    if not condition:
        raise Disagreement(" ".join(map(str, what)))


def exact_sum(values):
    """Return a sum in the widest floating point."""
    return np.asarray(values, np.longdouble).sum()


def route(tree, X):
    """Return the leaf of every row, by the arrays of the tree alone."""
    leaves, heavy = [], tree.value.sum(axis=1) if tree.weight is None else tree.weight
    for row in np.asarray(X, float):
        node = 0
        while tree.feature[node] >= 0:
            value = row[tree.feature[node]]
            left = value <= tree.threshold[node]
            if np.isnan(value):
                side = int(tree.missing_left[node])
                heavier = heavy[tree.left[node]] >= heavy[tree.right[node]]
                left = heavier if side < 0 else side == 1
            node = int((tree.left if left else tree.right)[node])
        leaves.append(node)
    return np.array(leaves, int)


def depth_of(tree, node=0):
    """Return the depth below a node."""
    if tree.feature[node] < 0:
        return 0
    return 1 + max(depth_of(tree, tree.left[node]), depth_of(tree, tree.right[node]))


def level_of(tree):
    """Return the depth at which each node lies."""
    level = np.zeros(tree.n_nodes, int)
    for node in range(tree.n_nodes):
        if tree.feature[node] >= 0:
            level[[tree.left[node], tree.right[node]]] = level[node] + 1
    return level


class Case:
    """One problem, one estimator, and what is known of the answer.

    Parameters
    ----------
    model : estimator
        Not fitted.
    problem : Problem
        Its data.
    true : callable or None
        Recomputes the objective from ``(tree, leaves of the rows)``.
    optimum : float or None
        Least value of the objective; infinity where no tree keeps the limits.
    scale : float
        What tolerances are shares of.
    depth, nodes, min_leaf : int or None
        Limits that the tree must keep.
    exact : bool
        Whether the report must say "optimal" where no limit is set.
    bounded : bool
        Whether the lower bound and the word "optimal" hold for ``optimum``.
    within, noise, reach : float
        Share of ``scale``, and more, that rounding may cost; how far above the optimum the tree of
        an exact search may be.
    fit : dict
        Other arguments of ``fit``, arrays with a value for each row.
    check : callable or None
        Looks at ``(model, predictions)``; also where a limit has ended the fit.
    finished : callable or None
        The same where the report says "optimal".
    over : array or None
        The rows that ``tree_`` tests, where it tests columns of a binariser.
    """

    def __init__(self, model, problem, true=None, optimum=None, scale=1.0, *, depth=None,
                 nodes=None, min_leaf=1, exact=True, bounded=True, within=PROOF, noise=0.0,
                 reach=0.0, fit=None, check=None, finished=None, frame=None):
        self.model, self.problem, self.true, self.optimum = model, problem, true, optimum
        self.scale, self.depth, self.nodes, self.min_leaf = float(scale), depth, nodes, min_leaf
        self.exact, self.bounded, self.check, self.finished = exact, bounded, check, finished
        self.allowed = within * self.scale + noise
        self.reach = reach + self.allowed
        self.fit, self.frame = fit or {}, frame

    def run(self, draw):
        """Fit, and compare everything that is known."""
        model, problem = self.model, self.problem
        other_words(draw, model, int(problem.used.sum()))
        narrow_numbers(draw, model)
        limited = limits(draw, model)
        X, y = (problem.X if self.frame is None else self.frame), problem.y
        if y.ndim == 1 and draw.chance(0.1):
            y = y[:, None]
        extra = {} if problem.weight is None else {"sample_weight": problem.weight}
        try:
            model.fit(X, y, **extra, **self.fit)
        except ValueError as error:
            if (self.optimum == np.inf or limited) and "weaken" in str(error):
                return
            raise
        demand(self.optimum != np.inf, "a tree is found, and none keeps the limits")
        predicted = model.predict(X)
        demand(len(predicted) == len(X), "predict returns another number of rows")
        if self.true is not None:
            self.judge(y, extra, limited)
        look_at_methods(model, X, predicted)
        if self.frame is None and self.true is not None and np.isnan(X).any():
            demand(same_everywhere(model, X), "a form of the tree treats missing values otherwise")
        if self.check is not None:
            self.check(model, predicted)
        if self.finished is not None and model.report_.status == "optimal" and (
                not limited or "fewest feature nodes" in model.report_.proof):
            self.finished(model, predicted)         # a limit may end the search for fewer nodes
        if not limited and not problem.used.all() and draw.chance(0.3):
            self.without_the_unused(predicted)

    def judge(self, y, extra, limited):
        """Compare tree and report with what is known."""
        model, problem = self.model, self.problem
        tree, report = model.tree_, model.report_
        X = problem.X if self.frame is None else self.frame
        # A frame whose words are all missing holds numbers only.
        every = model._to_tree_columns(X) if model._tree_over_columns else np.asarray(X, float)
        leaves = route(tree, every)
        demand(np.array_equal(leaves, tree.apply(every)),
               "apply does not lead where the arrays lead")
        leaves = leaves[problem.used]
        true = self.true(tree, leaves)
        demand(abs(report.objective - true) <= self.allowed,
               f"the report says {report.objective!r}, the tree costs {true!r}")
        demand(abs(model.verify(X, y, **extra) - true) <= self.allowed,
               "verify returns another objective")
        demand(report.lower_bound <= report.objective + self.allowed, "the bound",
               report.lower_bound, "exceeds the objective", report.objective)
        demand(report.status != "optimal" or report.gap <= max(self.reach, PROOF * self.scale),
               "the status is optimal and the gap", report.gap)
        depth = depth_of(tree)
        demand(self.depth is None or depth <= self.depth, "depth", depth, "exceeds", self.depth)
        demand(self.nodes is None or tree.n_splits <= self.nodes,
               tree.n_splits, "feature nodes exceed", self.nodes)
        fewest = np.bincount(leaves, minlength=tree.n_nodes)[tree.feature < 0].min()
        demand(not tree.n_splits or fewest >= self.min_leaf,
               "a leaf holds", fewest, "rows, fewer than", self.min_leaf)
        if self.optimum is None:
            return
        demand(true >= self.optimum - self.allowed, f"the tree costs {true!r}, less than the "
               f"optimum {self.optimum!r}: the reference is wrong")
        demand(not self.exact or limited or report.status == "optimal",
               "the status is", report.status)
        demand(report.status != "optimal" or not self.bounded or true <= self.optimum + self.reach,
               f"the tree costs {true!r}, the optimum is {self.optimum!r} ({report.status})")
        demand(not self.bounded or report.lower_bound <= self.optimum + self.allowed,
               f"the bound {report.lower_bound!r} exceeds the optimum {self.optimum!r}")

    def without_the_unused(self, predicted):
        """Check that the rows of weight zero make no difference, where their labels remain."""
        problem, used = self.problem, self.problem.used
        if is_classifier(self.model) and len(np.unique(problem.y)) > len(np.unique(problem.labels)):
            return                  # another of several optimal trees may be found
        X = problem.X if self.frame is None else self.frame
        other = type(self.model)(**self.model.get_params(deep=False))
        other.fit(X[used], problem.labels, sample_weight=problem.kept,
                  **{name: value[used] for name, value in self.fit.items()})
        demand(np.array_equal(predicted, other.predict(X)),
               "rows of weight zero change the predictions")


def other_words(draw, model, n_rows):
    """Now and then, say the same limits otherwise: a share of the rows, no limit on depth."""
    given = model.get_params(deep=False)
    share, unlimited, fewest = draw.chance(0.2), draw.chance(0.3), given.get("min_samples_leaf")
    if share and isinstance(fewest, int) and fewest <= n_rows:
        model.set_params(min_samples_leaf=(fewest - 0.5) / n_rows)
    if unlimited and isinstance(given.get("max_depth"), int) and given["max_depth"] >= n_rows - 1 \
            and not np.ndim(given.get("split_penalty", 0.0)) \
            and None in model._parameter_constraints["max_depth"]:
        model.set_params(max_depth=None)


def narrow_numbers(draw, model):
    """Now and then, give parameters as NumPy numbers, of 16 to 64 bits where they hold them."""
    if not draw.chance(0.15):
        return
    kinds = {int: (np.int64, np.int16, np.uint8), float: (np.float64, np.float32, np.float16)}
    for name, value in model.get_params(deep=False).items():
        if type(value) in kinds and name != "verbose":
            kind = draw.pick(*kinds[type(value)])
            with np.errstate(over="ignore"):
                narrow = np.array(value).astype(kind)[()]
            if float(narrow) == value:
                model.set_params(**{name: narrow})


def limits(draw, model):
    """Now and then, set a limit that may end the fit at any moment; return whether there is one."""
    limited = draw.chance(0.12)
    for name, values in {"time_limit": [0.1, 0.01, 1e-3, 1e-4, 1e-6],
                         "memory_limit": [10.0, 1.0, 0.1, 0.001]}.items():
        value, given = draw.pick(*values), draw.chance(0.6)
        known = [key for key in (name, f"search__{name}") if key in model.get_params()]
        if limited and given and known:
            model.set_params(**{known[0]: value})
    return limited


# ------------------------------------------------------------- methods that every estimator has

def share_of_classes(model, X, predicted):
    """``predict_proba`` holds shares, and the predicted label has the largest."""
    shares = model.predict_proba(X)
    for part, labels, classes in zip(*each_output(shares, predicted, model.classes_)):
        demand(part.shape == (len(labels), len(classes)), "predict_proba has shape", part.shape)
        demand(np.all(part >= 0) and np.allclose(part.sum(axis=1), 1), "shares do not add up to 1")


def logarithms(model, X, predicted):
    """``predict_log_proba`` holds the logarithms of ``predict_proba``."""
    with np.errstate(divide="ignore"):
        for a, b in zip(*each_output(model.predict_log_proba(X), model.predict_proba(X))):
            demand(np.array_equal(a, np.log(b)), "predict_log_proba is not the logarithm")


def each_output(*arrays):
    """Return lists with an item for each output; one output gives lists of one."""
    if isinstance(arrays[0], list):
        return [list(a.T) if isinstance(a, np.ndarray) else a for a in arrays]
    return [[a] for a in arrays]


def same_leaves(model, X, predicted):
    """``apply`` and ``decision_path`` end in the leaf whose label or value is predicted."""
    leaves, path = model.apply(X), model.decision_path(X)
    demand(issparse(path) and path.shape == (len(X), model.tree_.n_nodes), "decision_path is",
           type(path), path.shape)
    path = path.toarray().astype(bool)
    demand(path[:, 0].all() and path[np.arange(len(X)), leaves].all(),
           "decision_path does not lead to the leaf")
    demand(np.all(path.sum(axis=1) == level_of(model.tree_)[leaves] + 1),
           "decision_path has another number of nodes")


def its_shape(model, X, predicted):
    """``get_depth`` and ``get_n_leaves`` say what the arrays say."""
    if (tree := getattr(model, "tree_", None)) is not None:
        demand((model.get_depth(), model.get_n_leaves())
               == (depth_of(tree), int((tree.feature < 0).sum())), "the tree has another shape")
    else:
        demand(model.get_depth() >= 0 and model.get_n_leaves() >= 1, "no depth or no leaves")


def importances(model, X, predicted):
    """``feature_importances_`` are shares, zero for features that no node tests."""
    shares = model.feature_importances_
    demand(np.all(shares >= -1e-12) and (np.isclose(shares.sum(), 1) or not shares.any()),
           "importances are", shares)


def in_scikit_learn(model, X, predicted):
    """``to_sklearn`` predicts the same."""
    if not hasattr(X, "columns") and fits_float32(X):
        other = model.to_sklearn(X).predict(X)
        demand(np.array_equal(np.ravel(other), np.ravel(predicted)),
               "to_sklearn predicts otherwise")


def fits_float32(X):
    """Return whether scikit-learn, which rounds features to float32, can follow a tree."""
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = np.asarray(X, float).astype(np.float32).astype(float)
    return np.array_equal(narrow, np.asarray(X, float), equal_nan=True)


def number_of_classes(model, X, predicted):
    """``n_classes_`` counts the labels."""
    demand(np.all(np.equal(model.n_classes_, [len(c) for c in each_output(model.classes_)[0]])),
           "n_classes_ is", model.n_classes_)


def number_of_outputs(model, X, predicted):
    """``n_outputs_`` counts the columns of a prediction."""
    demand(model.n_outputs_ == np.reshape(predicted, (len(X), -1)).shape[1],
           "n_outputs_ is", model.n_outputs_)


def score(model, X, predicted):
    """``score`` is a number."""
    if len(X) > 1:              # R2 of one row is not defined
        demand(np.isfinite(model.score(X, predicted)), "score is not finite")


METHODS = {"predict_proba": share_of_classes, "predict_log_proba": logarithms,
           "apply": same_leaves, "decision_path": same_leaves, "get_depth": its_shape,
           "get_n_leaves": its_shape, "feature_importances_": importances,
           "to_sklearn": in_scikit_learn, "n_classes_": number_of_classes,
           "n_outputs_": number_of_outputs, "score": score}
ALWAYS = {"fit", "predict", "verify"}       # of ``Case.run``


def look_at_methods(model, X, predicted):
    """Check the methods that several estimators have."""
    for check in dict.fromkeys(METHODS[name] for name in METHODS if hasattr(model, name)):
        check(model, X, predicted)


def own_methods(kind):
    """Return the public methods and properties of a class that are defined here."""
    found = set()
    for base in kind.__mro__:
        if base.__module__.split(".")[0] in ("odtlib", "odtbook"):
            found |= {name for name, value in vars(base).items() if not name.startswith("_")
                      and (inspect.isroutine(value) or isinstance(value, property)
                           or hasattr(value, "__get__"))}
    return found


# --------------------------------------------------------------------- cases of classification

def errors_of(problem, weight=None, price=0.0):
    """Return the function that recomputes errors plus a price of feature nodes (of each level)."""
    weight = problem.kept if weight is None else weight

    def true(tree, leaves):
        labels = tree.classes[tree.label[leaves]]
        prices = np.broadcast_to(price, 1 + depth_of(tree)) if np.ndim(price) == 0 else \
            np.asarray(price)
        spent = sum(np.longdouble(prices[level]) for level in level_of(tree)[tree.feature >= 0])
        return float(exact_sum(weight[labels != problem.labels]) + spent)
    return true


MOST_ROWS = 12        # every set of which has a number in the reference


def classifier_case(model, depth, problem, *, budget=None, min_leaf=1, price=0.0, fewest=False,
                    weight=None, scale=None, missing=False, **options):
    """Make the case of a classifier that minimises errors plus a price of feature nodes."""
    weight = problem.kept if weight is None else weight
    nodes = 2**depth - 1 if budget is None else budget
    wanted = list(range(nodes + 1)) if fewest else [nodes]
    scale = weight.sum() if scale is None else scale
    whole = scale < 1e8 and not np.any(np.mod(weight, 1)) and not np.any(np.mod(price, 1))
    if "within" not in options:
        options["within"] = 1e-15 if whole else ROUNDING
        options["reach"] = options.get("reach", 0.0) + (0.0 if whole else PROOF * scale)
    if len(problem.rows) <= MOST_ROWS:
        found = least_costs(class_leaves(problem.labels, weight), sides(problem.rows, missing),
                            len(problem.rows), depth, wanted, min_leaf, price)
    else:                                       # zeros and ones
        classes, codes = np.unique(problem.labels, return_inverse=True)
        found = [best_tree_cost(problem.rows, codes, weight, len(classes), depth,
                                None if n == 2**depth - 1 else n, min_leaf, price) for n in wanted]

    def finished(model, predicted):
        check_size(model.tree_.n_splits, found, scale)

    return Case(model, problem, errors_of(problem, weight, price), found[-1], scale, depth=depth,
                nodes=nodes, min_leaf=min_leaf, finished=finished if fewest else None, **options)


def check_size(size, found, scale, noise=0.0):
    """Check that a tree has the fewest feature nodes, by the least costs of every number."""
    most = next(k for k, cost in enumerate(found) if cost <= found[-1] + 1e-16 * scale)
    least = next(k for k, cost in enumerate(found) if cost <= found[-1] + PROOF * scale + noise)
    demand(least <= size <= most, size, "feature nodes where", most, "are enough")
