"""Firat et al. (2020): the cells of its tables, and its statements."""

from __future__ import annotations

import functools
import math

import numpy as np

from odtbook.experiments.published import published

from . import evidence, words
from .evidence import Missing, Paper, accuracies, attempt, method_runs, sets_of, sizes, table_of

paper = Paper("firat2020")
SMALL, LARGE = sets_of("small"), sets_of("large")
DEPTHS = (2, 3, 4)


def cgh(records):
    """Return the runs of CGH on the small sets, those that their limit stopped left out."""
    runs = method_runs(records, "CGH")
    return runs[runs["dataset"].isin(SMALL.values())]


@paper.table("T3")
def _(records):
    return accuracies(records, "firat2020_table3", {
        f"k = {k}, {name}": (name, k) for k in DEPTHS for name in ("CART", "CART*", "CGH")},
        "test")


@paper.table("T4")
def _(records):
    """Share of integral relaxations among the runs whose column generation ended."""
    runs, found = attempt(cgh, records), {}
    if runs is not None:
        grouped = runs["counters"].str["integral"].astype(float).groupby(runs["max_depth"])
        enough = grouped.count() >= 0.9 * 5 * len(SMALL)
        found = (100 * grouped.mean())[enough].to_dict()
    by_seed = attempt(evidence.seeds, records, "CGH", "integral") or {}

    def of_seeds(depth):
        lists = [by_seed.get((dataset, depth)) for dataset in SMALL.values()]
        return None if None in lists else list(np.mean(lists, axis=0))
    return table_of([{"row": f"depth {depth}", "column": "Percentage (%)",
                      "published": float(line["Percentage (%)"]),
                      "ours": found.get(int(depth), math.nan), "seeds": of_seeds(int(depth))}
                     for depth, line in published("firat2020_table4").iterrows()])


@paper.table("T6")
def _(_records):
    return sizes("firat2020_table6", {"|R|": "rows", "|F|": "features", "|T|": "classes"})


@paper.table("T7")
def training(records):
    """Training accuracy on the small data sets."""
    return accuracies(records, "firat2020_table7", {
        f"k = {k}, {name}": (name, k) for k in DEPTHS for name in ("CART", "BinOCT*", "CGH")},
        "train")


def testing(records, depth):
    """Testing accuracy on the small data sets at one depth: Tables 8, 9 and 10."""
    return accuracies(records, f"firat2020_table{depth + 6}", {
        "CART": ("CART", depth), "CART(BD)*": ("CART(BD)*", depth), "OCT": ("OCT", depth),
        "BinOCT*": ("BinOCT*", depth), "CGH": ("CGH", depth)}, "test", ("CART(BD)*", "OCT"))


for at in DEPTHS:
    paper.table(f"T{at + 6}")(functools.partial(testing, depth=at))


@paper.table("F1")
def _(records):
    rows = []
    tables = [(k, "train", training(records)) for k in DEPTHS]
    tables += [(k, "test", testing(records, k)) for k in DEPTHS]
    for k, part, cells in tables:
        if part == "train":
            cells = cells[cells["column"].str.startswith(f"k = {k}")]
            cells = cells.assign(column=cells["column"].str.partition(", ")[2])
        for column, group in cells.groupby("column", sort=False):
            by_seed = group["seeds"].map(lambda s: isinstance(s, list)).all()
            rows.append({"row": f"depth {k}, {part}ing", "column": column,
                         "published": group["published"].mean(),
                         "ours": group["ours"].mean(skipna=False),
                         "quoted": group["quoted"].all(),
                         "seeds": list(np.mean(group["seeds"].tolist(), axis=0)) if by_seed
                         else None})
    return table_of(rows)


# ------------------------------------------------------------------ accuracies on small data


def _train(side, k, *names):
    columns = [f"k = {k}, {name}" for name in names]
    table = side.table("firat2020 T7", *columns)
    return [table[column] for column in columns]


def tests(side, k, *names):
    """Return columns of the table of testing accuracies at a depth."""
    table = side.table(f"firat2020 T{k + 6}", *names)
    return [table[name] for name in names]


# claim -> columns, depths, and the two methods of which the first is ahead by some per cent
RELATIVE = {
    "gain-train": (_train, DEPTHS, "CGH", "CART"),
    "binoct-train": (_train, DEPTHS, "BinOCT*", "CGH"),
    "gain-test": (tests, DEPTHS, "CGH", "CART"),
    "oct-test": (tests, DEPTHS, "CGH", "OCT"),
    "binoct-test": (tests, (2, 4), "BinOCT*", "CGH"),
    "cgh-over-binoct": (tests, (3,), "CGH", "BinOCT*")}


