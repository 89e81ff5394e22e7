"""No process outlives the one that started it, even where that is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

psutil = pytest.importorskip("psutil")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="asks for the processes of POSIX")

TESTS = str(Path(__file__).parents[1])

# Each prints, in a process of its own, the number of a process that it has started and that would
# work on for long.
STARTERS = {
    "a process that only waits": """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import os, time\\n"
    "from odtbook.lifetime import end_with\\nend_with(os.getppid())\\n"
    "print(os.getpid(), flush=True)\\ntime.sleep(100)"])
child.wait()
""",
    "a library that keeps Python's lock": """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import ctypes, os\\n"
    "from odtbook.lifetime import end_with\\nend_with(os.getppid())\\n"
    "print(os.getpid(), flush=True)\\nctypes.PyDLL(None).sleep(100)"])
child.wait()
""",
    "such a library in the kernel of a run": """
import nbformat
from odtbook.experiments.notebooks import execute_notebook
cell = nbformat.v4.new_code_cell(
    "import ctypes, os\\n"
    "print(os.getpid(), file=open('/proc/%d/fd/1' % os.getppid(), 'w'), flush=True)\\n"
    "ctypes.PyDLL(None).sleep(100)")
execute_notebook(nbformat.v4.new_notebook(cells=[cell]), {{}})
""",
    "a solver of a fit": """
import numpy as np
from odtbook.formulations import BinOCTClassifier, run
start = run.InChild.start
def noted(self):
    start(self)
    print(self.process.pid, flush=True)
run.InChild.start = noted
random = np.random.default_rng(0)
X, y = random.normal(size=(400, 8)), random.integers(0, 3, 400)
BinOCTClassifier(4, solver={solver!r}, time_limit=100.0).fit(X, y)
""",
    "a fit of the Ctrl-C tests": """
import sys
sys.path.insert(0, {tests!r})
from interrupt import Child
child = Child()
child.run('''
import os
import numpy as np
from odtlib import MurTreeClassifier
random = np.random.default_rng(0)
X, y = random.integers(0, 2, (3000, 80)), random.integers(0, 2, 3000)
print(os.getpid(), flush=True)
MurTreeClassifier(5, time_limit=100).fit(X, y)
''')
print(child.read(), flush=True)
child.read()
""",
}


def alive(pid):
    """Whether a process runs: one that nobody waits for may stay in the table when it has ended."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends such a process")


@pytest.mark.parametrize(("starter", "solver"), [
    ("a process that only waits", ""),
    pytest.param("a library that keeps Python's lock", "", marks=LINUX),
    pytest.param("such a library in the kernel of a run", "", marks=LINUX),
    ("a solver of a fit", "highs"), ("a solver of a fit", "cp-sat"),
    ("a fit of the Ctrl-C tests", "")])
def test_a_process_ends_when_its_parent_is_killed(starter, solver):
    script = STARTERS[starter].format(solver=solver, tests=TESTS)
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    time.sleep(1)
    assert alive(pid)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 30
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(pid)


def test_workers_that_compile_end_with_the_command(tmp_path):
    """Python's own pools leave their workers waiting for ever.

    The workers are given the function by its name, and find this one where they load the script.
    """
    script = """
import os, sys, time
from odtbook import cli, compile_command

def fit_all(jobs):
    if len(jobs) > 1:                                   # the first fit is alone in its worker
        with open(sys.argv[1] + "/" + str(os.getpid()), "w"):
            pass
        time.sleep(100)
    return False

if __name__ == "__main__":
    compile_command.fit_all = fit_all
    cli.main(["compile", "--jobs", "2"])
"""
    (tmp_path / "script.py").write_text(script)
    notes = tmp_path / "notes"
    notes.mkdir()
    command = subprocess.Popen([sys.executable, tmp_path / "script.py", notes],
                               stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while len(pids := [int(name) for name in os.listdir(notes)]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    command.kill()
    command.wait()
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(alive, pids))
