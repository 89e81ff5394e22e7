"""Demirović et al. (2022), MurTree: the cells of its tables, and its statements."""

from __future__ import annotations

import functools
import math

import numpy as np

from odtbook.experiments.published import published

from . import words
from .evidence import Missing, Paper, attempt, once, table_of

paper = Paper("demirovic2022")
# derived by us from the raw tables, with other classes or columns than those of the paper
STAND_INS = ("letter", "Statlog_shuttle")
# columns of Tables 1 to 3: how they differ from the paper's search with everything on
SWITCHES = {
    "Branch Cache, Time": {"cache": "branch"}, "Dataset Cache, Time": {},
    "Branch Cache, Cache Entries": {"cache": "branch"}, "Dataset Cache, Cache Entries": {},
    "noInc-noSLB": {"similarity_bound": False, "incremental_counts": False},
    "inc-noSLB": {"similarity_bound": False}, "inc-SLB": {},
    "Gini, Dynamic": {"feature_order": "gini"}, "Random, Dynamic": {"feature_order": "random"},
    "InOrder, PostOrder": {"child_order": "post-order"}, "InOrder, Dynamic": {}}
SEARCH = {"cache": "dataset", "incremental_counts": True, "feature_order": "in-order",
          "child_order": "dynamic", "copies": 1, "max_depth": 4}
LIMIT = 600.0       # seconds: the limit of Table 5


@functools.cache
def names():
    """Return (name, rows) in the paper -> name of the data set, stand-ins left out."""
    from odtbook.datasets import manifest
    columns_of = {(name, line["rows"]): line["features"] for k in (1, 2, 4, 5)
                  for name, line in published(f"demirovic2022_table{k}").iterrows()}
    found = {}
    for (name, rows), features in columns_of.items():
        same = [key for key, fact in manifest.facts().items()
                if key.startswith(f"murtree/{name}")
                and (fact["rows"], fact["features"]) == (rows, features)]
        if same and name not in STAND_INS:
            found[name, rows] = same[0]
    return found


def _last_of(records, pattern, **where):
    """Return one run per data set, the last of several."""
    runs = records.of(pattern, **where)
    return runs.drop_duplicates("dataset", keep="last").set_index("dataset")


def _row(name, line, source):
    twice = (source.index == name).sum() > 1
    return f"{name} ({line['rows']} rows)" if twice else name


def _measured(runs, name, printed, *, entries=False):
    """CPU seconds until the proof, or entries of the cache in thousands, beside a printed number.

    A run that was stopped is infinite where its limit is long enough to tell it from the printed
    time, and has no counterpart otherwise; it has no final number of entries.
    """
    if runs is None or name is None or name not in runs.index:
        return math.nan
    run = runs.loc[name]
    if entries:
        return run["counters"].get("cache_entries", math.nan) / 1000
    if run["status"] == "optimal":
        return run["cpu_seconds"]
    factor = paper.data["items"]["T5"]["tolerance"]["factor"]       # that of all five tables
    enough = factor * printed if math.isfinite(printed) else LIMIT
    return math.inf if run["time_limit"] >= enough else math.nan


def _column(source, column, own, **others):
    """Cells of a column: ``own`` runs of the paper's search, those of ``others`` beside."""
    entries, known, cells = column.endswith("Entries"), names(), []
    for name, line in source.iterrows():
        printed, ours = float(line[column]), known.get((name, line["rows"]))
        cells.append({
            "row": _row(name, line, source), "column": column, "published": printed,
            "group": "entries" if entries else "seconds",
            "ours": _measured(own, ours, printed, entries=entries),
            "beside": {other.replace("_", " "): _measured(runs, ours, printed, entries=entries)
                       for other, runs in others.items()}})
    return cells


def _siblings(where):
    """Return the options of the kernels that compare all children of a node, by the same bound."""
    return {**where, "similarity_bound": where["similarity_bound"] and "siblings"}


def _budgets(records, where):
    """Return the runs over all node budgets: of the paper's search, and with most techniques."""
    return [attempt(_last_of, records, "murtree_published*", search="paper", job="budgets",
                    **options) for options in (where, _siblings(where))]


