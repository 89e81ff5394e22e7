"""Test rows of all methods on all shipped data sets: the records ``does_it_pay`` and ``leaves``.

``leaves_rare`` has the sets of ``leaves`` with a rare class once more, all classes weighing alike.
"""

from __future__ import annotations

from hashlib import sha256

import pandas as pd

from odtbook.experiments import load_records
from odtbook.statistics import corrected_interval

#: What the records call a method, and its name in tables and figures, in their order.
NAMES = {"cart": "CART", "tuned-cart": "tuned CART", "free-cart": "CART of any depth",
         "exact": "exact", "tuned-exact": "tuned exact", "look-ahead": "tuned look-ahead",
         "local-search": "tuned local search", "forest": "forest", "boosting": "boosting"}
#: The same of those that are given a number of leaves.
BY_LEAVES = {"exact": "exact", "cart": "CART", "pruned-cart": "pruned CART"}
#: Data sets whose labels a rule, a puzzle or a game defines; all others were measured.
RULES = ("balance-scale", "tic-tac-toe", "car_evaluation", "monk1_full", "monk2_full", "monk3",
         "chess", "murtree/corral-un_converted", "murtree/mux6-un_converted")
TEST_SHARE = 0.2     # five folds
#: The rule: a gain of the exact tree over CART of so many points on training rows, both with so
#: many leaves, foretells a gain on test rows.  Chosen by :func:`choose_limit` on half of the sets.
LIMIT, LEAVES = 3, 8
MEASURED = ["train_accuracy", "test_accuracy", "balanced_accuracy", "leaves", "depth",
            "cpu_seconds", "wall_seconds"]


def fold_table(records=None):
    """Return one row per data set, method, largest depth and fold of records of ``does_it_pay``.

    Columns ``dataset``, ``method`` (a name of :data:`NAMES`), ``max_depth``, ``fold``, ``rows``
    (used of the data set), ``classes``, :data:`MEASURED` and ``stopped``, the number of folds whose
    last fit a limit ended.  Failed runs are left out.
    """
    records = load_records("does_it_pay") if records is None else records
    rows = []
    for run in records[records["status"] != "failed"].to_dict("records"):
        same = {"dataset": run["dataset"], "method": NAMES.get(run["method"], run["method"]),
                "max_depth": run["max_depth"], "rows": run["rows"],
                "classes": run["classes"], "stopped": run["counters"]["stopped"]}
        lists = [run["measures"][name] for name in MEASURED]
        rows += [{**same, "fold": fold, **dict(zip(MEASURED, values, strict=True))}
                 for fold, values in enumerate(zip(*lists, strict=True))]
    table = pd.DataFrame(rows).astype(dict.fromkeys(MEASURED, float))
    table.attrs["provenance"] = records.attrs.get("provenance", "")
    return table


def leaf_table(records=None):
    """Return one row per data set, method, allowed number of leaves and fold of ``leaves``.

    Columns ``dataset``, ``rows`` (used of it), ``classes``, ``method`` (a name of
    :data:`BY_LEAVES`), ``size``, ``fold``, ``test_accuracy``, ``train_accuracy``, ``leaves``,
    ``proved``, whether the tree is proved optimal on its training rows, and what else was measured.
    Only data sets with all methods count.
    """
    records = load_records("leaves") if records is None else records
    records = records[records["status"] != "failed"]
    rows = [{"dataset": run["dataset"], "rows": run["rows"], "classes": run["classes"],
             "method": BY_LEAVES[run["method"]], "size": int(size), "fold": fold,
             **dict(zip(found, values, strict=True))}
            for run in records.to_dict("records") for size, found in run["measures"].items()
            for fold, values in enumerate(zip(*found.values(), strict=True))]
    table = pd.DataFrame(rows)
    methods = table.groupby("dataset")["method"].transform("nunique")
    table = table[methods == len(BY_LEAVES)].reset_index(drop=True)
    table.attrs["provenance"] = records.attrs.get("provenance", "")
    return table


