"""Answer the statements of the papers' texts from tables and records, one small function each.

A function gets a side, the published one or ours, and returns numbers in the order of
``data/published/claims.csv``; or whether the statement holds; or a pair of that and what was
counted.  On the published side it says whether the text agrees with the paper's own tables.
"""

from __future__ import annotations

import functools

import numpy as np

from odtlib.requirements import needs

from .counterparts import (
    LARGE,
    ROW_CUTS,
    SMALL,
    Missing,
    constrained_runs,
    friedman,
    full_budget,
    method_runs,
    variants,
)
from .rules import SHARE, Tolerance

HOLDS = Tolerance()
STATEMENTS = {}     # claim -> (function, tolerance, why it differs or was not run)


class Side:
    """One side of a comparison.

    Parameters
    ----------
    cells : callable
        ``cells(key)`` returns the cells of a table, by a key such as "firat2020 T7".
    column : str
        "published" or "ours".
    records : Records or None
        Ours; None on the published side.
    """

    def __init__(self, cells, column, records=None):
        self._column, self._records = column, records

        @functools.cache
        def pivot(key):
            table = cells(key)
            if table[column].isna().all():
                raise Missing(f"no cell of {key} has a record")
            return table.pivot_table(index="row", columns="column", values=column,
                                     sort=False, dropna=False, aggfunc="first")
        self._pivot = pivot

    def table(self, key, *columns):
        """Return a table, rows by columns, of this side; columns that it needs in full."""
        table = self._pivot(key).copy()
        for column in columns:
            gaps = int(table[column].isna().sum())
            if gaps:
                raise Missing(f"{gaps} of {len(table)} cells of {key}, {column}, have no record")
        return table

    @property
    def records(self):
        """Our records; the published side has none."""
        if self._records is None:
            raise Missing("the paper prints no table of this")
        return self._records


def statement(name, tolerance=HOLDS, because=""):
    """Register the function that answers a claim."""
    def register(function):
        STATEMENTS[name] = (function, tolerance, because)
        return function
    return register


def _relative(a, b):
    return float((100 * (a / b - 1)).mean())


def _share(condition, text="data sets", at_least=SHARE):
    """Whether a condition holds on enough of the lines, and on how many."""
    condition = np.asarray(condition, bool)
    if not len(condition):
        raise Missing("no data set has records of both")
    return (bool(condition.mean() >= at_least),
            f"{int(condition.sum())} of {len(condition)} {text}")


# ------------------------------------------------------------------ Firat et al. (2020)

SEEDS = "the seeds of the sampled CARTs and scikit-learn's version are not published"


def _train(side, k, *names):
    columns = [f"k = {k}, {name}" for name in names]
    table = side.table("firat2020 T7", *columns)
    return [table[column] for column in columns]


def _tests(side, k, *names):
    table = side.table(f"firat2020 T{k + 6}", *names)
    return [table[name] for name in names]


def _all_tests(side, a, b):
    pairs = [_tests(side, k, a, b) for k in (2, 3, 4)]
    return float(np.mean([_relative(*pair) for pair in pairs]))


@statement("firat2020-large-rows")
def _(side):
    runs = side.records.of("column_generation*", dataset=list(LARGE.values()))
    return bool((runs["rows"] >= 10_000).any()), f"up to {int(runs['rows'].max())} training rows"


@statement("firat2020-over-oct", Tolerance(0.15, noise=2.0), SEEDS)
def _(side):
    return _all_tests(side, "CGH", "OCT")


@statement("firat2020-below-binoct", Tolerance(0.15, noise=2.0), SEEDS)
def _(side):
    return _all_tests(side, "BinOCT*", "CGH")


@statement("firat2020-data-sets", Tolerance(0))
def _(side):
    rows = side.table("firat2020 T6", "|R|")["|R|"]
    return len(rows), int((rows < 10_000).sum()), int((rows > 10_000).sum())


@statement("firat2020-training-rises")
def _(side):
    names = ("CART", "BinOCT*", "CGH")
    means = np.array([[column.mean() for column in _train(side, k, *names)] for k in (2, 3, 4)])
    return bool((np.diff(means, axis=0) > 0).all())


@statement("firat2020-ninety")
def _(side):
    means = [column.mean() for column in _train(side, 4, "CGH", "BinOCT*")]
    return min(means) > 90, f"{means[0]:.1f} and {means[1]:.1f} %"


@statement("firat2020-gain-train", Tolerance(0.15, noise=1.0), SEEDS)
def _(side):
    return [_relative(*_train(side, k, "CGH", "CART")) for k in (2, 3, 4)]


@statement("firat2020-binoct-train", Tolerance(0.15, noise=1.0), SEEDS)
def _(side):
    return [_relative(*_train(side, k, "BinOCT*", "CGH")) for k in (2, 3, 4)]


def _wins(columns):
    """Lines on which each column is best, ties included, at the precision of the tables."""
    table = np.round(np.column_stack(columns), 1)
    return (table == table.max(axis=1, keepdims=True)).sum(axis=0)


@statement("firat2020-wins-train", Tolerance(0, noise=5), SEEDS)
def _(side):
    return sum(_wins(_train(side, k, "BinOCT*", "CGH", "CART")) for k in (2, 3, 4))


@statement("firat2020-comparable")
def _(side):
    spread = []
    for k in (2, 3, 4):
        means = [c.mean() for c in _tests(side, k, "CART", "OCT", "BinOCT*", "CGH")]
        spread.append(max(means) - min(means))
    return max(spread) <= 4, f"means within {max(spread):.1f} points at every depth"


@statement("firat2020-gain-test", Tolerance(0.15, noise=1.5), SEEDS)
def _(side):
    return [_relative(*_tests(side, k, "CGH", "CART")) for k in (2, 3, 4)]


