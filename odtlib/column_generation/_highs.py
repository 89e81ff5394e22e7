"""HiGHS, called so that Ctrl-C ends it."""

from __future__ import annotations

import threading


def run(highs):
    """Solve a mixed-integer program in a thread, while this one listens for Ctrl-C.

    Parameters
    ----------
    highs : highspy.Highs
        Holds the model and its options.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, once the solver has stopped.
    """
    stop = threading.Event()

    def look(event):
        if stop.is_set():
            event.interrupt()

    highs.cbMipInterrupt.subscribe(look)
    highs.cbSimplexInterrupt.subscribe(look)
    thread = threading.Thread(target=highs.run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.5)        # some systems deliver Ctrl-C only between short waits
    except KeyboardInterrupt:
        stop.set()
        thread.join()
        raise
