"""Trees and forests under constraints, and the feasible sets themselves."""

import itertools

import numpy as np
from constrained.reference import absolute_cost, project_on_rows, project_sparse_simplex
from fuzz.drawing import need
from fuzz.judging import Case, demand, exact_sum
from fuzz.registry import fuzz
from naive import least_costs, sides, square_leaves, subset_sums

import odtlib
from odtlib.constrained import sets


def nearest(point, kind, k, total, factors):
    """Return the squared distance of a point to Box(0, 1), Simplex or AtMostKNonzero(k, 0, 1)."""
    point = np.asarray(point, np.longdouble)
    if kind == "box":
        return float((factors * (point - np.clip(point, 0, 1)) ** 2).sum())
    best = np.inf
    for size in range(len(point) + 1 if kind == "simplex" else k + 1):
        for chosen in itertools.combinations(range(len(point)), size):
            y, chosen = np.zeros_like(point), list(chosen)
            if kind == "simplex":
                if not size:
                    continue
                step = (point[chosen].sum() - total) / (1 / factors[chosen]).sum()
                y[chosen] = point[chosen] - step / factors[chosen]
                if y.min() < 0:
                    continue
            else:
                y[chosen] = np.clip(point[chosen], 0, 1)
            best = min(best, float((factors * (point - y) ** 2).sum()))
    return best


def constrained_data(draw, rows, binary=None):
    """Draw a problem with several targets, and a feasible set: ``(problem, set, kind, k)``."""
    outputs = draw.number(1, 3)
    problem = draw.measured(rows, 3, outputs=outputs, binary=binary)
    if draw.chance(0.7):                        # within the unit cube, some of it zero
        Y = draw.values.random((draw.n, outputs))
        Y[draw.values.random(Y.shape) < draw.value(0.0, 0.4)] = 0.0
        Y = draw.left(Y)
        problem = problem._replace(y=Y, labels=Y[problem.used])
    kind, k = draw.pick("box", "simplex", "few", "none"), draw.number(1, outputs)
    feasible = {"box": lambda: sets.Box(0.0, 1.0), "simplex": lambda: sets.Simplex(1.0),
                "few": lambda: sets.AtMostKNonzero(k, 0.0, 1.0), "none": lambda: None}[kind]()
    if outputs == 1:
        problem = problem._replace(y=problem.y[:, 0])
    return problem, feasible, kind, k


def is_feasible(feasible, n):
    """Return the check that every prediction is feasible."""
    def check(model, predicted):
        predicted = np.asarray(predicted).reshape(n, -1)
        demand(feasible is None or feasible.contains(predicted).all(),
               "a prediction is not feasible")
    return check


def constrained_case(model, depth, data, *, min_leaf=1, budget=None, penalty=0.0, factors=None,
                     **options):
    """Make the case of a tree of feasible predictions, squared error."""
    problem, feasible, kind, k = data
    targets, kept, n = problem.labels, problem.kept, len(problem.rows)
    factors = np.ones(targets.shape[1]) if factors is None else factors
    leaf, splits = square_leaves(targets, kept, factors), sides(problem.rows)
    mass = subset_sums(kept)
    sums = np.array([subset_sums(kept * target) for target in targets.T])
    if kind != "none":
        asked, whole = range(1, 1 << n), (1 << n) - 1
        if depth < 2:                           # only the root and its children are leaves
            asked = {whole, *splits, *(whole & ~split for split in splits)}
        for rows in asked:
            leaf[rows] += mass[rows] * nearest(sums[:, rows] / mass[rows], kind, k, 1.0, factors)
    # targets are not centred before their squares are added up
    noise = float(32 * np.finfo(float).eps * (kept[:, None] * np.maximum(targets**2, 1)).sum())
    nodes = 2**depth - 1 if budget is None else budget
    best, = least_costs(leaf, splits, n, depth, [nodes], min_leaf, penalty)

    def true(tree, leaves):
        off = np.asarray(targets, np.longdouble) - tree.value[leaves]
        return float(exact_sum(kept[:, None] * factors * off**2)) + penalty * tree.n_splits

    return Case(model, problem, true, best, float(leaf[-1]), depth=depth, nodes=nodes,
                min_leaf=min_leaf, noise=noise, check=is_feasible(feasible, len(problem.X)),
                **options)


