"""Verwer and Zhang (2019), BinOCT: what answers the statements of the abstract.

CP-SAT is not CPLEX: a run of it can confirm what is said of BinOCT and refute nothing.
"""

from __future__ import annotations

import numpy as np

from odtbook.experiments.published import published

from .claims import Paper
from .evidence import method_runs
from .firat2020 import CPLEX, MARGIN, PROGRAMS, SMALL, paired
from .rules import ahead, itself, proved

paper = Paper("verwer2019", "Verwer and Zhang (2019)")


def _ahead(records, other, depths=(2, 3), how="clearly"):
    """Judge that BinOCT is ahead of another method at some depths.

    Clearly is by more than half of the lead in Tables 8 and 9 of Firat et al., who print both.
    """
    def half(depth):
        means = published(f"firat2020_table{depth + 6}")[["BinOCT*", other]].astype(float).mean()
        return max(0.0, (means["BinOCT*"] - means[other]) / 2) * (how == "clearly")
    return [*paired(records, "BinOCT*", other, depths, "test", how, half), *(
        part.beside(CPLEX) for part in paired(records, "BinOCT*", other, depths, "train"))]


@paper.claim("S1", "a", plan=PROGRAMS)
def _(records):
    return _ahead(records, "CART")


@paper.claim("S1", "b")
def _(records):
    return _ahead(records, "OCT")


@paper.claim("S1", "c")
def _(records):
    return [part for other in ("CART", "OCT") for part in (
        *_ahead(records, other, (4,), "only slightly"),
        *paired(records, "BinOCT*", other, (4,), "test", "only slightly", lambda _: MARGIN,
                more=False))]


@paper.claim("S1", "d")
def _(records):
    at = ["dataset", "max_depth"]
    seconds = [method_runs(records, name).groupby(at)["cpu_seconds"].mean()
               for name in ("OCT", "BinOCT*")]
    ratio = np.log(seconds[0] / seconds[1]).dropna().groupby("dataset").mean()
    return [*_ahead(records, "OCT", (2, 3, 4), "ahead"),
            ahead("OCT takes longer, in the mean over the depths; a stopped run took its limit",
                  ratio, unit="times", kind="timing", show=np.exp, of=len(SMALL)).guarded(
                      substitute=CPLEX)]


def _sizes(records):
    """Return the numbers of the programs that were built: one line for each run of BinOCT."""
    runs = records.of("milp*", method="binoct", thresholds="boundary", constraint_form="summed")
    runs = runs[runs["counters"].str.get("integer").notna()]    # a whole program, not a part
    of = runs["counters"].str
    leaves, classes, rows = 2.0 ** runs["max_depth"], runs["classes"], runs["rows"]
    nodes, total = leaves - 1, of["thresholds"].astype(float)
    integer, other = (of[name].astype(float) for name in ("integer", "continuous"))
    # the programs declare e integer, one for each leaf and class, which takes whole values anyway
    binary = integer - leaves * classes
    return {"binary": binary, "all": integer + other, "rows": other / leaves - rows,
            "bits": (binary - leaves * classes) / nodes - runs["features"],
            "thresholds": total, "constraints": of["rows"].astype(float),
            "bound": rows + leaves * (runs["features"] * total + classes),
            "tight": rows + leaves * (total + runs["features"] + classes), "runs": len(runs)}


@paper.claim("S2", "a")
def _(records):
    size = _sizes(records)
    least = size["bits"] <= np.ceil(np.log2(np.maximum(size["thresholds"], 2)))
    whole = (size["bits"] >= 0) & (size["bits"] == size["bits"].round())
    return [proved("Binary variables: nodes times (features and bits), leaves times classes",
                   bool((least & whole).all()), "O(2^K (F + C + log T))",
                   f"{int((least & whole).sum())} of {size['runs']} programs, "
                   f"{size['bits'].max():.0f} bits at the most", "counted in the programs built"),
            _of_rows(size)]


@paper.claim("S2", "b")
def _(records):
    size = _sizes(records)
    within = size["constraints"] <= 2 * size["bound"]
    return proved("Constraints are at most twice R + 2^K (F T + C)", bool(within.all()), "O(...)",
                  f"{int(within.sum())} of {size['runs']} programs; even of R + 2^K (T + F + C) "
                  f"at most {(size['constraints'] / size['tight']).max():.1f} times, so that one "
                  "factor is too many", "counted in the programs built")


@paper.claim("S3", "c")
def _(records):
    size = _sizes(records)
    least = size["bits"] <= np.ceil(np.log2(np.maximum(size["thresholds"], 2)))
    return proved("Bits of a threshold are at most the logarithm of the number of thresholds",
                  bool(least.all()), "logarithmically", f"{int(least.sum())} of {size['runs']} "
                  f"programs, {size['bits'].max():.0f} bits at the most for "
                  f"{size['thresholds'].max():.0f} thresholds", "counted in the programs built")


def _of_rows(size):
    """Say that two statements on decision variables hold of the binary ones alone."""
    return itself("Of all decision variables", "said of the binary variables; its own model has l "
                  "for each row and leaf", (
                      f"in the median {1 - (size['binary'] / size['all']).median():.0%} of the "
                      "variables belong to a row"))


@paper.claim("S3", "a")
def _(records):
    """Compare with OCT, of whose variables for rows the abstract complains."""
    at = ["dataset", "split", "max_depth"]
    count = [runs.assign(integer=runs["counters"].str.get("integer").astype(float)).groupby(at)[
        "integer"].first().dropna() for runs in (
            records.of("milp", method="oct"),
            records.of("milp", method="binoct", thresholds="boundary", constraint_form="summed"))]
    ratio = np.log(count[0] / count[1]).dropna().groupby("dataset").mean()
    return ahead("OCT has more than ten times as many integer variables", ratio,
                 bar=np.log(10), unit="times", kind="exact", show=np.exp,
                 published="a very small number", of=len(SMALL))


@paper.claim("S3", "b")
def _(records):
    size = _sizes(records)
    return [proved("No binary variable belongs to a row", bool((size["rows"] == 0).all()),
                   "largely independent", f"{size['binary'].min():.0f} to "
                   f"{size['binary'].max():.0f} binary variables", "counted in the programs built"),
            _of_rows(size)]


@paper.claim("S3", "d")
def _(records):
    """Compare with the optimum over all thresholds, where it is proved."""
    at = ["dataset", "split", "max_depth"]
    found = method_runs(records, "BinOCT*").set_index(at)["train"]
    best = records.of("continuous", thresholds="all", status="optimal").set_index(at)
    short = (100 * best["train_accuracy"] - found).dropna().groupby("dataset").mean()
    return ahead(f"After ten minutes BinOCT* is less than {MARGIN:g} point short of the optimum",
                 short, bar=MARGIN, more=False, published="good quality", of=len(SMALL)).guarded(
                     substitute=CPLEX)