@statement("firat2020-oct-test", Tolerance(0.15, noise=2.0),
           "the splits and limits of OCT's published accuracies are not known")
def _(side):
    return [_relative(*_tests(side, k, "CGH", "OCT")) for k in (2, 3, 4)]


@statement("firat2020-binoct-test", Tolerance(0.15, noise=1.5), SEEDS)
def _(side):
    return [_relative(*_tests(side, k, "BinOCT*", "CGH")) for k in (2, 4)]


@statement("firat2020-cgh-over-binoct", Tolerance(0.15, noise=1.5), SEEDS)
def _(side):
    return _relative(*_tests(side, 3, "CGH", "BinOCT*"))


@statement("firat2020-wins-test", Tolerance(0, noise=5),
           "wins among five noisy means change with every seed")
def _(side):
    # CART(BD) competes, although the text leaves it out
    names = ("BinOCT*", "OCT", "CGH", "CART", "CART(BD)*")
    return sum(_wins(_tests(side, k, *names)) for k in (2, 3, 4))[:4]


@statement("firat2020-overfit")
def _(side):
    gaps = [train.mean() - test.mean() for train, test in zip(
        _train(side, 4, "CGH", "BinOCT*"), _tests(side, 4, "CGH", "BinOCT*"), strict=True)]
    return min(gaps) > 3, f"by {gaps[0]:.1f} and {gaps[1]:.1f} points"


def _large(side, k, *names):
    table = side.table("firat2020 T3")
    table.columns.name = None
    columns = [f"k = {k}, {name}" for name in names or ("CART", "CART*", "CGH")]
    table = table[columns].dropna()
    if len(table) < 5:
        raise Missing(f"{6 - len(table)} of the 6 large data sets have no records at depth {k} "
                      f"of {', '.join(names) or 'CART, CART* and CGH'}")
    return [table[column] for column in columns]


NO_HANDS = "hand-posture is not available, and the splits of the paper are not published"


@statement("firat2020-large-depth2", because=NO_HANDS)
def _(side):
    cart, tuned, cgh = (c.mean() for c in _large(side, 2))
    return cgh > max(cart, tuned), f"{cart:.1f}, {tuned:.1f} and {cgh:.1f} %"


@statement("firat2020-large-mean", because=NO_HANDS)
def _(side):
    return all(tuned.mean() > cgh.mean() for _, tuned, cgh in
               (_large(side, k) for k in (3, 4)))


def _large_wins(side, depths):
    return sum(_wins(_large(side, k)) for k in depths)


@statement("firat2020-large-wins", because=NO_HANDS)
def _(side):
    _, tuned, cgh = _large_wins(side, (3, 4))
    return bool(cgh > tuned), f"{cgh} against {tuned}"


@statement("firat2020-most-wins", because=NO_HANDS)
def _(side):
    cart, tuned, cgh = _large_wins(side, (2, 3, 4))
    return bool(cgh > max(cart, tuned)), f"CART {cart}, CART* {tuned}, CGH {cgh}"


@statement("firat2020-five-of-six", Tolerance(0, noise=1), NO_HANDS)
def _(side):
    cart, tuned, cgh = _large(side, 3)
    best = np.round(np.maximum(cart, tuned), 1)
    return int((np.round(cgh, 1) >= best).sum()), len(cgh)


def _large_gains(side):
    return np.concatenate([cgh - cart for cart, cgh in
                           (_large(side, k, "CART", "CGH") for k in (2, 3, 4))])


@statement("firat2020-large-improves", because=NO_HANDS)
def _(side):
    gains = np.round(_large_gains(side), 1)
    return bool((gains > 0).mean() > 0.5), f"{(gains > 0).sum()} of {len(gains)}"


@statement("firat2020-large-gain", Tolerance(0.05, noise=0.3), NO_HANDS)
def _(side):
    return float(_large_gains(side).mean())


@statement("firat2020-no-gain-two", because=NO_HANDS)
def _(side):
    names = ["Default credit", "HTRU_2"]
    gain = max(float((cgh - cart)[names].max()) for cart, cgh in
               (_large(side, k, "CART", "CGH") for k in (2, 3, 4)))
    return gain <= 0.1, f"at most {gain:.2f} points"


@statement("firat2020-cart-easy", because=NO_HANDS)
def _(side):
    least = [min(_large(side, k, "CART")[0][name] for k in (2, 3, 4))
             for name in ("Default credit", "HTRU_2")]
    return least[0] > 82 and least[1] > 97, f"{least[0]:.1f} and {least[1]:.1f} % at least"


@statement("firat2020-over-tuned", because=NO_HANDS)
def _(side):
    gain = np.concatenate([(cgh - tuned).round(1) for _, tuned, cgh in
                           (_large(side, k) for k in (2, 3, 4))])
    return bool((gain > 0).mean() > 0.5), (
        f"{(gain > 0).sum()} of {len(gain)}, median {np.median(gain):.1f} points")


@statement("firat2020-letter")
def _(side):
    gaps = [(tuned - cgh)["Letter recognition"] for _, tuned, cgh in
            (_large(side, k) for k in (3, 4))]
    return min(gaps) > 2, f"by {gaps[0]:.1f} and {gaps[1]:.1f} points"


@statement("firat2020-cart-time", Tolerance(factor=10),
           "scikit-learn on a current machine needs milliseconds for these sets")
def _(side):
    return float(method_runs(side.records, "CART")["cpu_seconds"].mean())


def _cgh(side):
    runs = method_runs(side.records, "CGH")
    return runs[runs["dataset"].isin(SMALL.values())]


@statement("firat2020-all-ended")
def _(side):
    slowest = _cgh(side)["wall_seconds"].max()
    return bool(slowest < 600), f"slowest {slowest:.0f} s"


