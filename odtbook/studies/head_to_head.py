"""The runs of all methods on the 14 small data sets, from the records of four experiments."""

from __future__ import annotations

import pandas as pd

from odtbook.experiments import load_records, provenance, yardstick

KEY = ["dataset", "split", "max_depth"]
#: What the records call a method, and its name in tables and figures, in their order.
NAMES = {"cart": "CART", "tuned-cart": "CART*", "local-search": "local search",
         "cg": "CG, all rows", "cg-cuts": "CG, cuts", "restricted": "restricted optimum",
         "murtree": "MurTree, MDLP", "all-thresholds": "all thresholds", "oct": "OCT",
         "binoct": "BinOCT"}


def column_generation_runs(variant):
    """Return the runs of one variant of column generation, the sampling of splits included.

    ``variant`` is a form of the row constraints in ``column_generation_variants``: "all" from the
    beginning, or "upper" bounds as cuts.
    """
    records = load_records("column_generation_variants")
    found = pd.DataFrame([run["variants"][variant] for run in records["measures"]],
                         index=records.index)
    table = records[[*KEY, "rows", "measures"]].assign(method="cg-cuts")
    table[list(found)] = found
    sampling = load_records("head_to_head").query("method == 'restricted'")
    table["cpu_seconds"] += sampling.set_index(KEY)["cpu_seconds"].reindex(
        pd.MultiIndex.from_frame(table[KEY])).to_numpy()
    return table


def all_runs():
    """Return one row per method, data set, split and depth, methods by :data:`NAMES`.

    Beside the columns of :func:`~odtbook.experiments.load_records`: ``validation`` is the accuracy
    on the validation rows where it was recorded, and ``gap`` how far the training accuracy is below
    the optimum of :func:`~odtbook.experiments.yardstick`, in percentage points (NaN without one).
    ``.attrs["provenance"]`` has one line per experiment.
    """
    loaded = {name: load_records(name) for name in (
        "head_to_head", "heuristics", "column_generation_variants", "milp")}
    programs = loaded["milp"]
    programs = programs[programs["solver"] == "highs"]      # on one thread, for both models
    runs = pd.concat([loaded["head_to_head"], loaded["heuristics"], programs,
                      column_generation_runs("upper")], ignore_index=True)
    runs = runs[runs["method"].isin(list(NAMES)) & (runs["status"] != "failed")
                & runs["split"].notna()]
    runs = runs.drop_duplicates(["method", *KEY]).astype({"split": int, "max_depth": int})
    runs["method"] = runs["method"].map(NAMES)
    runs["validation"] = runs["measures"].str["validation_accuracy"].astype(float)
    runs["gap"] = 100 * (yardstick().reindex(pd.MultiIndex.from_frame(runs[KEY])).to_numpy()
                         - runs["train_accuracy"])
    runs.attrs["provenance"] = {name: provenance(table) for name, table in loaded.items()}
    return runs


def complete(runs, n_runs=70):
    """Keep the methods that have ``n_runs`` runs at every depth, in the order of ``NAMES``."""
    counts = runs.groupby(["method", "max_depth"]).size().unstack(fill_value=0)
    whole = counts.index[(counts == n_runs).all(axis=1)]
    kept = runs[runs["method"].isin(whole)].copy()
    kept["method"] = pd.Categorical(
        kept["method"], [name for name in NAMES.values() if name in whole])
    return kept


def means(runs, column, factor=100):
    """Return the mean over data sets of the mean over splits, by method and depth."""
    table = factor * runs.groupby(["dataset", "method", "max_depth"], observed=True)[column].mean()
    return table.groupby(["method", "max_depth"], observed=True).mean().unstack().rename_axis(
        columns="depth")
