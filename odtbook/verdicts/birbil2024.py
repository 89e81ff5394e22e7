"""Birbil et al. (2024): the cells of its tables and bars, and its statements."""

from __future__ import annotations

import math

import numpy as np

from odtbook.experiments.published import published

from . import words
from .evidence import Missing, Paper, attempt, number, once, table_of

paper = Paper("birbil2024")
ORDINARY = "S(A):L(A)"      # the ordinary tree, which is not one of the proposed variants


@paper.table("T1")
def _(records):
    runs = attempt(records.of, "constrained_figures", study="features", n_rows=2000)
    measures = {} if runs is None else runs["measures"].iloc[0]
    rows, bounds = [], {"Min": "at least", "Max": "at most"}
    for name, line in published("birbil2024_table1").iterrows():
        found = measures.get(name, {})
        sd = found.get("Std.Dev.", math.nan)
        # twice the standard error of the mean of 2000 students, and of their deviation
        chance = {"Mean": 2 * sd / math.sqrt(2000), "Std.Dev.": 2 * sd / math.sqrt(4000)}
        rows += [{"row": name, "column": column, "published": number(line[column]),
                  "ours": found.get(column, math.nan), "rule": bounds.get(column),
                  "spread": chance.get(column, math.nan)}
                 for column in ("Min", "Max", "Mean", "Std.Dev.")]
    return table_of(rows)


@once
def variant_runs(records):
    """Return the constrained study, one row per variant and fold, by the paper's settings."""
    from odtbook.studies import constrained as study
    runs = study.tidy(records.of("constrained"))
    is_class = runs["dataset"].str.startswith("class")
    deep = is_class & (runs["max_depth"] == 15) & (runs["max_courses"] == 1)
    runs = runs[deep | ~is_class]
    return runs.assign(kind=runs["dataset"].str.partition("_")[0])


def _bar_cells(records, name, columns):
    runs, means = attempt(variant_runs, records), {"mse": {}, "infeasible": {}}
    if runs is not None:
        means = runs.groupby(["kind", "variant"])[["mse", "infeasible"]].mean()
    rows = []
    for variant, line in published(name).iterrows():
        for column, (kind, measure) in columns.items():
            by_ties = attempt(tie_spread, records, kind, measure) if variant == ORDINARY else None
            rows.append({"row": variant, "column": column, "published": float(line[column]),
                         "ours": means[measure].get((kind, variant), math.nan),
                         "spread": math.nan if by_ties is None else by_ties,
                         "beside": {"released builder": means[measure].get(
                             (kind, f"released {variant}"), math.nan)}})
    return table_of(rows)


@once
def tie_spread(records, kind, measure):
    """Return by how much the ordinary tree moves with scikit-learn's seed, over all depths."""
    runs = records.of("constrained_seeds")
    runs = runs[runs["dataset"] == kind]
    if runs.empty:
        raise Missing(f"no record of seeds on {kind}")
    means = [np.mean([run["measures"][seed][measure] for run in runs.to_dict("records")])
             for seed in runs["measures"].iloc[0] if seed.startswith("seed")]
    return float(max(means) - min(means))


@paper.table("F2")
def _(records):
    return _bar_cells(records, "birbil2024_figure2", {
        "scores, MSE": ("scores", "mse"), "scores, infeasible": ("scores", "infeasible"),
        "cars, MSE": ("cars", "mse"), "cars, infeasible": ("cars", "infeasible")})


@paper.table("F4")
def _(records):
    return _bar_cells(records, "birbil2024_figure4",
                      {"MSE": ("class", "mse"), "infeasible": ("class", "infeasible")})


@once
def friedman(records, kind):
    """Return the errors, folds by variants, and the p-value of Friedman's test."""
    from scipy.stats import friedmanchisquare

    from odtbook.studies import constrained as study
    runs = variant_runs(records)
    runs = runs[(runs["kind"] == kind) & runs["variant"].isin(study.VARIANTS)]
    if runs.empty:
        raise Missing(f"no record of the variants on {kind}")
    errors = runs.groupby(["dataset", "fold", "variant"])["mse"].mean().unstack()
    errors = (errors / errors.to_numpy().max()).round(9)      # rounding makes no rank
    return errors, float(friedmanchisquare(*errors.to_numpy().T).pvalue)


