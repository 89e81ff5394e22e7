"""Check a proof that no decision tree is better, with NumPy alone and nothing of the solvers.

A certificate lists *subproblems*: the rows that pass some tests (``2 s + v``: side ``v`` of split
``s``, a threshold between two values of a feature), the ``depth`` left, and a ``bound`` on the cost
of every such tree (of each size, under a limit on nodes).  The last line is the claim.

- *Counted*: this file counts the best trees of depth two, from the sums over the rows on the sides
  of every pair of splits.  Any other tree has at least three splits, and pays for them.
- *Every split*: its two sides cost so much.  For a side the line refers to an earlier one (-1: to
  none), less the cost of the rows that this has and the side lacks, as a tree saves no more.

Costs are whole numbers of a ``unit``, a power of two.  Other weights and squared errors are rounded
down, these by more than floating point is off: a bound becomes lower and never wrong.
"""
import hashlib

import numpy as np

from odtbook.certificate_file import ANY_DEPTH, NotProved, read, require, rows_of_data, words
from odtbook.check_candidates import check_candidates
from odtbook.check_costs import OTHERS, costs_of

__all__ = ["NotProved", "check"]
MOST_NODES = 64         # of a limit on feature nodes: a line has a bound for each number
MOST_CELLS, MOST_PAIRS = 2**27, 2**18   # distinct rows times thresholds; pairs of splits at a time
LINES = "tests", "depth", "bound", "table", "reference"


@np.errstate(all="ignore")          # of numbers in a strange file
def check(path, X, y, sample_weight=None, leaf_cost=None):
    """Return in words what a certificate proves of these rows, or raise NotProved.

    ``leaf_cost(sums)`` is a cost of the reader's own, never negative; ``y`` is then what
    ``statistics`` returned for the rows: their numbers, or these and a constant.
    """
    file, steps = read(path)
    objective = str(file.get("objective", "squares" if len(file["units"]) == 4 else "errors"))
    require("objective" not in file or objective in OTHERS, "nobody knows this objective")
    X, y, w = rows_of_data(X, y, sample_weight, objective, leaf_cost)
    mark = hashlib.sha256(f"{len(X)} {X.shape[1]}".encode() + b"".join(part.astype(
        "<f8").tobytes() for part in ((X, w) if leaf_cost else (X, y, w)))).digest()
    require(mark == file["fingerprint"].tobytes(), "the certificate is of other data; "
            "give rows (or binarizer_.transform of them), y and weights of the fit")
    if "lists" in file:                     # of candidates for each node, and no lines
        proved = check_candidates(file, X, y, w, steps)
    else:
        proved = check_lines(file, X, y, w, objective, leaf_cost)
    claim = words(X, w, OTHERS.get(objective, [objective])[0], *proved)
    require(file["claim"] == claim, f"the claim in words is not what the numbers say: {claim}")
    return claim


