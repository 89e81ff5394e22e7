"""Run the grid of an experiment: in parallel, in any number of attempts, losing nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from odtbook.lifetime import end_with
from odtlib.requirements import needs

from .book import PACKAGE, file_name, is_checkout
from .grid import Experiment, expand, select
from .measure import record as empty_record
from .notebooks import execute_notebook, need_papermill
from .records import (
    Journal,
    differences,
    key,
    numbers,
    problems,
    put_aside,
    read_csv,
    write_csv,
)
from .templates import Template

CONNECT_SECONDS = 10   # to reach a Dask scheduler
KERNEL_SECONDS = 6      # to start a kernel, which then imports the solvers, and to end it
LONGEST_SECONDS = 1e6   # of a limit of time; above it a kernel's client counts none


def execute(template: str | Path, **parameters: Any) -> Any:
    """Execute a template in its quick form from a chapter, and return what it recorded.

    Parameters
    ----------
    template : str or pathlib.Path
        Name of a template (``murtree``) or path of a notebook.
    **parameters
        Values that replace the template's defaults, which are its quick form.  A list stands for
        several runs.  All are done in one kernel, which later calls use again.

    Returns
    -------
    dict or list of dict
        The record; a list, in the order of the parameters, when a list was given.

    Raises
    ------
    ValueError
        If a parameter is unknown or has a wrong value; nothing has run then.
    RuntimeError
        If the notebook fails.
    """
    template = Template(template)
    points = expand([parameters], template)
    records, state = [], code_state()
    for point in points:
        record = _finish(execute_notebook(template.notebook, point), point, state)
        if record["status"] == "failed":
            raise RuntimeError(f"{template.path.name} failed: {record['error']}")
        records.append(record)
    several = any(isinstance(value, list) and not isinstance(template.defaults[name], list)
                  for name, value in parameters.items())
    return records if several or len(records) > 1 else records[0]


def run_experiment(experiment: str | Path, *, quick: bool = False, jobs: int = 1,
                   dask: str | None = None, resume: bool = False, retry_failed: bool = False,
                   only: Iterable[str] = (), changes: Iterable[str] = (), record: bool = False,
                   executor: Callable[..., dict[str, Any]] = execute_notebook,
                   say: Callable[[str], object] = print) -> list[dict[str, Any]]:
    """Run the grid of an experiment, write its records, and say whether they are as before.

    Those of an experiment of the book go to ``odt-results`` in the working folder, so that those
    of the book stay as they are; those of the reader's own stand beside its grid file.

    Parameters
    ----------
    experiment : str or pathlib.Path
        Name of an experiment of the book, or path of a grid file.
    quick : bool, default=False
        Run the grid that ``[quick]`` shrinks.  Records of other runs of the full grid stay.
    jobs : int, default=1
        Runs at a time, each in a process with a kernel of its own; -1 for one per core.
    dask : str, optional
        Address of a Dask scheduler; the runs go to its workers, which must be able to import
        odtlib and papermill, and ``jobs`` is ignored.
    resume : bool, default=False
        Do only the runs that an earlier call did not finish.  By default every run is done anew.
    retry_failed : bool, default=False
        As ``resume``, and do the failed runs again.
    only : iterable of str
        ``"max_depth=3"``: restrict the grid.
    changes : iterable of str
        ``"max_depth=3"``: give the parameter this value in every run.  The records go to a file
        of their own, beside which those of the experiment stay as they are.
    record : bool, default=False
        Write the records of the book itself, in ``data/results`` of a copy of the repository.
    executor : callable, optional
        Replaces :func:`~odtbook.experiments.notebooks.execute_notebook`, for tests.
    say : callable, optional
        Prints a line for the user.

    Returns
    -------
    list of dict
        The records of the runs asked for, in the order of the grid.

    Raises
    ------
    ValueError
        If the grid, a parameter or a condition is wrong; nothing has run then.
    RuntimeError
        If another runner is at work on this experiment, or no cluster answers.
    ModuleNotFoundError
        If papermill is not installed; nothing has run then.
    """
    if record and (changes or not is_checkout()):
        raise ValueError("--record writes the records of the book as its grid states them, in a "
                         "copy of the repository; leave it out.")
    published = Experiment(experiment)
    apart = published.place.of_book and not record
    before = published.records() if apart or changes else {}
    experiment = Experiment(experiment, changes, apart=apart)
    declared = experiment.declared()
    points = _chosen(experiment, quick, only)
    place = experiment.place
    if executor is execute_notebook and not dask:
        need_papermill()
    with _locked(place.runs / "lock", experiment.name), _workers(jobs, dask) as parallel:
        journal = _readable(Journal, place.runs / "journal.jsonl", say)
        if place.records == place.results:
            _readable(read_csv, place.results, say)
        records = experiment.records(journal.finished.values())
        before = {**records, **before}
        interrupted = {_current_key(experiment, name) for name in journal.open}
        dropped = set(records) - set(declared)
        for name in dropped:
            del records[name]
        if dropped:
            say(f"{experiment.name}: {len(dropped)} records are outside the grid and dropped")
        todo = [name for name in points
                if not (resume or retry_failed) or name not in records or name in interrupted
                or (retry_failed and records[name]["status"] == "failed")]
        if records or place.results.exists():
            write_csv(place.results, _ordered(records, declared))
        journal.begin((interrupted | set(todo)) & set(declared))
        say(f"{experiment.name}: {len(points)} run{'s' * (len(points) != 1)}, "
            f"{len(points) - len(todo)} finished"
            + _estimate(todo, _seconds({**before, **records}), jobs, dask))
        try:
            _run_all(experiment, executor, {name: points[name] for name in todo}, journal,
                     parallel, dask, jobs)
        finally:
            records.update(journal.finished)
            if records:
                write_csv(place.results, _ordered(records, declared))
            # from here on the CSV alone counts, also when somebody restores an older one
            journal.begin(journal.open)
    asked = [records[name] for name in points]
    if said := _agreement({name: records[name] for name in todo}, before, experiment.varied):
        say(f"{experiment.name}: {said}")
    say(f"{experiment.name}: records in {os.path.relpath(place.results)}"
        + _executed(experiment, todo) + _doubtful(asked))
    return asked


def _chosen(experiment, quick, only):
    """Return by key what is to run; refuse a value that an estimator refuses."""
    points = select(experiment.points(quick), only, experiment.template.defaults)
    experiment.template.refuse_values(points)
    return {key(point): point for point in points}


def _run_all(experiment, executor, points, journal, parallel, dask, jobs):
    """Run the points, by their keys, and write each into the journal when it ends."""
    from joblib import delayed
    from tqdm import tqdm
    state = code_state()
    watched = None if dask or jobs == 1 else os.getpid()
    tasks = (delayed(_work)(executor, experiment.template.notebook, point, experiment.seconds, name,
                            watched)
             for name, point in points.items())
    for answer, name in tqdm(_answers(parallel, tasks, dask), total=len(points),
                             desc=experiment.name, unit="run", disable=not points, smoothing=0.1):
        journal.append(_finish(answer, points[name], state))
        _keep_notebook(experiment, name, answer)


def _doubtful(asked):
    """Say of the runs asked for how many failed, and whether reports leave them out."""
    failed = [run for run in asked if run["status"] == "failed"]
    return ((f"; {len(failed)} of {len(asked)} runs FAILED, the first says: {failed[0]['error']}"
             if failed else "")
            + ("; the code has uncommitted changes, so that reports leave these runs out"
               if any(run["dirty"] for run in asked) else ""))


def _agreement(made, before, varied):
    """Say whether the numbers of records are those of earlier records of the same runs."""
    differing = {name: differences(before[name], made[name]) for name in made if name in before}
    known = len(differing)
    differing = {name: found for name, found in differing.items() if found}
    if not known:
        return ""
    if not differing:
        return f"the numbers of {known} of {len(made)} runs agree with those before, all but times"
    limited = sum(any("limit" in record["status"] for record in (made[run], before[run]))
                  for run in differing)
    run, (column, *_) = next(iter(differing.items()))
    point = made[run]["parameters"]
    old, new = (numbers(record).get(column) for record in (before[run], made[run]))
    return (f"the numbers of {len(differing)} of {known} runs differ from those before"
            + (f", and a limit ended {limited} of these" if limited else "") + "; the first is "
            + ", ".join(f"{name}={point[name]}" for name in varied)
            + f": {column} = {new}, was {old}")


def _readable(read, path, say):
    """Read a file; if that cannot be done, put it aside, say so, and read as if there were none."""
    try:
        return read(path)
    except ValueError as error:
        aside = put_aside(path)
        say(f"{error} It is kept as {os.path.relpath(aside)}, and what it held is run again "
            "unless you bring it back.")
        return read(path)


def _answers(parallel, tasks, dask):
    """Yield the answers of the workers as they come; say it in one sentence if one is lost."""
    try:
        yield from parallel(tasks)
    except (Exception, asyncio.CancelledError) as error:
        where = f"the Dask scheduler at {dask}" if dask else "a worker"
        said = " ".join(str(error).split())[:200]
        raise RuntimeError(f"{where} was lost ({type(error).__name__}{said and ': '}{said}); "
                           "finished runs are kept, and --resume does the rest.") from error


def _current_key(experiment, name):
    """Return the key that a run in the journal has by the template of today."""
    try:
        return key(experiment.current(json.loads(name)))
    except (AttributeError, ValueError):    # the journal was written by hand
        return name


@contextlib.contextmanager
def _workers(jobs, dask):
    """Yield what runs tasks: processes here, or the workers of a cluster."""
    from joblib import Parallel, parallel_config
    options = {"batch_size": 1, "return_as": "generator_unordered"}
    if dask:
        with _cluster(dask), parallel_config(backend="dask"):
            yield Parallel(n_jobs=-1, **options)
    else:
        yield Parallel(n_jobs=jobs, **options)


def _work(executor, notebook, point, seconds, name, runner):
    """Do one run, in whatever process or cluster it lands."""
    if runner not in (None, os.getpid()):
        end_with(runner)                  # and then the kernel with this process
    # a solver that overruns its limit by far is stuck: the run fails instead of the experiment
    limit = point.get("time_limit")
    if seconds is None and isinstance(limit, int | float) and limit < LONGEST_SECONDS:
        seconds = math.ceil(3 * limit + 300)
    return executor(notebook, point, seconds), name


def _cluster(address):
    Client = needs("distributed", "dask", "--dask").Client
    try:
        return Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise RuntimeError(f"no Dask scheduler answers at {address}; start one with "
                           f"`dask scheduler` and `dask worker` ({error}).") from None


def _finish(answer, point, state):
    """Make the complete record of a run from what its notebook said."""
    error, known = answer["error"], {
        "parameters": point, "date": datetime.now(UTC).isoformat(timespec="seconds"), **state,
        "notebook_seconds": answer["seconds"]}
    if error is None:
        record = {**answer["record"], **known}
        wrong = problems(record)
        if not wrong:
            return record
        error = f"the record is not valid: {wrong[0]}"
    return empty_record(status="failed", error=error, **known)


def code_state():
    """Return the git commit of the code, and whether the code differs from it."""
    def git(*words):
        return subprocess.run(["git", "-C", str(PACKAGE.parent), *words], capture_output=True,
                              text=True, check=True).stdout.strip()
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        if git("ls-files", str(PACKAGE / "__init__.py")):
            changes = git("status", "--porcelain", "--", "odtlib", "odtbook",
                          "chapters/experiments")
            return {"commit": git("rev-parse", "HEAD"), "dirty": changes != ""}
    return {"commit": None, "dirty": None}


def _ordered(records, declared):
    return [records[name] for name in declared if name in records]


def seconds_of_runs(experiment):
    """Return how long each recorded run of an experiment took, by its key."""
    return _seconds(Experiment(experiment).records())


def _seconds(records):
    return {name: record["notebook_seconds"] for name, record in records.items()
            if record["notebook_seconds"] is not None}


def cost(experiments, jobs=1):
    """Say what it takes to make the records of experiments anew, judged by their own.

    ``experiments`` maps the name of each to its changes; runs that are finished do not count.
    """
    total = runs = 0
    for name, changes in experiments.items():
        earlier = seconds_of_runs(name)
        source = Experiment(name, changes, apart=True)
        made = source.records()
        todo = [run for run in map(key, source.points()) if run not in made]
        total += _total(todo, earlier)
        runs += len(todo)
    if not runs:
        return "its records were made anew before, in odt-results"
    return (f"{runs} run{'s' * (runs != 1)} of {', '.join(experiments)}, about "
            f"{duration(_waiting(total, runs, jobs))} by earlier runs; "
            "Ctrl-C keeps what is finished, and the same command does the rest")


def _total(todo, earlier):
    """Return how many seconds runs take, one of unknown length as half of the earlier ones."""
    typical = statistics.median(earlier.values()) if earlier else 0.0
    return sum(earlier.get(name, typical) for name in todo)


def _waiting(total, runs, jobs):
    """Return the seconds until runs are done: with the start of kernels, on a machine as busy."""
    from joblib import cpu_count, effective_n_jobs
    workers = min(effective_n_jobs(jobs), runs)
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return (total / workers + KERNEL_SECONDS) * max(1.0, (busy + workers) / cpu_count())


def _estimate(todo, earlier, jobs, dask):
    """Say how long the runs will take, judged by the seconds of earlier ones."""
    if not todo:
        return ""
    if not earlier:
        return "; no earlier runs to judge the time by, the bar shows it after the first"
    total = _total(todo, earlier)
    known = sum(name in earlier for name in todo)
    return (f"; about {duration(total if dask else _waiting(total, len(todo), jobs))} to go"
            + (" on one worker" if dask else "")
            + f" (by earlier runs, {known} of them the same)")


def duration(seconds):
    """Say a number of seconds in hours, minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _keep_notebook(experiment, name, answer):
    folder = experiment.place.runs / "notebooks"
    folder.mkdir(exist_ok=True)
    (folder / notebook_name(experiment, name)).write_text(answer["notebook"], encoding="utf-8")


def notebook_name(experiment, name):
    """Return the file name of the executed notebook of a run: what tells it from the others."""
    point = json.loads(name)
    told = {parameter: [str(point[parameter])] for parameter in experiment.varied}
    return f"{file_name(told) if told else experiment.place.results.stem}.ipynb"


def _executed(experiment, names):
    """Say where the executed notebooks of these runs are."""
    folder = experiment.place.runs / "notebooks"
    if not names:
        return ""
    if len(names) > 1:
        return f", executed notebooks in {os.path.relpath(folder)}"
    file = folder / notebook_name(experiment, names[0])
    return f", the executed notebook is {os.path.relpath(file)}"


@contextlib.contextmanager
def _locked(path, name):
    """Keep a second runner off an experiment; the system frees the lock when the holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            if sys.platform == "win32":
                import msvcrt
                file.seek(1 << 20)   # a byte behind the text, which stays readable
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                import fcntl
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise RuntimeError(f"another runner (process {file.read().strip()}) is at work on "
                               f"{name}; wait for it or end it.") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
