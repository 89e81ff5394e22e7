"""The schema of a record, and the files that hold records.

A record is one run: a dictionary with the keys of :data:`COLUMNS`.  Only the runner writes them.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import re
from datetime import datetime
from pathlib import Path

from odtlib.schema import ANY, check, read_json

TABLE = {str: ANY}
# Column -> type; None beside a type: the cell may be empty.  Dictionaries are stored as JSON.
COLUMNS = {
    "parameters": (TABLE,),              # every parameter of the template
    "status": (str,),                   # of the solve report, or "executed", or "failed"
    "error": (str, None),               # what a failed run said
    "started_from": (str, None),        # warm start of the solver
    "objective": (float, None),         # minimised: weighted errors, or loss plus penalty
    "bound": (float, None),             # proved lower bound on the objective
    "train_accuracy": (float, None),
    "test_accuracy": (float, None),
    "depth": (int, None),
    "leaves": (int, None),
    "splits": (int, None),              # feature nodes
    "rows": (int, None),                # training rows
    "features": (int, None),
    "classes": (int, None),
    "cpu_seconds": (float, None),       # of the fit, all threads and children
    "wall_seconds": (float, None),      # of the fit
    "compile_seconds": (float, None),   # compiling or loading kernels, before the fit
    "notebook_seconds": (float, None),  # the whole notebook, without starting the kernel
    "counters": (TABLE,),                # what the solver counted
    "measures": (TABLE,),                # further numbers of the template
    "versions": (TABLE,),                # odtlib, python, numpy, numba, ...
    "commit": (str, None),              # git commit of the code
    "dirty": (bool, None),              # whether that code had uncommitted changes
    "date": (str,),                     # UTC, ISO 8601
    "processor": (str, None),
    "cores": (int, None),
}
SOLVED = ("optimal", "time_limit", "node_limit", "memory_limit", "interrupted", "heuristic")
STATUSES = (*SOLVED, "executed", "failed")
STEADY = ("status", "objective", "bound", "train_accuracy", "test_accuracy", "depth", "leaves",
          "splits", "rows", "features", "classes")      # what no clock decides
LARGEST_CELL = 100_000   # bytes; csv reads at most 131,072 characters

# Template -> {name of a parameter in older records: its name now}.  Files of records and journals
# keep the names that they were written with; whoever reads them sees the new ones.  Only a
# parameter that has kept its meaning and its unit stands here.
RENAMED = {
    "column_generation": {"leaf_penalty": "split_penalty"},     # recorded with 0 only
    "milp": {"form": "constraint_form"},
    "murtree": {"sparsity": "split_penalty"},
}


def key(parameters):
    """Return the text that identifies a run: its parameters as sorted JSON."""
    return json.dumps(parameters, sort_keys=True, ensure_ascii=False)


def renamed(parameters, template, known=None):
    """Return a run's parameters under the names that they have now, in the same order."""
    names = {old: new for old, new in RENAMED.get(template, {}).items()
             if known is None or (new in known and old not in known)}
    return {names.get(name, name): value for name, value in parameters.items()}


def problems(record):
    """List what is wrong with a record."""
    if not isinstance(record, dict):
        return [f"{record!r} is no record"]
    if list(record) != list(COLUMNS):
        return [f"its columns {', '.join(record)} are not {', '.join(COLUMNS)}"]
    found = []
    for name, types in COLUMNS.items():
        value = record[name]
        try:
            check(value, types, name)
            if len(str(_to_text(value)).encode()) > LARGEST_CELL:
                raise ValueError(f"{name} has more than {LARGEST_CELL} bytes")
        except ValueError as error:     # also of text that has no UTF-8
            found.append(str(error))
            continue
        if name.endswith("seconds") and value is not None and value < 0:
            found.append(f"{name} = {value!r} is negative")
        elif name.endswith("accuracy") and value is not None and not 0 <= value <= 1:
            found.append(f"{name} = {value!r} is not between 0 and 1")
    if found:
        return found
    status, objective, bound = record["status"], record["objective"], record["bound"]
    if status not in STATUSES:
        found.append(f"status {status!r} is not one of {', '.join(STATUSES)}")
    if (status == "failed") != (record["error"] is not None):
        found.append("a failed run, and only a failed run, says its error")
    if status == "optimal" and (objective is None or bound is None):
        found.append("an optimal run has an objective and a bound")
    if objective is not None and bound is not None:
        slack = 1e-6 * max(1.0, abs(objective))
        if bound > objective + slack:
            found.append(f"the bound {bound} is above the objective {objective}")
        if status == "optimal" and objective - bound > slack:
            found.append(f"optimal, but the bound {bound} is below the objective {objective}")
    try:
        datetime.fromisoformat(record["date"])
    except ValueError:
        found.append(f"date {record['date']!r} is not ISO 8601")
    return found


