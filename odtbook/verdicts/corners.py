"""Birbil et al. (2024): the errors by builder of the trees and kind of medoid."""

from __future__ import annotations

import pandas as pd

from odtbook.experiments.published import published

from .evidence import Records, attempt, once


def unfolded(records):
    """Return records of the constrained study, one row per variant and fold, by kind of data."""
    from odtbook.studies import constrained as study
    runs = study.tidy(records)
    return runs.assign(kind=runs["dataset"].str.partition("_")[0])


@once
def variant_runs(records):
    """Return the constrained study, one row per variant and fold, by the paper's settings."""
    runs = unfolded(records.of("constrained"))
    deep = (runs["max_depth"] == 15) & (runs["max_courses"] == 1)
    return runs[(runs["kind"] != "class") | deep]


def corners(records=None):
    """Return the error of every variant for each builder and medoid, beside the published one.

    The correct builder with the medoid of equation 6 are the records of "constrained"; the other
    three corners those of "constrained_medoids", without which there is nothing to return (None).
    Rows: kind of data and variant.  Columns: "published", then builder and medoid as text.
    """
    records = Records() if records is None else records
    others = attempt(records.of, "constrained_medoids")
    if others is None:
        return None
    printed = pd.concat({
        kind: published(f"birbil2024_figure{figure}")[column].astype(float)
        for kind, figure, column in (("scores", 2, "scores, MSE"), ("cars", 2, "cars, MSE"),
                                     ("class", 4, "MSE"))})
    ways = {"correct, squared": variant_runs(records)}
    for (builder, medoid), runs in others.groupby(["builder", "medoid"]):
        name = f"{builder}, {'squared' if medoid == 'criterion' else 'Euclidean'}"
        ways[name] = unfolded(runs)
    means = {name: runs.groupby(["kind", "variant"])["mse"].mean() for name, runs in ways.items()}
    return printed.to_frame("published").assign(**means).rename_axis(["data", "variant"])


def near(table, share=0.04):
    """Return which errors of :func:`corners` are within a share of the published ones."""
    return (table.drop(columns="published").div(table["published"], axis=0) - 1).abs() <= share


def describe_corners(records=None, share=0.04):
    """Return :func:`corners` as text, and how many published errors each corner meets."""
    table = corners(records)
    if table is None:
        return "not run: `odt run constrained_medoids` makes the records."
    ours, met = table.drop(columns="published"), near(table, share)
    shown = table.copy()
    shown.loc["cars"] = shown.loc["cars"].to_numpy() / 1e7
    # a heading of two lines, so that the text fits a page
    shown.columns = pd.MultiIndex.from_tuples(
        [tuple((*name.split(", "), "")[:2]) for name in table])
    text = shown.to_string(float_format=lambda x: f"{x:.3f}" if x < 10 else f"{x:.1f}")
    return "\n".join([text, f"within {share:.0%} of the published number:", *(
        f"  {name}: {met[name].sum()} of {ours[name].notna().sum()}" for name in ours)])
