"""Check that no tree over lists of candidate splits is better, with NumPy alone: by trying all.

Each feature node of a full tree has a list of candidates, as in the column generation of Firat et
al. (2020), and the certificate has these lists and the claim, but no lines.  A dual solution of the
program over paths is checked by pricing every path.  Whoever has looked at every path can also add
up the best of them below each node: that costs the same, and no gap is left.

A row of ``lists`` is a node, counted level by level from 0, a feature and a threshold.  A row of
the data goes left when its value is at most the threshold.  A split that sends all rows one way is
none: it costs nothing, and they meet the candidates of the node below.  Any node can be a leaf.
"""
import numpy as np

from odtbook.certificate_file import require, text

MOST_PAIRS = 2**20      # of a split and one below it that are compared at a time
PAIRS_OF_A_STEP, NODES_OF_A_STEP = 256, 16


def _splits(lists, X):
    """Return the splits of each node, by number, and which rows each sends right, (rows, splits).

    Thresholds between the same values of a feature split alike, and count once at a node.
    """
    node_of, feature = lists[:, :2].astype(int).T
    place = np.zeros(len(lists), int)
    for j in np.unique(feature):
        place[feature == j] = np.searchsorted(np.unique(X[:, j]), lists[feature == j, 2], "right")
    node_of, feature, place = np.unique(np.stack([node_of, feature, place]), axis=1)
    tests, split = np.unique(np.stack([feature, place]), axis=1, return_inverse=True)
    here = {node: split.ravel()[node_of == node] for node in np.unique(node_of).tolist()}
    beyond = np.zeros((len(X), tests.shape[1]), bool)
    for k, (j, n) in enumerate(tests.T):
        beyond[:, k] = np.searchsorted(np.unique(X[:, j]), X[:, j]) >= n
    return here, beyond


def check_candidates(file, X, y, w, steps):
    """Return the limits, the penalty, the bound that is proved, and the splits: see ``words``.

    ``steps`` is how long it may take: how often a node may be looked at with rows that reach it,
    with so many pairs of splits, or so many numbers of nodes.
    """
    lists, (version, depth, most, least) = file["lists"], map(int, file["limits"])
    bound, penalty = file["units"]
    n_nodes = 2**min(max(depth, 0), 30) - 1
    require(version == 1 and 0 <= depth <= 30 and 0 <= most and 1 <= least
            and 0 <= bound < np.inf and 0 <= penalty < np.inf
            and lists.shape[1] == 3 and not np.isnan(lists[:, 2]).any()
            and np.all((0 <= lists[:, :2]) & (lists[:, :2] < [n_nodes, X.shape[1]])
                       & (lists[:, :2] % 1 == 0)), "a number is out of range")
    here, beyond = _splits(lists, X)
    # Costs are whole numbers of a power of two; what is no multiple of it is rounded down.  No tree
    # pays for a split that costs more than all rows.
    price = min(penalty, w.sum())
    unit = 2.0**np.ceil(np.log2(w.sum() + price) - 51)
    price, limited, most = np.floor(price / unit), most < n_nodes, min(most, n_nodes)
    beyond, group = np.unique(beyond, axis=0, return_inverse=True)      # equal rows become one
    amount, group = np.zeros((len(beyond), y.max() + 2)), group.ravel()
    np.add.at(amount, (group, y), np.floor(w / unit))
    amount[:, -1], known, taken = np.bincount(group), {}, [0]   # weight by class, number of rows
    size = min(most, len(X), len(here)) + 1 if limited else 2    # of the costs told apart
    every = np.arange(size)

    def leaf(part):
        weight = part[..., :-1]
        return np.where(part[..., -1] < least, np.inf, weight.sum(axis=-1) - weight.max(axis=-1))

    def joined(left, right):
        """Return the least costs of a split, from those of its sides for 0, 1, .. nodes."""
        if not limited:
            return np.stack([np.full(left.shape[1:], np.inf), price + left[1] + right[1]])
        cost = np.full((size, *left.shape[1:]), np.inf)
        for a in range(size - 1):
            cost[a + 1:] = np.minimum(cost[a + 1:], price + left[a] + right[:size - 1 - a])
        return cost

    def one_split(sums, sides, node):
        """Return the least costs of sums over rows, with 0 or 1 splits; ``sides`` are beyond."""
        cost = np.stack([leaf(sums)] * 2)
        if node in here:
            split = leaf(sides) + leaf(sums[:, None] - sides)
            cost[1] = np.minimum(cost[1], price + split.min(axis=1, initial=np.inf))
        return cost[np.minimum(every, 1)]

    def pairs(rows, node, splits):
        """Return the least costs of some splits of a node above the last, by the sums of pairs."""
        parts, has = amount[rows], beyond[rows][:, splits].astype(float)
        below = []
        for v, side in enumerate((1 - has, has)):
            of = here.get(2 * node + 1 + v, [])
            second = beyond[rows][:, of].astype(float)
            both = np.stack([(side * part[:, None]).T @ second for part in parts.T], axis=-1)
            below.append(one_split(side.T @ parts, both, 2 * node + 1 + v))
        n_beyond, n_rows = has.T @ parts[:, -1], parts[:, -1].sum()
        cost = joined(*below)                               # or of the side that has all rows
        cost = np.where(n_beyond == 0, below[0], np.where(n_beyond == n_rows, below[1], cost))
        return cost.min(axis=1, initial=np.inf)

    def best(node, rows):
        """Return the least costs below a node: of a leaf, and with up to 1, 2, .. feature nodes."""
        key, children = (node, np.packbits(rows).tobytes()), (2 * node + 1, 2 * node + 2)
        mine = here.get(node, np.zeros(0, int))
        n_pairs = len(mine) * max(len(here.get(child, ())) for child in children)
        taken[0] += 1 + size // NODES_OF_A_STEP + n_pairs // PAIRS_OF_A_STEP * (key not in known)
        require(taken[0] <= steps, "there are too many trees to try for a file of its size")
        if key in known:
            return known[key]
        whole = amount[rows].sum(axis=0)
        cost = np.full(size, leaf(whole))
        if children[0] >= n_nodes:                          # both sides are leaves
            one = beyond[rows][:, mine].T.astype(float) @ amount[rows]
            cost = np.minimum(cost, one_split(whole[None], one[None], node)[:, 0])
        elif 2 * children[0] + 1 >= n_nodes:
            for some in np.array_split(mine, 1 + n_pairs // MOST_PAIRS):
                cost = np.minimum(cost, pairs(rows, node, some))
        else:
            for split in mine:
                sides = rows & ~beyond[:, split], rows & beyond[:, split]
                below = [best(child, side) for child, side in zip(children, sides) if side.any()]
                cost = np.minimum(cost, joined(*below) if len(below) == 2 else below[0])
        known[key] = cost = np.minimum.accumulate(cost)
        return cost

    everything = np.ones(len(beyond), bool)
    whole = amount[:, :-1].sum(axis=0)
    found = min(best(0, everything)[-1], whole.sum() - whole.max())     # a leaf can have few rows
    require(bound <= unit * found, f"the claim says {text(bound)}, and the best tree costs "
            f"{text(unit * found)}")
    return ((depth, most if limited else None, least), penalty, bound,
            f"the {len(lists)} candidates of its nodes")
