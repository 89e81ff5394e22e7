"""What runner tests share: stand-ins for papermill, importable by the processes they kill."""

import contextlib
import os
import time

from odtbook import experiments

PARAMETERS = 'a = 1\nb = 0.5\nmode = "good"  # one of: "good", "bad"\nnote = None'
RUN = """from odtbook import experiments
if mode == "bad" and a == 2:
    raise RuntimeError("no luck with two")
record = experiments.record(measures={"sum": a + b})
experiments.emit(record)"""


def counting(notebook, point, timeout):
    """Answer at once, and log the run beside the grid, named by the environment."""
    with open(os.environ["RUNS_LOG"], "a") as log:
        log.write(f"{point['a']}\n")
    time.sleep(0.003)
    record = experiments.record(measures={"square": point["a"] ** 2})
    return {"record": record, "error": None, "seconds": 0.003, "notebook": "{}"}


def run_counting(log, grid, resume):
    """Run a grid with :func:`counting`, silently: what the killed process does."""
    os.environ["RUNS_LOG"] = str(log)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        experiments.run_experiment(grid, resume=resume, executor=counting,
                                   say=lambda line: None)


def pure(records):
    """What must not depend on when, and after which other work, a run was tried."""
    moving = {"date", "commit", "dirty", "versions"}
    return [{name: value for name, value in record.items()
             if name not in moving and not name.endswith("seconds")} for record in records]