@statement("firat2020-time-grows")
def _(side):
    runs = _cgh(side)
    work = (runs["rows"] * runs["features"]).rank().corr(runs["cpu_seconds"].rank())
    rows = runs.groupby("max_depth")["cpu_seconds"].mean()
    return bool(rows.is_monotonic_increasing and work > 0), (
        f"mean {', '.join(f'{t:.1f}' for t in rows)} s; rank correlation with the size {work:.2f}")


@statement("firat2020-solved-all")
def _(side):
    runs = _cgh(side)
    solved = runs["counters"].str["converged"].astype(bool) & (runs["wall_seconds"] < 600)
    return _share(solved, "runs")


@statement("firat2020-smallest")
def _(side):
    small = _cgh(side).query("rows < 100")
    return bool(small["wall_seconds"].median() < 5), (
        f"median {small['wall_seconds'].median():.1f} s below 100 rows")


DEGENERATE = ("a relaxation with several optimal solutions may be reported as integral or not, "
              "depending on the solver and on the columns")


@statement("firat2020-integral", Tolerance(5, noise=15), DEGENERATE)
def _(side):
    return side.table("firat2020 T4", "Percentage (%)")["Percentage (%)"]


@statement("firat2020-integral-all", Tolerance(5, noise=15), DEGENERATE)
def _(side):
    return float(side.table("firat2020 T4", "Percentage (%)")["Percentage (%)"].mean())


@statement("firat2020-only-binoct")
def _(side):
    ahead = []
    for k in (2, 3, 4):
        cart, binoct, cgh = (c.mean() for c in _train(side, k, "CART", "BinOCT*", "CGH"))
        oct_, test = (c.mean() for c in _tests(side, k, "OCT", "CGH"))
        ahead.append(cart < cgh < binoct and test > oct_)
    return _share(ahead, "depths")


@statement("firat2020-competitive", because=NO_HANDS)
def _(side):
    cart, tuned, cgh = (np.concatenate([_large(side, k)[j] for k in (2, 3, 4)])
                        for j in range(3))
    better = np.median(cgh - tuned)
    return bool((cgh >= cart - 0.05).mean() > 0.75 and better >= -0.05), (
        f"median {np.median(cgh - cart):.2f} over CART, {better:.2f} over CART*")


# ------------------------------------------------------------------ Verwer and Zhang (2019)


def _small_sizes(side, column):
    table = side.table("firat2020 T6", column)[column]
    return [int(f(table.iloc[:14])) for f in (min, max)]


@statement("verwer2019-rows", Tolerance(0),
           "the smallest of its data sets, the third monks problem, has 122 training rows")
def _(side):
    return _small_sizes(side, "|R|")


@statement("verwer2019-features", Tolerance(0))
def _(side):
    return _small_sizes(side, "|F|")


def _binoct_leads(side, k):
    cart, oct_, binoct = (c.mean() for c in _tests(side, k, "CART", "OCT", "BinOCT*"))
    return binoct - max(cart, oct_)


@statement("verwer2019-depths-2-3",
           because="our limits for the integer programs are far below ten minutes of CPLEX")
def _(side):
    leads = [_binoct_leads(side, k) for k in (2, 3)]
    return min(leads) > 0, f"by {leads[0]:.2f} and {leads[1]:.2f} points, testing"


@statement("verwer2019-depth-4",
           because="our limits for the integer programs are far below ten minutes of CPLEX")
def _(side):
    lead = _binoct_leads(side, 4)
    return lead > 0, f"by {lead:.2f} points, testing"


@statement("verwer2019-overfit")
def _(side):
    gaps = [_train(side, k, "BinOCT*")[0].mean() - _tests(side, k, "BinOCT*")[0].mean()
            for k in (2, 3, 4)]
    return gaps[2] > gaps[0] and gaps[2] > 3, (
        "training minus testing " + ", ".join(f"{gap:.1f}" for gap in gaps) + " points")


@statement("verwer2019-fewer-time",
           because="both models reach the limit on nearly every data set")
def _(side):
    proved = {}
    for method in ("OCT", "BinOCT*"):
        runs = method_runs(side.records, method)
        proved[method] = runs.groupby("dataset")["cpu_seconds"].mean()
    both = proved["BinOCT*"] - proved["OCT"]
    return _share(both.dropna() < 0, at_least=0.5)


# ------------------------------------------------------------------ Patel et al. (2023)


TWO_SETS = ("recorded on two small data sets only; our integer programs are built and solved in "
            "fractions of a second there, and the columns that are added differ by run")


def _start(side):
    return variants(side.records, "start_columns", ["cart", "sampled"])


def _merged_rows(side):
    return variants(side.records, "merge_rows", [False, True])


def _without(table, *names):
    return table[~table.index.isin(names)]


@statement("patel2023-faster-training", because=TWO_SETS)
def _(side):
    seconds = variants(side.records, "subproblems", ["merged", "per-class"])["cpu_seconds"]
    return _share(seconds["merged"] < seconds["per-class"], at_least=0.5)


@statement("patel2023-data-sets", Tolerance(0))
def _(side):
    rows = side.table("patel2023 T5", "Number of rows")["Number of rows"]
    return len(rows), int(((rows > 500) & (rows < 10_000)).sum()), int((rows > 10_000).sum())


@statement("patel2023-no-preprocess-small",
           because="hashing the branches of a row costs a millisecond here; the published program "
                   "compares all pairs of rows")
def _(side):
    seconds = _merged_rows(side)["cpu_seconds"]
    small = seconds[seconds.index.isin(SMALL.values())]
    small = _without(small, "car_evaluation")
    return _share(small[False] < small[True])


