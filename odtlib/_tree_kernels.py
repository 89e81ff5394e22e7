"""Compiled routing of rows through an array tree (private: no validation)."""

from odtlib._numba.compiler import njit


@njit(cache=True, nogil=True)
def apply(X, feature, threshold, left, right, leaf):
    """Write into ``leaf`` the index of the leaf that each row of ``X`` reaches."""
    for row in range(X.shape[0]):
        node = 0
        while feature[node] >= 0:
            if X[row, feature[node]] <= threshold[node]:
                node = left[node]
            else:
                node = right[node]
        leaf[row] = node


@njit(cache=True, nogil=True)
def apply_missing(X, feature, threshold, missing_left, left, right, leaf):
    """Write into ``leaf`` the leaf of each row of ``X``, of which values may be missing."""
    for row in range(X.shape[0]):
        node = 0
        while feature[node] >= 0:
            value = X[row, feature[node]]
            if value <= threshold[node] or (value != value and missing_left[node]):
                node = left[node]
            else:
                node = right[node]
        leaf[row] = node
