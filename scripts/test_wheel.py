"""Build the wheel, install it outside the checkout, and use it: ``make test-wheel``.

One environment gets the core alone: what it can do works, and what it cannot names the command that
brings it. It then gets the extras one after the other; each is used. Nothing of the checkout can
be seen from the folder in which the commands run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CORE = """
import odtlib
from odtlib.datasets import load
assert odtlib.__file__.startswith({prefix!r}), odtlib.__file__
monks = load("monk1_full")
tree = odtlib.MurTreeClassifier(max_depth=3, binarizer="all").fit(monks.X, monks.y)
assert tree.report_.status == "optimal" and tree.report_.objective == 48, tree.report_
for use, extra in [(tree.plot, "plot"), (lambda: tree.report_.trace, "plot"),
                   (lambda: odtlib.OCTClassifier(max_depth=1).fit(monks.X, monks.y), "solvers")]:
    try:
        use()
    except ModuleNotFoundError as error:
        assert f"optimal-decision-trees[{{extra}}]" in str(error), error
    else:
        raise AssertionError(f"the core has what only {{extra}} should bring")
"""

PLOT = """
import matplotlib; matplotlib.use("agg")
import odtlib
from odtlib.datasets import load
monks = load("monk1_full", as_frame=True)
tree = odtlib.MurTreeClassifier(max_depth=3, binarizer="all").fit(monks.X, monks.y)
tree.plot(); tree.report_.plot(); assert len(tree.report_.trace)
"""

SOLVERS = """
import numpy as np, odtlib
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, float)
y = X[:, 0] != X[:, 1]
for model in (odtlib.OCTClassifier(max_depth=2), odtlib.BinOCTClassifier(max_depth=2),
              odtlib.OCTClassifier(max_depth=2, solver="cp-sat"),
              odtlib.ColumnGenerationClassifier(max_depth=2)):
    assert model.fit(X, y).report_.objective == 0, model
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="a wheel that is built already")
    wheel = parser.parse_args().wheel
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if wheel is None:
            say("building the wheel (10 s)")
            run([sys.executable, "-m", "build", "--wheel", "--outdir", place, ROOT], ROOT,
                quiet=True)
            wheel = next(place.glob("*.whl"))
        wheel = wheel.resolve()
        home, away = place / "environment", place / "elsewhere"
        away.mkdir()
        venv.create(home, with_pip=True)
        scripts = home / ("Scripts" if os.name == "nt" else "bin")
        python, odt = scripts / "python", scripts / "odt"

        def install(extra=""):
            say(f"installing {extra or 'the core'} (half a minute to two minutes)")
            run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                 f"{wheel}[{extra}]" if extra else wheel], away)
            run([python, "-m", "pip", "check"], away, quiet=True)

        install()
        run([python, "-W", "error::DeprecationWarning:odtlib", "-c",
             CORE.format(prefix=str(home))], away)
        run([odt, "--version"], away)
        run([odt, "data", "list"], away, quiet=True)
        refused([odt, "report"], away, "optimal-decision-trees[experiments]")
        refused([odt, "run", "murtree", "--quick"], away, "optimal-decision-trees[experiments]")
        install("plot")
        run([python, "-c", PLOT], away)
        install("solvers")
        run([python, "-c", SOLVERS], away)
        install("experiments")
        run([odt, "report", "--experiments"], away, quiet=True)
        quick = ["--quick", "--only", "dataset=iris", "--only", "max_depth=2"]
        run([odt, "run", "murtree", *quick], away, quiet=True)
        run([odt, "report", "--item", "demirovic2022 T1"], away, quiet=True)   # after a first run
        run([odt, "report", "--experiments"], away, quiet=True)
        run([odt, "new", "mine", "--from", "murtree"], away, quiet=True)
    say("the wheel works")
    return 0


def say(sentence: str) -> None:
    print(f"test-wheel: {sentence}", flush=True)


def environment() -> dict:
    """Return the environment without anything that leads to the checkout."""
    return {key: value for key, value in os.environ.items()
            if key not in ("PYTHONPATH", "ODTLIB_DATA", "VIRTUAL_ENV")}


def run(command, folder, *, quiet=False) -> None:
    """Run a command; end with its output if it fails."""
    done = subprocess.run([str(part) for part in command], cwd=folder, env=environment(),
                          text=True, capture_output=quiet)
    if done.returncode:
        sys.exit(f"test-wheel: failed ({done.returncode}): {' '.join(map(str, command))[:200]}\n"
                 f"{done.stdout or ''}{done.stderr or ''}")


def refused(command, folder, advice) -> None:
    """Run a command that has to say what to install."""
    done = subprocess.run([str(part) for part in command], cwd=folder, env=environment(),
                          text=True, capture_output=True)
    if done.returncode != 2 or advice not in done.stderr or "Traceback" in done.stderr:
        sys.exit(f"test-wheel: {' '.join(map(str, command))} should name {advice}, and said\n"
                 f"{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
