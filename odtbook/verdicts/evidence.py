"""Find in the records what answers the papers: runs by method, cells of tables, and their noise.

Which records stand for which method, and of what kind that method is, stands in
``data/published/methods.toml``.
"""

from __future__ import annotations

import fnmatch
import functools
import math
import tomllib
from typing import NamedTuple

import numpy as np

from odtbook.experiments.book import book_root, need_name
from odtbook.experiments.published import published
from odtbook.experiments.results import undisturbed

from .rules import Effect, equivalent, exact, moments

SPLITS = 5
CERTAIN = 1e6       # degrees of freedom where nothing was drawn


class Missing(LookupError):
    """There is no record to answer with; the message says which."""


@functools.cache
def data(name):
    """Return a TOML file of ``data/published``."""
    return tomllib.loads((book_root() / "data" / "published" / f"{name}.toml").read_text("utf-8"))


def sets_of(group=None):
    """Return name in the papers -> name of the data set, of one group ("small") or of all."""
    groups = data("methods")["data_sets"]
    return groups[group] if group else {k: v for names in groups.values() for k, v in names.items()}


def once(function):
    """Compute a function of records, or find out what it misses, at the first such call only."""
    @functools.wraps(function)
    def remembered(records, *arguments, **options):
        key = function.__module__, function.__name__, repr((arguments, options))
        if key not in records.answers:
            before, records.used = records.used, set()
            try:
                found = function(records, *arguments, **options)
            except Missing as error:
                found = error
            records.answers[key] = found, records.used
            records.used = before | records.used
        found, used = records.answers[key]
        records.used |= used
        if isinstance(found, Missing):
            raise Missing(str(found))
        return found
    return remembered


class Records:
    """Records of all experiments, by pattern.

    ``roles`` gives a method the records of another: a rule that confirms a lead all the same is at
    fault.
    """

    def __init__(self, load=None, experiments=None, roles=None):
        from odtbook.experiments.book import names
        from odtbook.experiments.results import load_records
        load = load or load_records
        self.roles = roles or {}
        self._names = names() if experiments is None else experiments
        self.answers = {}       # of the functions below, see ``once``
        self.used = set()       # experiments that have answered

        def load_or_none(name):
            try:
                return _one_row_per_variant(load(name))
            except ValueError:      # no records yet
                return None
        self._load = functools.cache(load_or_none)

    def of(self, pattern, **where):
        """Return the records of the experiments whose name matches a pattern, failed runs apart.

        Column ``experiment`` says which one a record is of.  ``where`` keeps the rows with this
        value in this column; a list gives alternatives, and a column that an experiment lacks
        excludes its records.
        """
        import pandas as pd
        found = []
        for name in self._names:
            if not fnmatch.fnmatch(name, pattern):
                continue
            table = self._load(name)
            if table is None:
                continue
            keep = table["status"] != "failed"
            for column, value in where.items():
                values = value if isinstance(value, list | tuple | set) else [value]
                keep &= table[column].isin(values) if column in table else False
            if keep.any():
                found.append(table[keep].assign(experiment=name))
                self.used.add(name)
        if not found:
            said = ", ".join(f"{key} {value}" for key, value in where.items())
            raise Missing(f"no record of {pattern}" + (f" with {said}" if said else ""))
        return pd.concat(found, ignore_index=True)


def _one_row_per_variant(table):
    """Give each way with row constraints that one record holds a row of its own."""
    import pandas as pd
    if "measures" not in table or not table["measures"].map(lambda m: "variants" in m).any():
        return table
    rows = [{**row, **{name: value for name, value in variant.items() if name in table.columns},
             "row_cuts": row_cuts, "counters": variant}
            for row in table.to_dict("records")
            for row_cuts, variant in row["measures"].get("variants", {}).items()]
    return pd.DataFrame(rows, columns=["row_cuts", *table.columns])


def attempt(function, *arguments, **options):
    """Return what a function finds in the records, or None if there are none."""
    try:
        return function(*arguments, **options)
    except Missing:
        return None


# ------------------------------------------------------------------ runs of a method


def converged(runs):
    """Tell of each run whether its column generation ended, and no limit stopped it."""
    return runs["counters"].str["converged"].fillna(False).astype(bool)


