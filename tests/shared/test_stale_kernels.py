"""After an edit nothing runs that was compiled from the old text, wherever the kernel takes it in.

Each test works on a copy of the package, and edits that.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from odtlib._numba import sources

ROOT = Path(__file__).resolve().parents[2]

# A chain of kernels in folders of different depth, below the one that is fitted with: top -> middle
# -> deep/bottom; `beside` is of no use to anyone. By turns relative, absolute, in several lines.
CHAIN = {
    "chain/__init__.py": "",
    "chain/top.py": """
from odtlib._numba.compiler import OPTIONS, njit

from . import (
    middle,  # (the next one)
)

@njit(**OPTIONS)
def answer(number):
    return middle.twice(number)
""",
    "chain/middle.py": """
from odtlib._numba.compiler import INNER, njit
from odtlib.chain.deep import bottom as lowest, factors

@njit(**INNER)
def twice(number):
    return lowest.once(number) * factors.FACTOR

def as_text():
    from . import beside
    return str(beside)
""",
    "chain/deep/__init__.py": "",
    "chain/deep/factors.py": "FACTOR = 2",
    "chain/deep/bottom.py": """
from odtlib._numba.compiler import INNER, njit
from .bits import first

@njit(**INNER)
def once(number):
    return number + 1
""",
    "chain/deep/bits.py": """
from numba import types
from numba.extending import intrinsic

@intrinsic
def first(typing, number):
    def generate(context, builder, signature, args):
        return args[0]
    return types.int64(types.int64), generate
""",
    "chain/beside.py": "NUMBER = 1",
}
ANSWER = """
from odtlib.chain import beside, top
print(top.answer(20), sum(top.answer.stats.cache_misses.values()), beside.NUMBER)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with a copy of the package, its compiled kernels included."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "odtlib", folder / "odtlib")
    for name, text in CHAIN.items():
        file = folder / "odtlib" / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text)
    return folder


def run(folder, script, **environment):
    return said(folder, script, **environment)[0]


@pytest.fixture
def edit(package):
    """A function that replaces text in a file of the copy, which gets it back after the test."""
    before = {}

    def change(name, old, new):
        file = package / "odtlib" / name
        text = file.read_text()
        before.setdefault(file, text)
        changed = text.replace(old, new, 1)
        assert changed != text
        file.write_text(changed)
        stamp = file.stat().st_mtime         # as after a checkout: the time says nothing
        os.utime(file, (stamp - 1e6, stamp - 1e6))

    yield change
    for file, text in before.items():
        file.write_text(text)


@pytest.mark.parametrize(("name", "old", "new", "answer"), [
    ("chain/deep/bottom.py", "number + 1", "number + 2", "44"),
    ("chain/deep/factors.py", "2", "3", "63"),
    ("chain/middle.py", "lowest.once(number)", "number", "40"),
    ("chain/deep/bits.py", "args[0]", "args[-1]", "42"),
    ("_numba/lowering.py", "LONG = 200", "LONG = 201", "42"),
    ("_numba/compiler.py", '"nogil": True', '"nogil": False', "42"),
])
def test_a_kernel_is_compiled_anew_after_an_edit_of_anything_that_it_takes_in(
        package, edit, name, old, new, answer):
    run(package, ANSWER)
    assert run(package, ANSWER) == ["42", "0", "1"]
    edit(name, old, new)
    assert run(package, ANSWER) == [answer, "1", "1"]
    assert run(package, ANSWER) == [answer, "0", "1"]


def test_an_edit_of_anything_else_compiles_nothing(package, edit):
    run(package, ANSWER)
    edit("chain/beside.py", "1", "2")
    edit("tree.py", "\nimport", "\n\nimport")
    edit("constrained/_growth.py", "\nimport", "\n\nimport")
    assert run(package, ANSWER) == ["42", "0", "2"]


def test_files_of_earlier_text_do_not_pile_up(package, edit):
    run(package, ANSWER)
    files = {path.name.split(".")[-1] for path in (package / "odtlib/chain").rglob("top.answer*")}
    for number in range(2, 5):
        edit("chain/deep/factors.py", str(number), str(number + 1))
        run(package, ANSWER)
        found = [path.name.split(".")[-1] for path in (package / "odtlib/chain").rglob("top.ans*")]
        assert sorted(found) == sorted(files) == ["nbc", "nbi"]


