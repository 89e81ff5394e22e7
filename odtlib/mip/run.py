"""Run an engine in a thread or in a child process; time limit and Ctrl-C hold in both."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import time

from odtlib.mip.engines import ENGINES

GRACE = 0.1             # seconds after the limit until a solver is ended by force
CHILD = "from odtlib.mip.child import main; main()"


class Stop:
    """A flag that tells an engine in this process to end."""

    def __init__(self):
        self.event, self.act = threading.Event(), None

    def is_set(self):
        """Return whether the engine should end."""
        return self.event.is_set()

    def on_set(self, act):
        """Call ``act`` when the flag is set, or now if it is."""
        self.act = act
        if self.event.is_set():
            act()

    def set(self):
        """Raise the flag."""
        self.event.set()
        if self.act is not None:
            self.act()


class InThread:
    """An engine in a thread of this process: for small models, which start at once."""

    def __init__(self, engine, arrays, options):
        self.messages, self.stop = queue.Queue(), Stop()

        def work():
            try:
                ENGINES[engine](arrays, options, self.messages.put, self.stop)
            except Exception as error:
                self.messages.put(("error", error))

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()

    def end(self):
        """Tell the engine to end until it has; CP-SAT forgets what it is told before its start."""
        while self.thread.is_alive():
            self.stop.set()
            self.thread.join(0.05)


class InChild:
    """An engine in a process of its own, which is killed where it does not end by itself."""

    def __init__(self, engine, arrays, options):
        self.messages = queue.Queue()
        # a session of its own: Ctrl-C reaches this process only, which then kills the child
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})

        def talk():
            try:
                pickle.dump((engine, arrays, {**options, "sent": time.time()}),
                            self.process.stdin,
                            pickle.HIGHEST_PROTOCOL)
                self.process.stdin.flush()
                while True:
                    self.messages.put(pickle.load(self.process.stdout))
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                self.messages.put(("died", self.process.wait()))

        self.thread = threading.Thread(target=talk, daemon=True)
        self.thread.start()

    def end(self):
        """Kill the process."""
        self.process.kill()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except OSError:                 # the rest of a model that it no longer reads
            pass


def run(engine, arrays, options, clock, in_subprocess, receive):
    """Run an engine and pass each message to ``receive`` until it is done.

    Returns ``done``, ``time_limit``, ``interrupted``, or ``died`` (the process ended by itself).
    """
    options = {**options, "seconds": clock.remaining}
    worker = None
    try:
        worker = (InChild if in_subprocess else InThread)(engine, arrays, options)
        while True:
            # short waits: some systems deliver Ctrl-C only between them
            wait = min(clock.remaining + GRACE, 0.5)
            try:
                message = worker.messages.get(timeout=max(0.0, wait))
            except queue.Empty:
                if clock.expired and clock.elapsed >= clock.time_limit + GRACE:
                    return "time_limit"
                continue
            if message[0] == "error":
                raise message[1]
            receive(message)
            if message[0] in ("done", "died"):
                return message[0]
    except KeyboardInterrupt:
        return "interrupted"
    finally:
        if worker is not None:
            worker.end()
