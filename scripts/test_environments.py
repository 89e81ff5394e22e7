"""Run the tests with several interpreters, each in an environment of its own.

``python scripts/test_environments.py python3.11 python3.12 python3.13`` installs the newest
dependencies for each interpreter and runs the tests of the library; ``--everything`` runs those of
the course too; ``--oldest`` takes the lower bounds of .ci/oldest.txt (Python 3.11 has wheels of all
of them), ``--interoperation`` the tools of tests/interoperation. The notebooks and the book are
left to ``make test`` and ``make book``, with the versions of constraints.txt.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = [f"tests/{name}" for name in (
    "shared", "heuristics", "murtree", "continuous", "column_generation", "constrained",
    "formulations", "datasets")]
#: Packages whose tables go through `odt try`; only their files are used.
SHIP_TABLES = ["ISLP", "Orange3", "lifelines", "scikit-survival", "statsmodels"]
EVERY = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").iterdir()
               if path.is_dir() and any(path.glob("test_*.py")) and path.name != "interoperation")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("interpreters", nargs="+", metavar="PYTHON")
    parser.add_argument("--oldest", action="store_true", help="the lower bounds, not the newest")
    parser.add_argument("--interoperation", action="store_true",
                        help="tests/interoperation with its tools, none of them skipped")
    parser.add_argument("--everything", action="store_true", help="also the tests of the course")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="other files or folders")
    options = parser.parse_args()
    failed = [name for name in options.interpreters if not passes(name, options)]
    print(f"failed: {', '.join(failed)}" if failed else "all environments pass", flush=True)
    return 1 if failed else 0


def passes(interpreter: str, options) -> bool:
    """Make an environment, install, and run the tests."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "environment"
        print(f"{interpreter}: installing (one to three minutes)", flush=True)
        try:
            if subprocess.run([interpreter, "-m", "venv", home]).returncode:
                return False
        except OSError as error:
            print(f"{interpreter}: cannot be started ({error}); name an interpreter", flush=True)
            return False
        python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if options.oldest:
            command += ["--constraint", ROOT / ".ci" / "oldest.txt"]
        extras = ("interoperation,solvers" if options.interoperation else
                  "solvers,dask,book,lab,test" if options.everything else "plot,solvers")
        command += [f"{ROOT}[{extras}]", "pytest>=9.0", "pytest-xdist>=3.6"]
        if subprocess.run(command).returncode:
            return False
        if options.interoperation and subprocess.run(
                [*command[:6], "--no-deps", *SHIP_TABLES]).returncode:
            return False
        tests = (["tests/interoperation", "tests/book/test_how_do_i.py"]
                 if options.interoperation else
                 EVERY if options.everything else options.tests)
        print(f"{interpreter}: testing (five to ten minutes on two cores)", flush=True)
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
                     "NUMBA_CACHE_DIR": str(Path(folder) / "kernels")}
        if options.interoperation:
            variables["ODT_INTEROPERATION"] = "1"
        # The options of pyproject.toml are nbval's, which is not needed here.
        return subprocess.run(
            [python, "-m", "pytest", "-o", "addopts=--import-mode=importlib --strict-markers",
             "-m", "not slow", "-p", "no:cacheprovider", "-q", "-ra", "-n", "2",
             "--dist", "loadscope", *tests],
            cwd=ROOT, env=variables).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
