"""Tabulate the experiments of the book and the state of their records."""

from __future__ import annotations

from .book import names
from .grid import Experiment
from .records import key, read_csv


def overview():
    """Return a text table of every experiment: runs of its grid, recorded, failed, last date.

    Returns
    -------
    str
    """
    rows = [("experiment", "runs", "recorded", "failed", "last run", "question")]
    for name in names():
        experiment = Experiment(name)
        declared = {key(point) for point in [*experiment.points(), *experiment.points(True)]}
        records = [record for record in read_csv(experiment.place.records)
                   if key(record["parameters"]) in declared]
        failed = sum(record["status"] == "failed" for record in records)
        last = max((record["date"] for record in records), default="never")[:10]
        rows.append((name, str(len(declared)), str(len(records)), str(failed), last,
                     experiment.title))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in
                               zip(row, widths, strict=True)).rstrip() for row in rows)