@once
def method_runs(records, method):
    """Return the runs of a method on the splits of the papers, accuracies in per cent."""
    import pandas as pd
    found, missed = [], []
    method, known = records.roles.get(method, method), data("methods")["methods"]
    need_name("method", method, known)
    for source in known[method]["sources"]:
        where = dict(source)
        pattern, accuracy = where.pop("records"), where.pop("accuracy", None)
        ended, alone = where.pop("ended", False), where.pop("undisturbed", False)
        try:
            runs = records.of(pattern, **where)
        except Missing as error:
            missed.append(str(error))
            continue
        if ended:       # the column generation, not a limit, stopped the run
            runs = runs[converged(runs)]
        if alone:       # on a machine that did nothing else
            runs = undisturbed(runs)
        for part in ("train", "test"):
            values = (runs[f"{part}_accuracy"] if accuracy is None else
                      runs["measures"].str[part].str[accuracy])
            runs = runs.assign(**{part: 100 * values.astype(float)})
        if accuracy is not None:
            runs = runs.assign(cpu_seconds=math.nan, wall_seconds=math.nan)
        found.append(runs)
    if not found or not sum(map(len, found)):
        raise Missing("; ".join(missed) or f"no run of {method} ended")
    runs = pd.concat(found, ignore_index=True)
    # Runs on all rows of a data set have no split.
    return runs.drop_duplicates(list(runs.columns.intersection(["dataset", "split", "max_depth"])))


@once
def by_split(records, method, part):
    """Return the accuracies of a method on all five splits, by data set and depth."""
    runs = method_runs(records, method).dropna(subset=[part])
    found = runs.groupby(["dataset", "max_depth"])[part].apply(list)
    return {at: values for at, values in found.items() if len(values) >= SPLITS}


@once
def seeds(records, method, part):
    """Return the mean over the five splits for each recorded seed, by data set and depth."""
    method = records.roles.get(method, method)
    where = data("methods")["methods"][method].get("seeds")
    if where is None:
        raise Missing(f"the seeds of {method} are not recorded")
    runs = records.of("seeds*", **where).sort_values("n_seeds")     # the most seeds count
    factor = 1 if part in ("integral", "converged") else 100
    return {(run["dataset"], run["max_depth"]): [
        factor * float(value) for value in np.mean(np.array(run["measures"][part], float), axis=0)]
        for run in runs.to_dict("records")}


class Noise(NamedTuple):
    """A mean of ours with the standard deviation of one published draw, that of ours, and df."""

    mean: float
    drawn: float
    error: float
    df: float


@once
def noise(records, method, part, source="seeds"):
    """Return the :class:`Noise` of each mean over five splits, by data set and depth.

    With ``source`` "seeds" both sides have the same splits and differ by a seed.  Where no seeds
    are recorded, the spread of the other data sets at this depth stands in.  With "splits" the
    paper has drawn other splits: both means are over five of them.
    """
    values, by_seed = by_split(records, method, part), {}
    if source == "seeds":
        by_seed = {at: one for at, one in (attempt(seeds, records, method, part) or {}).items()
                   if len(one) > 1}
    found, pooled = {}, {}
    for at, one in by_seed.items():
        spread = float(np.std(one, ddof=1))
        found[at] = Noise(float(np.mean(one)), spread, spread / math.sqrt(len(one)), len(one) - 1)
        pooled.setdefault(at[1], []).append((spread, len(one) - 1))
    for at, splits in values.items():
        if at in found:
            continue
        if source == "seeds" and at[1] in pooled:
            spread = math.sqrt(np.mean([one ** 2 for one, _ in pooled[at[1]]]))
            df = min(df for _, df in pooled[at[1]])
        else:
            _, spread, df = moments(splits)
        found[at] = Noise(float(np.mean(splits)), spread, spread, df)
    return found


def effect(name, cells):
    """Return the effect of a mean over cells: published against ours, with the noise of both."""
    cells = cells[cells["published"].notna() & cells["mean"].notna()]
    if cells.empty:
        return None
    drawn, error = (np.asarray(cells[side], float) ** 2 for side in ("noise", "error"))
    both, df = drawn + error, np.asarray(cells["df"], float)
    total = float((both ** 2 / df).sum())
    return Effect(name, float(cells["published"].mean()), float(cells["mean"].mean()),
                  math.sqrt(drawn.sum()) / len(cells), math.sqrt(error.sum()) / len(cells),
                  float(both.sum() ** 2 / total) if total > 0 else CERTAIN)


def effects(cells, columns=None):
    """Return the effects of the columns of a table, one mean over its lines each."""
    columns = dict.fromkeys(cells["column"]) if columns is None else columns
    found = [effect(column, cells[cells["column"] == column]) for column in columns]
    return [one for one in found if one is not None]


def lead(cells, first, second):
    """Return the effect of one column's lead over another, line by line."""
    one, other = (cells[cells["column"] == name].set_index("row") for name in (first, second))
    return effect(f"{first} over {second.rpartition(', ')[2]}", one.assign(
        **{side: one[side] - other[side] for side in ("published", "mean")},
        **{side: np.hypot(one[side].astype(float), other[side].astype(float))
           for side in ("noise", "error")}, df=np.fmin(one["df"], other["df"])))


