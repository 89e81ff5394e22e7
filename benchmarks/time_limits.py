"""By how much fits to large inputs overrun ``time_limit``: a table over all estimators.

    python benchmarks/time_limits.py [--limits 1 0.1] [--quick] [--only TEXT ...] [--output STEM]
    python benchmarks/time_limits.py --interrupt ...

Every fit has a process of its own, which first fits a few rows so that nothing is compiled during
the measurement.  CPU seconds count threads and child processes together; wall time is only worth
something on an idle machine, so a fit counts as late if both exceed the limit by more than a
second.  A fit that has not returned after ``--patience`` seconds, or takes more than ``--memory``
megabytes, is ended.  With ``--interrupt`` there is no limit, but a Ctrl-C (SIGINT) after so many
seconds, and the table shows how long the fit went on after it.  ``--output STEM`` writes STEM.md
and STEM.csv; the exit status is 1 if a fit was late, failed or was ended.
"""

import argparse
import csv
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from odtbook import datasets
from odtbook.estimators import NAMES, class_of
from odtbook.lifetime import end_with
from odtlib.constrained import sets

ALLOWED = 1.0       # seconds over the limit
COLUMNS = ["fit", "rows", "columns", "limit", "status", "wall", "cpu", "over", "megabytes"]


# ---------------------------------------------------------------------------- inputs

def loaded(name, rows=None):
    """Return a data set, or random rows of it."""
    data = datasets.load(name)
    X, y = np.asarray(data.X, float), np.asarray(data.y)
    if rows is not None and rows < len(y):
        chosen = np.random.default_rng(0).choice(len(y), rows, replace=False)
        X, y = X[chosen], y[chosen]
    return X, y


def noise(rows, columns, classes=2, values=None, outputs=None):
    """Return normal features, or whole ones, and labels or targets that depend on few of them."""
    random = np.random.default_rng(0)
    X = (random.normal(size=(rows, columns)) if values is None
         else random.integers(0, values, (rows, columns)).astype(float))
    signal = X[:, :3].sum(axis=1) + random.normal(size=rows)
    if outputs:
        return X, np.abs(signal[:, None] + random.normal(size=(rows, outputs)))
    if classes is None:
        return X, signal
    return X, np.searchsorted(np.quantile(signal, np.arange(1, classes) / classes), signal)


def large(name, quick):
    """Return the same large input for every estimator of a kind."""
    rows, columns = (2_000, 10) if quick else (50_000, 20)
    if name.endswith("Classifier"):
        return noise(rows, columns, classes=5)
    if "Constrained" in name or "Projected" in name:
        return noise(rows, columns, outputs=3)
    return noise(rows, columns, classes=None)


# ------------------------------------------------------------------------------ fits

def fits(quick):
    """Return ``(label, class name, parameters, function that makes X and y)`` of each fit."""
    part = 0.1 if quick else 1.0

    def size(rows):
        return max(20, int(rows * part))

    def of(data, name, **parameters):
        shown = (f"{key}={type(value).__name__ if key == 'constraints' else repr(value)}"
                 for key, value in parameters.items())
        return f"{name}({', '.join(shown)})", name, parameters, data

    spambase = partial(loaded, "spambase", size(4601))
    fault = partial(loaded, "continuous/fault", size(1200))
    avila = partial(loaded, "continuous/avila", size(20_867))
    small, tall = partial(noise, 200, 4), partial(noise, size(300_000), 10)
    wide = partial(noise, 60, size(5000), classes=None, values=2)
    found = [
        of(spambase, "RestrictedTreeClassifier", max_depth=3, splits="all"),
        of(spambase, "ColumnGenerationClassifier", max_depth=3, splits="all"),
        of(tall, "ContinuousTreeClassifier", max_depth=3),
        of(tall, "LocalSearchTreeClassifier", max_depth=3),
        of(partial(noise, size(100_000), 10, classes=None), "ContinuousTreeRegressor",
           max_depth=3),
        of(wide, "MurTreeRegressor", max_depth=3),
        of(spambase, "MurTreeRegressor", max_depth=4, loss="absolute_error"),
        of(fault, "MurTreeClassifier", max_depth=4, binarizer="all"),
        of(avila, "MurTreeClassifier", max_depth=4),
        of(spambase, "MurTreeClassifier", max_depth=4, objective="f1"),
        of(partial(noise, 300, 6), "ColumnGenerationClassifier", max_depth=12),
        *(of(small, name, max_depth=depth) for depth in (16, 30)
          for name in ("ColumnGenerationClassifier", "RestrictedTreeClassifier",
                       "BinOCTClassifier", "OCTClassifier")),
        of(spambase, "OCTClassifier", max_depth=2, solver="cp-sat"),
        of(spambase, "BinOCTClassifier", max_depth=3, solver="cp-sat"),
        of(spambase, "BinOCTClassifier", max_depth=3, solver="lns"),
        of(avila, "FlowOCTClassifier", max_depth=4),
        of(partial(noise, size(20_000), 10, outputs=3), "ConstrainedTreeRegressor",
           constraints=sets.AtMostKNonzero(1, 0, 100), split="exact",
           on_infeasible_targets="project"),
        of(partial(noise, size(20_000), 10, outputs=3), "ConstrainedTreeRegressor",
           constraints=sets.Box(0, 100), split="medoid"),
    ]
    for name in NAMES:         # all that have a time limit, and no depth at all
        known = class_of(name)().get_params()
        if "time_limit" in known:
            constraints = {"constraints": sets.Box(0, 1000)} if "constraints" in known else {}
            found.append(of(partial(large, name, quick), name, **constraints))
            if name != "ContinuousTreeRegressor":       # knows depths up to 5 only
                kind = ({"outputs": 3} if constraints else
                        {"classes": 2 if name.endswith("Classifier") else None})
                found.append(of(partial(noise, 50, 4, **kind), name, max_depth=10**9,
                                **constraints))
    return found