def switches(records, number):
    """Cells of Tables 1 to 3: one job, all node budgets at depth four, under several switches."""
    source, rows = published(f"demirovic2022_table{number}"), []
    for column in (c for c in source if c in SWITCHES):
        where = {**SEARCH, "similarity_bound": True, **SWITCHES[column]}
        own, most = _budgets(records, where)
        rows += _column(source, column, own, most_techniques=most, our_search=attempt(
            _last_of, records, "murtree_budgets", **_siblings(where)))
    return table_of(rows)


for table in (1, 2, 3):
    paper.table(f"T{table}")(lambda records, table=table: switches(records, table))


@paper.table("T4")
def _(records):
    source, rows = published("demirovic2022_table4"), []
    for depth in (4, 5):
        for copies in (1, 2, 3, 4):
            where = {**SEARCH, "similarity_bound": True, "copies": copies, "max_depth": depth}
            own, most = _budgets(records, where)
            rows += _column(source, f"depth={depth}, Time {copies}", own, most_techniques=most,
                            our_search=attempt(_last_of, records, "murtree_copies", **where))
    return table_of(rows)


@once
def full(records, depth, search="paper"):
    """Return runs on all rows with the full node budget, one per data set of the paper.

    ``search`` is "paper", "most" of its techniques, "dl85", or "ours", the default of odtlib.
    """
    if search == "ours":
        runs = _last_of(records, "murtree*", max_depth=depth, split=[None, math.nan],
                        max_nodes=[None, math.nan], split_penalty=0.0, min_samples_leaf=1,
                        similarity_bound=True, refined_bound=True, cache="dataset",
                        feature_order="depth-two", child_order="dynamic")
    else:
        where = {"paper": {"search": "paper", "similarity_bound": True},
                 "most": {"search": "paper", "similarity_bound": "siblings"},
                 "dl85": {"search": "dl85"}}[search]
        runs = _last_of(records, "murtree_published*", job="one", max_depth=depth, **where)
    return runs[runs.index.str.startswith("murtree/")]


@paper.table("T5")
def _(records):
    source, rows = published("demirovic2022_table5"), []
    for depth in (4, 5):
        rows += _column(source, f"Depth={depth}, DL8.5", attempt(full, records, depth, "dl85"))
        rows += _column(source, f"Depth={depth}, MurTree", attempt(full, records, depth),
                        most_techniques=attempt(full, records, depth, "most"),
                        our_search=attempt(full, records, depth, "ours"))
    return table_of(rows)


def _full(side, depth):
    try:
        return full(side.records, depth)
    except Missing:
        if not side.lenient:
            raise
        found = attempt(full, side.records, depth, "most")
        return full(side.records, depth, "ours") if found is None else found


# ------------------------------------------------------------------ Tables 1 to 4


def _pair(side, number, slow, quick):
    table = side.table(f"demirovic2022 T{number}")[[slow, quick]].dropna()
    table = table[np.isfinite(table).any(axis=1)]
    if len(table) < words.FEWEST:
        raise Missing(f"{len(table)} data sets have records of {slow} and {quick}")
    return table[slow], table[quick]


def _gain(slow, quick):
    """How much the second saves; without a result the first is slower than anything."""
    ended = np.where(np.isinf(slow), 1.0, slow - quick)
    return np.where(np.isinf(quick), -1.0, ended)


def cache_best(side):
    a, b = _pair(side, 1, "Branch Cache, Time", "Dataset Cache, Time")
    slower = int((_gain(a, b) < 0).sum())
    saved = int((_gain(a, b) > 0).sum())
    return slower <= 2 and saved > len(a) / 2, f"exceptions: {slower} among {len(a)}"


def cache_entries(side):
    a, b = _pair(side, 1, "Branch Cache, Cache Entries", "Dataset Cache, Cache Entries")
    fewer, same = int((b < 0.9 * a).sum()), int(((b <= a) & (b >= 0.9 * a)).sum())
    return bool((b <= a).all()) and same <= 2, (
        f"fewer on {fewer} of {len(a)}, within a tenth on {same}")


