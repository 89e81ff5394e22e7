"""Ctrl-C while a test runs, and never after it; and a process to press it in."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

RUN_EACH_LINE = """
import json, sys, traceback
from odtbook.lifetime import end_with
end_with(int(sys.argv[1]))
for line in sys.stdin:
    try:
        exec(json.loads(line), {})
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    except Exception:
        traceback.print_exc()
        print("failed", flush=True)
"""


@contextmanager
def ctrl_c(seconds=0.5):
    """Offer a timer that presses Ctrl-C once, some seconds after the body has started it.

    An interrupt that the body lets through, or that comes when it has ended, fails this test
    alone: it must not reach the test runner, which would end with it.
    """
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    try:
        try:
            yield timer
        finally:
            timer.cancel()
            if timer.ident is not None:
                timer.join()
    except KeyboardInterrupt:
        raise AssertionError("Ctrl-C was not caught by what it should have ended") from None


class Child:
    """A Python process that runs scripts in turn, so that many tests share one interpreter's start.

    A script that ends the process, as Ctrl-C does where nothing handles it, costs a new one.  A
    script in which Ctrl-C is not caught prints "interrupted".
    """

    def __init__(self):
        self._process = None

    def run(self, script):
        """Begin a script."""
        if self._process is None or self._process.poll() is not None:
            self.end()
            self._process = subprocess.Popen(
                [sys.executable, "-c", RUN_EACH_LINE, str(os.getpid())], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True)
        self._process.stdin.write(json.dumps(script) + "\n")
        self._process.stdin.flush()

    def read(self, seconds=120):
        """Return the next line that is printed; nothing if the process ends, or has to be ended."""
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            return self._process.stdout.readline().rstrip("\n")
        finally:
            timer.cancel()

    def interrupt(self):
        """Press Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def end(self):
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def calls_within(work):
    """Return how often each kind of Python call is made while ``work`` runs, in the order of the
    first.

    A kind is a function and the line that calls it.
    """
    kinds = {}

    def note(frame, event, _):
        if event == "call":
            kind = _kind(frame)
            kinds[kind] = kinds.get(kind, 0) + 1

    _profiled(work, note)
    return kinds


def press_at(work, kind, number):
    """Run ``work`` with Ctrl-C at the given call of a kind; return its result or its exception.

    Returns None where the call was not made, or was one of those in which Python drops every
    exception, as while an object is deleted.
    """
    left, dropped, hook = [number], [], sys.unraisablehook

    def press(frame, event, _):
        if event == "call" and _kind(frame) == kind:
            left[0] -= 1
            if left[0] == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.unraisablehook = dropped.append
    try:
        result = _profiled(work, press)
    except BaseException as error:
        result = error
    finally:
        sys.unraisablehook = hook
    return None if dropped or left[0] > 0 else result


def _kind(frame):
    caller = frame.f_back
    return frame.f_code, caller and caller.f_code, caller and caller.f_lineno


def _profiled(work, profile):
    sys.setprofile(profile)
    try:
        return work()
    finally:
        sys.setprofile(None)
