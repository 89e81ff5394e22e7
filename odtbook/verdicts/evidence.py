"""Find in the records what answers the papers: methods by kind, cells, seeds and hours needed.

Which records stand for which method, and of what kind that method is, stands in
``data/published/methods.toml``; what is said of a paper's items in ``data/published/<paper>.toml``.
"""

from __future__ import annotations

import fnmatch
import functools
import math
import tomllib

import numpy as np

from odtbook.experiments.book import book_root
from odtbook.experiments.published import published
from odtbook.experiments.results import undisturbed, unrecorded

CORES = 2       # on which needed hours are counted


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
        key = function.__name__, repr((arguments, options))
        if key not in records.answers:
            try:
                records.answers[key] = function(records, *arguments, **options)
            except Missing as error:
                records.answers[key] = error
        if isinstance(records.answers[key], Missing):
            raise Missing(str(records.answers[key]))
        return records.answers[key]
    return remembered


class Records:
    """Records of all experiments, by pattern."""

    def __init__(self, load=None, experiments=None):
        from odtbook.experiments.book import names
        from odtbook.experiments.results import load_records
        load = load or load_records
        self._names = names() if experiments is None else experiments
        self.answers = {}  # of the functions below, see ``once``

        def load_or_none(name):
            try:
                return _one_row_per_variant(load(name))
            except ValueError:      # no records yet
                return None
        self._load = functools.cache(load_or_none)

    def of(self, pattern, **where):
        """Return the records of the experiments whose name matches a pattern, failed runs apart.

        ``where`` keeps the rows with this value in this column; a list gives alternatives, and a
        column that an experiment lacks excludes its records.
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
                found.append(table[keep])
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


@once
def method_runs(records, method):
    """Return the runs of a method on the splits of the papers."""
    import pandas as pd
    found, missed = [], []
    for source in data("methods")["methods"][method]["sources"]:
        where = dict(source)
        pattern, accuracy = where.pop("records"), where.pop("accuracy", None)
        ended, alone = where.pop("ended", False), where.pop("undisturbed", False)
        try:
            runs = records.of(pattern, **where)
        except Missing as error:
            missed.append(str(error))
            continue
        if ended:       # the column generation, not a limit, stopped the run
            runs = runs[runs["counters"].str["converged"].fillna(False).astype(bool)]
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
    return pd.concat(found, ignore_index=True).drop_duplicates(["dataset", "split", "max_depth"])


@once
def means(records, method, part, splits=5):
    """Return the mean of a method over the five splits, by data set and depth; all five count."""
    runs = method_runs(records, method).dropna(subset=[part])
    found = runs.groupby(["dataset", "max_depth"])[part].agg(["mean", "count"])
    return found.loc[found["count"] >= splits, "mean"]


@once
def seeds(records, method, part):
    """Return the same mean for each of the recorded seeds, a list per data set and depth."""
    name = data("methods")["methods"][method].get("seeds")
    if name is None:
        raise Missing(f"the seeds of {method} are not recorded")
    runs = records.of("seeds*", method=name)
    # a list per split of one accuracy per seed
    return {(run["dataset"], run["max_depth"]): [
        100 * float(value) for value in np.mean(run["measures"][part], axis=0)]
        for run in runs.to_dict("records")}


def attempt(function, *arguments, **options):
    """Return what a function finds in the records, or None if there are none."""
    try:
        return function(*arguments, **options)
    except Missing:
        return None


def number(text):
    """Return a cell as a number, NaN if it is none."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def table_of(rows):
    """Return cells as a table with all the columns that cells may have.

    ``row``, ``column``, ``published``, ``ours`` (as published), ``seeds`` (ours, by seed),
    ``spread`` of the seeds, ``beside`` (other methods, by name), ``group``, ``rule`` and ``quoted``
    (from another paper: shown and not judged).
    """
    import pandas as pd
    cells = pd.DataFrame(rows).reindex(columns=[
        "row", "column", "published", "ours", "seeds", "spread", "beside", "group", "rule",
        "quoted"])
    own = cells["seeds"].map(lambda s: max(s) - min(s) if isinstance(s, list) else math.nan)
    return cells.assign(spread=cells["spread"].astype(float).fillna(own),
                        quoted=cells["quoted"].eq(True))


def accuracies(records, name, columns, part, quoted=()):
    """Cells of a table of accuracies whose rows are data sets."""
    rows = []
    for label, line in published(name).iterrows():
        k = line.get("k")
        for column, (method, depth) in columns.items():
            at = (sets_of()[label], int(k if depth is None else depth))
            pair = method if isinstance(method, tuple) else (method,)
            others = zip(*([*data("methods")["methods"][m].get("beside", ()), m][:1]
                           for m in pair), strict=True)
            rows.append({
                "row": label if k is None else f"{label}, k = {int(k)}", "column": column,
                "published": number(line[column]), "quoted": column in quoted,
                **_mean_and_seeds(records, pair, part, at),
                "beside": {" - ".join(other): _mean_and_seeds(records, other, part, at)["ours"]
                           for other in others if other != pair}})
    return table_of(rows)


