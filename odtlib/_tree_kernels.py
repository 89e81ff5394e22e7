"""Compiled routing of rows through an array tree (private: no validation)."""

from odtlib._numba.compiler import njit


@njit(cache=True, nogil=True)
def apply(X, feature, threshold, child, missing_left, leaf):
    """Write into ``leaf`` the index of the leaf that each row of ``X`` reaches.

    Node ``i`` has the children ``child[2 * i]`` and ``child[2 * i + 1]``, which hardly makes a
    processor guess.  ``missing_left`` tells where NaN goes.
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
