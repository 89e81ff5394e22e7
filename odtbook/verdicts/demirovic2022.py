"""Demirović et al. (2022), MurTree: the cells of its tables, and what answers its statements."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np

from odtbook.experiments.published import published

from .claims import Paper, Plan
from .evidence import Missing, attempt, once, pivot, table_of
from .rules import (
    CONSISTENT,
    FEWEST,
    TIMED,
    Effect,
    Part,
    ahead,
    always,
    equivalent,
    exact,
    itself,
    mostly,
    not_run,
    proved,
    remark,
    times_agree,
)

paper = Paper("demirovic2022", "Demirović et al. (2022)")
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
LIMIT = 600.0       # seconds: the limit of the paper
FACTOR = 2.0        # within which two times agree
CLOSE = 1.0         # points between methods that are "comparable" on one data set
WORK = 0.01         # share of the depth-two problems below which an order saves nothing
LEAST = 0.1         # seconds, below which a single time says nothing
LINEAR = 0.25       # by which the exponent of "linear" growth may differ from 1
SLOWER = Plan("murtree_published_search", {"time_limit": 600.0},
              "the cells of Tables 4 and 5 that a minute stopped")
CACHES = Plan("murtree_published_search", {
    "time_limit": 900.0, "dataset": "murtree/Statlog_satellite_categorical_bin"},
    "both caches on the data set that a minute stopped")
PACKAGE = Plan("dl85_package", {}, "DL8.5's own package without MurTree's techniques, at depth "
               "five with a hundred times MurTree's seconds")


# ------------------------------------------------------------------ cells


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


@functools.cache
def _sizes():
    """Return rows and columns of a data set by its name."""
    from odtbook.datasets import manifest
    return {key: (fact["rows"], fact["features"]) for key, fact in manifest.facts().items()}


def _last_of(records, pattern, **where):
    """Return one run per data set, the last of several."""
    runs = records.of(pattern, **where)
    return runs.drop_duplicates("dataset", keep="last").set_index("dataset")


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
    enough = FACTOR * printed if math.isfinite(printed) else LIMIT
    return math.inf if run["time_limit"] >= enough else math.nan


def _column(source, column, own, program="MurTree", copies=1, **others):
    """Cells of a column: ``own`` runs of the paper's search, those of ``others`` beside."""
    entries, known, cells = column.endswith("Entries"), names(), []
    for name, line in source.iterrows():
        printed, ours = float(line[column]), known.get((name, line["rows"]))
        rows, columns = _sizes().get(ours, (math.nan, math.nan))
        twice = (source.index == name).sum() > 1
        cells.append({
            "row": f"{name} ({line['rows']} rows)" if twice else name, "column": column,
            "published": printed, "group": "entries" if entries else "seconds",
            "program": program, "rows": copies * rows, "columns": columns,
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


@once
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
    paper.table(f"T{table}")(functools.partial(switches, number=table))


@paper.table("T4")
def _(records):
    source, rows = published("demirovic2022_table4"), []
    for depth in (4, 5):
        for copies in (1, 2, 3, 4):
            where = {**SEARCH, "similarity_bound": True, "copies": copies, "max_depth": depth}
            own, most = _budgets(records, where)
            rows += _column(source, f"depth={depth}, Time {copies}", own, copies=copies,
                            most_techniques=most,
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


def package(records, depth):
    """Return runs of DL8.5 by its own package, without MurTree's techniques."""
    return _last_of(records, "dl85_package", program="pydl8.5", max_depth=depth)


@paper.table("T5")
def _(records):
    source, rows = published("demirovic2022_table5"), []
    for depth in (4, 5):
        rows += _column(source, f"Depth={depth}, DL8.5", attempt(package, records, depth),
                        program="DL8.5", in_our_kernels=attempt(full, records, depth, "dl85"))
        rows += _column(source, f"Depth={depth}, MurTree", attempt(full, records, depth),
                        most_techniques=attempt(full, records, depth, "most"),
                        our_search=attempt(full, records, depth, "ours"))
    return table_of(rows)


# ------------------------------------------------------------------ Tables 1 to 4


def _both(cells, slow, quick):
    """Return two columns where at least one ended; a stopped run is infinite."""
    table = pivot(cells)[[slow, quick]].dropna()
    table = table[np.isfinite(table).any(axis=1)]
    if table.empty:
        raise Missing(f"no data set has records of {slow} and {quick}")
    return table[slow], table[quick]


def _faster(cells, says, slow, quick, said, judge=None):
    """Judge that one way is faster than the other, on most data sets or always."""
    a, b = _both(cells, slow, quick)
    part = always(says, a, b, published=said) if judge is always else mostly(
        says, a > b, kind="timing", published=said)
    return [part.guarded(len(a) / cells["row"].nunique())]


def _agree(cells):
    """Judge the printed times of MurTree by ours, after one size model for this program."""
    times = cells[(cells["group"] == "seconds") & (cells["program"] == "MurTree")]
    return [times_agree("Printed times follow ours after the size model", times["published"],
                        times["ours"], times[["rows", "columns"]])]


def _exceptions():
    """Return the data sets on which the branch cache is faster in the paper's Table 1."""
    printed = published("demirovic2022_table1")
    slow, quick = (printed[f"{cache} Cache, Time"].astype(float) for cache in ("Dataset", "Branch"))
    return printed.index[quick < slow]


@paper.claim("T1", "a", plan=CACHES, digits=0.5)
def _(records):
    cells = switches(records, 1)
    return _faster(cells[~cells["row"].isin(_exceptions())], "The data set cache is faster on all "
                   "but the two exceptions", "Branch Cache, Time", "Dataset Cache, Time",
                   "all but two data sets", always)


@paper.claim("T1", "b")
def _(records):
    cells = switches(records, 1)
    cells = cells[~cells["row"].isin(_exceptions())]
    more, fewer = _both(cells, "Branch Cache, Cache Entries", "Dataset Cache, Cache Entries")
    return proved("The data set cache has fewer entries on all but the two exceptions",
                  bool((more > fewer).all()), "all but two data sets",
                  f"{int((more > fewer).sum())} of {len(more)}", "counted").guarded(
                      len(more) / cells["row"].nunique())


@paper.claim("T1", "c")
def _(records):
    ours = pivot(switches(records, 1))
    own = _exceptions()
    says = f"The branch cache is faster on {' and '.join(own)}"
    ratio, entries = (np.array([ours[f"Dataset Cache, {what}"][name]
                                / ours[f"Branch Cache, {what}"][name] for name in own])
                      for what in ("Time", "Cache Entries"))
    known = np.isfinite(ratio)
    if not known.any():
        return not_run(says, "timing", "our run on the first was stopped at a minute, and the file "
                       "of the second is not to be had")
    low, high = ratio[known].min(), ratio[known].max()
    answer = "confirmed" if TIMED < low and high < FACTOR else \
        "contradicted" if low < 1 / TIMED or high > FACTOR * TIMED else "undecided"
    return [Part(says, "timing", answer, "a slight advantage", "; ".join(
                f"{name} {one:.2f} times"
                for name, one in zip(own[known], ratio[known], strict=True)),
                "two timings of one setting in a paper differ by up to "
                f"{TIMED:.2f}").guarded(known.mean()),
            proved("Both caches have similar entries there, within a tenth", bool((
                np.abs(np.log(entries[known])) <= math.log(1.1)).all()), "similar", "; ".join(
                    f"{one:.2f} times" for one in entries[known]), "counted")]


@paper.claim("T1", "d")
def _(records):
    cells = switches(records, 1)
    entries = cells[cells["group"] == "entries"]
    return [exact("Entries of both caches, in thousands, to the digits printed or one per cent",
                  entries["published"], entries["ours"],
                  digits=np.maximum(0.5, 0.01 * entries["published"].astype(float))),
            *_agree(cells)]


@paper.claim("T1", "e")
def _(records):
    """Compare with the slower of both other caches, where a run takes a tenth of a second."""
    caches = ["branch", "dataset", "closure"]
    runs = records.of("murtree_switches", cache=caches, feature_order="depth-two",
                      child_order="dynamic", refined_bound=True, similarity_bound=True)
    seconds = runs.pivot_table(index="dataset", columns="cache", values="cpu_seconds")[caches]
    seconds = seconds[(seconds >= LEAST).any(axis=1)].dropna()
    return mostly(f"A cache by closure takes more than {TIMED:.2f} times as long",
                  seconds["closure"] > TIMED * seconds[["branch", "dataset"]].max(axis=1),
                  kind="timing", published="most instances").guarded(
                      substitute="our own search, where a run takes a tenth of a second")


@paper.claim("T2", "a", digits=0.5)
def _(records):
    return _faster(switches(records, 2), "Incremental counts are faster", "noInc-noSLB",
                   "inc-noSLB", "always", always)


@paper.claim("T2", "b")
def _(records):
    return _faster(switches(records, 2), "The similarity bound is faster", "inc-noSLB", "inc-SLB",
                   "most of the benchmarks")


@paper.claim("T2", "c")
def _(records):
    printed = pivot(switches(records, 2), "published")
    saves = int((printed["inc-noSLB"] > printed["inc-SLB"]).sum())
    a, b = _both(switches(records, 2), "inc-noSLB", "inc-SLB")
    return itself("The similarity bound saves time on all data sets with few exceptions",
                  f"Section 4.4: few exceptions; its own table: on {saves} of {len(printed)}",
                  f"on {int((a > b).sum())} of {len(a)}")


for number in (2, 3):
    paper.claim(f"T{number}", "d")(
        lambda records, number=number: _agree(switches(records, number)))


@paper.claim("T3", "a", digits=0.5)
def _(records):
    cells = switches(records, 3)
    table = pivot(cells).dropna()
    others = table[["Gini, Dynamic", "InOrder, Dynamic"]].min(axis=1)
    return always("A random order is slower than the better of the others",
                  table["Random, Dynamic"], others, published="never beneficial").guarded(
                      len(table) / cells["row"].nunique())


@paper.claim("T3", "b")
def _(records):
    table, again = (pivot(switches(records, number), "published") for number in (3, 2))
    slow, quick = table["InOrder, PostOrder"], table["InOrder, Dynamic"]
    both = [name for name in slow.index.intersection(again.index) if again["inc-SLB"][name] > 0]
    first, second = (ahead("Post-order takes longer than the dynamic order, by its own times",
                           np.log(slow[both] / one[both]), show=np.exp, unit="times")
                     for one in (quick, again["inc-SLB"]))
    return [*(part.guarded(substitute="" if second.answer == "confirmed" else (
                "another implementation, and the lead is no larger than the difference of the "
                "paper's two timings of one setting"))
              for part in dynamic(records, switches(records, 3))),
            remark(first.says, f"{first.ours}, {first.interval}",
                   "", f"by the times of Table 2 for the same dynamic setting {second.ours}, "
                   f"{second.interval}")]


@paper.claim("T3", "c")
def _(records):
    printed = pivot(switches(records, 3), "published")
    order, gini = printed["InOrder, Dynamic"], printed["Gini, Dynamic"]
    said = f"{(order < gini).sum()} against {(gini < order).sum()}"
    a, b = _both(switches(records, 3), "Gini, Dynamic", "InOrder, Dynamic")
    return [*_faster(switches(records, 3), "In-order is faster than Gini", "Gini, Dynamic",
                     "InOrder, Dynamic", said),
            mostly("In-order is faster on less than twice as many: Gini on more than a third",
                   a < b, bar=1 / 3, kind="timing", published=said).guarded(
                       len(a) / len(printed))]


@paper.claim("T3", "f")
def _(records):
    cells = switches(records, 3)
    printed, ours = (np.log(table["Gini, Dynamic"] / table["InOrder, Dynamic"]) for table in (
        pivot(cells, "published"), pivot(cells).replace(math.inf, math.nan)))
    ours = ours.dropna()
    if len(ours) < FEWEST:
        raise Missing("too few data sets ended in both orders")
    part = equivalent(
        "Times of Gini and in-order are in the mean no further apart than two timings of one "
        "setting", [Effect.of("Gini over in-order", 0.0, ours)], math.log(TIMED),
        "in the logarithm", "timing")
    said, own = (f"Gini over in-order {np.exp(one.mean()):.2f} times" for one in (printed, ours))
    return replace(part, published=said, ours=own).guarded(len(ours) / len(printed))


def _orders(records):
    """Return depth-two problems and time of post-order over those of the dynamic order, per set."""
    slow, quick = (_budgets(records, {**SEARCH, "similarity_bound": True, "child_order": order})[0]
                   for order in ("post-order", "dynamic"))
    if slow is None or quick is None:
        raise Missing("no record of both orders")
    both = [name for name in slow.index.intersection(quick.index)
            if slow["status"][name] == quick["status"][name] == "optimal"
            and slow["counters"][name].get("depth_two_problems")]
    if not both:
        raise Missing("no data set ended in both orders")
    problems = [runs["counters"][both].str["depth_two_problems"].astype(float)
                for runs in (slow, quick)]
    return problems[0] / problems[1], slow["cpu_seconds"][both] / quick["cpu_seconds"][both]


def dynamic(records, cells):
    """Judge the dynamic order of children by the work that it saves, and say what was tried."""
    printed = pivot(cells, "published")
    better = int((printed["InOrder, PostOrder"] > printed["InOrder, Dynamic"]).sum())
    work, times = _orders(records)
    alike = np.abs(work - 1) <= WORK
    lead = ahead("Depth-two problems of post-order over those of the dynamic order", np.log(work),
                 unit="times", kind="timing", show=np.exp)
    part = mostly("The dynamic order of children saves work: consistently", work > 1 + WORK,
                  kind="timing", bar=CONSISTENT,
                  published=f"faster on {better} of {len(printed)} data sets")
    return [one.guarded(len(work) / len(printed)) for one in (lead, part.noted(
        "in our search of the paper's algorithms both orders solve the same depth-two problems "
        f"within {WORK:.0%} on {alike.sum()} of {len(work)} data sets, so that there is nothing to "
        f"save; single times there scatter from {times[alike].min():.2f} to "
        f"{times[alike].max():.2f}, in the geometric mean "
        f"{np.exp(np.log(times[alike]).mean()):.2f}"))]


@paper.claim("T3", "e")
def _(records):
    printed, (_, times) = pivot(switches(records, 3), "published"), _orders(records)
    said = np.log(printed["InOrder, PostOrder"] / printed["InOrder, Dynamic"]).mean()
    return ahead("Time of post-order over the dynamic order, less than two timings of one setting "
                 "differ", np.log(times), bar=math.log(TIMED), more=False, unit="times",
                 kind="timing", show=np.exp, of=len(printed), published=(
                     f"{np.exp(said):.2f} times in the mean"))


@paper.claim("T4", "a", plan=SLOWER, digits=0.5)
def _(records):
    table = pivot(paper.cells["T4"](records)).replace(math.inf, math.nan)
    grown = table[["depth=4, Time 1", "depth=4, Time 4"]].dropna()
    power = np.log(grown["depth=4, Time 4"] / grown["depth=4, Time 1"]) / math.log(4)
    if len(power) < 3:
        raise Missing("too few data sets have times of all copies")
    return mostly("From one to four copies of the rows the exponent of the growth is within "
                  f"{LINEAR} of 1", np.abs(power - 1) <= LINEAR, kind="timing",
                  published="the majority").noted(f"exponents from {power.min():.2f} to "
                  f"{power.max():.2f}, in the mean {power.mean():.2f}").guarded(
                      len(power) / len(table))


@paper.claim("T4", "b")
def _(records):
    cells = paper.cells["T4"](records)
    deep, printed = (np.log(table["depth=5, Time 1"] / table["depth=4, Time 1"]) for table in (
        pivot(cells).replace(math.inf, math.nan), pivot(cells, "published")))
    return ahead("Depth five over depth four", deep, bar=math.log(10), unit="times",
                 kind="timing", show=np.exp, published=(
                     f"{np.exp(printed.mean()):.0f} times in the mean"), of=len(printed))


paper.claim("T4", "c")(lambda records: _agree(paper.cells["T4"](records)))


# ------------------------------------------------------------------ Table 5, Figures 5 and 6


paper.claim("T5", "a", plan=PACKAGE, digits=0.5)(
    lambda records: _against_dl85(records, full(records, 4), 4))
paper.claim("T5", "c")(lambda records: _against_dl85(records, full(records, 5), 5))


@paper.claim("T5", "b")
def _(records):
    four = full(records, 4)
    return [*_agree(paper.cells["T5"](records)),
            mostly("Proofs at depth four within ten minutes", four["status"] == "optimal",
                   kind="timing", published="all of its data sets").guarded(
                       short=bool((four["time_limit"] < LIMIT).any())).beside()]


def _against_dl85(records, own, depth):
    """Judge the lead over DL8.5 by its own package: our own DL8.5 is another program."""
    says = f"MurTree is faster than DL8.5 by two orders of magnitude or more at depth {depth}"
    runs = attempt(package, records, depth)
    if runs is None:
        return not_run(says, "timing", "its package has not run at this depth; our own DL8.5 is "
                       "another program, and refutes nothing")
    runs = runs.join(own[own["status"] == "optimal"]["cpu_seconds"].rename("quick"), how="inner")
    part = ahead(says, np.log(runs["cpu_seconds"] / runs["quick"]), bar=math.log(100), unit="times",
                 kind="timing", show=np.exp, published="orders of magnitude")
    if (runs["status"] == "optimal").all():
        return part
    return replace(part, answer="undecided" if part.answer == "contradicted" else part.answer
                   ).noted("runs without a proof would have taken longer, so that the ratio is a "
                           "lower limit")


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


@paper.claim("F5", "a")
def _(records):
    best = gain_over_cart(records, "MT-A")
    return [ahead("MT-A against CART, by the paper's protocol", best, published="ahead"),
            mostly("Data sets on which MT-A is ahead, where they differ", best[best != 0] > 0,
                   bar=CONSISTENT, published="consistently"),
            ahead("MT-A against CART, nested: folds that the tuning has not seen",
                  gain_over_cart(records, "MT-A", "nested")).beside()]


@paper.claim("F5", "b")
def _(records):
    return mostly("MT-R is ahead of CART", gain_over_cart(records, "MT-R") > 0,
                  published="most data sets")


@paper.claim("F5", "c")
def _(records):
    return equivalent("MT-F is about as accurate as CART",
                      [Effect.of("MT-F", 0.0, gain_over_cart(records, "MT-F"))], CLOSE)


@paper.claim("F6", "a")
def _(records):
    return ahead("Forests on training rows", gap_to_forest(records, "train"), published="ahead")


@paper.claim("F6", "b")
def _(records):
    seconds = tuned(records, "forest")[1]["cpu_seconds"]
    return [ahead("Forests on test folds", gap_to_forest(records), published="ahead"),
            remark("Seconds of a tuned forest", "10 to 19 on most data sets",
                   f"median {seconds.median():.1f}", "another library and another machine")]


@paper.claim("F6", "c")
def _(records):
    gap = gap_to_forest(records)
    return [mostly("Not behind by more than a point on test folds", gap <= CLOSE, bar=(0.35, 0.65),
                   published="about half"),
            remark("Within a point on either side", "",
                   f"{(gap.abs() <= CLOSE).sum()} of {len(gap)}",
                   f"on {(gap < -CLOSE).sum()} the tree is ahead by more")]
