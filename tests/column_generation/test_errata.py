"""Statements of the two papers that do not hold as printed, each with a small counterexample.

The order of lines in Algorithm 1 is tested with threshold sampling.
"""

import itertools

import numpy as np
import pytest
from column_generation.reference import draw_problem
from scipy.optimize import linprog

from odtbook.published.subproblems import Subproblems
from odtlib.column_generation.generation import ColumnGeneration
from odtlib.column_generation.master import Master
from odtlib.column_generation.paths import RestrictedProblem
from odtlib.column_generation.pricing import Enumeration
from odtlib.column_generation.restricted import optimum
from odtlib.heuristics import sample_splits
from odtlib.report import Clock


def test_appendix_c_does_not_reduce_exact_cover():
    """Firat et al. (2020), Appendix C: "cannot be greater than q" and "the other direction".

    Twelve elements, q = 4, and all triples within {1..4} and within {5..9}: no exact cover, yet a
    path of four splits sends more than four rows to the leaf.  Rows that reach the leaf are
    compatible with the chosen rows, not with each other.
    """
    q = 4
    sets = [set(c) for part in (range(1, 5), range(5, 10)) for c in itertools.combinations(part, 3)]
    assert not any(set().union(*four) == set(range(1, 13))
                   for four in itertools.combinations(sets, q))
    # the feature of row s is 0.5 where a row is s or disjoint from s, else 1; split at 0.5
    goes_left = np.array([[r == s or not sets[r] & sets[s] for r in range(len(sets))]
                          for s in range(len(sets))])
    most = max(goes_left[list(four)].all(axis=0).sum()
               for four in itertools.combinations(range(len(sets)), q))
    assert most == 10 > q


@pytest.mark.parametrize("seed", range(4))
def test_pricing_contains_the_maximum_cut(seed):
    """What Appendix C states is true: a path of largest reduced cost can be a maximum cut.

    Every edge is two rows, (u, v) and (v, u); at the node of vertex j on the leftmost path one
    candidate sends the rows (., j) right, the other the rows (j, .).
    """
    depth = 4
    random = np.random.default_rng(seed)
    edges = [edge for edge in itertools.combinations(range(depth), 2) if random.random() < 0.7]
    arcs = np.array([*edges, *((v, u) for u, v in edges)])
    X = np.hstack([arcs[:, 1:] == np.arange(depth), arcs[:, :1] == np.arange(depth)]).astype(float)
    candidates = [[(0, 0.5)]] * (2**depth - 1)
    for j in range(depth):
        candidates[2**j - 1] = [(j, 0.5), (depth + j, 0.5)]
    problem = RestrictedProblem(X, np.zeros(len(X), int), 1, candidates)
    cut = max(sum(side[u] != side[v] for u, v in edges)
              for side in itertools.product((0, 1), repeat=depth))
    assert problem.paths[0][0].max() == cut > 0


def test_a_relaxation_without_row_constraints_exceeds_the_number_of_rows():
    """The linking constraints of both papers are so weak that rows are counted more than once."""
    most, total = 0.0, 1.0
    for seed in range(60):
        problem = draw_problem(np.random.RandomState(800 + seed), depth=3, most_rows=40)
        master = Master(problem)
        master.add_tree(np.zeros(problem.n_nodes, int))
        outcome = ColumnGeneration(master, [Enumeration()], Clock()).solve()
        if outcome.relaxation.value / problem.total > most / total:
            most, total = outcome.relaxation.value, problem.total
    assert most > total + 0.5


def test_the_whole_rule_for_3e_keeps_a_row_that_may_have_to_pay():
    """Patel et al. (2023), below (3): "useful if beta >= 1 for r in R_t and >= 0 for r not in R_t".

    In the merged model the class t is a variable, so every row is outside R_t for some t, and the
    second half keeps each with beta >= 0.  By the first half alone a row with 0 < beta < 1 would
    lose its (3e), and the model would overestimate the best reduced cost.
    """
    assert all(useful(0.5, own, t) == (own != t) for own in (0, 1) for t in (0, 1))
    assert any(useful(0.5, 0, t) for t in (0, 1))
    X = np.array([[0.0], [0.0], [0.0], [1.0]])
    y = np.array([0, 1, 1, 0])
    problem = RestrictedProblem(X, y, 2, [[(0, 0.5)]])
    master = Master(problem)
    master.add_tree(np.zeros(1, int))
    master.add_cuts(problem.goes_left[:, :1], "equal")
    relaxation = master.solve()
    relaxation.alpha[:], relaxation.beta[:] = 0.0, 0.5
    for gamma in relaxation.gamma:
        gamma[:] = 0.0
    allowed = np.ones(1, bool)
    _, _, true = Enumeration()(master, relaxation, allowed)
    assert true[0] == pytest.approx(2.0 - 0.5)
    _, _, priced = Subproblems("milp", first_only=False)(master, relaxation, allowed)
    assert priced[0] == pytest.approx(1.5, abs=1e-5)
    # without (3e) the row of class 0 reaches the leaf, is predicted 1, and does not pay
    assert merged_model_without_3e(y[:3], beta=[0.5, 0.0, 0.0]) == pytest.approx(2.0)