def test_a_process_under_which_a_file_changes_keeps_what_it_compiles_to_itself(package, edit):
    """It holds the old text of one module, and would read the new one of another."""
    file = package / "odtlib/chain/deep/bottom.py"
    script = f"""
import odtlib.chain.middle
from pathlib import Path
file = Path({str(file)!r})
file.write_text(file.read_text().replace("number + 1", "number + 2", 1))
""" + ANSWER
    edit("chain/deep/bottom.py", "number + 1", "number +  1")      # puts the file back afterwards
    edit("chain/deep/bottom.py", "number +  1", "number + 1")
    edit("chain/middle.py", "(**INNER)", "(**{**INNER, 'cache': True})")
    assert run(package, script) == ["42", "1", "1"]
    assert run(package, ANSWER) == ["44", "1", "1"]


def refusing(*folders):
    """Return a script after which no file can be made in these folders, as for a stranger."""
    return f"""
import tempfile
genuine = tempfile.TemporaryFile
def refuse(*arguments, dir=None, **options):
    if str(dir).startswith({tuple(map(str, folders))!r}):
        raise PermissionError(13, "not to be written to", dir)
    return genuine(*arguments, dir=dir, **options)
tempfile.TemporaryFile = refuse
"""


@pytest.mark.parametrize("where", ["NUMBA_CACHE_DIR", "a folder of the user", "nowhere"])
def test_compiled_kernels_are_kept_wherever_numba_may_write(package, edit, where, tmp_path):
    """Sources of an installation may not be written to."""
    place = tmp_path / "kernels"
    place.mkdir()
    for file in kept(package):
        file.unlink()
    environment = {"NUMBA_CACHE_DIR": str(place)} if where == "NUMBA_CACHE_DIR" else {
        "XDG_CACHE_HOME": str(place)}
    script = "" if where == "NUMBA_CACHE_DIR" else refusing(
        package, *[place] * (where == "nowhere"))
    again = "1" if where == "nowhere" else "0"
    assert run(package, script + ANSWER, **environment) == ["42", "1", "1"]
    assert run(package, script + ANSWER, **environment) == ["42", again, "1"]
    edit("chain/deep/bottom.py", "number + 1", "number + 2")
    assert run(package, script + ANSWER, **environment) == ["44", "1", "1"]
    assert bool(list(place.rglob("*.nbi"))) == (where != "nowhere")


def kept(folder):
    """Return the files of the compiled kernel, its index first."""
    return sorted(folder.rglob("top.answer*.nb?"), key=lambda file: file.suffix, reverse=True)


def said(folder, script, **environment):
    """Run a script; return the numbers that it prints, and the lines that it says."""
    around = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    result = subprocess.run([sys.executable, "-c", script], cwd=folder, text=True,
                            capture_output=True, env={**around, "PYTHONPATH": str(folder),
                                                      **environment})
    assert result.returncode == 0, result.stderr
    return result.stdout.split(), result.stderr.splitlines()


def test_kernels_of_the_owner_are_read_by_who_may_not_write(package, tmp_path):
    run(package, ANSWER)
    for folders in ((package,), (package, tmp_path)):
        assert said(package, refusing(*folders) + ANSWER, XDG_CACHE_HOME=str(tmp_path)) == (
            ["42", "0", "1"], [])


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 255
    file.write_bytes(content)


def as_pipe(file):
    file.unlink()
    os.mkfifo(file)


def as_folder(file):
    file.unlink()
    file.mkdir()


