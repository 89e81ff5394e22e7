"""Linear relaxations of the tree problem between leaf columns and the exact form.

A *column* is a subtree of full height ``h`` with the splits on the way to it; ``h = 0`` are the
paths of Firat et al. (2020).  Columns are linked where they share nodes: for each node above the
subtrees they must use each choice of splits of the ``w`` nodes that end there equally often.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import linprog

from odtbook.formulations.thresholds import ancestors
from odtlib.column_generation import optimum
from odtlib.column_generation.paths import RestrictedProblem


def relaxation(problem, height, window, rows=False):
    """Solve a relaxation of a :class:`RestrictedProblem` over all its columns.

    ``height`` is that of the subtrees, from 0 to the depth; ``window`` the number of nodes whose
    splits are linked together; with ``rows`` each training row follows at most one column in all.
    Returns ``value`` (weight of correct rows), ``columns``, ``rho`` (linked choices), ``links``
    (linking rows) and ``seconds`` of the linear program.
    """
    level = problem.depth - height
    one = np.zeros((problem.n_rows, problem.n_classes))
    one[np.arange(problem.n_rows), problem.y] = problem.weights
    values, members, blocks, n_columns = [], [], [], 0
    groups, links = {}, []          # of rho; (row, column) pairs
    for end in range(2 ** level - 1, 2 ** (level + 1) - 1):
        above = ancestors(end)[::-1]
        to_left = [node % 2 == 1 for node in [*above, end][1:]]
        below = [(end + 1) * 2 ** d - 1 + i for d in range(height) for i in range(2 ** d)]
        nodes = [*above, *below]
        choice = np.indices(problem.sizes[nodes]).reshape(len(nodes), -1)
        left = {n: problem.goes_left[problem.start[n] + c]
                for n, c in zip(nodes, choice, strict=True)}
        inside = np.ones((choice.shape[1], problem.n_rows), bool)
        for node, side in zip(above, to_left, strict=True):
            inside &= left[node] == side
        values.append(_best(end, inside, left, one))
        members.append(inside)
        columns = n_columns + np.arange(choice.shape[1])
        blocks.append(columns)
        n_columns += len(columns)
        for at, node in enumerate(above):
            linked = slice(max(0, at - window + 1), at + 1)
            sizes = problem.sizes[above[linked]]
            rho = groups.setdefault(node, (sum(n for _, n in groups.values()), np.prod(sizes)))
            key = np.ravel_multi_index(choice[:len(above)][linked], sizes)
            links.append((key, columns, rho))
    n_rho = sum(n for _, n in groups.values())
    table, upper, most = [], [], []
    for columns in blocks:
        table.append(_matrix(np.zeros(len(columns), int), columns, 1, n_columns + n_rho))
    for key, columns, (first, size) in links:
        table.append(_matrix(key, columns, size, n_columns + n_rho) - sparse.csr_matrix(
            (np.ones(size), (np.arange(size), n_columns + first + np.arange(size))),
            (size, n_columns + n_rho)))
    matrix = sparse.vstack(table)
    right = np.zeros(matrix.shape[0])
    right[:len(blocks)] = 1.0
    if rows:
        upper = sparse.hstack([sparse.csr_matrix(np.concatenate(members).T.astype(float)),
                               sparse.csr_matrix((problem.n_rows, n_rho))])
        most = np.ones(problem.n_rows)
    begin = time.process_time()
    answer = linprog(-np.concatenate([*values, np.zeros(n_rho)]), upper if rows else None,
                     most if rows else None, matrix, right, method="highs")
    return {"value": -answer.fun, "columns": n_columns, "rho": int(n_rho),
            "links": matrix.shape[0] - len(blocks), "seconds": time.process_time() - begin}


def _best(node, inside, left, one):
    """Return the weight of correct rows below a node, for each column."""
    if node not in left:
        return (inside.astype(float) @ one).max(axis=1)
    return (_best(2 * node + 1, inside & left[node], left, one)
            + _best(2 * node + 2, inside & ~left[node], left, one))


def _matrix(row, column, n_rows, n_columns):
    return sparse.csr_matrix((np.ones(len(row)), (row, column)), (n_rows, n_columns))


def random_problem(seed, n_rows=30, n_features=6, n_candidates=5, depth=3, n_classes=2):
    """Draw 0/1 features, labels, and different candidate splits for each node."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, (n_rows, n_features)).astype(float)
    y = random.integers(0, n_classes, n_rows)
    splits = [[(int(f), 0.5) for f in random.permutation(n_features)[:n_candidates]]
              for _ in range(2 ** depth - 1)]
    return RestrictedProblem(X, y, n_classes, splits)


def hierarchy(problems, forms):
    """Compare forms ``(height, window, rows)`` on some problems, a line per problem and form.

    ``gap`` is how far the value of :func:`relaxation` lies above the best tree, in per cent of the
    rows.
    """
    lines = []
    for number, problem in enumerate(problems):
        best = problem.total - optimum(problem)
        for height, window, rows in forms:
            found = relaxation(problem, height, window, rows)
            lines.append({"problem": number, "height": height, "window": window, "rows": rows,
                          "gap": 100 * (found["value"] - best) / problem.total, **found})
    return pd.DataFrame(lines)
