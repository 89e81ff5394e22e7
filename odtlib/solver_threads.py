"""Run a solver of others in a thread, so that Ctrl-C stays Python's."""

from __future__ import annotations

import atexit
import os
import threading
from functools import partial
from typing import Any


class Flag:
    """A flag between threads.

    This one has no lock.  A Ctrl-C within a method of ``threading.Event`` or ``queue.Queue`` can
    leave theirs locked for ever, since these are written in Python; ``queue.SimpleQueue`` and
    ``threading.Lock`` are compiled.
    """

    _raised = False

    def set(self):
        """Raise the flag."""
        self._raised = True

    def is_set(self):
        """Tell whether the flag is raised."""
        return self._raised


class SolverThread(threading.Thread):
    """A thread that a solver works in; none outlives Python, which HiGHS would abort.

    It keeps its own ``state``, "new", "working" or "done".  In Python 3.11 and 3.12 a Ctrl-C within
    ``Thread.join`` makes ``is_alive`` false for ever, and the solver would work on unseen.
    """

    _running, _exit, _lock = set(), False, threading.Lock()

    def __init__(self, work, stop):
        super().__init__(daemon=True)
        self.work, self.stop, self.ended, self.state = work, stop, False, "new"
        self._done = threading.Lock()
        self._done.acquire()

    def start(self):
        """Start, unless Python is about to end: a fit may go on beside the main thread."""
        with self._lock:
            if SolverThread._exit:
                raise RuntimeError("Python is ending, and no solver is started any more.")
            self._running.add(self)     # before the start, in which a Ctrl-C may come
        super().start()

    def run(self):
        """Work, unless the end came while the thread was being started."""
        self.state = "working"          # before ``ended`` is read, as end() does it the other way
        try:
            if not self.ended:
                self.work()
        finally:
            self.state, self.work = "done", None    # a Ctrl-C can leave it among _running
            self._done.release()

    def wait(self, seconds):
        """Wait until the work is done, at most so long."""
        if self.state != "done":
            self._done.acquire(timeout=seconds)     # nobody else waits, so it is kept

    def end(self):
        """Tell the solver to stop until it has stopped: it forgets what it is told before its
        start."""
        self.ended = True
        while self.state == "working":
            self.stop()
            self.wait(0.05)
        if self.is_alive():
            self.join()                 # the few steps after the work
        self._running.discard(self)

    @classmethod
    def end_all(cls):
        """End all threads, whatever Ctrl-C comes meanwhile, and start no other."""
        with cls._lock:
            cls._exit = True
        while cls._running:
            try:
                for thread in tuple(cls._running):
                    thread.end()
            except KeyboardInterrupt:
                pass


atexit.register(SolverThread.end_all)
if hasattr(os, "register_at_fork"):     # not on Windows; a child has none of the threads
    os.register_at_fork(after_in_child=SolverThread._running.clear)


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
    stop = Flag()

    def interrupt(event):
        if stop.is_set():
            event.interrupt()

    def work():
        events = highs.cbMipInterrupt, highs.cbSimplexInterrupt
        for event in events:
            event.subscribe(interrupt)
        try:
            highs.run()
        finally:                        # in the thread, which a second Ctrl-C can leave working
            for event in events:
                event.unsubscribe(interrupt)

    in_thread(work, stop.set)


def in_thread(work, stop):
    """Return the result of ``work``, done in a thread; on Ctrl-C call ``stop`` until it ends."""
    return in_threads([work], stop)[0]


def in_threads(works, stop, watch=None):
    """Return the results of functions, each done in a thread of its own.

    On Ctrl-C, or where one of them fails, ``stop`` is called until all have ended.  Meanwhile
    ``watch()`` is called about every tenth of a second.
    """
    outcomes, errors = [None] * len(works), []

    def call(number):
        try:
            outcomes[number] = works[number]()
        except BaseException as error:
            errors.append(error)

    threads = [SolverThread(partial(call, number), stop) for number in range(len(works))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.state != "done" and not errors:
                thread.wait(0.1)        # some systems deliver Ctrl-C only between short waits
                if watch is not None:
                    watch()
    finally:
        for thread in threads:
            thread.end()
    if errors:
        raise errors[0]
    return outcomes