@fuzz(6, "ConstrainedTreeRegressor.fit")
def constrained_tree(draw):
    """Greedy trees; exact splits make the best tree of depth one."""
    split = draw.pick("exact", "exact", "mean", "medoid", "penalty")
    depth, min_leaf = draw.pick(1, 0, 1) if split == "exact" else draw.pick(1, 1, 2), \
        draw.pick(1, 1, 2)
    data = constrained_data(draw, 7 if depth == 2 else 12)
    model = odtlib.ConstrainedTreeRegressor(
        data[1], split=split, leaf="project", max_depth=depth, min_samples_leaf=min_leaf,
        on_infeasible_targets="keep", random_state=0)
    case = constrained_case(model, depth, data, min_leaf=min_leaf, exact=False)
    if split == "exact":                        # which the report does not claim

        def best(model, predicted):
            case.feasible(model, predicted)
            if model.time_limit is None:
                demand(model.report_.objective <= case.optimum + case.reach, "the tree costs",
                       model.report_.objective, "the optimum is", case.optimum)

        case.feasible, case.check = case.check, best
    return case


@fuzz(0.7, "ConstrainedTreeRegressor.fit")
def absolute_constrained_tree(draw):
    """Exact splits of absolute error: the best tree of depth one, by a linear program a leaf."""
    data = constrained_data(draw, 6)
    need(data[1] is not None and data[2] != "few" and abs(data[0].y).max() <= 100)
    problem, feasible, *_ = data
    targets, kept, n = problem.labels.astype(float), problem.kept / problem.kept.sum(), \
        len(problem.rows)
    unit, min_leaf = problem.kept.sum(), draw.pick(1, 1, 2)

    def leaf(rows):
        rows = np.array([rows >> row & 1 for row in range(n)], bool)
        return unit * absolute_cost(feasible, targets[rows], kept[rows])

    whole = (1 << n) - 1
    best = min([leaf(whole)] + [leaf(left) + leaf(whole & ~left) for left in sides(problem.rows)
                                if min_leaf <= left.bit_count() <= n - min_leaf])
    model = odtlib.ConstrainedTreeRegressor(
        feasible, split="exact", criterion="absolute_error", max_depth=1,
        min_samples_leaf=min_leaf, on_infeasible_targets="keep")

    def true(tree, leaves):
        return float(exact_sum(problem.kept[:, None] * abs(targets - tree.value[leaves])))

    scale = float(leaf(whole)) + unit

    def check(model, predicted):
        is_feasible(feasible, len(problem.X))(model, predicted)
        if model.time_limit is None:
            demand(model.report_.objective <= best + 1e-6 * scale, "the tree costs",
                   model.report_.objective, "and the best", best)

    return Case(model, problem, true, best, scale, depth=1, min_leaf=min_leaf, exact=False,
                within=1e-6, check=check)


@fuzz(5, "OptimalConstrainedTreeRegressor.fit")
def optimal_constrained(draw):
    """Optimal trees of feasible predictions, targets weighted or not."""
    depth, min_leaf = draw.pick(1, 0, 1, 2), draw.pick(1, 1, 2)
    data = constrained_data(draw, 7 if depth == 2 else 12)
    budget, penalty = draw.budget(depth), draw.pick(0.0, 0.0, 0.05)
    outputs = data[0].labels.shape[1]
    factors = np.array([1.0, 2.0, 0.5])[:outputs] if draw.chance(0.2) else None
    model = odtlib.OptimalConstrainedTreeRegressor(
        data[1], max_depth=depth, max_nodes=budget, min_samples_leaf=min_leaf,
        split_penalty=penalty, target_weights=factors, on_infeasible_targets="keep")
    return constrained_case(model, depth, data, min_leaf=min_leaf, budget=budget, penalty=penalty,
                            factors=factors)


