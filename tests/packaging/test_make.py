"""What ``make`` does where a step fails."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(("target", "command", "compiles"), [
    ("test-book", "-m pytest", True), ("test-notebooks", "--nbval-lax", True),
    ("book", "scripts/build_book.py", True), ("lab", "-m jupyterlab", True),
    ("mutants", "scripts/mutants.py", True), ("test-murtree", "-m pytest", False)])
@pytest.mark.parametrize("status", [1, 2, 139])
def test_a_kernel_that_does_not_compile_keeps_nobody_from_the_tests(
        tmp_path, target, command, compiles, status):
    """The tests of the library compile what they call, so nothing is compiled before them."""
    for name in ("pyproject.toml", "constraints.txt", "Makefile"):
        shutil.copy(ROOT / name, tmp_path / name)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name, line in (("python", "exit 0"), ("odt", f"exit {status}")):
        (programs / name).write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/called\n{line}\n')
        (programs / name).chmod(0o755)
    for installed in ("installed", "library"):
        (tmp_path / ".venv" / installed).touch()
        os.utime(tmp_path / ".venv" / installed, (2e9, 2e9))
    result = subprocess.run(["make", target], cwd=tmp_path, text=True, capture_output=True)
    assert result.returncode == 0, result.stderr
    called = (tmp_path / "called").read_text().splitlines()
    assert [line.startswith("compile") for line in called[:-1]].count(True) == compiles
    assert called[0].startswith("compile") == compiles and command in called[-1]
