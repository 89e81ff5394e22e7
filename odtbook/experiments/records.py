"""The schema of a record, and the files that hold records.

A record is one run: a dictionary with the keys of :data:`COLUMNS`.  Only the runner writes them.
"""

from __future__ import annotations

import csv
import json
import math
import os
from datetime import datetime
from pathlib import Path

# Column -> type; None beside a type: the cell may be empty.  Dictionaries are stored as JSON.
COLUMNS = {
    "parameters": (dict,),              # every parameter of the template
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
    "counters": (dict,),                # what the solver counted
    "measures": (dict,),                # further numbers of the template
    "versions": (dict,),                # odtlib, python, numpy, numba, ...
    "commit": (str, None),              # git commit of the code
    "dirty": (bool, None),              # whether that code had uncommitted changes
    "date": (str,),                     # UTC, ISO 8601
    "processor": (str, None),
    "cores": (int, None),
}
SOLVED = ("optimal", "time_limit", "node_limit", "memory_limit", "interrupted", "heuristic")
STATUSES = (*SOLVED, "executed", "failed")

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
        if value is None and None in types:
            continue
        if not isinstance(value, types[0]) or (isinstance(value, bool) and types[0] is not bool):
            found.append(f"{name} = {value!r} is not {types[0].__name__}")
        elif types[0] is float and not math.isfinite(value):
            found.append(f"{name} = {value!r} is not finite")
        elif name.endswith("seconds") and value < 0:
            found.append(f"{name} = {value!r} is negative")
        elif name.endswith("accuracy") and not 0 <= value <= 1:
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
    with path.open(newline="", encoding="utf-8") as file:
        try:
            rows = list(csv.DictReader(file))
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path.name} is no table of records ({error}); restore it from git "
                             "or delete it and run the experiment again.") from None
    records = []
    for number, row in enumerate(rows, start=2):
        try:
            record = {name: _from_text(text, COLUMNS[name]) for name, text in row.items()}
            wrong = problems(record)
        except (KeyError, TypeError, ValueError) as error:
            wrong = [f"cannot be read ({error})"]
        if wrong:
            raise ValueError(f"{path.name}, line {number}: {wrong[0]}; records are written by "
                             "`odt run` alone, restore the file from git or run it again.")
        records.append(record)
    return records


def write_csv(path, records):
    """Write records to a CSV file in one step: readers see the old file or the new one."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([_to_text(record[name]) for name in COLUMNS] for record in records)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


def _to_text(value):
    if isinstance(value, dict | bool):
        return json.dumps(value, sort_keys=isinstance(value, dict), ensure_ascii=False)
    return "" if value is None else value


def _from_text(text, types):
    if text == "" and None in types:
        return None
    return json.loads(text) if types[0] in (dict, bool) else types[0](text)


class Journal:
    """Keep finished runs safe: one JSON line each, on disk before the next run counts.

    The first line names the runs that the session set out to do.  A run whose line is complete
    is finished; a last line torn by a kill is ignored, so its run is done again.
    """

    def __init__(self, path):
        self.path = path
        self.asked, self.finished = set(), {}
        if path.exists():
            lines = [json.loads(line) for line in path.read_bytes().split(b"\n") if _whole(line)]
            begin, *records = lines or [{"asked": []}]
            if not isinstance(begin, dict) or not isinstance(begin.get("asked"), list):
                raise ValueError(self._damaged("does not begin with the runs asked for"))
            for record in records:
                if wrong := problems(record):
                    raise ValueError(self._damaged(f"holds a record that is not valid: {wrong[0]}"))
            self.asked = set(map(str, begin["asked"]))
            self.finished = {key(record["parameters"]): record for record in records}

    def _damaged(self, what):
        return (f"{self.path} {what}; delete this file, and the runs that are not in the CSV file "
                "yet are done again.")

    @property
    def open(self):
        """Keys of the runs that were asked for and have not finished."""
        return self.asked - set(self.finished)

    def begin(self, asked):
        """Start a session: forget finished runs, which must be in the CSV by now."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".draft")
        with draft.open("wb") as file:
            file.write(_line({"asked": sorted(asked)}))
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self.path)
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


def _whole(line):
    try:
        json.loads(line)
    except ValueError:
        return False
    return bool(line)
