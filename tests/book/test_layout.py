"""The plan of the packages holds: who imports whom, and nothing of one machine is committed."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from odtbook.estimators import NAMES, class_of

ROOT = Path(__file__).resolve().parents[2]

SOLVERS = {"column_generation", "murtree", "continuous", "constrained"}
UPPER = SOLVERS | {"heuristics"}
HEAVY = {"numba", "sklearn", "pandas", "matplotlib", "scipy", "highspy", "ortools", "papermill"}
PACKAGE = ROOT / "odtlib"
MOST_LONG = 6          # functions with more than 15 arguments
MOST_PARAMETERS = {}      # of an estimator, where not 16


def tracked_files():
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True
        ).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listing.split("\0") if name and (ROOT / name).is_file()]


def run_time_nodes(path):
    """The nodes of a source file, without the imports that only type checkers read."""
    waiting = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in waiting:
        if not (isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"):
            waiting.extend(ast.iter_child_nodes(node))
            yield node


def imported_modules(path):
    """The dotted names of all modules that a source file imports, wherever in the file."""
    for node in run_time_nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_packages(path):
    """The packages of odtlib that a source file imports."""
    for name in imported_modules(path):
        parts = name.split(".")
        if parts[0] == "odtlib" and len(parts) > 1:
            yield parts[1]


def all_imports(path):
    """The modules of odtlib that a source file imports, when it is loaded or later."""
    # relative imports name the package of the file
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in run_time_nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package[:len(package) - node.level + 1], *base.split(".")])
                base = base.rstrip(".")
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def home_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_the_library_does_not_know_the_book():
    for path in PACKAGE.rglob("*.py"):
        known = [name for name in imported_modules(path) if name.split(".")[0] == "odtbook"]
        assert not known, f"{path.relative_to(ROOT)} imports {known}"


def test_solvers_do_not_know_each_other():
    for package in SOLVERS:
        for path in (PACKAGE / package).rglob("*.py"):
            known = set(imported_packages(path)) & SOLVERS - {package}
            assert not known, f"{path.relative_to(ROOT)} imports {sorted(known)}"


def test_shared_files_and_heuristics_know_nobody_above_them():
    for path in PACKAGE.rglob("*.py"):
        home = home_of(path)
        if home in SOLVERS | {"__init__"}:
            continue
        known = set(imported_packages(path)) & UPPER - {home}
        assert not known, f"{path.relative_to(ROOT)} imports {sorted(known)}"


def test_kernels_are_compiled_by_our_njit_which_notices_edits():
    for place in ("odtlib", "odtbook", "benchmarks"):
        for path in (ROOT / place).rglob("*.py"):
            known = {"numba.njit", "numba.jit", "numba.cfunc"} & set(imported_modules(path))
            assert not known, f"{path.relative_to(ROOT)}: njit is in odtlib._numba.compiler"


# What each shared file may import from odtlib; heuristics may import all of them.
ALLOWED = {
    "text": set(), "tolerance": set(), "_tree_kernels": {"_numba"}, "_numba": set(),
    "arrays": set(), "requirements": set(), "schema": set(), "_validation": {"arrays"},
    "columns": {"_validation"}, "writers": {"text"}, "fit": {"tolerance", "report"},
    "tree": {"_tree_kernels", "columns", "export"},
    "export": {"text", "columns", "plotting", "requirements", "schema", "writers"},
    "report": {"text", "tolerance", "plotting", "requirements", "tree"},
    "binarize": {"text", "_validation", "columns", "report", "tree", "requirements"},
    "plotting": {"text", "requirements"},
    "certify": set(),
    "trees": {"tolerance", "_numba", "report", "tree"},
    "missing": {"tree", "trees"},
    "estimator": {"text", "tolerance", "_validation", "binarize", "certify", "columns", "missing",
                  "report", "tree", "plotting"},
    "solver_threads": set(),
    "heuristics": {"tolerance", "_tree_kernels", "_numba", "_validation", "fit", "report", "tree",
                   "trees", "binarize", "estimator", "missing", "requirements", "plotting",
                   "solver_threads"},
}


@pytest.mark.parametrize("home", ALLOWED)
def test_shared_files_import_only_what_lies_below_them(home):
    place = PACKAGE / home
    files = list(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    assert files
    homes = {home_of(path) for path in PACKAGE.rglob("*.py")}
    for path in files:
        above = set(imported_packages(path)) & homes - ALLOWED[home] - {home}
        assert not above, f"{path.relative_to(ROOT)} imports {sorted(above)}"


@pytest.mark.parametrize("package", ["odtlib", "odtbook"])
def test_modules_do_not_import_each_other_in_a_circle(package):
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
             for path in (ROOT / package).rglob("*.py")}
    waiting = {name: {known for known in all_imports(path) if known in files} - {name}
               for name, path in files.items()}
    for name in waiting:        # a package's own __init__ is loaded before its modules
        waiting[name] = {known for known in waiting[name]
                         if not name.startswith(f"{known}.")}
    while ready := {name for name, known in waiting.items() if not known & set(waiting)}:
        for name in ready:
            del waiting[name]
    assert not waiting, f"circles among {sorted(waiting)}"


def test_few_functions_have_many_arguments():
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                every = node.args
                names = [*every.posonlyargs, *every.args, *every.kwonlyargs]
                if len(names) > 15:
                    found.append(f"{path.relative_to(ROOT)}: {node.name} ({len(names)})")
    assert len(found) <= MOST_LONG, found


@pytest.mark.parametrize("name", sorted(NAMES))
def test_an_estimator_has_at_most_16_parameters(name):
    assert len(class_of(name)._get_param_names()) <= MOST_PARAMETERS.get(name, 16)


def test_plotting_imports_no_scikit_learn():
    code = "import sys, odtlib.plotting; print('sklearn' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True,
                         text=True)
    assert run.stdout.strip() == "False"


def test_the_book_uses_public_names_of_the_library_only():
    for path in (ROOT / "odtbook").rglob("*.py"):
        private = [name for name in imported_modules(path) if name.startswith("odtlib.")
                   and any(part.startswith("_") and part != "__version__"
                           for part in name.split("."))
                   # kernels are compiled as those of the library
                   and not (path.parent.name == "published" and name.split(".")[1] == "_numba")]
        assert not private, f"{path.relative_to(ROOT)} imports {private}"


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, odtlib; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert not HEAVY & set(loaded)


def test_the_command_starts_before_anything_heavy_is_loaded():
    """`odt try` counts the seconds in which it loads, and `odt --help` needs none of that."""
    code = "import sys, odtbook.cli; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True,
                            text=True).stdout.split()
    assert not HEAVY & set(loaded)


def test_no_path_of_a_machine_is_committed():
    # Spelled in parts, so that this file does not find itself.
    places = "|".join(["/" + "work/", "/" + "root/", "/" + "tmp/", "/" + "home/", "/" + "Users/"])
    machine_path = re.compile(rf"(?<![\w.$}}/~-])(?:{places})[\w.]")
    for path in tracked_files():
        if path.suffix in {".npz", ".gz", ".png"}:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = machine_path.search(line)
            assert not found, f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"


def test_the_lock_pins_versions_and_names_no_place():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins
    for pin in pins:
        assert re.fullmatch(r"[\w.-]+==[\w.!+]+", pin), pin


def test_no_large_file_is_committed():
    large = [path for path in tracked_files() if path.stat().st_size > 1_500_000]
    assert not large


def test_references_are_sorted_and_unique():
    text = (ROOT / "references.bib").read_text(encoding="utf-8")
    keys = re.findall(r"^@\w+\{(\w+),", text, re.MULTILINE)
    assert keys == sorted(set(keys))


def test_readme_example_runs():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    run = subprocess.run(
        [sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "CART: 72.0 errors" in run.stdout  # the figure that the text around it states
    assert "MurTree: 0.0 errors, optimal" in run.stdout