@fuzz(1, "ConstrainedForestRegressor.fit", "ProjectedRegressor.fit")
def constrained_ensembles(draw):
    """Forests and projections: their predictions are feasible."""
    # scikit-learn's trees, which these build on, take no values beyond float32
    data = constrained_data(draw, 12, binary=True)
    problem, feasible = data[0], sets.Box(0.0, 1.0) if data[1] is None else data[1]
    if problem.weight is not None:              # a forest draws from other rows without them
        problem = problem._replace(X=problem.rows, y=problem.y[problem.used], weight=problem.kept)
    model = draw.pick(
        odtlib.ProjectedRegressor(constraints=feasible), odtlib.ConstrainedForestRegressor(
            feasible, n_estimators=3, random_state=0, on_infeasible_targets="keep"))
    return Case(model, problem, check=is_feasible(feasible, len(problem.X)))


@fuzz(1, "ConstrainedTreeClassifier.fit")
def constrained_classifier(draw):
    """Combinations of labels that are allowed."""
    problem = draw.classified(features=3, binary=True, named=False)
    Y = draw.left(draw.values.integers(0, 3, (draw.n, 2)))
    need(len(Y) >= 2)
    Y[:2] = (0, 1), (1, 0)
    problem = problem._replace(y=Y, weight=None, rows=problem.X, labels=Y,
                               kept=np.ones(len(Y)))

    def check(model, predicted):
        demand(all(a != b for a, b in predicted), "a prediction is not allowed")

    model = odtlib.ConstrainedTreeClassifier(lambda pair: pair[0] != pair[1],
                                             on_infeasible_targets="drop")
    return Case(model, problem, check=check)


class SetCase:
    """A feasible set and a point; ``project(point, weights)`` is the slow reference."""

    def __init__(self, feasible, reference, point, factors):
        self.model = feasible
        self.reference, self.point, self.factors = reference, point, factors

    def run(self, draw):
        """Compare the projection, and what follows from it."""
        feasible, point, factors = self.model, self.point, self.factors
        feasible.bind(len(point))
        demand(getattr(feasible, "n_binaries", 1) == 1, "another number of binaries")
        best, found = self.reference(point, factors), feasible.project(point, factors)
        scale = max(1.0, abs(point).max())
        demand(feasible.contains(found), "the projection is not in the set:", found)
        cost, least = ((factors * (y - point) ** 2).sum() for y in (found, best))
        demand(abs(cost - least) <= 1e-6 * scale**2, "the projection is", found, "at", cost,
               "and the nearest point", best, "at", least)
        far = feasible.distance(point, factors)
        demand(abs(far**2 - cost) <= 1e-6 * scale**2, "distance is", far, "and the square is", cost)
        inside = feasible.contains(point)
        demand(inside == (feasible.violation(point) <= 1e-6), "contains and violation differ")
        demand(not inside or cost <= 1e-5 * scale**2, "a point of the set is moved")
        demand(inside or isinstance(feasible.explain(point), str), "explain says nothing")
        pieces = feasible.pieces(len(point)) or []
        for piece in pieces:
            tight = piece.tightened()
            demand(not piece.is_empty() and tight is not None, "a piece is empty")
            rows, rhs, n_equal = piece.kernel_rows(factors)
            for y in (found, point):
                broken, there = piece.violation(y[None])[0] > 1e-7, y * np.sqrt(factors)
                off = rows @ there - rhs
                demand(broken == (tight.violation(y[None])[0] > 1e-7), "tightened changes a piece")
                demand(broken == (abs(off[:n_equal]).max(initial=0) > 1e-7
                                  or off[n_equal:].max(initial=0) > 1e-7), "kernel_rows differ")
            demand(not tight.is_box() or not len(tight.rows) + len(tight.equal), "no box")
        demand(not pieces or inside == any(p.violation(point[None])[0] <= 1e-6 for p in pieces),
               "the pieces hold other points")


@fuzz(6, "FeasibleSet.project", "FeasibleSet.contains", "FeasibleSet.violation",
      "FeasibleSet.distance", "FeasibleSet.explain", "FeasibleSet.pieces", "FeasibleSet.bind",
      *(f"Piece.{name}" for name in ("violation", "make", "tightened", "is_box",
                                     "kernel_rows", "is_empty")), "MixedBinary.n_binaries")
