"""Check a proof that no decision tree is better, with NumPy alone and nothing of the solvers.

A certificate lists *subproblems*, one to a line: the rows that pass some tests (``2 c + v``: column
``c`` is ``v``), the ``depth`` that is left, and a ``bound``: no tree of that depth costs less on
those rows.  Lines refer to earlier ones only, and the last line is the claim.  Two reasons count.

- *Counted*: this file counts the best trees of depth two itself, from the rows of each class for
  every pair of columns.  Any other tree has at least three splits, and pays for them.
- *Every split*: whatever the first split, its two sides cost so much.  For each side a line refers
  to an earlier one (or to none, -1).  A tree saves at most the weight of the rows that the earlier
  line has and the side lacks, so the bound of that line, less this weight, holds for the side.

Costs are whole numbers of ``unit``, a power of two; other weights are rounded down, which makes a
bound lower and never wrong.  Under a limit on feature nodes a line has a bound for each number.
"""
import hashlib

import numpy as np

VERSION, MOST_BYTES, ANY_DEPTH = 1, 2**30, 2**31 - 1
KINDS = {"version": "i0", "claim": "U0", "fingerprint": "u1", "unit": "f0", "split_penalty": "f0",
         "limits": "i1", "start": "i1", "tests": "i1", "depth": "i1", "bound": "i2",
         "table": "i1", "reference": "i3"}       # kind of number and number of axes of each array


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
            require(sorted(file.zip.namelist()) == sorted(f"{n}.npy" for n in KINDS), "its arrays")
            require(sum(part.file_size for part in file.zip.infolist()) <= MOST_BYTES, "its size")
            found = {name: file[name] for name in KINDS}
            require({n: f"{v.dtype.kind}{v.ndim}" for n, v in found.items()} == KINDS, "its types")
            return found
    except Exception as error:      # whatever a strange file leads to
        raise NotProved(f"the file is not a certificate: {error}") from error


