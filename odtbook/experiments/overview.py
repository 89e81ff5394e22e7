"""Tabulate the experiments of the book and the state of their records."""

from __future__ import annotations

from .book import names
from .grid import Experiment
from .records import usable


def overview():
    """Return a text table of every experiment, and a sentence for each with refused records.

    The table has the runs of the grid, recorded, refused, failed, and the last date.  Records that
    changed code made are refused: they do not count as recorded.
    """
    rows = [("experiment", "runs", "recorded", "refused", "failed", "last run", "question")]
    refusals = []
    for experiment in map(Experiment, names()):
        declared, found = experiment.declared(), experiment.records()
        records, refused = usable(found[name] for name in declared if name in found)
        failed = sum(record["status"] == "failed" for record in records)
        last = max((record["date"] for record in records), default="never")[:10]
        rows.append((experiment.name, str(len(declared)), str(len(records)), str(refused),
                     str(failed), last, experiment.title))
        if changed := usable(found.values())[1]:
            refusals.append(f"{experiment.name}: {changed} records were made by changed code and "
                            "do not count; run it with --record from a clean commit")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in
                               zip(row, widths, strict=True)).rstrip() for row in rows), refusals
