"""Ctrl-C while a test runs, and never after it."""

import os
import signal
import threading
from contextlib import contextmanager


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