@statement("patel2023-no-preprocess-large", because=TWO_SETS)
def _(side):
    seconds = _merged_rows(side)["cpu_seconds"]
    large = _without(seconds[seconds.index.isin(LARGE.values())], "magic04")
    if large.empty:
        raise Missing("no record of a large data set with merged and unmerged rows")
    return _share(large[False] > large[True])


@statement("patel2023-no-init", because=TWO_SETS)
def _(side):
    seconds = _without(_start(side)["cpu_seconds"], "spambase", "Statlog_shuttle")
    return _share(seconds["cart"] > seconds["sampled"])


@statement("patel2023-gain-all", Tolerance(0.1, noise=0.5), NO_HANDS)
def _(side):
    table = _start(side)
    return float(100 * (table["train_accuracy"] - table["cart"]).mean().mean())


@statement("patel2023-merged-columns", because=TWO_SETS)
def _(side):
    columns = _without(variants(
        side.records, "subproblems", ["merged", "per-class"])["columns"], "tic-tac-toe")
    return _share(columns["merged"] > columns["per-class"])


@statement("patel2023-merged-gain", because=TWO_SETS)
def _(side):
    accuracy = variants(side.records, "subproblems", ["merged", "per-class"])["train_accuracy"]
    return _share(accuracy["merged"] >= accuracy["per-class"] - 1e-9)


def _cuts(side, measure):
    table = variants(side.records, "row_cuts", ROW_CUTS.values(), dataset=PATEL)[measure]
    return table.rename(columns={code: name for name, code in ROW_CUTS.items()})


PATEL = [*LARGE.values(), "tic-tac-toe", "IndiansDiabetes", "car_evaluation", "seismic_bumps",
         "spambase", "Statlog_satellite"]
TIGHT = ["Beta Ub", "Beta Eq", "All Beta", "Extra Beta"]
LOOSE = ["No Beta", "Beta Lb"]
SHORT = ("our runs have a minute each on a busy machine and small data only, where the paper "
         "had no limit and twelve data sets")
ENUMERATED = ("pricing by enumeration takes so little time that the number of linear programs "
              "decides, and weak relaxations need as many")


@statement("patel2023-no-beta-fastest", because=ENUMERATED)
def _(side):
    seconds = _cuts(side, "cpu_seconds")
    return _share(seconds["No Beta"] <= seconds.drop(columns="No Beta").min(axis=1))


@statement("patel2023-beta-lb-similar", because=ENUMERATED)
def _(side):
    ratio = _cuts(side, "cpu_seconds")["Beta Lb"] / _cuts(side, "cpu_seconds")["No Beta"]
    middle = float(np.exp(np.log(ratio).mean()))
    return 1 <= middle <= 1.5, f"factor {middle:.2f} (geometric mean)"


@statement("patel2023-weak-two", because=SHORT)
def _(side):
    value = _cuts(side, "relaxation")
    return _share(value[LOOSE].min(axis=1) >= value[TIGHT].max(axis=1) - 1e-6)


@statement("patel2023-weak-gains", because=SHORT)
def _(side):
    accuracy = _cuts(side, "train_accuracy").mean()
    return bool(accuracy[LOOSE].max() < accuracy[TIGHT].min())


@statement("patel2023-beta-ub-slower", because=ENUMERATED)
def _(side):
    seconds = _cuts(side, "cpu_seconds").mean()
    return bool(seconds["No Beta"] < seconds["Beta Ub"] <= seconds["Beta Eq"]), (
        ", ".join(f"{name} {seconds[name]:.1f} s" for name in ("No Beta", "Beta Ub", "Beta Eq")))


@statement("patel2023-all-beta-slower", because=ENUMERATED)
def _(side):
    seconds = _cuts(side, "cpu_seconds")
    return _share(seconds[["Beta Ub", "Beta Eq"]].max(axis=1) < seconds["All Beta"])


@statement("patel2023-extra-slowest", because=ENUMERATED)
def _(side):
    seconds = _cuts(side, "cpu_seconds")
    return _share(seconds["Extra Beta"] >= seconds.drop(columns="Extra Beta").max(axis=1))


@statement("patel2023-similar-relaxations", because=SHORT)
def _(side):
    value = _cuts(side, "relaxation")[TIGHT]
    spread = value.max(axis=1) / value.min(axis=1) - 1
    return _share(spread < 0.02)


@statement("patel2023-similar-gains", because=SHORT)
def _(side):
    accuracy = 100 * _cuts(side, "train_accuracy")[TIGHT].mean()
    spread = float(accuracy.max() - accuracy.min())
    return spread < 0.2, f"means within {spread:.2f} points"


@statement("patel2023-extra-gain", Tolerance(0.05, noise=0.5), SHORT)
def _(side):
    gain = 100 * (_cuts(side, "train_accuracy") - _cuts(side, "cart")).mean()
    return gain["Extra Beta"], gain[TIGHT[:3]].mean()


@statement("patel2023-limit-gains", because=SHORT)
def _(side):
    gain = side.table("patel2023 T6", "Gain over CART (%)")["Gain over CART (%)"]
    return bool(gain[TIGHT].min() > gain[LOOSE].max() + 0.1), (
        f"{gain[TIGHT].min():.2f} against {gain[LOOSE].max():.2f} points")


@statement("patel2023-beta-ub-best", because=ENUMERATED)
def _(side):
    seconds = _cuts(side, "cpu_seconds").mean()
    return bool(seconds["Beta Ub"] < seconds[TIGHT[1:]].min())


@statement("patel2023-proved", because="other instances, and our limit is a minute")
def _(side):
    proved, runs = (_cuts(side, name)["Extra Beta"].sum() for name in ("proved", "split"))
    return bool(proved / runs >= 52 / 55), f"{int(proved)} of {int(runs)} instances"