DAMAGE = {
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:len(file.read_bytes()) // 2]),
    "last byte missing": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "first byte": lambda file: flip(file, 0),
    "byte in the middle": lambda file: flip(file, len(file.read_bytes()) // 2),
    "last byte": lambda file: flip(file, -1),
    "zeros": lambda file: file.write_bytes(bytes(len(file.read_bytes()))),
    "text": lambda file: file.write_text("<html>503 Service Unavailable</html>"),
    "of another": lambda file: file.write_bytes(
        next(file.parent.glob(f"*other*{file.suffix}")).read_bytes()),
    "missing": lambda file: file.unlink(),
    "a folder": as_folder,
    "a pipe": as_pipe,
}


@pytest.fixture
def file(tmp_path):
    """The files of a kernel, with something in them, beside those of another."""
    sources.say.cache_clear()
    other = sources.KernelFile(swallow, str(tmp_path), "other" * 4)
    other._kernel = "other"
    other.save("key", "another's code")
    file = sources.KernelFile(kept, str(tmp_path), "0123456789abcdef")
    file.save("key", "code")
    assert file.load("key") == "code"
    return file


def swallow():
    pass


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_counts_as_none_and_is_made_anew(file, tmp_path, capsys, damage, suffix):
    place, = tmp_path.glob(f"*kept*.{suffix}")
    DAMAGE[damage](place)
    for _ in range(3):
        assert file.load("key") is None or damage == "missing"
    lines = capsys.readouterr().err.splitlines()
    quiet = damage == "missing" or (damage, suffix) == ("a folder", "nbc")
    assert len(lines) == (not quiet)
    assert quiet or (f"in {tmp_path} cannot be read" in lines[0] and "again" in lines[0])
    if damage == "a folder":
        place.rmdir()
    file.save("key", "code")
    assert file.load("key") == "code"
    assert capsys.readouterr().err == ""


def test_damaged_kernels_are_compiled_anew_also_where_they_cannot_be_mended(package, tmp_path):
    run(package, ANSWER)
    flip(kept(package)[1], 1000)
    stranger = refusing(package) + """
import odtlib._numba.sources
def refuse(*arguments):
    raise PermissionError(13, "not to be written to")
odtlib._numba.sources.KernelFile.flush = refuse
"""
    for misses in ("1", "0"):               # then from the folder of the user
        numbers, lines = said(package, stranger + ANSWER, XDG_CACHE_HOME=str(tmp_path))
        assert numbers == ["42", misses, "1"] and len(lines) == int(misses)
    numbers, lines = said(package, ANSWER)
    assert numbers == ["42", "1", "1"] and len(lines) == 1
    assert said(package, ANSWER) == (["42", "0", "1"], [])


@pytest.mark.skipif(sys.platform == "win32", reason="limits of the system")
def test_a_full_disk_ends_no_fit(package, tmp_path):
    """Files that may not grow stand for it: of two, the index is small enough."""
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
    numbers, lines = said(package, limit + ANSWER, NUMBA_CACHE_DIR=str(tmp_path))
    assert numbers == ["42", "1", "1"]
    assert len(lines) == 1 and "cannot be kept" in lines[0] and "NUMBA_CACHE_DIR" in lines[0]
    assert [file.suffix for file in tmp_path.rglob("*") if file.is_file()] == [".nbi"]
    assert said(package, ANSWER, NUMBA_CACHE_DIR=str(tmp_path)) == (["42", "1", "1"], [])
    assert said(package, ANSWER, NUMBA_CACHE_DIR=str(tmp_path)) == (["42", "0", "1"], [])


# What each module's kernels would load: those of a module that an edit concerns find nothing.
STATE = """
import importlib, pkgutil
import odtlib
for info in pkgutil.walk_packages(odtlib.__path__, "odtlib."):
    if info.name.startswith("odtlib.chain"):
        continue
    for kernel in vars(importlib.import_module(info.name)).values():
        file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        if file is not None and kernel.__module__ == info.name:
            print(kernel.__module__ + "." + kernel.__name__, file._source_stamp, sep="=")
"""


def test_every_kernel_that_an_edit_concerns_knows_of_it(package, edit):
    def changed(name):
        before = dict(line.split("=") for line in run(package, STATE))
        edit(name, "\nimport", "\n\nimport")
        after = dict(line.split("=") for line in run(package, STATE))
        assert len(before) > 70 and before.keys() == after.keys()
        return {kernel.removeprefix("odtlib.").rpartition(".")[0] for kernel in before
                if before[kernel] != after[kernel]}

    everywhere = changed("_numba/compiler.py")
    assert {"_tree_kernels", "murtree._search", "heuristics._kernels"} <= everywhere
    assert changed("constrained/_projections.py") == {
        "constrained._projections", "constrained._growth", "constrained._lazy"}
    with_vectors = changed("_numba/vector.py")
    assert {"murtree._search", "murtree._kernels", "murtree._sums", "murtree._additive",
            "continuous._kernels", "column_generation._kernels"} <= with_vectors
    assert not {"_tree_kernels", "heuristics._kernels", "constrained._growth"} & with_vectors
    assert changed("estimator.py") == set()


def test_a_fit_meets_an_edit_two_modules_away(package, edit):
    """MurTree's search counts by an instruction that a module of vectors makes."""
    fit = ("from odtlib import MurTreeClassifier\n"
           "print(MurTreeClassifier(2).fit([[0], [1]] * 9, [0, 1] * 9).report_.objective)")
    place = "def population_count(builder, kind, vector):"
    edit("_numba/vector.py", place, place + "\n    raise RuntimeError('the new text')")
    result = subprocess.run([sys.executable, "-c", fit], cwd=package, text=True,
                            capture_output=True, env={**os.environ, "PYTHONPATH": str(package)})
    assert result.returncode and "the new text" in result.stderr
    # So does compiling ahead, which reports what could not be compiled.
    shutil.copytree(ROOT / "odtbook", package / "odtbook", dirs_exist_ok=True)
    result = subprocess.run([sys.executable, "-m", "odtbook", "compile", "MurTreeClassifier"],
                            cwd=package, text=True, capture_output=True,
                            env={**os.environ, "PYTHONPATH": str(package)})
    assert result.returncode == 1 and "MurTreeClassifier: not compiled ahead" in result.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("name", ["report.py", "murtree/_kernels.py", "chain/deep/bottom.py"])
def test_make_compiles_after_an_edit_at_any_depth(package, edit, name):
    for file in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / file, package / file)
    environment = package / ".venv"
    (environment / "bin").mkdir(parents=True, exist_ok=True)
    for file in ("bin/python", "installed", "kernels"):
        (environment / file).touch()

    def would_compile():
        os.utime(environment / "kernels")
        done = subprocess.run(["make", "-n", ".venv/kernels"], cwd=package, text=True, check=True,
                              capture_output=True).stdout
        os.utime(package / "odtlib" / name, (2e9, 2e9))
        then = subprocess.run(["make", "-n", ".venv/kernels"], cwd=package, text=True, check=True,
                              capture_output=True).stdout
        return "odt compile" in done, "odt compile" in then

    edit(name, "import", "import ")
    assert would_compile() == (False, True)