def _relative(side, columns, depths, *names):
    pairs = [columns(side, k, *names) for k in depths]
    return [float((100 * (a / b - 1)).mean()) for a, b in pairs]


for claim, line in RELATIVE.items():
    paper.answers[f"firat2020-{claim}"] = lambda side, line=line: _relative(side, *line)


def _wins(columns):
    """Lines on which each column is best, ties included, at the precision of the tables."""
    table = np.round(np.column_stack(columns), 1)
    return (table == table.max(axis=1, keepdims=True)).sum(axis=0)


def over_oct(side):
    return float(np.mean(_relative(side, tests, DEPTHS, "CGH", "OCT")))


def below_binoct(side):
    return float(np.mean(_relative(side, tests, DEPTHS, "BinOCT*", "CGH")))


def data_sets(side):
    rows = side.table("firat2020 T6", "|R|")["|R|"]
    return len(rows), int((rows < 10_000).sum()), int((rows > 10_000).sum())


def training_rises(side):
    names = ("CART", "BinOCT*", "CGH")
    means = np.array([[column.mean() for column in _train(side, k, *names)] for k in DEPTHS])
    return bool((np.diff(means, axis=0) > words.ROUNDING).all())


def ninety(side):
    means = [column.mean() for column in _train(side, 4, "CGH", "BinOCT*")]
    return min(means) > 90, f"{means[0]:.1f} and {means[1]:.1f} %"


def wins_train(side):
    return sum(_wins(_train(side, k, "BinOCT*", "CGH", "CART")) for k in DEPTHS)


def comparable(side):
    spread = []
    for k in DEPTHS:
        means = [c.mean() for c in tests(side, k, "CART", "OCT", "BinOCT*", "CGH")]
        spread.append(max(means) - min(means))
    return max(spread) <= words.COMPARABLE, f"means within {max(spread):.1f} points at every depth"


def wins_test(side):
    # CART(BD) competes, although the text leaves it out
    names = ("BinOCT*", "OCT", "CGH", "CART", "CART(BD)*")
    return sum(_wins(tests(side, k, *names)) for k in DEPTHS)[:4]


def overfit(side):
    gaps = [train.mean() - test.mean() for train, test in zip(
        _train(side, 4, "CGH", "BinOCT*"), tests(side, 4, "CGH", "BinOCT*"), strict=True)]
    return min(gaps) >= words.REMARKABLE, f"by {gaps[0]:.1f} and {gaps[1]:.1f} points"


def only_binoct(side):
    ahead = []
    for k in DEPTHS:
        cart, binoct, own = (c.mean() for c in _train(side, k, "CART", "BinOCT*", "CGH"))
        oct_, test = (c.mean() for c in tests(side, k, "OCT", "CGH"))
        ahead.append(cart < own < binoct and test > oct_)
    return words.share(ahead, "depths")


# ------------------------------------------------------------------ large data


def _large(side, k, *names):
    names = names or ("CART", "CART*", "CGH")
    table = side.table("firat2020 T3")
    table.columns.name = None
    table = table[[f"k = {k}, {name}" for name in names]].dropna()
    if len(table) < 5:
        raise Missing(f"{6 - len(table)} of the 6 large data sets have no records at depth {k} "
                      f"of {', '.join(names)}")
    return [table[column] for column in table]


def _large_all(side, *names):
    return [np.concatenate(column) for column in
            zip(*(_large(side, k, *names) for k in DEPTHS), strict=True)]


def large_rows(side):
    runs = method_runs(side.records, "CGH")
    runs = runs[runs["dataset"].isin(LARGE.values())]
    if runs.empty:
        raise Missing("no record of CGH on large data")
    return bool((runs["rows"] >= 10_000).any()), f"up to {int(runs['rows'].max())} training rows"


def large_depth2(side):
    cart, tuned, own = (c.mean() for c in _large(side, 2))
    return own > max(cart, tuned), f"{cart:.1f}, {tuned:.1f} and {own:.1f} %"


def large_mean(side):
    means = [(tuned.mean(), own.mean()) for _, tuned, own in (_large(side, k) for k in (3, 4))]
    return all(a > b for a, b in means), "; ".join(f"{a:.1f} and {b:.1f} %" for a, b in means)


