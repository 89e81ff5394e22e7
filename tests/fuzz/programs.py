"""Integer programs with both solvers."""

import itertools

import numpy as np
from fuzz.drawing import need
from fuzz.judging import SOLVERS, Case, classifier_case, demand, errors_of
from fuzz.registry import fuzz
from fuzz.searches import gap_between, groups_of
from naive import labelled_trees

from odtbook.formulations import BinOCTClassifier, FlowOCTClassifier, Model, OCTClassifier


def program(kind, depth, **options):
    """Return an estimator on one thread."""
    return kind(depth, n_jobs=1, random_state=0, **options)


def program_case(draw, kind, **fixed):
    """Make the case of an integer program."""
    problem = draw.classified(rows=7, features=3, classes=3)
    depth, min_leaf = draw.pick(1, 0, 2), draw.pick(1, 1, 2)
    budget, price = draw.budget(depth), draw.price(problem, 0, 0, 0.05, 0.3)
    if draw.chance(0.2):
        price = draw.pick(1.0, 2.0, 5e-4)
    model = program(kind, depth, split_penalty=price, max_nodes=budget, min_samples_leaf=min_leaf,
                    solver=draw.pick("highs", "cp-sat"),
                    start=draw.pick(None, "cart", "local-search"), **fixed)
    # CP-SAT counts in whole units, which may leave a gap where weights are uneven
    uneven = model.solver == "cp-sat" and (np.any(problem.kept % 1) or price % 1)
    # and OCT takes no bound of HiGHS where they lie far apart
    apart = model.solver == "highs" and (
        problem.kept.sum() > 0.9 * kind._resolved * problem.kept.min())
    return classifier_case(model, depth, problem, budget=budget, min_leaf=min_leaf, price=price,
                           within=SOLVERS, exact=not (uneven or apart))


@fuzz(1.5, "OCTClassifier.fit")
def oct_program(draw):
    """OCT."""
    return program_case(draw, OCTClassifier,
                        constraint_form=draw.pick("per_node", "per_leaf"))


@fuzz(1.5, "FlowOCTClassifier.fit")
def flow_program(draw):
    """The flow model, over all thresholds."""
    return program_case(draw, FlowOCTClassifier, binarizer="all")


@fuzz(2, "BinOCTClassifier.fit")
def binoct_program(draw):
    """BinOCT in its three forms."""
    thresholds = draw.pick("all", "all", "boundary", "forest")
    case = program_case(draw, BinOCTClassifier, thresholds=thresholds,
                        constraint_form=draw.pick("summed", "per_row", "ordered"))
    if thresholds != "all":
        case.exact = case.bounded = False
    if draw.chance(0.1) and case.model.start is not None:
        case.model.set_params(solver="lns")
        case.exact = False
    return case


@fuzz(1.5, "BinOCTClassifier.fit", "BinOCTClassifier.formulate")
def binoct_fair(draw):
    """BinOCT with a limit on disparity; the relaxation of the same program."""
    problem = draw.classified(rows=7, features=2, classes=2, whole=True)
    need(len(np.unique(problem.labels)) == 2)
    group = groups_of(draw, problem, 2)
    most = draw.pick(0.0, 0.1, 0.3, 0.6)
    positive, kept = problem.labels == np.unique(problem.y)[1], problem.kept
    inside, depth = group[problem.used], draw.pick(1, 2)
    least = np.inf
    for labels, _ in labelled_trees(problem.rows, 2, depth, 2**depth - 1):
        said = np.array(labels, bool)
        if gap_between(said, inside, kept) <= most + 1e-9:
            least = min(least, kept[said != positive].sum())
    model = program(BinOCTClassifier, depth, max_disparity=most,
                    solver=draw.pick("highs", "cp-sat"))

    def check(model, predicted):
        said = (predicted == np.unique(problem.y)[1])[problem.used]
        demand(gap_between(said, inside, kept) <= most + 1e-6,
               "the disparity exceeds max_disparity")
        if np.any(problem.rows != problem.rows[0]):
            given = model.get_params()
            built = model.formulate(problem.X, problem.y, problem.weight, group)
            demand(model.get_params() == given, "formulate changes parameters")
            relaxed = built.model.relax()
            demand(relaxed.objective is None or np.isfinite(relaxed.objective), "no relaxation")

    return Case(model, problem, errors_of(problem), least, kept.sum(), depth=depth, within=SOLVERS,
                exact=True, fit={"protected": group}, check=check)


class Programme(Case):
    """A small integer program, against all its points."""

    def __init__(self, model, solver, points):
        self.model, self.solver, self.points = model, solver, points

    def run(self, draw):
        """Solve it and its relaxation, and compare what is said of every point."""
        model, A, lower, upper, cost, offset = self.model
        fine = [p for p in self.points if np.all(A @ p <= upper) and np.all(A @ p >= lower)]
        best = min((cost @ p + offset for p in fine), default=np.inf)
        for p in self.points:
            demand(abs(model.evaluate(p) - cost @ p - offset) < 1e-9, "evaluate")
            demand((model.violated(p) is None) == any(np.array_equal(p, q) for q in fine),
                   "violated says", model.violated(p), "of", p)
        demand(np.array_equal(model.matrix.toarray(), A), "the matrix is another one")
        sizes = model.sizes()
        demand((sizes["integer"], sizes["rows"], sizes["nonzeros"])
               == (len(cost), len(A), np.count_nonzero(A)), "sizes are", sizes)
        demand(model.table()["count"].sum() == len(cost) + len(A), "the table counts otherwise")
        demand(len(model.row("rows", 0)) > 0 and len(model.arrays()["cost"]) == len(cost), "row")
        whole = model.to_integer()
        demand(np.all(np.asarray(whole["cost"]) % 1 == 0), "to_integer leaves fractions")
        solution = model.solve(self.solver)
        if not fine:
            demand(solution.values is None, "a solution of a program without one")
            return
        demand(solution.status == "optimal" and abs(solution.objective - best) < 1e-6,
               solution.status, "at", solution.objective, "and the optimum is", best)
        demand(solution.bound <= best + 1e-6, "the bound is", solution.bound)
        demand(model.violated(solution.values) is None, "the solution violates a row")
        demand(model.relax().objective <= best + 1e-6, "the relaxation is no bound")


@fuzz(1, *(f"Model.{name}" for name in (
    "add_rows", "add_variables", "arrays", "evaluate", "matrix", "relax", "row", "sizes", "solve",
    "table", "to_integer", "violated")))
def small_programs(draw):
    """Programs of a few 0/1 variables."""
    n, m = draw.number(1, 5), draw.number(1, 3)
    values = draw.values
    A = values.integers(-3, 4, (m, n)).astype(float)
    upper = values.integers(-1, 5, m).astype(float)
    lower = upper - values.integers(0, 8, m)
    cost = draw.value(values.integers(-3, 4, n) / 1.0, values.integers(-3, 4, n) / 4)
    model = Model("small")
    x = model.add_variables("x", n, cost=cost, kind="integer")
    row, column = np.nonzero(A)
    model.add_rows("rows", m, row, x[column], A[row, column], lower=lower, upper=upper)
    points = [np.array(p, float) for p in itertools.product((0, 1), repeat=n)]
    return Programme((model, A, lower, upper, cost, 0.0), draw.pick("highs", "cp-sat"), points)
