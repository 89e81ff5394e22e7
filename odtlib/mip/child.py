"""A process of its own for a solver, which can be killed where the solver would overrun."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time


class Never:
    """A stop flag that nobody sets: this process is killed instead."""

    def is_set(self):
        """Return False."""
        return False

    def on_set(self, act):
        """Remember nothing."""


def main():
    """Read a model from the standard input, solve it, and write messages to the output."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)                       # what a solver prints must not mix with the messages
    engine, arrays, options = pickle.load(sys.stdin.buffer)

    def watch_parent():
        sys.stdin.buffer.read()         # ends when the parent dies or lets go
        os._exit(1)

    threading.Thread(target=watch_parent, daemon=True).start()
    lock = threading.Lock()

    def send(message):
        with lock:
            pickle.dump(message, output, pickle.HIGHEST_PROTOCOL)
            output.flush()

    from odtlib.mip.engines import ENGINES
    options["seconds"] -= time.time() - options["sent"]     # starting and reading took time
    # solvers need a moment to stop, and then have something to say
    options["seconds"] -= min(0.5, 0.05 * max(0.0, options["seconds"]))
    try:
        ENGINES[engine](arrays, options, send, Never())
    except Exception as error:          # the parent raises it
        send(("error", error))
    os._exit(0)                         # no time for tidying up a big model