@statement("patel2023-close", because=SHORT)
def _(side):
    gap = 100 * (_cuts(side, "optimum")[TIGHT[:3]] - _cuts(side, "train_accuracy")[TIGHT[:3]])
    return bool(gap.to_numpy().mean() < 0.1), f"mean gap {gap.to_numpy().mean():.3f} points"


def _strict(gains, reference):
    return int((gains > reference + 1e-9).sum()), int((gains < reference - 1e-9).sum())


def _patel_wins(side, number):
    from odtbook.experiments.published import published
    column = "Revised CG, Gain"
    ours = side.table(f"patel2023 T{number}")[column]
    theirs = published(f"patel2023_table{number}").reset_index()
    theirs.index = theirs["Instance"] + ", k = " + theirs["k"].astype(int).astype(str)
    theirs = theirs["Firat et al. CG, Gain"].astype(float)
    known = ours.dropna().round(1)
    if len(known) < 15:
        raise Missing(f"{len(ours) - len(known)} of the 18 cells have no record")
    return (*_strict(known, theirs[known.index]), len(known))


@statement("patel2023-wins", Tolerance(0, noise=2), SEEDS)
def _(side):
    return _patel_wins(side, 7)


@statement("patel2023-large-wins", Tolerance(0, noise=3), NO_HANDS)
def _(side):
    return _patel_wins(side, 8)


def _large_training(side):
    gains = side.table("patel2023 T9")["Gain"].dropna()
    if len(gains) < 15:
        raise Missing(f"{18 - len(gains)} of the 18 cells have no record")
    return gains.round(1)


@statement("patel2023-large-gains", Tolerance(0, noise=3), NO_HANDS)
def _(side):
    gains = _large_training(side)
    return int((gains > 0).sum()), len(gains)


@statement("patel2023-largest-gain", Tolerance(0.1, noise=0.5), SEEDS)
def _(side):
    return float(_large_training(side).max())


@statement("patel2023-most-proved", because=SHORT)
def _(side):
    proved, runs = _cuts(side, "proved"), _cuts(side, "split")
    share = proved["Extra Beta"].sum() / runs["Extra Beta"].sum()
    return bool(share > 0.5), f"{100 * share:.0f} % of the runs"


@statement("patel2023-initialisation", because=TWO_SETS)
def _(side):
    seconds = _start(side)["cpu_seconds"]
    return _share(seconds["sampled"] < seconds["cart"], at_least=0.5)


@statement("patel2023-no-beta-worst", because=ENUMERATED)
def _(side):
    seconds, accuracy = _cuts(side, "cpu_seconds").mean(), _cuts(side, "train_accuracy").mean()
    return bool(seconds.idxmin() == "No Beta" and accuracy.idxmin() == "No Beta"), (
        f"fastest {seconds.idxmin()}, worst {accuracy.idxmin()}")


# ------------------------------------------------------------------ Birbil et al. (2024)


def _depths(side):
    runs = side.records.of("constrained_figures", study="depth", n_rows=4000)
    return list(runs["measures"])


@statement("birbil2024-shallow")
def _(side):
    held, said = [], []
    for found in _depths(side):
        best = int(np.argmin(found["mse"]))
        held.append(found["depth"][best] <= 6 and found["infeasible"][best] > 50)
        said.append(f"depth {found['depth'][best]}: {found['infeasible'][best]:.0f} %")
    return all(held), "best " + "; ".join(said) + " infeasible"


@statement("birbil2024-deep")
def _(side):
    held, said = [], []
    for found in _depths(side):
        rise = found["mse"][-1] / min(found["mse"])
        held.append(found["infeasible"][-1] < 10 and rise > 1.5)
        said.append(f"{found['infeasible'][-1]:.1f} % infeasible, error times {rise:.2f}")
    return all(held), "depth 24: " + "; ".join(said)


@statement("birbil2024-cars-rows",
           because="as in the released code, the first 500 rows without missing values are used")
def _(side):
    rows = side.records.of("constrained", dataset="cars")["rows"].max()
    return bool(rows > 8000), f"{int(rows)} rows used"


@statement("birbil2024-scores-rows", Tolerance(0))
def _(side):
    runs = side.records.of("constrained", dataset="scores")
    return int(runs["rows"].max()), 3


def _bars(side, figure, column):
    return side.table(f"birbil2024 {figure}", column)[column]


@statement("birbil2024-scores-worst")
def _(side):
    return bool(_bars(side, "F2", "scores, MSE").idxmax() == "S(R):L(R)")


@statement("birbil2024-scores-best",
           because="ties between equal splits are broken otherwise")
def _(side):
    best = _bars(side, "F2", "scores, MSE").idxmin()
    clean = _bars(side, "F2", "scores, infeasible")["S(R):L(O)"] == 0
    return bool(best == "S(R):L(O)" and clean), f"best {best}"


@statement("birbil2024-scores-top",
           because="the builder of the released code is off by one row, which favours its variants")
def _(side):
    best = _bars(side, "F2", "scores, MSE").nsmallest(3).index
    count = sum(name.endswith("L(O)") for name in best)
    return count == 3, f"{count} of the best three: {', '.join(best)}"


@statement("birbil2024-scores-infeasible", Tolerance(0.05, noise=1.0),
           "the authors' own result file, and ours, have 17.04")
def _(side):
    return float(_bars(side, "F2", "scores, infeasible")["S(A):L(A)"])


@statement("birbil2024-cars-worst",
           because="scikit-learn's tree and the authors' break ties differently; grown by one "
                   "builder, exact and mean splits give the same tree")
def _(side):
    return bool(_bars(side, "F2", "cars, MSE").idxmax() == "S(A):L(A)")


@statement("birbil2024-cars-best",
           because="scikit-learn's seed, which breaks ties, moves the error as much as the "
                   "variants differ")
