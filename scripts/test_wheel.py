"""Build the wheel, install it outside the checkout, and use it: ``make test-wheel``.

The wheel is built from the source distribution, so both are whole, and both carry the licences. One
environment gets the core alone: what it can do works, and what it cannot names the command that
brings it. It then gets the extras one after the other; each is used, and a type checker reads the
types. With the extras of the book a notebook of the wheel becomes a page, JupyterLab serves it,
nbval repeats it, and a Dask worker makes a record. The packages to compare with (bench) are
resolved, not installed. Nothing of the checkout can be seen from the folder in which the commands
run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CORE = """
import odtlib
from odtbook.datasets import load
from odtbook.formulations import OCTClassifier
assert odtlib.__file__.startswith({prefix!r}), odtlib.__file__
monks = load("monk1_full")
tree = odtlib.MurTreeClassifier(max_depth=3, binarizer="all").fit(monks.X, monks.y)
assert tree.report_.status == "optimal" and tree.report_.objective == 48, tree.report_
for use, extra in [(tree.plot, "plot"), (lambda: tree.report_.trace, "plot"),
                   (lambda: OCTClassifier(max_depth=1).fit(monks.X, monks.y), "solvers")]:
    try:
        use()
    except ModuleNotFoundError as error:
        assert f"optimal-decision-trees[{{extra}}]" in str(error), error
    else:
        raise AssertionError(f"the core has what only {{extra}} should bring")
"""

TABLES = """
import pathlib, sys
sys.path.insert(0, {tests!r})
from tables.ugly import plain, tables
from odtbook.tables import read_table
for table in tables():
    content = table.content
    if isinstance(content, bytes):
        pathlib.Path("ugly" + table.ending).write_bytes(content)
        content = "ugly" + table.ending
    report = str(read_table(content, table.target).report)
    assert all(words in report for words in table.words), report
plain().to_parquet("plain.parquet")
assert read_table("plain.parquet", "label").X.shape == (240, 3)
"""

PLOT = """
import matplotlib; matplotlib.use("agg")
import odtlib
from odtbook.datasets import load
monks = load("monk1_full", as_frame=True)
tree = odtlib.MurTreeClassifier(max_depth=3, binarizer="all").fit(monks.X, monks.y)
tree.plot(); tree.report_.plot(); assert len(tree.report_.trace)
"""

SOLVERS = """
import numpy as np, odtlib
from odtbook.formulations import BinOCTClassifier, OCTClassifier
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, float)
y = X[:, 0] != X[:, 1]
for model in (OCTClassifier(max_depth=2), BinOCTClassifier(max_depth=2),
              OCTClassifier(max_depth=2, solver="cp-sat"),
              odtlib.ColumnGenerationClassifier(max_depth=2)):
    assert model.fit(X, y).report_.objective == 0, model
"""


TYPES = """
from odtlib import DecisionTree, MurTreeClassifier, SolveReport
from odtbook.datasets import available, load

monks = load("monk1_full")
model = MurTreeClassifier(max_depth=3).fit(monks.X, monks.y)
tree: DecisionTree = model.tree_
report: SolveReport = model.report_
names: list[str] = available()
MurTreeClassifier(max_depth="three")  # type: ignore[arg-type]
"""

CONFIG = """
title: One page
execute: {execute_notebooks: force, timeout: 600}
sphinx:
  extra_extensions: [sphinx_exercise, sphinx_proof]
"""

# Without outputs: they are those of the pinned versions, which are not installed here.
PAGE = """
import nbformat
from odtbook.experiments import book_root
assert str(book_root()).startswith({prefix!r}), book_root()
page = nbformat.read(book_root() / "chapters" / "quick_start.ipynb", as_version=4)
for cell in page.cells:
    if cell.cell_type == "code":
        cell.outputs = []
nbformat.write(page, "quick_start.ipynb")
"""

SERVER = """
import json, subprocess, sys, time, urllib.error, urllib.request
command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
           "--port=0", "--ServerApp.root_dir=."]
from jupyter_server.serverapp import list_running_servers
with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
    try:
        while not (running := [each for each in list_running_servers()
                               if each["pid"] == server.pid]):
            assert server.poll() is None, "JupyterLab ends at once"
            time.sleep(0.2)
        place = running[0]["url"] + "api/contents/quick_start.ipynb"
        ask = urllib.request.Request(
            place, headers={"Authorization": "token " + running[0]["token"]})
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while True:
            try:
                assert json.load(direct.open(ask, timeout=60))["type"] == "notebook"
                break
            except urllib.error.URLError as error:      # it is announced before it listens
                if isinstance(error, urllib.error.HTTPError) or server.poll() is not None:
                    raise
                time.sleep(0.2)
    finally:
        server.terminate()
