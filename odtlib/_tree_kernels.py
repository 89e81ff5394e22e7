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


@njit(cache=True, nogil=True)
def sum_nodes(ranks, labels, weights, feature, cut, left, right, value, low, high):
    """Send rows down a tree; write what reaches each node, and the ranks on both sides of its cut.

    ``ranks`` is (n_features, n_rows) int32, or the values themselves, float64; ``labels``, int64,
    and ``weights``, float64 or int64, are (n_rows,).  By node: ``feature`` (negative at a leaf),
    int64, the greatest rank ``cut`` that goes left, and the children ``left`` and ``right``, int64.
    ``value``, (n_nodes, n_classes) of the type of the weights, receives weights of classes on
    zeros; ``low`` and ``high``, (n_nodes,), the greatest rank that goes left and the least that
    does not, where they are above and below what they hold.
    """
    for row in range(len(labels)):
        node = 0
        while True:
            value[node, labels[row]] += weights[row]
            if feature[node] < 0:
                break
            rank = ranks[feature[node], row]
            if rank <= cut[node]:
                low[node] = max(low[node], rank)
                node = left[node]
            else:
                high[node] = min(high[node], rank)
                node = right[node]