def _mean_and_seeds(records, pair, part, at):
    values, spread = [], []
    for method in pair:
        table = attempt(means, records, method, part)
        values.append(math.nan if table is None else table.get(at, math.nan))
        spread.append((attempt(seeds, records, method, part) or {}).get(at))
    lead = values[0] - sum(values[1:])
    if any(s is None for s in spread):
        return {"ours": lead, "seeds": None}
    # one method may have more seeds than the other
    return {"ours": lead, "seeds": [s[0] - sum(s[1:]) for s in zip(*spread, strict=False)]}


def sizes(name, columns):
    """Cells of a table of data sets: rows, features, classes; ours from the manifest."""
    from odtbook.datasets import manifest
    facts = manifest.facts()
    return table_of([
        {"row": line["Dataset"], "column": column, "published": number(line[column]),
         "ours": number(facts.get(sets_of()[line["Dataset"]], {}).get(key))}
        for _, line in published(name).reset_index().iterrows()
        for column, key in columns.items()])


class Side:
    """One side of a comparison."""

    def __init__(self, cells, records=None, seed=None, *, lenient=False):
        self._records, self.lenient = records, lenient
        column = "published" if records is None else "ours"

        @functools.cache
        def pivot(key):
            table = cells(key)
            if seed is not None:
                table = table.assign(ours=[
                    line.seeds[seed] if isinstance(line.seeds, list) else line.ours
                    for line in table.itertuples()])
            if lenient:
                table = table.assign(ours=table["ours"].fillna(table["beside"].map(
                    lambda other: next((value for value in other.values()
                                        if not math.isnan(value)), math.nan)
                    if isinstance(other, dict) else math.nan).astype(float)))
            if table[column].isna().all():
                raise Missing(f"no cell of {key} has a record of the published method")
            return table.pivot_table(index="row", columns="column", values=column,
                                     sort=False, dropna=False, aggfunc="first")
        self._pivot = pivot

    def table(self, key, *columns):
        """Return a table, rows by columns, of this side; columns that it needs in full."""
        table = self._pivot(key).copy()
        for column in columns:
            gaps = int(table[column].isna().sum())
            if gaps:
                raise Missing(f"{gaps} of {len(table)} cells of {key}, {column}, have no record "
                              "of the published method")
        return table

    def all_of(self, count):
        """How many lines a statement must cover: all that the paper speaks of, or any."""
        return None if self.lenient else count

    @property
    def records(self):
        """Our records; the published side has none."""
        if self._records is None:
            raise Missing("the paper prints no table of this")
        return self._records


class Paper:
    """The items and statements of a paper: functions of its module, data of its TOML file."""

    def __init__(self, key):
        self.key = key
        self.cells = {}         # "T7" -> function of the records
        self.answers = {}       # claim -> function of a side

    @property
    def data(self):
        """Its TOML file: name, items, statements, unmade runs."""
        return data(self.key)

    def table(self, label):
        """Register the function that returns the cells of a table or figure."""
        return functools.partial(self.cells.setdefault, label)

    def collect(self, functions):
        """Take the functions of a side as the answers to the claims of their names.

        They return numbers, or truth, or truth and a text.
        """
        for name, function in functions.items():
            if not name.startswith("_") and callable(function) and getattr(
                    function, "__code__", None) and function.__code__.co_varnames[
                    :function.__code__.co_argcount] == ("side",):
                self.answers[f"{self.key}-{name.replace('_', '-')}"] = function


def hours(records, runs):
    """Say how long runs that were not made would take.

    ``runs`` has ``what`` and ``parts``.  A part counts the seconds of some ``records`` (``where``;
    a run that its limit stopped counts ``limit``), or ``runs`` of at most ``seconds``, or the time
    limits of the runs of a ``grid`` (``where``) that are not recorded, or a ``column`` of a
    ``published`` table; each multiplied by ``cores``.
    """
    import pandas as pd
    total, most, only = 0.0, False, ""
    if not runs["parts"]:
        return f"not run: {runs['what']}"
    for part in runs["parts"]:
        if "runs" in part:
            seconds, most = part["runs"] * part["seconds"], True
        elif "grid" in part:
            made, where = attempt(records.of, part["grid"]), part.get("where", {})
            made = pd.DataFrame() if made is None else undisturbed(made)
            left = unrecorded(part["grid"], made, **where)
            seconds, most = float((left["time_limit"] * left.get("n_jobs", 1)).sum()), True
            only = "".join(f" --only {name}={value}" for name, value in where.items())
        elif "published" in part:
            seconds = float(published(part["published"])[part["column"]].sum())
        else:
            table = attempt(records.of, part["records"], **part.get("where", {}))
            if table is None:
                return f"not run: {runs['what']}; no record tells how long that takes"
            spent = table["wall_seconds"].where(
                table["status"] != "time_limit", part.get("limit", table["wall_seconds"]))
            seconds = float(spent.sum())
        total += seconds * part.get("cores", 1) / 3600 / CORES
    size = f"{total:.0f}" if total >= 2 else f"{total:.1g}"
    unit = "hour" if size == "1" else "hours"
    command = f"; `odt run {runs['experiment']}{only}`" if "experiment" in runs else ""
    return (f"not run: {'at most' if most else 'about'} {size} {unit} on two cores "
            f"({runs['what']}{command})")