def feasible_sets(draw):
    """Projections on boxes, simplices, polyhedra, unions and intersections."""
    k = draw.number(1, 3)
    kind = draw.pick("box", "simplex", "sparse simplex", "integer simplex", "polyhedron",
                     "affine", "hierarchy", "union", "intersection",
                     "binaries", "indicator", "implication")
    values = draw.values
    point = draw.value(values.normal(size=k), 100 * values.normal(size=k),
                       values.integers(-2, 3, k).astype(float))
    factors = draw.value(np.ones(k), values.random(k) + 0.1)
    low = values.integers(-2, 1, k).astype(float)
    high = low + values.integers(0, 3, k)
    A, b = values.integers(-2, 3, (2, k)).astype(float), values.integers(0, 4, 2).astype(float)
    unit, ones, nothing = np.eye(k), np.ones((1, k)), (np.zeros((0, k)), np.zeros(0))
    total = np.where(np.arange(k) == 0, -1.0, 1.0)[None]        # the first is the sum of the others
    need(k > 1 or kind not in ("hierarchy", "indicator", "implication"))
    box_rows = np.vstack([unit, -unit]), np.concatenate([high, -low])

    def on_rows(rows, rhs, equal=nothing):
        return lambda y, w: project_on_rows(rows, rhs, *equal, y, w)

    def sparse(integer, count=1 if k == 1 else 2):
        return lambda y, w: project_sparse_simplex(count, 2, integer, y, w)

    def either(y, w):
        others = on_rows(*box_rows)(y, w), on_rows(A, b)(y, w)
        return min(others, key=lambda z: (w * (z - y) ** 2).sum())

    def zero_or_box(y, w):
        others = np.zeros(k), np.clip(y, low, high)
        return min(others, key=lambda z: (w * (z - y) ** 2).sum())

    def flag(y, w):
        others = y.copy(), y.copy()
        others[0][:2], others[1][:2] = 0.0, (1.0, np.clip(y[1], -1, 2))
        return min(others, key=lambda z: (w * (z - y) ** 2).sum())

    def implied(y, w):
        others = y.copy(), y.copy()
        others[0][0], others[1][1] = max(y[0], 1.0), 0.0
        return min(others, key=lambda z: (w * (z - y) ** 2).sum())

    box = sets.Box(low, high)
    feasible, reference = {
        "box": lambda: (box, lambda y, w: np.clip(y, low, high)),
        "simplex": lambda: (sets.Simplex(2.0), on_rows(-unit, np.zeros(k),
                                                      (np.ones((1, k)), np.full(1, 2.0)))),
        "sparse simplex": lambda: (sets.SparseSimplex(1 if k == 1 else 2, 2.0), sparse(False)),
        "integer simplex": lambda: (sets.SparseSimplex(1 if k == 1 else 2, 2.0, integer=True),
                                    sparse(True)),
        "polyhedron": lambda: (sets.Polyhedron(A, b), on_rows(A, b)),
        "affine": lambda: (sets.Affine(ones, 2.0), on_rows(A[:0], b[:0], (ones, np.full(1, 2.0)))),
        "hierarchy": lambda: (sets.Hierarchy(np.vstack([ones[:, 1:], unit[1:, 1:]]), True),
                              on_rows(-unit, np.zeros(k), (total, np.zeros(1)))),
        "union": lambda: (sets.UnionOf([box, sets.Polyhedron(A, b)]), either),
        "intersection": lambda: (sets.Intersection([sets.Box(low - 2, high + 2),
                                                    sets.Polyhedron(A, b)]),
                                 on_rows(np.vstack([A, unit, -unit]),
                                         np.concatenate([b, high + 2, 2 - low]))),
        "indicator": lambda: (sets.Indicator(0, 1, -1.0, 2.0, k), flag),
        "implication": lambda: (sets.Implication(({0: 1.0}, 1.0), [1], k), implied),
        # a binary chooses: all targets zero, or those of the box
        "binaries": lambda: (sets.MixedBinary(
            np.vstack([unit, -unit]), np.concatenate([-high, low])[:, None],
            np.zeros(2 * k)), zero_or_box),
    }[kind]()
    return SetCase(feasible, reference, point, factors)