def chosen(table, needed=("tuned CART", "tuned exact")):
    """Return the rows of largest depth, methods in the order of :data:`NAMES`, none unfinished.

    Left out are the data sets that lack a ``needed`` method, and then the methods that lack one of
    the data sets that are left.
    """
    largest = table[table["max_depth"] == table["max_depth"].max()]
    present = largest.groupby("dataset")["method"].agg(set)
    largest = largest[largest["dataset"].isin(present.index[present.map(set(needed).issubset)])]
    counts = largest.groupby("method")["dataset"].nunique()
    whole = set(counts.index[counts == largest["dataset"].nunique()])
    names = [*(name for name in NAMES.values() if name in whole),
             *sorted(whole - set(NAMES.values()))]
    kept = largest[largest["method"].isin(names)].copy()
    kept["method"] = pd.Categorical(kept["method"], names)
    return kept


def differences(table, method, reference, column="test_accuracy"):
    """Return the difference of two methods on each data set, with an interval over the folds.

    By data set of a table of :func:`chosen`: the mean difference in percentage points, ``low`` and
    ``high`` of its corrected 95 % interval (:func:`~odtbook.statistics.corrected_interval`), the
    numbers of ``rows`` and ``classes``, and ``rule``, whether a rule defines the labels.
    """
    wide = table.pivot_table(index=["dataset", "fold"], columns="method", values=column,
                             observed=True)
    apart = 100 * (wide[method] - wide[reference]).dropna()
    sizes = table.groupby("dataset")[["rows", "classes"]].first()
    lines = {}
    for name, values in apart.groupby(level="dataset"):
        low, high = corrected_interval(values.to_numpy(), TEST_SHARE)
        lines[name] = {"difference": values.mean(), "low": low, "high": high,
                       "rule": name in RULES}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("dataset").join(sizes)


def kinds(apart):
    """Return kinds of data sets that do not overlap: name -> which rows of :func:`differences`, or
    of :func:`gains`.
    """
    rule, many, rows = apart["rule"], apart["classes"] >= 5, apart["rows"]
    rest = ~rule & ~many
    return {"labels by a rule": rule, "five classes or more": ~rule & many,
            "under 300 rows": rest & (rows < 300),
            "300 to 999 rows": rest & rows.between(300, 999),
            "1000 rows drawn": rest & (rows >= 1000)}


def over_sets(values, level=0.95):
    """Return mean, low and high of the plain t-interval over data sets, which are independent."""
    from scipy.stats import t
    width = t.ppf(0.5 + level / 2, len(values) - 1) * values.sem()
    return float(values.mean()), float(values.mean() - width), float(values.mean() + width)


def exact_minus(trees, reference, column="test_accuracy"):
    """Return what the exact tree gains over a method at each number of leaves, in points.

    By size of a table of :func:`leaf_table`: ``mean``, ``low`` and ``high`` of :func:`over_sets` on
    a ``column`` of it.
    """
    means = 100 * trees.groupby(["method", "size", "dataset"])[column].mean()
    gap = (means["exact"] - means[reference]).groupby("size")
    return pd.DataFrame({size: over_sets(values) for size, values in gap},
                        index=["mean", "low", "high"]).T


def chooses(name):
    """Tell whether a data set is of the half on which the rule is chosen, by a hash of its name."""
    return sha256(name.encode()).digest()[-1] % 2 == 0


def gains(trees, size=LEAVES):
    """Return what the exact tree gains over CART of so many leaves on each data set, in points.

    ``training`` and ``test`` say on which rows, ``pruned`` is the gain on test rows over pruned
    CART, ``half`` is "chosen on" or "tested on"; ``rule``, ``rows`` and ``classes`` as in
    :func:`differences`.  ``trees`` is of :func:`leaf_table`.
    """
    trees = trees[trees["size"] == size]
    means = 100 * trees.groupby(["dataset", "method"])[
        ["train_accuracy", "test_accuracy"]].mean().unstack()
    training, test = means["train_accuracy"], means["test_accuracy"]
    found = pd.DataFrame({"training": training["exact"] - training["CART"],
                          "test": test["exact"] - test["CART"],
                          "pruned": test["exact"] - test["pruned CART"]})
    found["rule"] = found.index.isin(RULES)
    found["half"] = ["chosen on" if chooses(name) else "tested on" for name in found.index]
    return found.join(trees.groupby("dataset")[["rows", "classes"]].first())


def choose_limit(table):
    """Return the least whole number of points above which every set is ahead on test rows."""
    return next(points for points in range(1, 100)
                if (table["test"][table["training"] >= points] > 0).all())