def measure(number, limit, quick, interrupt, answers):
    """Do one fit in this process and send what it took."""
    end_with(os.getppid())
    os.setpgrp()        # so that what a solver has started ends with it
    _, name, parameters, data = fits(quick)[number]
    X, y = data()
    warnings.simplefilter("ignore")
    build = partial(class_of(name), **parameters)
    few = np.concatenate([np.flatnonzero(y == label)[:8] for label in np.unique(y)]
                         if name.endswith("Classifier") else [np.arange(min(40, len(y)))])
    try:
        # shallow, so that even depth 30 is warm soon
        build(max_depth=2, time_limit=2.0).fit(X[few], y[few])
    except Exception:
        pass        # what cannot be fitted says so below
    answers.send({"rows": X.shape[0], "columns": X.shape[1]})
    ctrl_c = threading.Timer(limit, os.kill, (os.getpid(), signal.SIGINT))
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    try:
        if interrupt:
            ctrl_c.start()
        status = build(time_limit=None if interrupt else limit).fit(X, y).report_.status
        ctrl_c.cancel()
    except KeyboardInterrupt:
        status = "KeyboardInterrupt"
    except Exception as error:
        refused = isinstance(error, ValueError)
        status = f"{'refused' if refused else 'FAILED'}: {' '.join(str(error).split())[:80]}"
    wall, cpu = time.perf_counter() - wall, sum(os.times()[:4]) - cpu
    answers.send({"status": status, "wall": wall, "cpu": cpu,
                  "over": max(0.0, min(wall, cpu) - limit),
                  "megabytes": max(resource.getrusage(who).ru_maxrss for who in
                                   (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024})


def memory(number):
    """Return the megabytes that a process and its children hold (Linux; elsewhere 0)."""
    place = Path(f"/proc/{number}")
    try:
        pages = int((place / "statm").read_text().split()[1])
        children = (place / f"task/{number}/children").read_text().split()
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6 + sum(map(memory, children))


def guarded(number, limit, options):
    """Do one fit in a process of its own, and end it where it takes too much."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=measure, args=(
        number, limit, options.quick, options.interrupt, there))
    process.start()
    there.close()
    row, ended, began = {}, None, None
    while process.is_alive() or here.poll():
        if here.poll(0.05):
            try:
                row.update(here.recv())
            except EOFError:
                break
            began = time.perf_counter()
        elif began is not None and time.perf_counter() - began > options.patience:
            ended = f"ENDED after {options.patience:g} s"
        elif memory(process.pid) > options.memory:
            ended = f"ENDED at {options.memory:g} MB"
        if ended:
            process.kill() if began is None else os.killpg(process.pid, signal.SIGKILL)
            row.update(status=ended, over=float("inf"), wall=time.perf_counter() - (began or 0))
            break
    process.join()
    if "status" not in row:
        row.update(status=f"DIED with exit status {process.exitcode}", over=float("inf"))
    return row


# ---------------------------------------------------------------------------- output

def written(row):
    return {key: f"{value:.2f}" if key in ("wall", "cpu", "over") else
            f"{value:.0f}" if key == "megabytes" else str(value) for key, value in row.items()}


def markdown(rows):
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    for row in rows:
        cells = written(row)
        lines.append("| " + " | ".join(cells.get(name, "").replace("|", "\\|")
                                       for name in COLUMNS) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limits", type=float, nargs="+", default=[1.0, 0.1], metavar="SECONDS")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, first limit")
    parser.add_argument("--interrupt", action="store_true",
                        help="send SIGINT after the limit instead of giving it to the fit")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT",
                        help="fits whose line holds one of these texts")
    parser.add_argument("--patience", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--memory", type=float, default=6000.0, metavar="MB")
    parser.add_argument("--output", metavar="STEM", help="write STEM.md and STEM.csv")
    options = parser.parse_args()
    multiprocessing.set_start_method("spawn")
    limits = options.limits[:1] if options.quick else options.limits
    rows = []
    for number, (label, *_) in enumerate(fits(options.quick)):
        if not any(text in label for text in options.only):
            continue
        for limit in limits:
            row = {"fit": label, "limit": limit, **guarded(number, limit, options)}
            rows.append(row)
            cells = written(row)
            print(f"{label} on {row.get('rows', '?')} x {row.get('columns', '?')}, limit {limit:g}"
                  f": {cells.get('wall', '?')} s, {cells.get('cpu', '?')} CPU s, {row['status']}",
                  file=sys.stderr, flush=True)
    print(markdown(rows))
    if options.output:
        Path(f"{options.output}.md").write_text(markdown(rows) + "\n", encoding="utf-8")
        with open(f"{options.output}.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            table.writerows(written(row) for row in rows)
    late = [row for row in rows
            if row["over"] > ALLOWED or row["status"].startswith(("FAILED", "DIED"))]
    print(f"\n{len(rows)} fits, {len(late)} of them late, failed or ended by force")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