def incremental(side):
    return words.throughout(_gain(*_pair(side, 2, "noInc-noSLB", "inc-noSLB")))


def similarity_all(side):
    return words.throughout(_gain(*_pair(side, 2, "inc-noSLB", "inc-SLB")))


def similarity(side):
    gain = _gain(*_pair(side, 2, "inc-noSLB", "inc-SLB"))
    slower = int((gain < 0).sum())
    return bool((gain > 0).any() and slower < len(gain) / 2), f"slower on {slower} of {len(gain)}"


def random(side):
    table = side.table("demirovic2022 T3").dropna()
    best = table[["Gini, Dynamic", "InOrder, Dynamic"]].min(axis=1)
    return words.throughout(_gain(table["Random, Dynamic"], best))


def dynamic(side):
    a, b = _pair(side, 3, "InOrder, PostOrder", "InOrder, Dynamic")
    held, text = words.throughout(_gain(a, b))
    saved, _n = words.factor(a, b)
    return held and saved <= words.SIMILAR_TIME, f"{text}, factor {saved:.2f}"


def gini(side):
    gini, order = _pair(side, 3, "Gini, Dynamic", "InOrder, Dynamic")
    wins = int((order < gini).sum()), int((gini < order).sum())
    return bool(0 < wins[0] - wins[1] <= len(gini) / 3), f"in order {wins[0]}, Gini {wins[1]}"


def linear(side):
    table = side.table("demirovic2022 T4")[[f"depth=4, Time {c}" for c in (1, 2, 3, 4)]]
    table = table[np.isfinite(table).all(axis=1) & (table > 0).all(axis=1)]
    if len(table) < words.FEWEST:
        raise Missing(f"{len(table)} data sets have times of all copies")
    straight = [words.linear((1, 2, 3, 4), line) for line in table.to_numpy()]
    grown = float((table.iloc[:, 3] / table.iloc[:, 0]).median())
    return bool(np.mean(straight) > words.MAJORITY), (
        f"linear on {sum(straight)} of {len(straight)}; four times the rows take {grown:.1f} "
        "times as long (median)")


def depth(side):
    table = side.table("demirovic2022 T4")
    middle, count = words.factor(table["depth=5, Time 1"], table["depth=4, Time 1"])
    return middle >= words.ORDER, f"factor {middle:.0f}, geometric mean of {count}"


# ------------------------------------------------------------------ Table 5


def tens_of_thousands(side):
    runs = _full(side, 4)
    large = runs[runs["rows"] >= 10_000]
    return words.share(large["status"] == "optimal", "large data sets proved at depth 4", of=1)


def dl85(side):
    table = side.table("demirovic2022 T5")
    slow, quick = (table[f"Depth=4, {name}"] for name in ("DL8.5", "MurTree"))
    # a run without a proof took longer than any with one
    slow = slow.replace(math.inf, slow[np.isfinite(slow)].max())
    factor, count = words.factor(slow, quick)
    ratio = (slow / quick).dropna()
    return bool(factor >= words.ORDER and (ratio >= words.ORDERS).mean() >= words.SOME), (
        f"factor {factor:.0f} at depth 4, {int((ratio >= words.ORDERS).sum())} times a hundred or "
        f"more, {count} data sets")


magnitudes = dl85


def _within(side, depth, seconds):
    runs = _full(side, depth)
    within = (runs["status"] == "optimal") & (runs["cpu_seconds"] <= seconds)
    return within, f"{within.sum()} of {len(within)}, at most {runs['cpu_seconds'].max():.2f} s"


def depth_three(side):
    within, text = _within(side, 3, words.FEW_SECONDS)
    return words.share(within)[0], text


def four_minutes(side):
    within, text = _within(side, 4, words.MINUTES)
    return words.share(within)[0], text


def minutes(side):
    within, text = _within(side, 4, words.MINUTES)
    return bool(within.mean() > words.MAJORITY), text


