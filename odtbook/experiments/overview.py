"""Tabulate the experiments of the book and the state of their records."""

from __future__ import annotations

from .book import names
from .grid import Experiment


def overview():
    """Return a text table of every experiment: runs of its grid, recorded, failed, last date.

    Returns
    -------
    str
    """
    rows = [("experiment", "runs", "recorded", "failed", "last run", "question")]
    for experiment in map(Experiment, names()):
        declared, found = experiment.declared(), experiment.records()
        records = [found[name] for name in declared if name in found]
        failed = sum(record["status"] == "failed" for record in records)
        last = max((record["date"] for record in records), default="never")[:10]
        rows.append((experiment.name, str(len(declared)), str(len(records)), str(failed), last,
                     experiment.title))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in
                               zip(row, widths, strict=True)).rstrip() for row in rows)