def _(side):
    best = _bars(side, "F2", "cars, MSE").idxmin()
    return best.endswith("L(O)"), f"best {best}"


@statement("birbil2024-cars-violations")
def _(side):
    count = float(_bars(side, "F2", "cars, infeasible")["S(R):L(R)"])
    return count > 0, f"{count:.1f} a fold"


def _seconds(side, *kinds):
    runs = constrained_runs(side.records)
    runs = runs[runs["kind"].isin(kinds)]
    return runs.groupby("variant")["seconds"].mean()


def _slow_and_quick(seconds):
    """Part the variants by how they split: exact or relaxed, mean or medoid."""
    return [seconds[[name for name in seconds.index if name[2] in letters]]
            for letters in ("OR", "AM")]


NO_PROGRAMS = ("no mixed-integer program is solved: a node is a projection in closed form, and "
               "the medoid, which needs a pass over the rows, is slowest")


@statement("birbil2024-times", because=NO_PROGRAMS)
def _(side):
    slow, quick = _slow_and_quick(_seconds(side, "scores", "cars"))
    return bool(slow.min() > quick.max()), (
        f"exact or relaxed {1000 * slow.mean():.0f} ms, "
        f"mean or medoid {1000 * quick.mean():.0f} ms")


@statement("birbil2024-compromise")
def _(side):
    error = _bars(side, "F2", "scores, MSE")
    clean = _bars(side, "F2", "scores, infeasible")["S(A):L(O)"] == 0
    seconds = _seconds(side, "scores", "cars")
    return bool(clean and error["S(A):L(O)"] <= 1.05 * error[
        [v for v in error.index if v != "S(A):L(A)"]].min()
        and seconds["S(A):L(O)"] <= 1.1 * seconds["S(O):L(O)"]), (
        f"error {error['S(A):L(O)']:.1f} of {error.min():.1f} at best")


@statement("birbil2024-scores-p", Tolerance(0.001))
def _(side):
    return side.table("birbil2024 F3", "p")["p"]["scores"]


@statement("birbil2024-scores-notable",
           because="five folds have no power: by Nemenyi's test S(R):L(O) differs from few others")
def _(side):
    posthocs = needs("scikit_posthocs", "experiments", "Nemenyi's test")
    errors, _p = friedman(side.records, "scores")
    p = posthocs.posthoc_nemenyi_friedman(errors.to_numpy())
    p.index = p.columns = errors.columns
    lower = (p["S(R):L(O)"].drop("S(R):L(O)") < 0.05)
    return bool(lower.mean() > 0.5), f"different from {lower.sum()} of {len(lower)}"


@statement("birbil2024-cars-p", Tolerance(0.05, noise=None),
           "several variants agree but for rounding, and the p-value hangs on how ties are ranked")
def _(side):
    return side.table("birbil2024 F3", "p")["p"]["cars"]


@statement("birbil2024-class-p", Tolerance(0.001))
def _(side):
    return friedman(side.records, "class")[1]


@statement("birbil2024-class-feasible",
           because="counted as the released code counts, from three nonzero grades on; by the "
                   "paper's own model, which allows one, medoid leaves violate it often")
def _(side):
    count = _bars(side, "F4", "infeasible").drop("S(A):L(A)")
    return bool((count == 0).all()), f"{int((count > 0).sum())} variants with violations"


@statement("birbil2024-class-lowest")
def _(side):
    error, count = _bars(side, "F4", "MSE"), _bars(side, "F4", "infeasible")
    return bool(error.idxmin() == "S(A):L(A)" and count["S(A):L(A)"] > 0
                and (count.drop("S(A):L(A)") == 0).all())


@statement("birbil2024-class-comparable")
def _(side):
    error = _bars(side, "F4", "MSE").drop("S(A):L(A)")
    ratio = error.max() / error.min()
    return bool(ratio < 1.5), f"largest over smallest {ratio:.2f}"


@statement("birbil2024-class-times", because=NO_PROGRAMS)
def _(side):
    slow, quick = _slow_and_quick(_seconds(side, "class"))
    return bool(slow.min() > quick.max()), (
        f"exact or relaxed {1000 * slow.mean():.0f} ms, "
        f"mean or medoid {1000 * quick.mean():.0f} ms")


@statement("birbil2024-class-tradeoff",
           because=NO_PROGRAMS + "; the ranking follows the number of leaves")
def _(side):
    error = _bars(side, "F4", "MSE").drop("S(A):L(A)")
    seconds = _seconds(side, "class")[error.index]
    rank = float(error.rank().corr(seconds.rank()))
    return rank < 0, f"rank correlation of time and error {rank:.2f}"


def _trees(side):
    return list(side.records.of("constrained_figures", study="tree", max_courses=2)["measures"])


@statement("birbil2024-tree-features")
def _(side):
    shares = [(m["splits"]["Grade"] + m["splits"]["GradeAvgPrevElec"])
              / sum(m["splits"].values()) for m in _trees(side)]
    return min(shares) > 0.5, f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of the splits"


@statement("birbil2024-tree-class",
           because="in our trees Class is at the root or on the second level")
def _(side):
    levels = [m["levels"][1] for m in _trees(side)]
    return all("Class" in level for level in levels), "; ".join(
        " and ".join(level) for level in levels)


@statement("birbil2024-better",
           because="exact splits and leaves are feasible and, on class, less accurate; the text "
                   "of Section 3.2 says so itself")
def _(side):
    error = _bars(side, "F4", "MSE")
    return bool(error["S(O):L(O)"] < error["S(A):L(A)"]), (
        f"{error['S(O):L(O)']:.0f} against {error['S(A):L(A)']:.0f}")


@statement("birbil2024-slow", because=NO_PROGRAMS)
def _(side):
    seconds = _seconds(side, "class")
    ratio = seconds["S(O):L(O)"] / seconds["S(A):L(A)"]
    return bool(ratio > 10), f"{ratio:.1f} times the ordinary tree at depth 15"


