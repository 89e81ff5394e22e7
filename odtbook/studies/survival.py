"""Survival tables that scikit-survival and lifelines ship, and what predictions of them are worth.

``pip install scikit-survival lifelines`` brings the tables; :data:`MADE` needs neither.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pandas as pd
from sklearn.utils._param_validation import StrOptions, validate_params

MADE = "made"
# Table -> package, fields of event and time, and columns left out: names, places, and the cause of
# a death, which tells that there was one.
TABLES = {
    "gbsg2": ("sksurv", "cens", "time", []),
    "aids": ("sksurv", "censor", "time", []),
    "flchain": ("sksurv", "death", "futime", ["chapter"]),
    "veterans_lung_cancer": ("sksurv", "Status", "Survival_in_days", []),
    "whas500": ("sksurv", "fstat", "lenfol", []),
    "breast_cancer": ("sksurv", "e.tdm", "t.tdm", []),
    "rossi": ("lifelines", "arrest", "week", []),
    "lung": ("lifelines", "status", "time", ["inst"]),
    "dd": ("lifelines", "observed", "duration",
           ["ctryname", "cowcode2", "politycode", "un_region_name", "ehead", "leaderspellreg"]),
    "kidney_transplant": ("lifelines", "death", "time", []),
}


@validate_params({"name": [StrOptions({MADE, *TABLES})]}, prefer_skip_nested_validation=True)
def survival_table(name):
    """Return the features of a table, a data frame, and events and times as a structured array."""
    if name == MADE:
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.integers(0, 2, (300, 4)), columns=list("abcd"))
        dies = rng.exponential(10.0 * np.where(X["a"] == X["b"], 2.5, 0.4))
        leaves = rng.uniform(2.0, 20.0, len(X))
        event, time = dies <= leaves, np.minimum(dies, leaves)
    else:
        package, event, time, without = TABLES[name]
        made = getattr(import_module(f"{package}.datasets"), f"load_{name}")()
        X = made.drop(columns=[event, time]) if package == "lifelines" else made[0]
        event, time = (np.asarray((made if package == "lifelines" else made[1])[field])
                       for field in (event, time))
        X = X.drop(columns=without)
    y = np.empty(len(X), [("event", bool), ("time", float)])
    y["event"], y["time"] = event, time
    return X, y


def numbers(train, test):
    """Return training and test rows as numbers: a column for each category, medians for gaps."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder
    made = make_column_transformer(
        (SimpleImputer(strategy="median"), make_column_selector(dtype_include="number")),
        (OneHotEncoder(drop="if_binary", handle_unknown="ignore", sparse_output=False),
         make_column_selector(dtype_exclude="number")))
    return made.fit_transform(train), made.transform(test)


def censored_at(y, end):
    """Return events and times as a study that ends then would have seen them."""
    y = y.copy()
    y["event"] &= y["time"] <= end
    y["time"] = np.minimum(y["time"], end)
    return y


def kaplan_meier(y, *, censoring=False):
    """Return the distinct times of rows, and the share without an event after each of them.

    With ``censoring`` it is the share not yet censored; of rows with one time, events come first.
    """
    times, place = np.unique(y["time"], return_inverse=True)
    events, leave = np.bincount(place, y["event"]), np.bincount(place)
    there = np.cumsum(leave[::-1])[::-1]
    if censoring:
        there, events = there - events, leave - events
    return times, np.cumprod(1.0 - events / np.maximum(there, 1))


def leaf_curves(leaves, y, test_leaves, points):
    """Return the Kaplan-Meier curve of each test row's leaf at some points, (n_rows, n_points).

    ``leaves`` are those of the training rows with the events and times ``y``.
    """
    curves = {leaf: at(*kaplan_meier(y[leaves == leaf]), points) for leaf in np.unique(leaves)}
    return np.array([curves[leaf] for leaf in test_leaves])


def at(times, values, points, *, before=False):
    """Return a step function that is 1 before the first of ``times``, or what it is just before."""
    place = np.searchsorted(times, points, side="left" if before else "right")
    return np.concatenate([[1.0], values])[place]


def brier_score(train, test, survival, points):
    """Return the Brier score of test rows, averaged over time (Graf and others, 1999).

    scikit-survival's is the same where no two rows have one time.

    ``survival`` (n_rows, n_points) is the predicted share without an event at each of ``points``.
    Rows that are censored before a point are left out there.  The others stand in for them: each is
    weighted by one over the share that is followed for so long, as the training rows show it.
    """
    followed = kaplan_meier(train, censoring=True)
    event, time = test["event"][:, None], test["time"][:, None]
    dead, alive = event & (time <= points), time > points
    square = np.where(dead, survival ** 2 / at(*followed, time, before=True), 0.0)
    square += np.where(alive, (1.0 - survival) ** 2 / at(*followed, points), 0.0)
    return float(np.trapezoid(square.mean(axis=0), points) / np.ptp(points))
