"""The file of a certificate and the data that it is about: read with NumPy alone, trusting neither.

A file has arrays of certain names, types and lengths and no others, and unpacks to so many bytes
for each of its own at the most: what a check takes in time and memory grows with the file.
"""
import numpy as np

MOST_BYTES, ANY_DEPTH = 2**30, 2**31 - 1
MOST_STEPS = 16         # that a check may take for each byte of the file, which may be a trap
CLAIM = {"claim": "U0", "fingerprint": "u1", "limits": "i1", "units": "f1"}
LINES = {"tests": "i1", "depth": "i1", "bound": "i2", "table": "i1", "reference": "i3"}


class NotProved(ValueError):
    """A certificate that does not prove its claim; the message names the first line that fails."""


def require(condition, complaint):
    """Refuse the certificate unless a condition holds."""
    if not condition:
        raise NotProved(complaint)


def read(path):
    """Return the arrays of a file, which may come from anybody, and how many steps they may take.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            steps = MOST_STEPS * file.zip.fp.seek(0, 2)
            parts = file.zip.infolist()
            require(sum(part.file_size for part in parts) <= min(MOST_BYTES, steps)
                    and all(part.compress_type in (0, 8) for part in parts), "its size")
            found = {name: file[name] for name in file.files}
            kinds = CLAIM | ({"lists": "f2"} if "lists" in found else LINES) | (
                {"objective": "U0"} if "objective" in found else {})
            require({n: f"{v.dtype.kind}{v.ndim}" for n, v in found.items()} == kinds
                    and [len(found[name]) for name in ("fingerprint", "limits")] == [32, 4]
                    and all(v.dtype == float for v in found.values() if v.dtype.kind == "f")
                    and len(found["units"]) in (
                        (2,) if {"lists", "objective"} & set(found) else (2, 4))
                    and not {"lists", "objective"} <= set(found), "its arrays")
            return found, steps
    except Exception as error:      # whatever a strange file leads to
        raise NotProved(f"the file is not a certificate: {error}") from error


def numbers(values):
    """Return numbers as float64; refuse what that cannot hold."""
    given = np.asarray(values)
    require(given.dtype.kind in "biufO", "no numbers")
    exact = given.astype(float)
    require(np.all((exact.astype(given.dtype) == given) | (exact != exact)),
            "numbers beyond float64")
    return exact


def running(values):
    """Return the running sums: each is rounded as often as their number can be halved."""
    step = 1
    while step < len(values):
        values = values + np.concatenate([np.zeros(step), values[:-step]])
        step *= 2
    return values


def one_of_each(values, shape):
    """Return what a cost of the reader's own is for each of some leaves; NaN where infinite."""
    try:
        found = numbers(values).reshape(shape)
    except (TypeError, ValueError) as error:
        raise NotProved("leaf_cost has to return one number for the sums of a leaf") from error
    return np.where(np.isfinite(found), found, np.nan)


def rows_of_data(X, y, weight, objective, leaf_cost):
    """Return rows, targets or class numbers and weights of the rows that have one.

    In place of these, what some objectives need: events and times, or the numbers of each row, with
    a constant where there is one.
    """
    require(objective != "given" or leaf_cost, "it is about an objective of your own; give its "
            "leaf_cost, and as y what its statistics returned")
    require(objective == "given" or leaf_cost is None, f"it is about {objective}, whose cost is "
            "known; give y, and no leaf_cost")
    try:
        X, constant = numbers(X), ()
        if objective == "given" and isinstance(y, tuple):
            y, *constant = y
            require(len(constant) <= 1 and np.isfinite(constant).all(), "no finite constant")
        if names := getattr(np.asarray(y).dtype, "names", None):
            y = np.column_stack([np.asarray(y)[name].astype(float) for name in names])
        y = np.asarray(y)
        if objective not in ("survival", "given"):
            y = y.ravel()
        w = np.ones(len(y)) if weight is None else numbers(weight).ravel()
        require(X.ndim == 2 and len(X) == len(y) == len(w) and np.isfinite(X).all()
                and np.all(w >= 0) and 0 < w.sum() < np.inf, "no finite rows with weights")
        if objective in ("errors", "gini", "entropy"):
            y = np.unique(y[w > 0], return_inverse=True)[1].ravel()
        else:
            y = numbers(y)[w > 0]
            require(objective != "given" or y.ndim == 2 and y.size, "with leaf_cost, y is what "
                    "statistics returned: some numbers for each row")
            require(np.isfinite(y).all() or objective == "squares", "no finite numbers")
        if objective == "poisson":
            require(np.all(y >= 0), "negative counts")
        elif objective == "survival":
            require(y.ndim == 2 and y.shape[1] == 2 and np.isin(y[:, 0], (0, 1)).all(),
                    "y needs two columns, whether there was an event (0 or 1) and when")
        return X[w > 0], (y, *map(float, constant)) if constant else y, w[w > 0]
    except Exception as error:
        raise NotProved(f"strange data: {error}") from error


def text(number):
    """Return a number in the shortest form that reads back as the same."""
    return repr(float(number)).removesuffix(".0")


def words(X, w, by, limits, penalty, bound, over=None):
    """Say what is proved by costs that are called ``by``, of trees within some ``limits``.

    These are depth, nodes and rows of a leaf; nodes may be None.
    """
    depth, nodes, least = limits
    over = over or ("these {} columns" if np.isin(X, (0, 1)).all() else
                    "all thresholds of these {} features").format(X.shape[1])
    weighted, priced = " by weight" * bool(np.any(w != 1)), f", at {text(penalty)} a split,"
    if by not in ("errors", "squares"):
        what = f"costs less than {text(bound)}{priced * bool(penalty)} by {by}{weighted}"
    elif penalty:
        what = f"costs less than {text(bound)}{priced}"
    else:
        what = (f"makes fewer than {text(bound)} errors" if by == "errors" else
                f"has a squared error of less than {text(bound)}") + weighted
    return (f"no tree of {'any depth' if depth == ANY_DEPTH else f'depth {depth}'}"
            + (f" and {nodes} feature nodes" if nodes is not None else "")
            + f" with at least {least} rows in a leaf" * (least > 1)
            + f" over {over} {what} on these {len(X)} rows")
