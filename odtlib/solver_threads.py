"""Run a solver of others in a thread, so that Ctrl-C stays Python's."""

from __future__ import annotations

import atexit
import threading
from typing import Any


class SolverThread(threading.Thread):
    """A thread that a solver works in; it ends before Python does, which HiGHS would otherwise
    abort."""

    def __init__(self, work, stop):
        super().__init__(daemon=True)
        self.work, self.stop, self.ended = work, stop, False
        atexit.register(self.end)       # for a Ctrl-C that comes between start and end

    def run(self):
        """Work, unless the end came while the thread was being started."""
        if not self.ended:
            self.work()

    def end(self):
        """Tell the solver to stop until it has stopped: it forgets what it is told before its
        start."""
        self.ended = True
        while self.is_alive():
            self.stop()
            self.join(0.05)
        atexit.unregister(self.end)


def silent_highs(highspy: Any) -> Any:
    """Return a new HiGHS object that prints nothing, not even the greeting of HiGHS 1.16."""
    class Silent(highspy.Highs):
        def enableCallbacks(self):              # called by the constructor, which would greet
            self.silent()
            return super().enableCallbacks()

    highs = Silent()
    highs.silent()
    return highs


def run_highs(highs: Any) -> None:
    """Solve the model that a ``highspy.Highs`` object holds; Ctrl-C raises KeyboardInterrupt."""
    stop = threading.Event()

    def interrupt(event):
        if stop.is_set():
            event.interrupt()

    events = highs.cbMipInterrupt, highs.cbSimplexInterrupt
    for event in events:
        event.subscribe(interrupt)
    try:
        in_thread(highs.run, stop.set)
    finally:
        for event in events:
            event.unsubscribe(interrupt)


def in_thread(work, stop):
    """Return the result of ``work``, done in a thread; on Ctrl-C call ``stop`` until it ends."""
    outcome, errors = [], []

    def call():
        try:
            outcome.append(work())
        except Exception as error:
            errors.append(error)

    thread = SolverThread(call, stop)
    try:
        thread.start()
        while thread.is_alive():
            thread.join(0.5)        # some systems deliver Ctrl-C only between short waits
    finally:
        thread.end()
    if errors:
        raise errors[0]
    return outcome[0]
