"""Records as chapters read them: a table, and the line that says where it comes from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .book import values_of
from .grid import Experiment, text_of
from .records import COLUMNS, renamed, usable

if TYPE_CHECKING:
    from pandas import DataFrame, Series

LEAST_SHARE = 0.9   # of the CPU time that a run's threads could have had


_instead: dict[str, Callable[[], DataFrame]] = {}    # what stands for the records of experiments


def instead(experiments: Iterable[str] = (), changes: Iterable[str] = (), *,
            anew: bool = False) -> None:
    """Let :func:`load_records` return, in this process, a part of experiments' records, or others.

    Parameters
    ----------
    experiments : iterable of str
        Names; the records of all others are their own again.
    changes : iterable of str
        ``"max_depth=3"``: keep the records with this value, where they have the parameter.
    anew : bool, default=False
        Whether to take the records that were made anew with these changes, instead of a part.
    """
    _instead.clear()
    wanted = values_of(changes)

    def part(experiment):
        table = load_records(Experiment(experiment))
        for name, values in wanted.items():
            if name in table:
                table = table[[bool(text_of(value) & {*values}) for value in table[name]]]
        table.attrs["provenance"] = provenance(table) if len(table) else "No records."
        return table.reset_index(drop=True)

    for name in experiments:
        of_it = [c for c in changes if c.partition("=")[0] in Experiment(name).template.defaults]
        _instead[name] = partial(load_records, Experiment(name, of_it, apart=True), changed=True
                                 ) if anew else partial(part, name)


def load_records(experiment: str | Path | Experiment, *, changed: bool = False) -> DataFrame:
    """Return the records of an experiment as a table.

    Parameters
    ----------
    experiment : str, pathlib.Path or Experiment
        As for ``odt run``: a name, or the path of a grid file.
    changed : bool, default=False
        Whether to keep records made by code with uncommitted changes.  By default they are left
        out, since nobody can run that code again; ``.attrs["refused"]`` says how many.

    Returns
    -------
    pandas.DataFrame
        A column for each parameter, by its present name, then those of :data:`COLUMNS`;
        ``counters``, ``measures`` and ``versions`` hold dictionaries
        (``table["counters"].str.get("nodes")`` takes one entry out).
        ``.attrs["provenance"]`` is the line of :func:`provenance`.

    Raises
    ------
    ValueError
        If the experiment does not exist or has no records that count.
    """
    import pandas as pd
    if not isinstance(experiment, Experiment) and experiment in _instead:
        return _instead[experiment]()
    source = experiment if isinstance(experiment, Experiment) else Experiment(experiment)
    experiment = source.name
    found = source.records().values()
    records, refused = (list(found), 0) if changed else usable(found)
    if refused and not records:
        raise ValueError(f"all {refused} records of experiment {str(experiment)!r} were made by "
                         f"changed code; commit the changes and do `odt run {experiment} --record` "
                         "again, or look at them with load_records(..., changed=True).")
    if not records:
        raise ValueError(f"experiment {str(experiment)!r} has no records yet; "
                         f"`odt run {experiment} --record` makes them.")
    table = pd.DataFrame([renamed(record["parameters"], source.template.path.stem)
                          for record in records])
    for name in list(COLUMNS)[1:]:
        table[name] = [record[name] for record in records]
        if COLUMNS[name][0] is float:
            table[name] = table[name].astype(float)
    table.attrs["refused"] = refused
    table.attrs["provenance"] = provenance(table)
    return table


def unrecorded(experiment: str | Path, table: DataFrame | None = None,
               **where: Any) -> DataFrame:
    """Return the runs that a grid declares and that are not recorded.

    Parameters
    ----------
    experiment : str or pathlib.Path
        As for ``odt run``.
    table : pandas.DataFrame, optional
        Records (default: those of the experiment).  A run is recorded where all parameters that
        the table has agree.
    **where
        Keep the runs whose parameter has this value.

    Returns
    -------
    pandas.DataFrame
        One row per run, one column for each parameter.
    """
    import pandas as pd
    source = Experiment(experiment)
    if table is None:
        try:
            table = load_records(experiment)
        except ValueError:      # no records yet
            table = pd.DataFrame()
    points = [point for point in source.points()
              if all(point[name] == value for name, value in where.items())]
    names = [name for name in source.template.defaults if name in table]

    def of(run):    # pandas may have made NaN of None
        return tuple(None if run[name] != run[name] else run[name] for name in names)
    made = {of(run) for run in table.to_dict("records")}
    return pd.DataFrame([point for point in points if of(point) not in made],
                        columns=list(source.template.defaults))


def undisturbed(runs: DataFrame) -> DataFrame:
    """Leave out what a busy machine distorts: times, and trees of runs that a limit ended.

    Parameters
    ----------
    runs : pandas.DataFrame
        Records with the counter ``cpu_share``: the share of the CPU time of their threads that they
        got.

    Returns
    -------
    pandas.DataFrame
        Without the runs that had less than nine tenths, or an unknown share, and were not proved
        optimal; a proof stays, but without ``cpu_seconds`` and ``wall_seconds``.
    """
    if runs.empty:
        return runs
    low = ~(runs["counters"].str.get("cpu_share").astype(float) >= LEAST_SHARE)
    kept = runs[~low | (runs["status"] == "optimal")].copy()
    kept.loc[low[low].index.intersection(kept.index), ["cpu_seconds", "wall_seconds"]] = math.nan
    return kept


def yardstick() -> Series:
    """Return the best training accuracy that a tree of a depth can have, over all thresholds.

    Returns
    -------
    pandas.Series
        Training accuracy between 0 and 1, by data set, split and depth, where the optimum is
        proved: ``yardstick()["iris_uci", 0, 2]``.  Records of the experiment ``continuous``; no
        tree of that depth is right on a larger share of the same training rows.
    """
    table = load_records("continuous")
    proved = table[(table["thresholds"] == "all") & (table["status"] == "optimal")
                   & table["split"].notna()]
    proved = proved.astype({"split": int})
    return proved.set_index(["dataset", "split", "max_depth"])["train_accuracy"].rename("optimum")


def provenance(table: DataFrame) -> str:
    """State when, with which versions and on which machine records were made.

    Parameters
    ----------
    table : pandas.DataFrame
        From :func:`load_records`, or a selection of its rows.

    Returns
    -------
    str
        The line that stands under a figure.
    """
    def each(values):
        *others, last = dict.fromkeys(str(v) for v in values if v is not None and v == v) or [""]
        return f"{', '.join(others)} and {last}" if others else last

    days = sorted({date[:10] for date in table["date"]})
    # pandas may have made NaN of a missing commit
    commits = each((commit[:7] if isinstance(commit, str) else "no commit")
                   + (" with changes" if dirty is True else "")
                   for commit, dirty in zip(table["commit"], table["dirty"], strict=True))
    versions = {name: each(versions.get(name) for versions in table["versions"])
                for name in ("odtlib", "numpy", "numba")}
    cores = each(f"{n:g}" for n in table["cores"] if n == n)
    libraries = "".join(f", {name} {versions[name]}" for name in ("numpy", "numba")
                        if versions[name])
    plural = "run" if len(table) == 1 else "runs"
    refused = table.attrs.get("refused", 0)
    others = f"; {refused} more, made by changed code, left out" if refused else ""
    return (f"Records of {days[0]}{f' to {days[-1]}' if len(days) > 1 else ''}, "
            f"odtlib {versions['odtlib']} ({commits}), {len(table)} {plural} on "
            f"{each(table['processor'])}, {cores} core{'' if cores == '1' else 's'}"
            f"{libraries}{others}.")