def check(path, X, y, sample_weight=None):
    """Return in words what a certificate proves of these 0/1 columns, or raise NotProved."""
    file = read(path)
    X, y = np.asarray(X), np.asarray(y).ravel()
    w = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float).ravel()
    require(X.ndim == 2 and len(X) == len(y) == len(w) and np.all((X == 0) | (X == 1))
            and np.all(w >= 0) and 0 < w.sum() < np.inf, "X, y or sample_weight cannot be used")
    X, y, w = X[w > 0].astype(bool), np.unique(y[w > 0], return_inverse=True)[1].ravel(), w[w > 0]
    mark = hashlib.sha256(f"{len(X)} {X.shape[1]}".encode() + np.packbits(X).tobytes()
                          + y.astype("<i8").tobytes() + w.astype("<f8").tobytes()).digest()
    require(mark == file["fingerprint"].tobytes(), "the certificate is of other data")
    require(file["version"] == VERSION and len(file["limits"]) == 3, "another version")
    (max_depth, max_nodes, least), bound = map(int, file["limits"]), file["bound"].astype(float)
    unit, penalty = float(file["unit"]), float(file["split_penalty"])
    depth = min(max_depth, len(X) - 1, 62)      # no tree whose leaves have rows is deeper
    limited, depth = max_nodes < 2**depth - 1, min(depth, max_nodes)
    require(0 <= max_depth <= ANY_DEPTH and max_nodes >= 0 < least and np.frexp(unit)[0] == 0.5
            and 0 <= penalty and (w.sum() + penalty) / unit < 2**51
            and bound.shape[1] == (max(1, max_nodes) if limited else 1), "a limit is out of range")
    sizes = np.arange(1, max(1, max_nodes) + 1) if limited else np.array([2**depth - 1])
    price = np.floor(penalty / unit)

    # Equal rows become one.  The weight that all their classes have is lost in every tree.
    rows, group = np.unique(X, axis=0, return_inverse=True)
    classes, base = y.max() + 1, 0
    amount = np.zeros((len(rows), classes + (least > 1)))
    np.add.at(amount, (group.ravel(), y), np.floor(w / unit))
    amount[:, classes:] = np.bincount(group.ravel())[:, None]
    if least == 1:
        base = (classes - 1) * amount.min(axis=1).sum()
        amount -= amount.min(axis=1, keepdims=True)
        rows, amount = rows[amount.any(axis=1)], amount[amount.any(axis=1)]
    weight = amount[:, :classes].sum(axis=1)
    amount = amount.astype(np.float32 if amount.sum() < 2**24 else float)     # exact in both
    # Of columns that split the rows alike the first is enough.
    alike = np.unique(rows ^ rows[:1], axis=1, return_index=True)[1] if rows.size else []
    x = rows[:, sorted(c for c in alike if 0 < rows[:, c].sum() < len(rows))]
    start, tests, left, _, table, reference = (file[name] for name in list(KINDS)[6:])
    require(len(bound) == len(start) - 1 == len(left) == len(table) > 0 == start[0]
            and start[-1] == len(tests) and np.all(start[1:] >= start[:-1])
            and np.all((0 <= tests) & (tests < 2 * X.shape[1]))
            and np.all((0 <= left) & (left <= depth) & (-1 <= table) & (table < len(reference)))
            and reference.shape[1:] == (x.shape[1], 2), "a number is out of range")

    def rows_of(line):
        path = tests[start[line]:start[line + 1]]
        return np.all(rows[:, path // 2] == path % 2, axis=1)

    def leaf(part, few=None):       # costs of leaves, infinite where one has too few rows
        if few is None:
            few = part[classes] < least if least > 1 else part.sum(axis=0) == 0
        return np.where(few, np.inf, part[:classes].sum(axis=0) - part[:classes].max(axis=0))

    def counted(inside, line):
        has, count = x[inside].astype(amount.dtype), amount[inside]
        both = np.stack([has.T @ (has * each[:, None]) for each in count.T])
        ones, whole = both.diagonal(axis1=1, axis2=2), count.sum(axis=0)[:, None]
        one, two = [], []           # cost of each side of split i, as a leaf and with split j
        for side, part in (ones, both), (whole - ones, ones[:, None, :] - both):
            one.append(leaf(side))
            two.append((leaf(part) + leaf(side[:, :, None] - part)).min(axis=1, initial=np.inf))
        cost = price * np.arange(4) + [
            leaf(whole[:, 0], False), (one[0] + one[1]).min(initial=np.inf),
            np.minimum(one[0] + two[1], two[0] + one[1]).min(initial=np.inf),
            (two[0] + two[1]).min(initial=np.inf)]
        cost = np.minimum.accumulate(cost[:(1, 2, 4)[min(left[line], 2)]])
        found = cost[np.minimum(sizes, len(cost) - 1)]
        return np.where((left[line] > 2) & (sizes > 2), np.minimum(found, 3 * price), found)

    def every_split(inside, line):
        side = np.stack([inside & ~x.T, inside & x.T], axis=1).reshape(2 * x.shape[1], len(rows))
        cost, refers = leaf((side @ amount).T), reference[table[line]].ravel()
        below = np.minimum(cost[:, None], [np.inf, *(0 * sizes + price)])    # with 0, 1, ... splits
        used = (refers != -1) & (cost < np.inf)
        refers = refers[used]
        require(np.all((0 <= refers) & (refers < line)) and np.all(left[refers] >= left[line] - 1),
                f"line {line} rests on a line that is not before it, or of too little depth")
        theirs = np.array([rows_of(n) for n in refers], bool).reshape(len(refers), len(rows))
        require(least == 1 or np.array_equal(theirs, side[used]), f"line {line} needs equal rows")
        below[used, 1:] = np.maximum(below[used, 1:], bound[refers] - (
            (theirs & ~side[used]) @ weight)[:, None])
        below[cost == np.inf] = np.inf          # no split, as one side has too few rows
        best = [min((below[::2, a] + below[1::2, b]).min(initial=np.inf) for a, b in (
            [(k, n - 1 - k) for k in range(n)] if limited else [(1, 1)])) for n in sizes]
        return np.minimum(leaf(amount[inside].sum(axis=0), False), price + np.array(best))

    for line in range(len(bound)):
        inside = rows_of(line)
        found = (counted if table[line] < 0 else every_split)(inside, line)
        require(np.all((0 <= bound[line]) & (bound[line] <= found)),
                f"line {line} says {bound[line].max():.0f}, and what follows is {found.max():.0f}")
    require(start[-2] == start[-1] and left[-1] == depth, "the last line is not the claim")
    value = np.format_float_positional(unit * (base + float(bound[-1, -1])), trim="-")
    what = (f"costs less than {value}, at {penalty:g} a split," if penalty else
            f"makes fewer than {value} errors" if np.all(w == 1) else
            f"makes errors of less weight than {value}")
    claim = (f"no tree of {'any depth' if max_depth == ANY_DEPTH else f'depth {max_depth}'}"
             + f" and {max_nodes} feature nodes" * limited
             + f" with at least {least} rows in a leaf" * (least > 1)
             + f" over these {X.shape[1]} columns {what} on these {len(X)} rows")
    require(file["claim"] == claim, f"the claim in words is not what the numbers say: {claim}")
    return claim
