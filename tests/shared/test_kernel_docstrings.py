"""The docstring of a compiled function names each of its arguments, or refers to its module's."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What compiles a function: numba's, the project's own, and that of ``_numba/vector.py``, whose
# functions get LLVM's builder and the type of the first operand besides.
UNNAMED = {"njit": 0, "intrinsic": 1, "_operation": 2}
SHARED = "the module's docstring"
FOLDERS = "odtlib", "odtbook"


def made_by(decorator):
    """Return the name of a decorator, without the module that it comes from and its options."""
    decorator = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(decorator).rpartition(".")[2]


def names_in(node):
    """Return the words that a docstring has between double backquotes."""
    quoted = re.findall(r"``(.+?)``", ast.get_docstring(node) or "", re.DOTALL)
    return set(re.findall(r"\w+", " ".join(quoted)))


def unnamed_arguments(text):
    """Return for each compiled function of a file the arguments that are named nowhere."""
    module = ast.parse(text)
    found = []
    for node in ast.walk(module):
        made = [UNNAMED[made_by(how)] for how in getattr(node, "decorator_list", ())
                if made_by(how) in UNNAMED]
        if made:
            names = names_in(node)
            if SHARED in " ".join((ast.get_docstring(node) or "").split()):
                names |= names_in(module)
            arguments = [each.arg for each in (*node.args.posonlyargs, *node.args.args,
                                               *node.args.kwonlyargs)]
            found.append((node.name, [name for name in arguments[made[0]:] if name not in names]))
    return found


def files():
    """Return the files of the folders, those with compiled functions."""
    assert all((ROOT / name).is_dir() for name in FOLDERS)
    paths = [path for name in FOLDERS for path in sorted((ROOT / name).rglob("*.py"))]
    return [path.relative_to(ROOT).as_posix() for path in paths
            if unnamed_arguments(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("file", files())
def test_every_argument_of_a_kernel_is_named(file):
    missing = {name: arguments for name, arguments in unnamed_arguments(
        (ROOT / file).read_text(encoding="utf-8")) if arguments}
    assert not missing


KERNEL = '''
"""Kernels.  ``table``: it is shared."""
@numba.njit(cache=True)
def kernel(table, row):
    """Read ``row``; the rest is that of the
    module's docstring."""
'''
OPERATION = '''
@_operation()
def kernel(builder, kind, vector):
    """Return ``vector``."""
'''


@pytest.mark.parametrize("text, missing", [
    (KERNEL, []), (KERNEL.replace("``row``", "row"), ["row"]),
    (KERNEL.replace("module's", "class's"), ["table"]),
    (KERNEL.replace("``table``", ""), ["table"]),
    (OPERATION, []), (OPERATION.replace("``", ""), ["vector"])])
def test_a_missing_name_is_noticed(text, missing):
    assert unnamed_arguments(text) == [("kernel", missing)]