@paper.table("F3")
def _(records):
    source = published("birbil2024_friedman")
    ours = {kind: attempt(friedman, records, kind) for kind in ("scores", "cars")}
    return table_of([{"row": kind, "column": "p", "published": float(source.loc[kind, "p"]),
                      "ours": math.nan if found is None else found[1]}
                     for kind, found in ours.items()])


def _bars(side, figure, column):
    return side.table(f"birbil2024 {figure}", column)[column]


def _least(values):
    """Name of the smallest of some values; that it is unique, by more than rounding."""
    first, second = values.nsmallest(2)
    return values.idxmin() if second - first > 1e-6 * abs(first) else "no single variant"


# ------------------------------------------------------------------ Figure 1 and the data


def _depths(side):
    return list(side.records.of("constrained_figures", study="depth", n_rows=4000)["measures"])


def shallow(side):
    held, said = [], []
    for found in _depths(side):
        best = int(np.argmin(found["mse"]))
        held.append(found["depth"][best] <= words.SHALLOW * max(found["depth"])
                    and found["infeasible"][best] >= words.MOSTLY)
        said.append(f"depth {found['depth'][best]}: {found['infeasible'][best]:.0f} %")
    return all(held), "best " + "; ".join(said) + " infeasible"


def deep(side):
    held, said = [], []
    for found in _depths(side):
        rise = found["mse"][-1] / min(found["mse"])
        held.append(found["infeasible"][-1] <= words.HARDLY and rise > words.COMPARABLE_ERRORS)
        said.append(f"{found['infeasible'][-1]:.1f} % infeasible, error times {rise:.2f}")
    return all(held), "depth 24: " + "; ".join(said)


def cars_rows(side):
    rows = side.records.of("constrained", dataset="cars")["rows"].max()
    return bool(rows > 8000), f"{int(rows)} rows used"


def scores_rows(side):
    from odtbook.datasets import manifest
    rows = side.records.of("constrained", dataset="scores")["rows"].max()
    return int(rows), manifest.facts()["scores"]["targets"]


# ------------------------------------------------------------------ scores and cars


def scores_worst(side):
    worst = _least(-_bars(side, "F2", "scores, MSE"))
    return worst == "S(R):L(R)", f"worst {worst}"


def scores_best(side):
    best = _least(_bars(side, "F2", "scores, MSE"))
    clean = _bars(side, "F2", "scores, infeasible")["S(R):L(O)"] == 0
    return best == "S(R):L(O)" and bool(clean), f"best {best}"


def scores_top(side):
    best = _bars(side, "F2", "scores, MSE").nsmallest(3).index
    clean = _bars(side, "F2", "scores, infeasible")[best] == 0
    count = sum(name.endswith("L(O)") for name in best)
    return count == 3 and bool(clean.all()), f"{count} of the best three: {', '.join(best)}"


def scores_infeasible(side):
    return float(_bars(side, "F2", "scores, infeasible")[ORDINARY])


def cars_worst(side):
    worst = _least(-_bars(side, "F2", "cars, MSE"))
    return worst == ORDINARY, f"worst {worst}"


def cars_best(side):
    best = _bars(side, "F2", "cars, MSE").idxmin()
    return best.endswith("L(O)"), f"best {best}"


def cars_violations(side):
    count = float(_bars(side, "F2", "cars, infeasible")["S(R):L(R)"])
    return count > 0, f"{count:.1f} per fold"


def scores_p(side):
    p = side.table("birbil2024 F3", "p")["p"]["scores"]
    return bool(p < 0.001), f"p = {p:.2g}"


def scores_notable(side):
    errors, _p = friedman(side.records, "scores")
    gains = errors.sub(errors["S(R):L(O)"], axis=0).drop(columns="S(R):L(O)")
    p = gains.apply(words.wilcoxon, args=("greater",))
    most = (p < words.LEVEL).mean() > words.MAJORITY
    return _least(errors.mean()) == "S(R):L(O)" and bool(most), (
        f"significantly better than {(p < words.LEVEL).sum()} of {len(p)} over five folds")


def cars_p(side):
    return side.table("birbil2024 F3", "p")["p"]["cars"]


# ------------------------------------------------------------------ class


