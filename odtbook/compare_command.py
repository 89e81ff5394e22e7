"""``odt compare``: the numbers of two sets of records, and their differences with intervals."""

from __future__ import annotations

import os
import subprocess
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from odtbook.experiments.book import PACKAGE, book_root, file_name
from odtbook.files import hand_over
from odtbook.tables.words import suggestion
from odtlib.requirements import needs

if TYPE_CHECKING:
    from pandas import DataFrame

MEASURES = ("test_accuracy", "train_accuracy", "objective")     # the first that both have
TIMES = ("cpu_seconds", "wall_seconds")


def records_of(name: str) -> DataFrame:
    """Return records as a table: parameters are the index, and numbers of a run the columns.

    ``name`` is a file of records (.csv), an experiment as for ``odt run``, or an experiment at a
    commit, ``murtree@1f2e3d4``.  Numbers below ``measures`` have dotted names."""
    import pandas as pd

    from odtbook.experiments import Experiment
    from odtbook.experiments.records import numbers, read_csv
    experiment, at, commit = name.partition("@")
    if Path(name).suffix == ".csv" and Path(name).is_file():
        records = [(record["parameters"], record) for record in read_csv(name)]
    else:
        source = Experiment(experiment)
        file = _at_commit(source.place.published, commit) if at else source.place.published
        records = [(source.current(record["parameters"]), record) for record in read_csv(file)]
    if not records:
        raise ValueError(f"{name} has no records yet; `odt run {name}` makes them.")
    index = pd.DataFrame([{parameter: str(value) for parameter, value in parameters.items()}
                          for parameters, _ in records])
    values = pd.DataFrame([numbers(record) | {time: record[time] for time in TIMES}
                           for _, record in records])
    values = values.apply(pd.to_numeric, errors="coerce").dropna(axis="columns", how="all")
    return values.set_index(pd.MultiIndex.from_frame(index))


def _at_commit(path, commit):
    """Write the records of a commit to a file of the working folder's results; return it."""
    shown = subprocess.run(["git", "-C", str(PACKAGE.parent), "show", f"{commit}:./"
                            f"{path.relative_to(book_root()).as_posix()}"], capture_output=True)
    if shown.returncode:
        raise ValueError(f"git has no {path.name} at {commit}: {shown.stderr.decode()[:200]}")
    file = Path("odt-results").resolve() / ".commits" / f"{path.stem}-{commit}.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(shown.stdout)
    return file


def compared(one: DataFrame, other: DataFrame, measure: str | None = None) -> DataFrame:
    """Compare a number of two tables of records, where the parameters that both have agree.

    Parameters
    ----------
    one, other : pandas.DataFrame
        From :func:`records_of`.  Of several runs with these parameters the mean counts.
    measure : str, optional
        A column of both (default: the first of :data:`MEASURES`).

    Returns
    -------
    pandas.DataFrame
        A row for all pairs, and one for each value of a parameter that has several: the number of
        pairs, both means, the mean difference (second less first), and ``low`` and ``high`` of its
        t-interval over the pairs, at 95 %.  ``.attrs`` has ``measure``, and ``paired``: parameters.
    """
    import pandas as pd
    from scipy.stats import t
    known = [name for name in one.columns if name in other.columns]
    measure = measure or next((name for name in MEASURES if name in known), None)
    if measure not in known:
        raise ValueError(f"--measure {measure} is no number of both{suggestion(measure, known)}; "
                         f"they have {', '.join(known) or 'none in common'}.")
    # A parameter that never agrees is what the two differ in.
    shared = [name for name in one.index.names if name in other.index.names and (
        name == "dataset" or len(one.index.unique(name).intersection(other.index.unique(name))))]
    means = [table[measure].groupby(level=shared, sort=False).mean() for table in (one, other)]
    pairs = pd.concat(means, axis=1, keys=["first", "second"], join="inner").dropna()
    if pairs.empty:
        raise ValueError(f"the two have no run with the same {', '.join(shared)}.")
    pairs["difference"] = pairs["second"] - pairs["first"]
    groups = {"all": pairs} | {
        f"{name} = {value}": part for name in shared
        if pairs.index.get_level_values(name).nunique() > 1
        for value, part in pairs.groupby(level=name, sort=False)}
    table = pd.DataFrame({name: part.mean() for name, part in groups.items()}).T
    table.insert(0, "pairs", [len(part) for part in groups.values()])
    width = pd.Series({name: t.ppf(0.975, len(part) - 1) * part["difference"].sem()
                       for name, part in groups.items()})
    table["low"], table["high"] = table["difference"] - width, table["difference"] + width
    table.attrs = {"measure": measure, "paired": shared}
    return table


def drawn(table: DataFrame, one: str, other: str):
    """Draw the differences with their intervals; return the axes."""
    from odtlib.plotting import COLORS, new_axes
    ax = new_axes((6.0, 1.2 + 0.24 * len(table)))
    ax.errorbar(table["difference"], range(len(table)), fmt="o", color=COLORS[0],
                xerr=table["high"] - table["difference"])
    ax.axvline(0.0, color="grey", lw=0.8)
    ax.set_yticks(range(len(table)), table.index)
    ax.invert_yaxis()
    ax.set_xlabel(f"{table.attrs['measure']}: {other} less {one}")
    return ax


def add_parser(commands) -> None:
    """Add ``compare`` to the subcommands of ``odt``."""
    parser = commands.add_parser(
        "compare", help="compare the records of two experiments, or of two commits",
        description="Compare the numbers of two sets of records, run by run, where their "
        "parameters agree: a table and a picture of the differences, each with its 95 % interval. "
        "`odt compare murtree` shows your runs in odt-results beside the records of the book.")
    parser.set_defaults(command=run)
    for name, count, text in (
            ("experiment", None, "as for `odt run`, a file of records, or murtree@COMMIT"),
            ("other", "?", "what to compare with it (default: your own runs of EXPERIMENT)")):
        parser.add_argument(name, nargs=count, metavar=name.upper(), help=text)
    parser.add_argument("--measure", metavar="NAME", help="a number of the records, also one below "
                        f"measures (default: the first of {', '.join(MEASURES)} that both have)")


def run(options) -> int:
    """Print the table, and draw the picture."""
    one, other, _ = options.experiment, options.other, needs("matplotlib", "plot", "odt compare")
    if other is None:
        from odtbook.experiments.grid import Experiment
        name = one.partition("@")[0]
        own = Experiment(name, apart=True).place.results
        if not own.is_file():
            raise ValueError(f"there are no runs of yours in {os.path.relpath(own)}; name what to "
                             f"compare {one} with, or run it: `odt run {name}`.")
        other = os.path.relpath(own)
    table = compared(records_of(one), records_of(other), options.measure)
    measure, text = table.attrs["measure"], table.to_string(float_format="{:.4g}".format)
    print(f"{measure}: the first is {one}, the second {other}; runs of the same "
          f"{', '.join(table.attrs['paired'])}; an interval with 0 tells no difference.\n{text}")
    names = [os.path.basename(name) for name in (one, other)]
    out, content = f"compare-{file_name({names[0]: [names[1]], measure: []})}.png", BytesIO()
    drawn(table, *names).figure.savefig(content, dpi=150, bbox_inches="tight")
    hand_over(Path(out), content.getvalue())
    print(f"picture: {out}")
    return 0
