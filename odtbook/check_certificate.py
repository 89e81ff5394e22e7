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

MOST_BYTES, ANY_DEPTH = 2**30, 2**31 - 1
CLAIM = {"claim": "U0", "fingerprint": "u1", "limits": "i1", "units": "f1"}
LINES = {"tests": "i1", "depth": "i1", "bound": "i2", "table": "i1", "reference": "i3"}


class NotProved(ValueError):
    """A certificate that does not prove its claim; the message names the first line that fails."""


def require(condition, complaint):
    """Refuse the certificate unless a condition holds."""
    if not condition:
        raise NotProved(complaint)


def read(path):
    """Return the arrays of a file, which may come from anybody."""
    try:
        with np.load(path, allow_pickle=False) as file:
            require(sum(part.file_size for part in file.zip.infolist()) <= MOST_BYTES, "its size")
            found = {name: file[name] for name in file.files}
            kinds = CLAIM | ({"lists": "f2"} if "lists" in found else LINES)
            require({n: f"{v.dtype.kind}{v.ndim}" for n, v in found.items()} == kinds, "its arrays")
            return found
    except Exception as error:      # whatever a strange file leads to
        raise NotProved(f"the file is not a certificate: {error}") from error


@np.errstate(all="ignore")          # of numbers in a strange file
def check(path, X, y, sample_weight=None):
    """Return in words what a certificate proves of these rows, or raise NotProved."""
    file, X, y = read(path), np.asarray(X, float), np.asarray(y).ravel()
    w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float).ravel()
    sums = len(file["units"]) == 4          # of targets and of squares, for a squared error
    require(X.ndim == 2 and len(X) == len(y) == len(w) and np.isfinite(X).all() and np.all(w >= 0)
            and 0 < w.sum() < np.inf and (y.dtype.kind in "biuf" or not sums), "strange data")
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    y = y.astype(float) if sums else np.unique(y, return_inverse=True)[1].ravel()
    mark = hashlib.sha256(f"{len(X)} {X.shape[1]}".encode() + b"".join(
        part.astype("<f8").tobytes() for part in (X, y, w))).digest()
    require(mark == file["fingerprint"].tobytes(), "the certificate is of other data")
    if "lists" in file:                     # of candidates for each node, and no lines
        from odtbook.check_candidates import check_candidates
        return check_candidates(file, X, y, w, require)
    version, max_depth, max_nodes, least = [*map(int, file["limits"]), 0, 0, 0, 0][:4]
    unit, penalty, centre, scale = np.append(file["units"].astype(float), [0, 1, 0, 1])[:4]
    depth, bound = max(0, min(max_depth, len(X) - 1, 62)), file["bound"].astype(float)
    limited, depth = max_nodes < 2**depth - 1, min(depth, max_nodes)
    sizes = np.arange(1, bound.shape[1] + 1) if limited else np.array([2**depth - 1])
    y, most = (y[:, None] - centre) * scale, np.floor(w / (unit * scale**2))[:, None]
    each = most * (y**np.arange(3) if sums else y == np.arange(y.max() + 1))
    if sums:
        slop = 2.0**-48 * len(y) * np.abs(y).max() * np.abs(each[:, 1]).sum()
        most = most * np.maximum(y - y.min(), y.max() - y)**2 * (1 + 1e-12)    # a row can cost
    price, n_sums = np.floor(penalty / unit), each.shape[1]
    require(version == 3 and 0 <= max_depth <= ANY_DEPTH and max_nodes >= 0 < least and 0 <= penalty
            and np.frexp(unit)[0] == np.frexp(scale)[0] == 0.5 and bound.shape[1] == (
                max(1, max_nodes) if limited else 1) and each.sum(axis=0).max() + most.sum()
            + price < 2**51, "a limit or unit is out of range")
    x = np.concatenate([column[:, None] > np.unique(column)[:-1] for column in X.T], axis=1)
    x, group = np.unique(x, axis=0, return_inverse=True)        # equal rows become one
    amount, group = np.zeros((len(x), n_sums + (least > 1))), group.ravel()
    np.add.at(amount[:, :n_sums], group, each)
    amount[:, n_sums:], most = np.bincount(group)[:, None], np.ceil(np.bincount(group, most[:, 0]))
    lost = amount[:, :n_sums].min(axis=1) * (least == 1 and not sums)       # by class, in any tree
    amount[:, :n_sums] -= lost[:, None]
    x, amount, most = (v[amount.any(axis=1)] for v in (x, amount, most - n_sums * lost))
    tests, left, _, table, reference = (file[name] for name in LINES)
    require(len(bound) == len(left) == len(table) > 0 and reference.shape[1:] == (x.shape[1], 2)
            and all(np.all((low <= part) & (part < high)) for part, low, high in (
                (left, 0, depth + 1), (tests, 0, 2 * x.shape[1]), (table, -1, len(reference))))
            and left[-1] == depth and (depth - left).sum() == len(tests),
            "a number is out of range, or the last line is not the claim")
    paths = np.split(tests, np.cumsum(depth - left)[:-1])

    def rows_of(line):
        return np.all(x[:, paths[line] // 2] == paths[line] % 2, axis=1)

    def leaf(part, root=False):     # costs of leaves, infinite where one has too few rows
        weight = part[0] if sums else part[:n_sums].sum(axis=0)
        saved = part[1]**2 / np.maximum(weight, 1) + slop if sums else part[:n_sums].max(axis=0)
        cost = np.maximum(0, np.floor((part[2] if sums else weight) - saved))
        few = weight == 0 if least == 1 else part[-1] < least
        return cost if root else np.where(few, np.inf, cost)

    def counted(inside, whole, has, line):
        has = has ^ has[:1]                     # alike neighbours are counted once
        has = has[:, np.diff(has, axis=1, prepend=~has[:, :1]).any(axis=0)].astype(amount.dtype)
        ones = amount[inside].T @ has
        both = np.stack([(has * part[:, None]).T @ has for part in amount[inside].T])
        one, two = zip(*((leaf(s), (leaf(part) + leaf(s[..., None] - part)).min(1, initial=np.inf))
                         for s, part in ((ones, both), (whole - ones, ones[:, None] - both))))
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
            require(least == 1 or all(np.array_equal(theirs, inside & (x[:, s] == v))
                    for v, s in np.argwhere(used)), f"line {line} needs equal rows")
            share = most[inside] * theirs[inside]
            lacks = most[theirs].sum() - np.stack([share.sum() - share @ has, share @ has])[used]
            below[used, 1:] = np.maximum(below[used, 1:], bound[other] - lacks[:, None])
        below[cost == np.inf] = np.inf          # no split, as one side has too few rows
        best = [min((below[0, :, a] + below[1, :, b]).min(initial=np.inf) for a, b in (
            [(k, n - 1 - k) for k in range(n)] if limited else [(1, 1)])) for n in sizes]
        return np.minimum(leaf(whole, True), price + np.array(best))

    for line, reason in enumerate(table):
        inside = rows_of(line)
        found = (counted if reason < 0 else every_split)(
            inside, amount[inside].sum(axis=0)[:, None], x[inside], line)
        require(np.all((0 <= bound[line]) & (bound[line] <= found)),
                f"line {line} says {bound[line].max():.0f}, and what follows is {found.max():.0f}")
    value = np.format_float_positional(unit * ((n_sums - 1) * lost.sum() + bound[-1, -1]), trim="-")
    what = (f"costs less than {value}, at {penalty:g} a split," if penalty else
            f"has a squared error of less than {value}" if sums else
            f"makes fewer than {value} errors" + " by weight" * bool(np.any(w != 1)))
    over = "these {} columns" if np.isin(X, (0, 1)).all() else "all thresholds of these {} features"
    claim = (f"no tree of {'any depth' if max_depth == ANY_DEPTH else f'depth {max_depth}'}"
             + f" and {max_nodes} feature nodes" * limited
             + f" with at least {least} rows in a leaf" * (least > 1)
             + f" over {over.format(X.shape[1])} {what} on these {len(X)} rows")
    require(file["claim"] == claim, f"the claim in words is not what the numbers say: {claim}")
    return claim
