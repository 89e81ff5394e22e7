"""The docstring of a kernel names each of its arguments."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Files whose kernels do so; a new file of kernels is one of them.
FILES = ["odtlib/heuristics/_sampling_kernels.py", "odtlib/murtree/_groups.py",
         "odtlib/murtree/extensions/_good_kernels.py", "odtbook/published/_candidate_kernels.py",
         "odtbook/published/_medoid_kernels.py"]


def kernels_of(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
            and any("njit" in ast.unparse(how) for how in node.decorator_list)]


@pytest.mark.parametrize("file", FILES)
def test_every_argument_of_a_kernel_is_named(file):
    kernels = kernels_of(file)
    assert kernels
    for kernel in kernels:
        words = set(re.findall(r"\w+", " ".join(re.findall(
            r"``(.+?)``", ast.get_docstring(kernel) or ""))))
        missing = [each.arg for each in kernel.args.args if each.arg not in words]
        assert not missing, f"{kernel.name}: {missing}"