def large_wins(side):
    _, tuned, own = sum(_wins(_large(side, k)) for k in (3, 4))
    return bool(own > tuned), f"{own} against {tuned}"


def most_wins(side):
    cart, tuned, own = sum(_wins(_large(side, k)) for k in DEPTHS)
    return bool(own > max(cart, tuned)), f"CART {cart}, CART* {tuned}, CGH {own}"


def five_of_six(side):
    cart, tuned, own = _large(side, 3)
    best = np.round(np.maximum(cart, tuned), 1)
    return int((np.round(own, 1) >= best).sum()), len(own)


def large_improves(side):
    cart, own = _large_all(side, "CART", "CGH")
    return words.most(np.round(own - cart, 1), "cells")


def large_gain(side):
    cart, own = _large_all(side, "CART", "CGH")
    return float((own - cart).mean())


def no_gain_two(side):
    names = ["Default credit", "HTRU_2"]
    gain = max(float((own - cart)[names].max()) for cart, own in
               (_large(side, k, "CART", "CGH") for k in DEPTHS))
    return gain <= words.ROUNDING, f"at most {gain:.2f} points"


def cart_easy(side):
    least = [min(_large(side, k, "CART")[0][name] for k in DEPTHS)
             for name in ("Default credit", "HTRU_2")]
    return least[0] > 82 and least[1] > 97, f"{least[0]:.1f} and {least[1]:.1f} % at least"


def over_tuned(side):
    tuned, own = _large_all(side, "CART*", "CGH")
    return words.most(np.round(own - tuned, 1), "cells")


def letter(side):
    gaps = [(tuned - own)["Letter recognition"] for _, tuned, own in
            (_large(side, k) for k in (3, 4))]
    return min(gaps) >= words.REMARKABLE, f"by {gaps[0]:.1f} and {gaps[1]:.1f} points"


def competitive(side):
    cart, tuned, own = _large_all(side)
    gain, median = np.round(own - cart, 1), float(np.median(own - tuned))
    held, text = words.better(gain)
    return held and (gain >= 0).mean() >= words.SHARE and abs(median) < words.CLOSE, (
        f"over CART {text}; median {median:+.2f} points against CART*")


# ------------------------------------------------------------------ times and relaxations


def cart_time(side):
    seconds = method_runs(side.records, "CART")["cpu_seconds"].dropna()
    if seconds.empty:
        raise Missing("no record times CART alone")
    return float(seconds.mean())


def _of_all(side):
    """Runs of CGH, of which none may be missing: a statement speaks of all of them."""
    runs = cgh(side.records)
    wanted = 5 * len(DEPTHS) * len(SMALL)
    if len(runs) < wanted:
        raise Missing(f"{wanted - len(runs)} of {wanted} runs were stopped by our limit, which is "
                      "shorter than the paper's")
    return runs


def all_ended(side):
    slowest = _of_all(side)["wall_seconds"].max()
    return bool(slowest < words.MINUTES), f"slowest {slowest:.0f} s"


def solved_all(side):
    runs = _of_all(side)
    solved = runs["wall_seconds"] < words.MINUTES
    return bool(solved.all()), f"{int(solved.sum())} of {len(runs)} runs"


def time_grows(side):
    from scipy.stats import spearmanr
    runs = cgh(side.records).groupby(["dataset", "max_depth"])
    seconds = runs["cpu_seconds"].mean().unstack()
    steps = [words.wilcoxon(seconds[k] - seconds[k - 1], "greater") for k in (3, 4)]
    sizes = runs[["rows", "features"]].max().groupby("dataset").max()
    for name in sizes:
        rank = spearmanr(sizes[name], seconds.mean(axis=1), alternative="greater")
        steps.append(rank.pvalue)
    return max(steps) < words.LEVEL, (
        f"p = {max(steps[:2]):.2g} for each depth, {steps[2]:.2g} for the rows, "
        f"{steps[3]:.2g} for the features, over {len(seconds)} data sets")


def smallest(side):
    small = cgh(side.records).query("rows < 100")
    slowest = float(small["wall_seconds"].max())
    return slowest < words.FEW_SECONDS, f"at most {slowest:.1f} s below 100 rows"


def integral(side):
    return list(side.table("firat2020 T4", "Percentage (%)")["Percentage (%)"])


def integral_all(side):
    return float(side.table("firat2020 T4", "Percentage (%)")["Percentage (%)"].mean())


paper.collect(globals())