def five_harder(side):
    """Compare the depths on the data sets of Table 5; a stopped run takes at least its time."""
    four, five = _full(side, 4), _full(side, 5)
    sets = [names().get((name, line["rows"]))
            for name, line in published("demirovic2022_table5").iterrows()]
    four = four["cpu_seconds"][(four["status"] == "optimal") & four.index.isin(sets)]
    middle, count = words.factor(five["cpu_seconds"].reindex(four.index), four)
    ratio = (five["cpu_seconds"] / four).dropna()
    harder = bool(middle >= words.MUCH and ratio.max() >= words.ORDER * ratio.min())
    stopped = int((five["status"].reindex(ratio.index) != "optimal").sum())
    if stopped and not harder:
        raise Missing(f"stopped runs of depth five may decide ({stopped})")
    more = " or more" if stopped else ""
    return harder, (f"factor {middle:.1f}{more} (geometric mean of {count} data sets of Table 5), "
                    f"from {ratio.min():.1f} to {ratio.max():.0f}")


# ------------------------------------------------------------------ Sections 5.3 and 5.4


def _by_our_search(side):
    """Refuse to time the paper's search by ours."""
    if not side.lenient:
        raise Missing("recorded with our search, not with that of the paper")


def sat(side):
    _by_our_search(side)
    runs = side.records.of("murtree_perfect")
    proved = runs["measures"].str["proved"].astype(bool)
    return words.share(proved & (runs["cpu_seconds"] <= words.FEW_SECONDS), "samples")


def sparse_any(side):
    _by_our_search(side)
    runs = side.records.of("murtree_sparse")
    return words.share(runs["status"] == "optimal", "runs proved")


@once
def tuned(records, family, protocol="paper"):
    """Return accuracies in per cent by way of tuning ("train" and "test"), and the records."""
    import pandas as pd
    runs = records.of("murtree_tuning", family=family)
    runs = runs[runs["measures"].map(lambda m: protocol in m)]
    if runs.empty:
        raise Missing(f"no record of the protocol {protocol}")
    return {part: pd.DataFrame({
        row["dataset"]: {way: 100 * found.get(part, math.nan) for way, found in
                         row["measures"][protocol].items()}
        for _, row in runs.iterrows()}).T.round(6) for part in ("train", "test")}, runs


def gain_over_cart(records, way, protocol="paper"):
    """Return by how much a way of tuning is ahead of CART on test folds, per data set."""
    test = tuned(records, "trees", protocol)[0]["test"]
    return (test[way] - test["CART"]).dropna()


def gap_to_forest(records, part="test"):
    """Return by how much random forests are ahead of tuned optimal trees, per data set."""
    forest = tuned(records, "forest")[0][part]["forest"]
    return (forest - tuned(records, "trees")[0][part]["MT-A"]).dropna()


def mt_f(side):
    return words.about_equal(gain_over_cart(side.records, "MT-F"))


def mt_r(side):
    return words.most(gain_over_cart(side.records, "MT-R"))


def mt_a(side):
    return words.throughout(gain_over_cart(side.records, "MT-A"))


def better_than_cart(side):
    return words.better(gain_over_cart(side.records, "MT-A", "nested"))


def cart_time(side):
    return words.share(side.records.of("murtree_cart")["cpu_seconds"] < 1, "runs")


def murtree_time(side):
    _by_our_search(side)
    seconds = tuned(side.records, "trees")[1]["cpu_seconds"]
    return words.most(words.MINUTES - seconds)


def forest_train(side):
    return words.better(gap_to_forest(side.records, "train"))


def forest_half(side):
    close, count = words.comparable_on(gap_to_forest(side.records))
    least, most = words.HALF
    return least <= close / count <= most, (
        f"within one point, either way, on {close} of {count} data sets")


def forest_time(side):
    seconds = tuned(side.records, "forest")[1]["cpu_seconds"]
    return bool(seconds.between(10, 19).mean() > words.MAJORITY), f"median {seconds.median():.0f} s"


paper.collect(globals())