STAMPS = """
import importlib, pkgutil, sys
{first}
import odtlib
from odtlib._numba.sources import stamp
for module in ("certificate", "heuristics.local_search", "murtree._search", "continuous._kernels",
               "column_generation._kernels", "constrained._projections"):
    importlib.import_module("odtlib." + module)
    print(stamp("odtlib." + module))
"""
EVERYTHING = """
import odtlib
for module in pkgutil.walk_packages(odtlib.__path__, "odtlib."):
    importlib.import_module(module.name)
"""


def test_what_else_a_process_has_loaded_changes_no_stamp(package):
    """With a picture drawn first, kernels were compiled anew, and those of others taken away."""
    found = run(package, STAMPS.format(first=""))
    assert found == run(package, STAMPS.format(first=EVERYTHING)) and "None" not in found
    alone = ("from odtlib.chain import top\n"
             "print(top.answer(20), *top.answer.stats.cache_misses.values())")
    run(package, ANSWER)
    assert run(package, alone) == ["42"]
    assert run(package, ANSWER) == ["42", "0", "1"]


def test_only_imports_that_run_with_the_module_count():
    text = """
import a
from b import (c,
    d)
def f():
    import no
    if True:
        import no
class C:
    from no import no
if TYPE_CHECKING:
    from no import no
@decorated
def g(x,
      y):
    import no
try:
    import e
except ImportError:
    from f import g
with h:
    import i
else_where = 1
for no in ():
    import no
"""
    found = [match[0] for match in sources._IMPORT.finditer(text)
             if sources._is_run_at_once(text, match.start())]
    assert [words.split()[1] for words in found] == ["a", "b", "e", "f", "i"]
