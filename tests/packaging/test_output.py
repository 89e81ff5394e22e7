"""``odt`` where the output does not show all signs, is closed, or takes no more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from odtbook.cli import SIGNS

ROOT = Path(__file__).parents[2]
# A command in place of `odt report`, which takes longer: many lines, or few, with hard signs.
REPORT = """
import sys
from odtbook import cli
cli._report = lambda options: [print("\\u2713 gr\\u00f6\\u00dfe \\udcff \\u2264", line)
                               for line in range({lines})] and {status}
sys.exit(cli.main(sys.argv[1:]))
"""


def odt(words, redirected="", lines=3, status=0, **environment):
    """Run a command with its output redirected; return its status, output and messages.

    Without ``lines`` it is the command itself.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "0", **environment}
    script = REPORT.format(lines=lines, status=status)
    program = ["-c", script] if lines else ["-m", "odtbook"]
    ended = subprocess.run(["sh", "-c", f'"$0" "$@" {redirected}', sys.executable, *program,
                            *words.split()], capture_output=True, env=environment)
    return ended.returncode, ended.stdout, ended.stderr.decode()


@pytest.mark.parametrize(("encoding", "line"), [
    ("cp1252", b"+ gr\xf6\xdfe ? <= 2"), ("ascii", b"+ gr??e ? <= 2"),
    ("latin-1", b"+ gr\xf6\xdfe ? <= 2"), ("utf-8", "✓ größe ? ≤ 2".encode())])
def test_signs_that_an_encoding_lacks_are_replaced(encoding, line):
    status, output, messages = odt("report", PYTHONIOENCODING=encoding)
    assert (status, messages) == (0, "") and output.splitlines()[-1] == line
    assert odt("report", status=1, PYTHONIOENCODING=encoding)[0] == 1


@pytest.mark.parametrize(("words", "encoding"), [
    ("report --claim C4", "cp1252"), ("report --experiments", "ascii"), ("data list", "latin-1"),
    ("figure", "ascii"), ("--help", "ascii")])
def test_the_commands_print_all_but_the_signs_that_an_encoding_lacks(words, encoding):
    def printed(encoding):
        status, output, _ = odt(words, lines=0, PYTHONIOENCODING=encoding)
        assert status == 0
        return output.decode(encoding)

    whole = printed("utf-8")
    for sign, other in SIGNS.items():
        whole = whole if sign.encode(encoding, "ignore") else whole.replace(sign, other)
    assert printed(encoding) == whole.encode(encoding, "replace").decode(encoding)
    assert len(whole) > 100


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_command_whose_output_is_closed_ends_with_its_own_status(closed):
    assert odt("report", closed) == (0, b"", "")
    assert odt("report", closed, status=1) == (1, b"", "")
    assert odt("run no-such-experiment", closed)[:2] == (2, b"")
    assert odt("--help", closed) == (0, b"", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("lines", [1, 3000])
def test_a_full_output_is_said_once(lines, unbuffered):
    status, _, messages = odt("report", ">/dev/full", lines, PYTHONUNBUFFERED=unbuffered)
    assert status == 2 and messages.count("\n") == 1
    assert messages.startswith("odt: ") and "No space left on device" in messages
    assert odt("report", "2>/dev/full", lines)[0] == 0
    assert odt("run no-such-experiment", "2>/dev/full")[0] == 2
    if not unbuffered:
        assert odt("--help", ">/dev/full")[0] == 2


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("lines", [1, 3000])
def test_a_reader_that_goes_away_hears_nothing(lines, unbuffered):
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([sys.executable, "-c", REPORT.format(lines=lines, status=0), "report"],
                           stdout=writing, stderr=subprocess.PIPE, env={
                               **os.environ, "PYTHONPATH": str(ROOT),
                               "PYTHONUNBUFFERED": unbuffered})
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_a_command_and_what_it_starts_take_one_thread_unless_told_otherwise():
    script = ("import os, sys; from odtbook import cli; "
              "cli._report = lambda options: print(os.environ['OMP_NUM_THREADS']) or 0; "
              "sys.exit(cli.main(['report']))")
    for given, used in (({}, "1\n"), ({"OMP_NUM_THREADS": "3"}, "3\n")):
        environment = {name: value for name, value in os.environ.items()
                       if name != "OMP_NUM_THREADS"}
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                               env={**environment, "PYTHONPATH": str(ROOT), **given})
        assert ended.stdout == used


FIT = """
import numpy as np
from odtlib import CARTClassifier
X, y = np.arange(40)[:, None] % [2, 3, 5], np.arange(40) % 2
print(CARTClassifier(2).fit(X, y).report_.objective)
"""
NOTICE = """
import sys
from odtbook import cli
def notice(options):
    for _ in range(3000):
        print("a notice of many words", file=sys.stderr)
    print("done")
    return 0
cli._report = notice
sys.exit(cli.main(["report"]))
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("to", ["2>/dev/full", "2>&-"])
def test_a_notice_that_nobody_can_read_ends_nothing(to, tmp_path):
    """What is said of compiling ended a fit where standard error was full, or went to the output.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)}
    for script, result in ((FIT, "0.0"), (NOTICE, "done")):
        ended = subprocess.run(["sh", "-c", f'exec "$0" -c "$1" {to}', sys.executable, script],
                               capture_output=True, text=True, env=environment)
        assert (ended.returncode, ended.stdout.strip()) == (0, result)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_progress_that_cannot_be_printed_ends_no_search():
    script = """
from odtlib import MurTreeClassifier
assert MurTreeClassifier(2, verbose=1).fit([[0], [1]] * 9, [0, 1] * 9).report_.objective == 0
"""
    ended = subprocess.run(["sh", "-c", 'exec "$0" -c "$1" >/dev/full', sys.executable, script],
                           env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True)
    assert b"Traceback" not in ended.stderr
