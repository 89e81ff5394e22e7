"""Ctrl-C as it is pressed: in a terminal, and by the wall clock."""

import os
import select
import signal
import sys
import time

import pytest
from time_contract import ALLOWED, clock_without_waiting

pty = pytest.importorskip("pty")        # not on Windows
FIT = """
import os, sys
import numpy as np
import odtlib
from odtbook import formulations
from odtbook.lifetime import end_with
end_with(os.getppid())
random = np.random.default_rng(0)
X = random.integers(0, 2, (3000, 60)).astype(float)
y = (X[:, 0] + X[:, 1] * X[:, 2] + random.random(3000) > 1.2).astype(int)
model = {model}.set_params(time_limit=1)
model.fit(X[:40, :5], y[:40])                       # compiles
print("begins", flush=True)
model.set_params(time_limit=None).fit(X, y)
print(model.report_.status, flush=True)
"""
FITS = ("odtlib.MurTreeClassifier(6)", "odtlib.MurTreeClassifier(6, n_jobs=2)",
        "odtlib.MurTreeRegressor(6)", "odtlib.ContinuousTreeClassifier(5)",
        "odtlib.ColumnGenerationClassifier(4)",
        "odtlib.LocalSearchTreeClassifier(8)", "formulations.BinOCTClassifier(3)",
        "formulations.BinOCTClassifier(3, solver='cp-sat')", "formulations.FlowOCTClassifier(4)")
COMMANDS = [        # and what is on the screen when the key is pressed
    (["run", "murtree", "--quick"], "0 finished"), (["figure", "5.5"], "about"),
    (["try", "table.csv", "--target", "y", "--time", "60"], "the notebook"),
    (["compile", "--jobs", "2"], "Compiling")]          # half a second later a worker is importing


def pressed(arguments, shown, folder):
    """Run a program in a terminal and press Ctrl-C; return the seconds that it still takes.

    The key is pressed half a second after the screen shows some words; the seconds count until it
    shows "interrupted", or the program has ended.  The screen and the exit status are returned too.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, *arguments])
    clock, screen, at, last = clock_without_waiting(pid), "", None, None
    begun, due, stopped = time.perf_counter(), None, False
    while True:
        if select.select([terminal], [], [], 0.02)[0]:
            try:
                screen += os.read(terminal, 65536).decode(errors="replace")
            except OSError:             # nobody writes any more
                break
        now = time.perf_counter()
        if due is None and shown in screen:
            due = now + 0.5
        if at is None and due is not None and now >= due:
            os.write(terminal, b"\x03")
            at = last = clock()
        elif at is not None and not stopped:
            last, stopped = clock(), "interrupted" in screen
        if now - begun > 240:
            os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    assert at is not None, screen
    return last - at, screen, status


@pytest.mark.parametrize("model", FITS)
def test_a_fit_is_stopped_in_a_terminal(model, tmp_path):
    seconds, screen, status = pressed(["-c", FIT.format(model=model)], "begins", tmp_path)
    assert screen.replace("^C", "").split()[-1] == "interrupted" and status == 0, screen
    assert seconds <= ALLOWED


@pytest.mark.parametrize("command, shown", COMMANDS,
                         ids=[command[0] for command, _ in COMMANDS])
def test_a_command_is_stopped_in_a_terminal(command, shown, tmp_path):
    if command[0] != "compile":
        pytest.importorskip("papermill")
    (tmp_path / "table.csv").write_text("x,y\n" + "".join(
        f"{i},{'yes' if i * i % 7 > 3 else 'no'}\n" for i in range(500)))
    _, screen, status = pressed(["-m", "odtbook", *command], shown, tmp_path)
    assert status == 130 and screen.count("odt: interrupted") == 1, screen
    assert ("--resume" in screen) == (command[0] == "run") and "Traceback" not in screen, screen