def numbers(record):
    """Return what a run found, by column or dotted path below ``measures``; without its times."""
    found = {name: record[name] for name in STEADY}
    waiting = list(record["measures"].items())
    for name, value in waiting:         # which grows
        if isinstance(value, dict):
            waiting += [(f"{name}.{part}", inner) for part, inner in value.items()]
        elif not re.search("second|time|share|memory", name):
            found[name] = value
    return found


def differences(before, after):
    """Return the names of the numbers in which two records of a run differ, in the order."""
    old, new = numbers(before), numbers(after)

    def same(one, other):
        both = isinstance(one, int | float) and isinstance(other, int | float)
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12) if both else one == other
    return [name for name in dict.fromkeys([*old, *new])
            if not same(old.get(name), new.get(name))]


def usable(records):
    """Leave out the records made by uncommitted code: no commit holds the code that ran."""
    records = list(records)
    kept = [record for record in records if not record["dirty"]]
    return kept, len(records) - len(kept)


def read_csv(path):
    """Return the records of a CSV file, typed, in the order of the file."""
    path = Path(path)
    if not path.exists():
        return []
    remedy = "restore it from git, or move it away and run the experiment again."
    try:
        text = path.read_bytes().decode().replace("\r\n", "\n")     # of a checkout on Windows
        header, *rows = csv.reader(io.StringIO(text, newline="")) or [[]]
        if header != list(COLUMNS):
            raise ValueError(f"its first line is not {','.join(COLUMNS)[:60]}...")
    except (csv.Error, ValueError) as error:
        raise ValueError(f"{path.name} is no table of records ({error}); {remedy}") from None
    records = []
    for number, row in enumerate(rows, start=2):
        try:
            cells = zip(COLUMNS.items(), row, strict=True)
            record = {name: _from_text(text, types, name) for (name, types), text in cells}
            wrong = problems(record)
        except ValueError as error:
            wrong = [f"cannot be read ({error})"]
        if wrong:
            raise ValueError(f"{path.name}, line {number}: {wrong[0][:200]}; records are written "
                             "by `odt run` alone, restore the file from git or run it again.")
        records.append(record)
    if _table(records) != text:
        raise ValueError(f"{path.name} is not as `odt run` writes it, a part was cut off or "
                         f"changed; {remedy}")
    return records


def write_csv(path, records):
    """Write records to a CSV file in one step."""
    _write(Path(path), _table(records).encode())


def _write(path, content):
    """Write a file in one step: readers see the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


def _table(records):
    """Return records as the text of a CSV file."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_to_text(record[name]) for name in COLUMNS] for record in records)
    return file.getvalue()


def _to_text(value):
    if isinstance(value, dict | bool):
        return json.dumps(value, sort_keys=isinstance(value, dict), ensure_ascii=False)
    return "" if value is None else value


def _from_text(text, types, name):
    if text == "" and None in types:
        return None
    return read_json(text, name) if types[0] in (TABLE, bool) else types[0](text)


def put_aside(path):
    """Give a file that cannot be read another name, so that nothing overwrites it; return it."""
    number, aside = 1, path.with_name(f"{path.name}.unreadable")
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.unreadable-{number}")
    path.rename(aside)
    return aside


class Journal:
    """Keep finished runs safe: one JSON line each, on disk before the next run counts.

    The first line names the runs that the session set out to do.  A run whose line is complete
    is finished; a last line torn by a kill is ignored, so its run is done again.
    """

    def __init__(self, path):
        self.path = path
        self.asked, self.finished = set(), {}
        if path.exists():
            begin, *records = [*_whole(path.read_bytes().split(b"\n"))] or [{"asked": []}]
            try:
                check(begin, {"asked": [str]}, "the first line")
            except ValueError as error:
                raise ValueError(f"{path} does not begin with the runs asked for: {error}."
                                 ) from None
            for record in records:
                if wrong := problems(record):
                    raise ValueError(f"{path} holds a record that is not valid: {wrong[0]}.")
            self.asked = set(begin["asked"])
            self.finished = {key(record["parameters"]): record for record in records}

    @property
    def open(self):
        """Keys of the runs that were asked for and have not finished."""
        return self.asked - set(self.finished)

    def begin(self, asked):
        """Start a session: forget finished runs, which must be in the CSV by now."""
        _write(self.path, _line({"asked": sorted(asked)}))
        self.asked, self.finished = set(asked), {}

    def append(self, record):
        """Add a finished run and wait until it is on disk."""
        with self.path.open("ab") as file:
            file.write(_line(record))
            file.flush()
            os.fsync(file.fileno())
        self.finished[key(record["parameters"])] = record


def _line(entry):
    # the leading newline parts this line from one that a kill tore before it
    return b"\n" + json.dumps(entry, ensure_ascii=False).encode() + b"\n"


def _whole(lines):
    """Yield what each line says; leave out those that a kill tore, and empty ones."""
    for line in lines:
        with contextlib.suppress(ValueError):
            yield read_json(line, "the line")