def class_p(side):
    p = friedman(side.records, "class")[1]
    return p < 0.001, f"p = {p:.2g}"


def class_feasible(side):
    count = _bars(side, "F4", "infeasible").drop(ORDINARY)
    return bool((count == 0).all()), f"{int((count > 0).sum())} variants with violations"


def class_lowest(side):
    error, count = _bars(side, "F4", "MSE"), _bars(side, "F4", "infeasible")
    return bool(_least(error) == ORDINARY and count[ORDINARY] > 0
                and (count.drop(ORDINARY) == 0).all()), f"lowest {_least(error)}"


def class_comparable(side):
    error = _bars(side, "F4", "MSE").drop(ORDINARY)
    ratio = error.max() / error.min()
    return bool(ratio <= words.COMPARABLE_ERRORS), f"largest over smallest {ratio:.2f}"


def better(side):
    error = _bars(side, "F4", "MSE")
    return bool(error["S(O):L(O)"] < error[ORDINARY]), (
        f"{error['S(O):L(O)']:.0f} against {error[ORDINARY]:.0f}")


def _trees(side):
    # the tree of the paper belongs to the model of its appendix: one course
    return list(side.records.of("constrained_figures", study="tree", max_courses=1)["measures"])


def tree_features(side):
    shares = [(m["splits"]["Grade"] + m["splits"]["GradeAvgPrevElec"])
              / sum(m["splits"].values()) for m in _trees(side)]
    return min(shares) > words.MAJORITY, (
        f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of the splits")


def tree_class(side):
    levels = [m["levels"][1] for m in _trees(side)]
    return all("Class" in level for level in levels), "; ".join(
        " and ".join(level) for level in levels)


# ------------------------------------------------------------------ times


def _seconds(side, *kinds):
    """Mean time of each variant.  Our nodes are projections in closed form: a substitute."""
    if not side.lenient:
        raise Missing("no record of the paper's integer programs")
    runs = variant_runs(side.records)
    return runs[runs["kind"].isin(kinds)].groupby("variant")["seconds"].mean()


def _slow_and_quick(seconds):
    """Part the variants by how they split: exact or relaxed, mean or medoid."""
    return [seconds[[name for name in seconds.index if name[2] in letters]]
            for letters in ("OR", "AM")]


def _much_longer(seconds):
    slow, quick = _slow_and_quick(seconds)
    return bool(slow.min() >= words.MUCH * quick.max()), (
        f"exact or relaxed {1000 * slow.mean():.0f} ms, "
        f"mean or medoid {1000 * quick.mean():.0f} ms")


def times(side):
    return _much_longer(_seconds(side, "scores", "cars"))


def compromise(side):
    seconds = _seconds(side, "scores", "cars")
    error = _bars(side, "F2", "scores, MSE")
    clean = _bars(side, "F2", "scores, infeasible")["S(A):L(O)"] == 0
    ratio = error["S(A):L(O)"] / error.drop(ORDINARY).min()
    return bool(clean and ratio <= words.GOOD_COMPROMISE
                and seconds["S(O):L(O)"] >= words.MUCH * seconds["S(A):L(O)"]), (
        f"error times {ratio:.2f} of the best, time {seconds['S(A):L(O)']:.4f} s "
        f"against {seconds['S(O):L(O)']:.4f} s of exact splits")


def class_times(side):
    slow, quick = _slow_and_quick(_seconds(side, "class"))
    return bool(slow.min() > quick.max()), (
        f"exact or relaxed {1000 * slow.mean():.0f} ms, "
        f"mean or medoid {1000 * quick.mean():.0f} ms")


def class_tradeoff(side):
    from scipy.stats import spearmanr
    seconds = _seconds(side, "class")
    error = _bars(side, "F4", "MSE").drop(ORDINARY)
    rank = spearmanr(error, seconds[error.index], alternative="less")
    return bool(rank.pvalue < words.LEVEL), (
        f"rank correlation of time and error {rank.statistic:.2f}, p = {rank.pvalue:.2g}")


def slow(side):
    seconds = _seconds(side, "class")
    ratio = seconds["S(O):L(O)"] / seconds[ORDINARY]
    return bool(ratio >= words.ORDER), f"{ratio:.1f} times the ordinary tree at depth 15"


paper.collect(globals())