"""

DASK = """
import subprocess, sys
from distributed import LocalCluster
with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
    sys.exit(subprocess.run([sys.executable, "-m", "odtbook", *sys.argv[1:],
                             "--dask", cluster.scheduler_address]).returncode)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="a wheel that is built already")
    wheel = parser.parse_args().wheel
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if wheel is None:
            say("building the source distribution, and the wheel from it (half a minute)")
            run([sys.executable, "-m", "build", "--outdir", place, ROOT], ROOT, quiet=True)
            wheel = next(place.glob("*.whl"))
        wheel = wheel.resolve()
        check_contents(wheel)
        home, away = place / "environment", place / "elsewhere"
        away.mkdir()
        venv.create(home, with_pip=True)
        scripts = home / ("Scripts" if os.name == "nt" else "bin")
        python, odt = scripts / "python", scripts / "odt"

        def pip(*arguments):
            run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                 *arguments], away)

        def install(extra=""):
            say(f"installing {extra or 'the core'} (half a minute to two minutes)")
            pip(f"{wheel}[{extra}]" if extra else wheel)
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
        (away / "my.csv").write_text("age,label\n" + "31,no\n62,yes\n" * 30)
        install("tables")
        run([python, "-c", TABLES.format(tests=str(ROOT / "tests"))], away)
        run([odt, "try", "my.csv", "--time", "5"], away, quiet=True)
        install("solvers")
        run([python, "-c", SOLVERS], away)
        install("experiments")
        run([odt, "report", "--experiments"], away, quiet=True)
        quick = ["--quick", "--only", "dataset=iris", "--only", "max_depth=2"]
        run([odt, "run", "murtree", *quick], away, quiet=True)
        run([odt, "report", "--claim", "demirovic2022 T1"], away, quiet=True)   # after a first run
        run([odt, "report", "--experiments"], away, quiet=True)
        run([odt, "new", "mine", "--from", "murtree"], away, quiet=True)
        run([odt, "figure"], away, quiet=True)
        run([odt, "figure", "fig-ch5-switches", "--out", "figure.png"], away, quiet=True)
        run([odt, "new", "drawn", "--from", "figure:fig-ch5-switches"], away, quiet=True)
        run([odt, "run", "drawn"], away, quiet=True)
        say("checking the types (a minute)")
        pip("mypy", "pandas-stubs")
        (away / "user.py").write_text(TYPES, encoding="utf-8")
        run([python, "-m", "mypy", "--warn-unused-ignores", "user.py"], away)
        install("book")
        run([python, "-c", PAGE.format(prefix=str(home))], away)
        (away / "_toc.yml").write_text("format: jb-book\nroot: quick_start\n", encoding="utf-8")
        (away / "_config.yml").write_text(CONFIG, encoding="utf-8")
        say("building a page of the book (a minute)")
        run([scripts / "jupyter-book", "build", "."], away, quiet=True)
        page = (away / "_build" / "html" / "quick_start.html").read_text(encoding="utf-8")
        if "MurTreeClassifier" not in page or "Traceback" in page:
            sys.exit("test-wheel: the page that was built is not the quick start")
        install("lab")
        run([python, "-c", SERVER], away)
        run([scripts / "jupytext", "--to", "py:percent", "quick_start.ipynb"], away, quiet=True)
        install("test")
        say("running its notebook with nbval (half a minute)")
        run([python, "-m", "pytest", "--nbval-lax", "-q", "quick_start.ipynb"], away, quiet=True)
        install("dask")
        run([python, "-c", DASK, "run", "murtree", *quick], away, quiet=True)
        say("resolving bench (a minute)")
        pip("--dry-run", f"{wheel}[bench]")
    say("the wheel works")
    return 0


def check_contents(wheel: Path) -> None:
    """Check what has to be in the wheel, and in the source distribution beside it."""
    names = set(zipfile.ZipFile(wheel).namelist())
    for end in ("/licenses/LICENSE", "/licenses/LICENSE-text", "/licenses/data/sets/LICENSES.md",
                "odtlib/py.typed", "odtlib/__init__.pyi", "odtbook/_data/catalogue.toml"):
        if not any(name.endswith(end) for name in names):
            sys.exit(f"test-wheel: {wheel.name} has no {end}")
    for source in wheel.parent.glob("*.tar.gz"):
        names = set(tarfile.open(source).getnames())
        for end in ("/LICENSE", "/LICENSE-text", "/data/sets/LICENSES.md"):
            if not any(name.endswith(end) for name in names):
                sys.exit(f"test-wheel: {source.name} has no {end}")


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