@statement("birbil2024-ensembles",
           because="projecting the average of a forest is feasible for every set")
def _(side):
    from odtbook.studies import constrained as study
    runs = study.tidy(side.records.of("constrained_ensembles"))
    outside = runs.groupby("variant")["outside"].sum()
    feasible = [name for name in outside.index if "forest" in name.lower() and not outside[name]]
    return not feasible, f"always feasible: {', '.join(feasible) or 'none'}"


# ------------------------------------------------------------------ Demirovic et al. (2022)


QUICK = "our kernels count pairs of features 16 rows and 32 columns at a time"


def _full(side, depth):
    return full_budget(side.records, depth)


@statement("demirovic2022-tens-of-thousands")
def _(side):
    runs = _full(side, 4)
    large = runs[runs["rows"] >= 10_000]
    return _share(large["status"] == "optimal", "large data sets proved at depth 4")


def _against_dl85(side):
    from odtbook.experiments.published import published
    table = published("demirovic2022_table5")
    name = "Depth=4, MurTree"
    theirs = table["Depth=4, DL8.5"].to_numpy(float)
    ours = side.table("demirovic2022 T5").reindex(
        [f"{label} ({line['rows']} rows)" if (table.index == label).sum() > 1 else label
         for label, line in table.iterrows()])[name].to_numpy(float)
    ratio = (theirs / ours)[np.isfinite(theirs) & np.isfinite(ours) & (ours > 0)]
    if not len(ratio):
        raise Missing("no data set with times of both")
    return float(np.exp(np.log(ratio).mean())), len(ratio)


@statement("demirovic2022-magnitudes")
def _(side):
    factor, count = _against_dl85(side)
    return factor > 10, f"factor {factor:.0f} over DL8.5's published times, {count} data sets"


@statement("demirovic2022-dl85")
def _(side):
    factor, count = _against_dl85(side)
    return factor > 10, f"factor {factor:.0f} over DL8.5's published times, {count} data sets"


def _pair(side, number, slow, quick):
    table = side.table(f"demirovic2022 T{number}")[[slow, quick]].dropna()
    table = table[np.isfinite(table).any(axis=1)]
    return table[slow], table[quick]


def _slower(side, number, slow, quick, at_least=SHARE, slack=1.0):
    a, b = _pair(side, number, slow, quick)
    return _share(a >= b * slack, at_least=at_least)


@statement("demirovic2022-similarity-all", because=QUICK)
def _(side):
    return _slower(side, 2, "inc-noSLB", "inc-SLB", at_least=0.75)


CHEAP = "solving a subproblem again costs little here"


@statement("demirovic2022-cache-best", because=CHEAP)
def _(side):
    a, b = _pair(side, 1, "Branch Cache, Time", "Dataset Cache, Time")
    exceptions = int((b > a).sum())
    return exceptions <= 2, f"exceptions: {exceptions} among {len(a)}"


@statement("demirovic2022-cache-entries", because=CHEAP)
def _(side):
    a, b = _pair(side, 1, "Branch Cache, Cache Entries", "Dataset Cache, Cache Entries")
    return bool((b <= a).all()), (
        f"fewer on {int((b < a).sum())} of {len(a)}, within a tenth on {int((b > 0.9 * a).sum())}")


@statement("demirovic2022-incremental")
def _(side):
    return _slower(side, 2, "noInc-noSLB", "inc-noSLB")


@statement("demirovic2022-similarity")
def _(side):
    return _slower(side, 2, "inc-noSLB", "inc-SLB", at_least=0.5)


@statement("demirovic2022-random",
           because="our similarity bound compares all siblings, so that it does not need "
                   "neighbours to be tried one after the other")
def _(side):
    table = side.table("demirovic2022 T3").dropna()
    best = table[["Gini, Dynamic", "InOrder, Dynamic"]].min(axis=1)
    return _share(table["Random, Dynamic"] >= best)


@statement("demirovic2022-dynamic", because="the order of the children changes little here")
def _(side):
    a, b = _pair(side, 3, "InOrder, PostOrder", "InOrder, Dynamic")
    both = np.isfinite(a) & np.isfinite(b)
    gain = float(np.exp(np.log(a[both] / b[both]).mean()))
    return bool((a >= b).mean() >= SHARE and gain < 2), (
        f"{int((a >= b).sum())} of {len(a)} data sets, factor {gain:.2f}")


@statement("demirovic2022-gini", because="counting costs less here, so that fewer, better ordered "
                                         "nodes weigh more")
def _(side):
    gini, order = _pair(side, 3, "Gini, Dynamic", "InOrder, Dynamic")
    wins = int((order < gini).sum()), int((gini < order).sum())
    return wins[0] > wins[1], f"in order {wins[0]}, Gini {wins[1]}"


@statement("demirovic2022-linear",
           because="on small sets most of the time goes into preparing the search, which repeated "
                   "rows do not lengthen as much")
def _(side):
    table = side.table("demirovic2022 T4")
    a, b = (table[f"depth=4, Time {c}"] for c in (1, 4))
    ratio = (b / a).dropna()
    ratio = ratio[np.isfinite(ratio)]
    return _share(ratio <= 4 * 1.25, at_least=0.5)[0] and bool(ratio.median() > 1), (
        f"four times the rows take {ratio.median():.1f} times as long (median of {len(ratio)})")


@statement("demirovic2022-depth")
def _(side):
    table = side.table("demirovic2022 T4")
    ratio = (table["depth=5, Time 1"] / table["depth=4, Time 1"]).dropna()
    ratio = ratio[np.isfinite(ratio)]
    middle = float(np.exp(np.log(ratio).mean()))
    return middle >= 10, f"factor {middle:.0f}, geometric mean of {len(ratio)}"


