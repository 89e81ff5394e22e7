"""Run an engine; time limit and Ctrl-C hold."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import time

from odtbook.formulations.engines import ENGINES
from odtbook.lifetime import end_with
from odtlib.solver_threads import Flag, SolverThread

GRACE = 0.1             # seconds after the limit until a solver is ended by force
CHILD = "from odtbook.formulations.run import work_in_child; work_in_child()"


class Stop(Flag):
    """A flag that tells an engine in this process to end."""

    act = None

    def on_set(self, act):
        """Call ``act`` when the flag is set, or now if it is."""
        self.act = act
        if self.is_set():
            act()

    def set(self):
        """Raise the flag."""
        super().set()
        if self.act is not None:
            self.act()


class InThread(SolverThread):
    """An engine in a thread of this process: for small models, which start at once."""

    def __init__(self, engine, arrays, options):
        self.messages, stop = queue.SimpleQueue(), Stop()

        def work():
            try:
                ENGINES[engine](arrays, options, self.messages.put, stop)
            except Exception as error:
                self.messages.put(("error", error))

        super().__init__(work, stop.set)


class InChild:
    """An engine in a process of its own, which is killed where it does not end by itself."""

    process = thread = None

    def __init__(self, engine, arrays, options):
        self.messages, self.model = queue.SimpleQueue(), (engine, arrays, options)

    def start(self):
        """Start the process, and a thread that talks to it."""
        engine, arrays, options = self.model
        # a session of its own: Ctrl-C reaches this process only, which then kills the child
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})

        def talk():
            try:
                pickle.dump((engine, arrays,
                             {**options, "sent": time.time(), "parent": os.getpid()}),
                            self.process.stdin, pickle.HIGHEST_PROTOCOL)
                self.process.stdin.flush()
                while True:
                    self.messages.put(pickle.load(self.process.stdout))
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                self.messages.put(("died", self.process.wait()))

        self.thread = threading.Thread(target=talk, daemon=True)
        self.thread.start()

    def end(self):
        """Kill the process."""
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        if self.thread is not None and self.thread.ident is not None:
            self.thread.join()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except OSError:                 # the rest of a model that it no longer reads
            pass


def work_in_child():
    """Solve, in the child process, a model read from the standard input; write messages."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)                       # what a solver prints must not mix with the messages
    try:
        engine, arrays, options = pickle.load(sys.stdin.buffer)
    except (EOFError, pickle.UnpicklingError):      # Ctrl-C came before the model was sent
        return
    end_with(options["parent"])
    lock = threading.Lock()

    def send(message):
        with lock:
            pickle.dump(message, output, pickle.HIGHEST_PROTOCOL)
            output.flush()

    options["seconds"] -= time.time() - options["sent"]     # starting and reading took time
    # solvers need a moment to stop, and then have something to say
    options["seconds"] -= min(0.5, 0.05 * max(0.0, options["seconds"]))
    try:
        ENGINES[engine](arrays, options, send, Stop())
    except Exception as error:          # the parent raises it
        send(("error", error))
    os._exit(0)                         # no time for tidying up a big model


def run(engine, arrays, options, clock, in_subprocess, receive):
    """Run an engine and pass each message to ``receive`` until it is done.

    Returns ``done``, ``time_limit``, ``interrupted``, or ``died`` (the process ended by itself).
    """
    options = {**options, "seconds": clock.remaining}
    worker = None
    try:
        worker = (InChild if in_subprocess else InThread)(engine, arrays, options)
        worker.start()
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
