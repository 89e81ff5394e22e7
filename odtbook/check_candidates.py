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


def check_candidates(file, X, y, w, require):
    """Return in words what a certificate proves of rows, class numbers and weights.

    ``require(condition, complaint)`` refuses it, see ``check_certificate``.
    """
    lists, (version, depth, most, least) = file["lists"], [*map(int, file["limits"]), *[0] * 4][:4]
    bound, penalty = np.append(file["units"].astype(float), [-1, -1])[:2]
    n_nodes = 2**min(max(depth, 0), 30) - 1
    require(version == 1 and 0 <= depth <= 30 and 0 <= most and 1 <= least <= len(X)
            and len(file["units"]) == 2 and 0 <= bound < np.inf
            and 0 <= penalty < np.inf and lists.shape[1] == 3 and not np.isnan(lists[:, 2]).any()
            and np.all((0 <= lists[:, :2]) & (lists[:, :2] < [n_nodes, X.shape[1]])
                       & (lists[:, :2] % 1 == 0)), "a number is out of range")
    # Costs are whole numbers of a power of two; what is no multiple of it is rounded down.
    unit = 2.0**np.ceil(np.log2(w.sum() + penalty * len(X)) - 51)
    price, limited, most = np.floor(penalty / unit), most < n_nodes, min(most, n_nodes)
    beyond, group = np.unique(X[:, lists[:, 1].astype(int)] > lists[:, 2], axis=0,
                              return_inverse=True)          # equal rows become one
    amount, group = np.zeros((len(beyond), y.max() + 2)), group.ravel()
    np.add.at(amount, (group, y), np.floor(w / unit))
    amount[:, -1], known = np.bincount(group), {}           # weight by class, number of rows
    size = min(most, len(X)) + 1 if limited else 2          # of the costs that are told apart

    def leaf(part):
        weight = part[..., :-1]
        return np.where(part[..., -1] < least, np.inf, weight.sum(axis=-1) - weight.max(axis=-1))

    def best(node, rows):
        """Return the least costs below a node: of a leaf, and with up to 1, 2, .. feature nodes."""
        key = node, rows.tobytes()
        if key in known:
            return known[key]
        whole, mine = amount[rows].sum(axis=0), np.flatnonzero(lists[:, 0] == node)
        cost, last = np.full(size, leaf(whole)), 2 * node + 1 >= n_nodes
        if last and len(mine):                              # both sides are leaves
            one = beyond[rows][:, mine].T.astype(float) @ amount[rows]
            cost[1:] = np.minimum(cost[1:], price + (leaf(one) + leaf(whole - one)).min())
        for split in () if last else mine:
            sides = rows & ~beyond[:, split], rows & beyond[:, split]
            below = [best(2 * node + 1 + v, side) for v, side in enumerate(sides) if side.any()]
            if len(below) == 1:
                cost = np.minimum(cost, below[0])
            else:
                cost[1:] = [min(cost[n], price + min(below[0][a] + below[1][b] for a, b in (
                    [(a, n - 1 - a) for a in range(n)] if limited else [(1, 1)])))
                            for n in range(1, len(cost))]
        known[key] = cost
        return cost

    found = best(0, np.ones(len(beyond), bool))[-1]
    require(bound <= unit * found, f"the claim says {bound:g}, and the best tree costs "
            f"{unit * found:g}")
    value = np.format_float_positional(bound, trim="-")
    what = (f"costs less than {value}, at {penalty:g} a split," if penalty else
            f"makes fewer than {value} errors" + " by weight" * bool(np.any(w != 1)))
    claim = (f"no tree of depth {depth}" + f" and {most} feature nodes" * limited
             + f" with at least {least} rows in a leaf" * (least > 1)
             + f" over the {len(lists)} candidates of its nodes {what} on these {len(X)} rows")
    require(file["claim"] == claim, f"the claim in words is not what the numbers say: {claim}")
    return claim
