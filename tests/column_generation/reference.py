"""Slow, obvious references for column generation."""

import itertools

import numpy as np

from odtbook import published
from odtlib import ColumnGenerationClassifier, ColumnGenerationSearch
from odtlib.column_generation import ThresholdSampling, TreeLimits
from odtlib.column_generation.paths import RestrictedProblem


def draw_problem(random, depth=None, n_classes=None, weights=None, most_rows=30, candidates=None,
                 limits=False):
    """Draw a restricted problem with ties, duplicate rows and splits that divide nothing."""
    depth = int(random.randint(1, 4)) if depth is None else depth
    n_classes = int(random.randint(2, 5)) if n_classes is None else n_classes
    n_rows = int(random.randint(n_classes, most_rows))
    X = random.randint(0, 5, (n_rows, 3)).astype(float)
    X[:, 2] = X[:, 2] > 2
    y = random.randint(0, n_classes, n_rows)
    y[:n_classes] = np.arange(n_classes)
    weight = {None: None, "integers": random.randint(0, 4, n_rows).astype(float),
              "floats": random.rand(n_rows)}[weights]
    if weight is not None:
        weight[:n_classes] += 0.5 if weights == "floats" else 1
    most = candidates or {1: 8, 2: 5, 3: 3}[depth]
    splits = []
    for _ in range(2 ** depth - 1):
        size = random.randint(1, most + 1)
        pool = [(int(random.randint(3)), float(random.randint(-1, 5)) + 0.5) for _ in range(size)]
        splits.append(list(dict.fromkeys(pool)))
    kept = n_rows if weight is None else int((weight > 0).sum())
    rules = {"min_samples_leaf": int(random.randint(1, 1 + max(1, kept // 3))),
             "split_penalty": float(random.choice([0.0, 1.0, 0.7])),
             "max_leaves": random.choice([None, 1, 2, 3, 5])} if limits else {}
    return RestrictedProblem(X, y, n_classes, splits, weight, **rules)


def column_generation(max_depth, **options):
    """Return the estimator; the options of its sampling, search and limits are among those given.

    Words that name variants of the published programs stand for their objects.
    """
    if options.get("pricing") in ("cp-sat", "milp"):
        options["pricing"] = published.pricing(
            options["pricing"], options.pop("subproblems", "merged"),
            options.get("merge_rows", True))
    if isinstance(options.get("heuristic_pricing"), str):
        options["heuristic_pricing"] = published.heuristic_pricing(
            options["heuristic_pricing"], options.get("random_state", 0))
    if options.get("start_columns") == "sampled":
        options["start_columns"] = published.SampledColumns(options.get("backend", "compiled"))
    cuts = {name: options.pop(name) for name in ("schedule", "solver") if name in options}
    if cuts or options.get("row_cuts") == "extra":
        options["row_cuts"] = published.row_cuts(options["row_cuts"], **cuts)
    objects = {}
    for name, kind in (("sampling", ThresholdSampling), ("search", ColumnGenerationSearch),
                       ("limits", TreeLimits)):
        fields = {field: options.pop(field) for field in list(options)
                  if field in kind.__dataclass_fields__}
        objects[name] = kind(**fields) if fields else None
    return ColumnGenerationClassifier(max_depth, **options, **objects)


def all_choices(problem):
    """Yield every choice of one split a node."""
    yield from map(np.array, itertools.product(*map(range, np.diff(problem.start))))


def leaf_of(problem, choices, branches):
    """Return the leaf that each row reaches under a choice at each node."""
    node = np.zeros(branches.shape[1], int)
    for _ in range(problem.depth):
        for row in range(len(node)):
            split = problem.start[node[row]] + choices[node[row]]
            node[row] = 2 * node[row] + (1 if branches[split, row] else 2)
    return node - problem.n_nodes


def leaf_cost(problem, rows):
    """Errors of a leaf, its penalty, and infinity where it holds too few rows."""
    if len(rows) == 0:
        return 0.0
    fewest, penalty, _ = problem.limits
    sums = [problem.weights[rows][problem.y[rows] == c].sum() for c in range(problem.n_classes)]
    return sum(sums) - max(sums) + penalty + (np.inf if len(rows) < fewest else 0.0)


def errors(problem, choices):
    """Cost of a tree, counted leaf by leaf: errors, and a penalty of each leaf but one."""
    leaf = leaf_of(problem, choices, problem.goes_left)
    if problem.max_leaves is not None and len(np.unique(leaf)) > problem.max_leaves:
        return np.inf
    none = problem.no_split[problem.start[:problem.n_nodes] + choices[:problem.n_nodes]]
    if any(none[(node - 1) // 2] and not none[node] for node in range(1, problem.n_nodes)):
        return np.inf           # a split below a node that has none
    return sum(leaf_cost(problem, np.flatnonzero(leaf == end))
               for end in range(problem.n_leaves)) - problem.limits[1]


def least_cost(problem, distinct=False):
    """Least cost of a tree, by trying each split of each node; infinity if there is none."""
    costs = least_costs(problem, 0, np.arange(problem.n_rows), () if distinct else None)
    return min((cost for n_leaves, cost in costs.items()
               if problem.max_leaves is None or n_leaves <= problem.max_leaves),
               default=np.inf) - problem.limits[1]


def least_costs(problem, node, rows, above=None, features=None):
    """Least cost below a node, for each number of leaves with rows; splits above are forbidden.

    Where only some ``features`` may be asked, a node may also be a leaf.
    """
    leaf = {int(len(rows) > 0): leaf_cost(problem, rows)}
    if node >= problem.n_nodes:
        return leaf
    best = {} if features is None and not problem.limited else leaf
    for split in range(problem.start[node], problem.start[node + 1] - problem.limited):
        pair, below = (problem.feature[split], problem.threshold[split]), above
        if features is not None and pair[0] not in features:
            continue
        if above is not None:
            if pair in above:
                continue
            below = (*above, pair)
        left = problem.goes_left[split, rows]
        on_left = least_costs(problem, 2 * node + 1, rows[left], below, features)
        on_right = least_costs(problem, 2 * node + 2, rows[~left], below, features)
        for a, cost in on_left.items():
            for b, other in on_right.items():
                best[a + b] = min(best.get(a + b, np.inf), cost + other)
    return best


def reopened(problem, leaf, choices):
    """How often a path has a split directly below a node that has none: no tree does."""
    none = problem.no_split[problem.start[problem.path_nodes(leaf)[0]] + np.array(choices)]
    return int((none[:-1] & ~none[1:]).sum())


def path_table(problem, leaf):
    """Yield (choices, set of rows as bools) of every path to a leaf, in the order of numbers."""
    nodes, to_left = problem.path_nodes(leaf)
    sizes = np.diff(problem.start)[nodes]
    for choices in itertools.product(*map(range, sizes)):
        rows = np.ones(problem.n_rows, bool)
        for node, side, choice in zip(nodes, to_left, choices, strict=True):
            rows &= problem.goes_left[problem.start[node] + choice] == side
        yield choices, rows
