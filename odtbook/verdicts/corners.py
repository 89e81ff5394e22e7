"""Birbil et al. (2024): the errors by builder of the trees and kind of medoid."""

from __future__ import annotations

import pandas as pd

from odtbook.experiments.published import published
from odtbook.studies import constrained as study

from .evidence import Records, attempt


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
    first = records.of("constrained").assign(builder="correct", medoid="criterion")
    is_class = first["dataset"].str.startswith("class")
    first = first[~is_class | ((first["max_depth"] == 15) & (first["max_courses"] == 1))]
    found = {}
    for figure, column, kind in (("F2", "scores, MSE", "scores"), ("F2", "cars, MSE", "cars"),
                                 ("F4", "MSE", "class")):
        source = published(f"birbil2024_figure{figure[1]}")[column].astype(float)
        for variant, value in source.items():
            found[kind, variant] = {"published": value}
    for table in (first, others):
        for (builder, medoid), part in table.groupby(["builder", "medoid"]):
            runs = study.tidy(part)
            kinds = runs["dataset"].str.partition("_")[0]
            name = f"{builder}, {'squared' if medoid == 'criterion' else 'Euclidean'}"
            for (kind, variant), mse in runs.groupby([kinds, "variant"])["mse"].mean().items():
                if (kind, variant) in found:
                    found[kind, variant][name] = mse
    return pd.DataFrame.from_dict(found, orient="index").rename_axis(["data", "variant"])


def describe_corners(records=None, share=0.04):
    """Return :func:`corners` as text, and how many published errors each corner meets."""
    table = corners(records)
    if table is None:
        return "not run: `odt run constrained_medoids` makes the records."
    ours = table.drop(columns="published")
    near = (ours.div(table["published"], axis=0) - 1).abs() <= share
    shown = table.copy()
    shown.loc["cars"] = shown.loc["cars"].to_numpy() / 1e7
    # a heading of two lines, so that the text fits a page
    shown.columns = pd.MultiIndex.from_tuples(
        [tuple((*name.split(", "), "")[:2]) for name in table])
    text = shown.to_string(float_format=lambda x: f"{x:.3f}" if x < 10 else f"{x:.1f}")
    return "\n".join([text, f"within {share:.0%} of the published number:", *(
        f"  {name}: {near[name].sum()} of {ours[name].notna().sum()}" for name in ours)])