def check_lines(file, X, y, w, objective, leaf_cost):
    """Return the limits, the penalty and the bound that the lines prove, see ``words``."""
    version, max_depth, max_nodes, least = map(int, file["limits"])
    unit, penalty = file["units"][:2]
    require(version == 3 and 0 <= max_depth <= ANY_DEPTH and max_nodes >= 0 < least
            and 0 <= penalty < np.inf and np.frexp(unit)[0] == 0.5,
            "a limit or unit is out of range")
    most = max(0, len(X) // least - 1)      # splits of a tree whose leaves have enough rows
    depth, bound = min(max_depth, most), file["bound"].astype(float)
    limited, depth = max_nodes < min(2**depth - 1, most), min(depth, max_nodes)
    require(max_nodes <= MOST_NODES or not limited, "it has too many feature nodes")
    sizes = np.arange(1, max(1, max_nodes) + 1) if limited else np.array([3])   # three or more
    costs = costs_of(objective, file["units"], y, w, leaf_cost)
    # Sums of classes and of squares say whether there are rows; others are counted.
    numbered, n_sums = least > 1 or objective in OTHERS, costs.numbers.shape[1]
    similar = least == 1 and costs.most is not None
    most = 0 * w if costs.most is None else np.ceil(costs.most)
    X, group = np.unique(X, axis=0, return_inverse=True)        # equal rows become one
    values = [np.unique(column) for column in X.T]
    require(len(X) * sum(len(some) - 1 for some in values) <= max(MOST_CELLS, X.nbytes),
            "there are too many thresholds")
    x = np.concatenate([X[:, :0] > 0, *(column[:, None] > some[:-1]
                                        for column, some in zip(X.T, values))], axis=1)
    amount, group = np.zeros((len(x), n_sums + numbered)), group.ravel()
    np.add.at(amount[:, :n_sums], group, costs.numbers)
    amount[:, n_sums:], most = np.bincount(group)[:, None], np.bincount(group, most)
    single = np.maximum(0, np.ceil(costs.cost(amount[:, :n_sums].sum(axis=0)[:, None])[0]))
    price = min(np.floor(penalty / unit), 1 + single)       # a leaf is no worse than a dearer split
    require(most.sum() + single + price < 2**51, "a unit is out of range")
    lost = amount[:, :n_sums].min(axis=1) * (least == 1 and objective == "errors")  # in any tree
    amount[:, :n_sums] -= lost[:, None]
    x, amount, most = (v[amount.any(axis=1)] for v in (x, amount, most - n_sums * lost))
    tests, left, _, table, reference = (file[name] for name in LINES)
    require(len(bound) == len(left) == len(table) > 0 and bound.shape[1] == len(sizes)
            and reference.shape[1:] == (x.shape[1], 2)
            and all(np.all((low <= part) & (part < high)) for part, low, high in (
                (left, 0, depth + 1), (tests, 0, 2 * x.shape[1]), (table, -1, len(reference))))
            and np.array_equal(np.sort(table[table >= 0]), np.arange(len(reference)))
            and left[-1] == depth and (depth - left.astype(int)).sum() == len(tests),
            "a number is out of range, or the last line is not the claim")
    ends = np.cumsum(depth - left.astype(int))

    def rows_of(line):
        path = tests[ends[line] + left[line] - depth:ends[line]]
        return np.all(x[:, path // 2] == path % 2, axis=1)

    def leaf(part, root=False):     # costs of leaves, infinite where one has too few rows
        few = part[-1] < least if numbered else part[:1 if objective == "squares" else None].sum(
            axis=0) == 0
        cost = np.maximum(0, np.floor(costs.cost(part[:n_sums])))
        return cost if root else np.where(few, np.inf, cost)

    def counted(inside, whole, has, line):
        has = has ^ has[:1]                     # alike neighbours are counted once
        has = has[:, np.diff(has, axis=1, prepend=~has[:, :1]).any(axis=0)].astype(amount.dtype)
        ones, n = amount[inside].T @ has, has.shape[1]
        one, two = (leaf(ones), leaf(whole - ones)), np.zeros((2, n))
        for some in np.array_split(np.arange(n), 1 + n * n * len(whole) // MOST_PAIRS):
            both = np.stack([(has[:, some] * part[:, None]).T @ has for part in amount[inside].T])
            for v, part in enumerate((both, ones[:, None] - both)):     # of side 1, and of side 0
                side = ones[:, some, None] if v == 0 else (whole - ones)[:, some, None]
                two[v, some] = (leaf(part) + leaf(side - part)).min(axis=1, initial=np.inf)
        best = leaf(whole, True), sum(one), (one[0] + two[1], one[1] + two[0]), sum(two)
        cost = price * np.arange(4) + [np.min(costs, initial=np.inf) for costs in best]
        cost[3] = 3 * price if left[line] > 2 else cost[3]
        return np.minimum.accumulate(cost)[np.minimum(sizes, 2**min(left[line], 2) - 1)]

    def every_split(inside, whole, has, line):
        ones, refers, has = amount[inside].T @ has, reference[table[line]].T, has.astype(float)
        cost = np.stack([leaf(whole - ones), leaf(ones)])
        below = np.minimum(cost[:, :, None], [np.inf, *(0 * sizes + price)])    # 0, 1, .. splits
        for other in np.unique(refers[(refers != -1) & (cost < np.inf)]):
            require(0 <= other < line and left[other] >= left[line] - 1,
                    f"line {line} rests on a line that is not before it, or of too little depth")
            theirs, used = rows_of(other), (refers == other) & (cost < np.inf)
            require(similar or all(np.array_equal(theirs, inside & (x[:, s] == v))
                    for v, s in np.argwhere(used)), f"line {line} needs equal rows")
            share = most[inside] * theirs[inside]
            lacks = most[theirs].sum() - np.stack([share.sum() - share @ has, share @ has])[used]
            below[used, 1:] = np.maximum(below[used, 1:], bound[other] - lacks[:, None])
        below[cost == np.inf] = np.inf          # no split, as one side has too few rows
        if not limited:
            best = (below[0, :, 1] + below[1, :, 1]).min(initial=np.inf)
        else:
            best = np.full(len(sizes), np.inf)
            for a in range(len(sizes)):         # on one side, and 0, 1, .. on the other
                both = below[0, :, a, None] + below[1, :, :len(sizes) - a]
                best[a:] = np.minimum(best[a:], both.min(axis=0, initial=np.inf))
        return np.minimum(leaf(whole, True), price + best)

    for line, reason in enumerate(table):
        inside = rows_of(line)
        found = (counted if reason < 0 else every_split)(
            inside, amount[inside].sum(axis=0)[:, None], x[inside], line)
        require(np.all((0 <= bound[line]) & (bound[line] <= found)),
                f"line {line} says {bound[line].max():.0f}, and what follows is {found.max():.0f}")
    value = costs.constant + unit * ((n_sums - 1) * lost.sum() + bound[-1, -1])
    return (max_depth, max_nodes if limited else None, least), penalty, value