def _proved_within(side, depth, seconds):
    runs = _full(side, depth)
    within = (runs["status"] == "optimal") & (runs["cpu_seconds"] <= seconds)
    return within, runs["cpu_seconds"].max()


@statement("demirovic2022-depth-three")
def _(side):
    within, most = _proved_within(side, 3, 10)
    return _share(within)[0], f"{within.sum()} of {len(within)}, at most {most:.2f} s"


@statement("demirovic2022-four-minutes")
def _(side):
    within, most = _proved_within(side, 4, 600)
    return _share(within)[0], f"{within.sum()} of {len(within)}, at most {most:.1f} s"


@statement("demirovic2022-five-harder",
           because="on many sets most of our time goes into preparing the search, not the search")
def _(side):
    four, five = _full(side, 4)["cpu_seconds"], _full(side, 5)["cpu_seconds"]
    ratio = (five / four).dropna()
    return bool(ratio.median() > 2), (
        f"median factor {ratio.median():.0f}, from {ratio.min():.1f} to {ratio.max():.0f}")


@statement("demirovic2022-sat")
def _(side):
    runs = side.records.of("murtree_perfect")
    return _share((runs["cpu_seconds"] < 60), "samples")


@statement("demirovic2022-sparse-any")
def _(side):
    runs = side.records.of("murtree_sparse")
    return _share(runs["status"] == "optimal", "runs proved")


@statement("demirovic2022-minutes")
def _(side):
    within, most = _proved_within(side, 4, 600)
    return _share(within, at_least=0.5)[0], (
        f"{within.sum()} of {len(within)}, at most {most:.1f} s")


def _tuned(side, family, protocol="paper"):
    """Accuracy by way of tuning, data sets by ways; and the records."""
    import pandas as pd
    runs = side.records.of("murtree_tuning", family=family)
    return {part: pd.DataFrame({
        row["dataset"]: {way: 100 * found[part] for way, found in
                         row["measures"][protocol].items()}
        for _, row in runs.iterrows()}).T for part in ("train", "test")}, runs


@statement("demirovic2022-mt-f",
           because="with the depth and size of CART's tree the optimal ones are ahead here")
def _(side):
    test = _tuned(side, "trees")[0]["test"]
    gap = test["MT-F"] - test["CART"]
    return bool(abs(gap.mean()) < 0.5), f"mean difference {gap.mean():+.2f} points"


@statement("demirovic2022-mt-r")
def _(side):
    test = _tuned(side, "trees")[0]["test"].round(6)
    return _share(test["MT-R"] > test["CART"], at_least=0.5)


@statement("demirovic2022-mt-a",
           because="better on most data sets, not on all")
def _(side):
    test = _tuned(side, "trees")[0]["test"].round(6)
    return _share(test["MT-A"] >= test["CART"])


@statement("demirovic2022-cart-time")
def _(side):
    seconds = side.records.of("murtree_cart")["cpu_seconds"]
    return _share(seconds < 1, "runs")


@statement("demirovic2022-murtree-time")
def _(side):
    seconds = _tuned(side, "trees")[1]["cpu_seconds"]
    return _share(seconds < 600, at_least=0.5)


@statement("demirovic2022-forest-train")
def _(side):
    forest = _tuned(side, "forest")[0]["train"]["forest"]
    tree = _tuned(side, "trees")[0]["train"]["MT-A"]
    return bool((forest - tree).dropna().mean() > 0), (
        f"by {(forest - tree).dropna().mean():.1f} points on average")


@statement("demirovic2022-forest-half")
def _(side):
    forest = _tuned(side, "forest")[0]["test"]["forest"]
    tree = _tuned(side, "trees")[0]["test"]["MT-A"]
    gap = (forest - tree).dropna()
    close = int((gap <= 1).sum())
    return bool(0.35 <= close / len(gap)), f"within one point on {close} of {len(gap)} data sets"


@statement("demirovic2022-forest-time", because="another machine, and a smaller grid")
def _(side):
    seconds = _tuned(side, "forest")[1]["cpu_seconds"]
    return _share(seconds.between(5, 40), at_least=0.5)[0], f"median {seconds.median():.0f} s"


@statement("demirovic2022-better-than-cart",
           because="the choice on the reported folds favours the method with more settings; "
                   "nested, the lead shrinks")
def _(side):
    runs = side.records.of("murtree_tuning", family="trees", nested=True)
    gaps = [100 * (m["nested"]["MT-A"]["test"] - m["nested"]["CART"]["test"])
            for m in runs["measures"] if "nested" in m]
    if not gaps:
        raise Missing("no record of nested tuning")
    return bool(np.mean(gaps) > 0), f"nested: {np.mean(gaps):+.2f} points on average"


NO_GOSDT = ("the last release of gosdt does not predict with the scikit-learn of this book, and a "
            "limit of 5 seconds had not stopped it after 100")
NO_OSDT = "OSDT is not published as a package that installs beside the versions of this book"
FIFTEEN_HOURS = "a run of fifteen hours is more than two cores can give; ours price by enumeration"
NOT_RUN = {
    "firat2020-pricing-minutes": "our integer programs for pricing are recorded on small data "
                                 "only; pricing by enumeration takes milliseconds",
    "patel2023-cp-sat-twice": "Gurobi needs a licence that we do not have",
    "patel2023-letter-hours": FIFTEEN_HOURS,
    "patel2023-letter-hours-again": FIFTEEN_HOURS,
    "demirovic2022-osdt": NO_OSDT,
    "demirovic2022-osdt-times-out": NO_OSDT,
    "demirovic2022-gosdt-times-out": NO_GOSDT,
    "demirovic2022-gosdt-depth": NO_GOSDT,
}