def means_agree(says, cells, pairs, margin, note=""):
    """Judge the means of columns, and the lead of the first of each pair over the second.

    Means agree within the margin, leads within half of the lead printed: so no records in which the
    second stands for the first can pass.  Cells without a counterpart weaken the answer.
    """
    columns = [name for pair in pairs for name in pair]
    cells = cells[cells["column"].isin(columns) & cells["published"].notna()]
    reach = cells["mean"].notna().mean() if len(cells) else 0.0
    leads = [one for pair in pairs if (one := lead(cells, *pair)) is not None]
    return [equivalent(says, effects(cells), margin, note=note).guarded(reach), *(
        equivalent(f"{one.name}: the lead is as printed", [one], abs(one.published) / 2
                   ).guarded(reach) for one in leads)]


# ------------------------------------------------------------------ cells of tables


def number(text):
    """Return a cell as a number, NaN if it is none."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def table_of(rows):
    """Return cells as a table with all the columns that cells may have.

    ``row``, ``column``, ``published``, ``ours`` (the record), ``mean`` (over the recorded seeds),
    ``noise`` (standard deviation of one published draw), ``error`` (of our mean), ``df``,
    ``beside`` (other methods, by name), ``group`` ("seconds"), ``program``, ``rows`` and
    ``columns`` of the data set, and ``quoted`` (from another paper: shown and not judged).
    """
    import pandas as pd
    cells = pd.DataFrame(rows).reindex(columns=[
        "row", "column", "published", "ours", "mean", "noise", "error", "df", "beside", "group",
        "program", "rows", "columns", "quoted"])
    return cells.assign(quoted=cells["quoted"].eq(True),
                        mean=cells["mean"].astype(float).fillna(cells["ours"].astype(float)))


def accuracies(records, name, columns, part, quoted=(), source="seeds"):
    """Cells of a table of accuracies whose rows are data sets.

    ``columns`` maps a printed column to (method, depth), to (method, None) where the depth is a
    column ``k`` of the table, or to a pair of methods, of which the first is ahead by so much.
    """
    rows = []
    for label, line in published(name).iterrows():
        k = line.get("k")
        for column, (method, depth) in columns.items():
            at = (sets_of()[label], int(k if depth is None else depth))
            pair = method if isinstance(method, tuple) else (method,)
            other = tuple((*data("methods")["methods"][m].get("beside", ()), m)[0] for m in pair)
            rows.append({
                "row": label if k is None else f"{label}, k = {int(k)}", "column": column,
                "published": number(line[column]), "quoted": column in quoted,
                "ours": _lead(records, pair, part, at), **_noise(records, pair, part, at, source),
                "beside": {} if other == pair else {
                    " - ".join(other): _lead(records, other, part, at)}})
    return table_of(rows)


def _lead(records, pair, part, at):
    means = [np.mean((attempt(by_split, records, method, part) or {}).get(at, math.nan))
             for method in pair]
    return float(means[0] - sum(means[1:]))


def _noise(records, pair, part, at, source):
    found = [(attempt(noise, records, method, part, source) or {}).get(at) for method in pair]
    if None in found:
        return {"mean": math.nan, "noise": math.nan, "error": math.nan, "df": math.nan}
    return {"mean": found[0].mean - sum(one.mean for one in found[1:]),
            "noise": math.hypot(*(one.drawn for one in found)),
            "error": math.hypot(*(one.error for one in found)),
            "df": min(one.df for one in found)}


def sizes(name, columns):
    """Cells of a table of data sets: rows, features, classes; ours from the manifest.

    A table that nobody here has seen has no numbers of ours: it has no checksum.
    """
    from odtbook.datasets import manifest
    facts = {key: fact for key, fact in manifest.facts().items() if fact["sha256"]}
    return table_of([
        {"row": line["Dataset"], "column": column, "published": number(line[column]),
         "ours": number(facts.get(sets_of()[line["Dataset"]], {}).get(key))}
        for _, line in published(name).reset_index().iterrows()
        for column, key in columns.items()])


def sizes_agree(sets, cells, slips):
    """Judge a table of data sets; ``slips`` says of a row and column what the paper has wrong."""
    at = list(zip(cells["row"], cells["column"], strict=True))
    return exact(f"Rows, features and classes of {sets}", cells["published"], cells["ours"],
                 errata={at.index(cell): f"{slip}, a slip of the paper"
                         for cell, slip in slips.items()})


def pivot(cells, side="ours"):
    """Return one side of cells as a table, rows by columns."""
    return cells.pivot_table(index="row", columns="column", values=side, sort=False, dropna=False,
                             aggfunc="first")
