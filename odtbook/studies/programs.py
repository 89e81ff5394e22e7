"""BinOCT and OCT over ten minutes: the same rows, solver, thread and clock."""

from __future__ import annotations

import numpy as np
import pandas as pd

from odtbook.experiments import undisturbed, unrecorded, yardstick

KEY = ["dataset", "split", "max_depth"]
NAMES = {"binoct": "BinOCT", "oct": "OCT"}


def best_known(*tables):
    """Return the fewest errors that are known, by data set, split and depth.

    From tables of records of unweighted trees; where no optimum over all thresholds is proved, the
    best of their trees counts.
    """
    optimum, errors = yardstick(), {}
    for table in tables:
        for run in table.to_dict("records"):
            at = tuple(run[name] for name in KEY)
            if np.isfinite(run["objective"]):
                found = [run["objective"], errors.get(at, np.inf)]
                if at in optimum:
                    found.append(round((1 - optimum[at]) * run["rows"]))
                errors[at] = min(found)
    return pd.Series(errors, dtype=float)


def still_to_run(name, runs, **where):
    """Count the runs of a grid of integer programs, and the hours of those that are not recorded.

    One line per solver, depth and split, the first or the others: ``recorded`` of its ``runs``,
    ``refused`` (see :func:`~odtbook.experiments.undisturbed`), and ``missing``, the text "not run:
    at most 4.7 hours" of one core, or nothing.  ``where`` keeps the runs with these values of
    parameters.
    """
    by = ["solver", "max_depth", "split"]

    def grouped(table):
        found = table.reindex(columns=[*by, "time_limit", "n_jobs"])
        return found.assign(split=np.where(found["split"] == 0, "first", "others"),
                            hours=found["time_limit"] * found["n_jobs"] / 3600).groupby(by)
    every, left, made, kept = map(grouped, (
        unrecorded(name, pd.DataFrame(), **where), unrecorded(name, runs, **where), runs,
        undisturbed(runs)))
    lines = pd.DataFrame({
        "runs": every.size(), "left": left.size(), "hours": left["hours"].sum(),
        "refused": made.size().sub(kept.size(), fill_value=0)}).reindex(every.groups).fillna(0)
    return pd.DataFrame({
        "recorded": [f"{n - m:.0f} of {n:.0f}" for n, m in zip(lines["runs"], lines["left"])],
        "refused": lines["refused"].astype(int),
        "missing": [f"not run: at most {hours:.1f} hours" if m else ""
                    for m, hours in zip(lines["left"], lines["hours"])]},
        index=lines.index.rename(["solver", "depth", "split"]))


def side_by_side(runs, best):
    """Return both models on each data set: errors, proved errors, seconds of the clock and the CPU.

    ``runs`` are records of one solver, split and depth, ``best`` is of :func:`best_known`.  A run
    that was stopped by its limit without nine tenths of its thread reads "refused", one without a
    record "not run"; the seconds of a proof without nine tenths of its thread read "busy".
    """
    parts = ("errors", "proved", "s, clock / CPU")
    columns = pd.MultiIndex.from_tuples([("errors", "best"), ("errors", "CART"), *(
        (name, part) for name in NAMES.values() for part in parts)])
    kept, lines = undisturbed(runs), {}
    for dataset, group in runs.groupby("dataset") if len(runs) else ():
        at = tuple(group.iloc[0][KEY])
        line = lines[dataset] = {**dict.fromkeys(columns, ""), ("errors", "best"): f"{best[at]:g}"}
        for method, name in NAMES.items():
            found = group[group["method"] == method]
            state = "not run" if found.empty else "refused"
            run = kept.loc[kept.index.intersection(found.index)]
            if len(run):
                run = run.iloc[0]
                start = run["counters"].get("start_objective")
                line["errors", "CART"] = "" if start is None else f"{start:g}"
                seconds = [run["wall_seconds"], run["cpu_seconds"]]
                state = f"{run['objective']:g}"
                line[name, "proved"] = f"{max(0, np.ceil(run['bound'] - 1e-6)):.0f}"
                line[name, "s, clock / CPU"] = "busy" if np.isnan(seconds).any() else (
                    " / ".join(f"{value:.0f}" for value in seconds))
            line[name, "errors"] = state
    return pd.DataFrame.from_dict(lines, "index", columns=columns).rename_axis("data set")


def anytime(runs, best, seconds):
    """Return how far both models are from the best known tree, and what is proved, over time.

    ``runs`` are records of one solver, split and depth, with the counter ``progress``: a list of
    seconds, errors (None before the first tree) and whole errors that are proved.  Index
    ``seconds``; columns of two levels, BinOCT and OCT, then ``median`` and ``upper quartile`` (the
    errors above the ``best`` known, in per cent of the rows; infinite as long as that share of the
    data sets has no tree) and ``proved`` (per cent of the data sets), over the data sets that both
    models have run undisturbed; ``.attrs["sets"]`` counts them.
    """
    seconds = np.asarray(seconds, float)
    names = list(NAMES.values())
    columns = pd.MultiIndex.from_product([names, ["median", "upper quartile", "proved"]])
    table = pd.DataFrame(np.nan, pd.Index(seconds, name="seconds"), columns)
    kept = undisturbed(runs)
    both = [] if kept.empty else [
        group.set_index("method").loc[list(NAMES)] for _, group in kept.groupby(KEY)
        if set(NAMES) <= set(group["method"])]
    table.attrs["sets"] = len(both)
    for method, name in NAMES.items() if both else ():
        above, proved = [], []
        for group in both:
            run = group.loc[method]
            points = np.array([(-np.inf, None, 0), *run["counters"]["progress"]], float)
            at = np.searchsorted(points[:, 0], seconds, side="right") - 1
            errors, bound = points[at, 1:].T
            errors = np.where(np.isnan(errors), np.inf, errors)
            above.append(100 * (errors - best[tuple(run[KEY])]) / run["rows"])
            proved.append(bound >= errors - 1e-6)
        table[name, "median"] = np.quantile(above, 0.5, axis=0, method="higher")
        table[name, "upper quartile"] = np.quantile(above, 0.75, axis=0, method="higher")
        table[name, "proved"] = 100 * np.mean(proved, axis=0)
    return table