def useful(beta, own, t):
    """Whether (3e) is useful by the paper's rule, for a row of class ``own`` and a path of t."""
    return beta >= (1 if own == t else 0)


def merged_model_without_3e(y, beta):
    """Relaxation of (3) at a leaf that all rows reach, with (3e) left out; integral here."""
    n, classes = len(y), int(max(y)) + 1
    # variables: z, y, w; maximise sum z - beta y
    cost = np.concatenate([-np.ones(n), beta, np.zeros(classes)])
    rows, right = [], []
    for r in range(n):
        for other in (n + r, 2 * n + y[r]):
            line = np.zeros(2 * n + classes)
            line[r], line[other] = 1, -1
            rows.append(line)
            right.append(0.0)
    choose = np.concatenate([np.zeros(2 * n), np.ones(classes)])[None]
    answer = linprog(cost, np.array(rows), right, choose, [1.0], bounds=(0, 1))
    return -answer.fun


def test_average_gains_of_firat_are_relative():
    """The gains over CART in the abstract and Section 7.3 are means of relative improvements."""
    cart = np.array([71.2, 91.7, 76.9, 91.0, 96.8, 76.8, 65.2, 93.8, 77.3, 93.1, 86.0, 63.2, 71.2,
                     95.7])
    cgh = np.array([73.2, 92.0, 76.9, 91.1, 96.8, 77.1, 67.1, 93.8, 78.8, 93.3, 87.1, 64.0, 71.8,
                    96.6])
    assert np.mean(100 * (cgh / cart - 1)) == pytest.approx(0.9, abs=0.05)   # "0.9%"
    assert np.mean(cgh - cart) == pytest.approx(0.69, abs=0.005)             # in points


def accuracy_of_the_optimum(name, depth, share):
    """Return in per cent, over all splits, that of the best tree over sampled candidates."""
    from odtbook.datasets import load, splits
    data, parts = load(name), []
    X, y = np.asarray(data.X, float), np.unique(data.y, return_inverse=True)[1]
    for train, *_ in splits(name):
        sampled = sample_splits(X[train], y[train], 2, max_depth=depth, sample_share=share,
                                backend="sklearn")
        problem = RestrictedProblem(X[train], y[train], 2, sampled.splits)
        parts.append(100 * (1 - optimum(problem) / problem.total))
    return np.mean(parts)


def test_published_accuracies_cannot_come_from_nine_tenths_of_the_rows():
    """Patel et al. (2023), Table 7, tic-tac-toe at depth 3: 77.4; stated share 90 %.

    No tree over the splits of CARTs on 90 % of the rows is as accurate; over those on 70 % one is.
    """
    assert accuracy_of_the_optimum("tic-tac-toe", 3, 0.9) < 77.35 - 0.3
    assert accuracy_of_the_optimum("tic-tac-toe", 3, 0.7) == pytest.approx(77.4, abs=0.05)


def test_ties_explain_the_cell_of_table_7_that_is_furthest(monkeypatch):
    """Patel et al. (2023), Table 7, diabetes at depth 4: 85.3.

    With the published program's seed for scikit-learn's ties the optimum of the candidates is a
    little lower, with another seed it is the printed number.
    """
    from odtlib.heuristics import threshold_sampling
    for seed, near in ((99, 0.2), (0, 0.05)):
        monkeypatch.setattr(threshold_sampling, "SKLEARN_SEED", seed)
        assert accuracy_of_the_optimum("IndiansDiabetes", 4, 0.7) == pytest.approx(85.3, abs=near)
