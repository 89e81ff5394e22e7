"""Compiled routing of rows through an array tree (private: no validation)."""

from odtlib._numba.compiler import njit


@njit(cache=True, nogil=True)
def apply(X, feature, threshold, child, missing_left, leaf):
    """Write into ``leaf`` the index of the leaf that each row of ``X`` reaches.

    ``X`` is (n_rows, n_features), numbers of any type, and ``leaf`` (n_rows,) int64.  By node:
    ``feature``, (n_nodes,) int, is the column that it tests (negative at a leaf); values up to
    ``threshold``, (n_nodes,) float64, go left; ``missing_left``, (n_nodes,) bool, tells where NaN
    goes.  Node ``i`` has the children ``child[2 * i]`` and ``child[2 * i + 1]``, (2 * n_nodes,)
    int, which hardly makes a processor guess.
    """
    for row in range(X.shape[0]):
        node = 0
        tested = feature[0]
        while tested >= 0:
            value = X[row, tested]
            right = not value <= threshold[node]
            if right and value != value:
                right = not missing_left[node]
            node = child[2 * node + right]
            tested = feature[node]
        leaf[row] = node
