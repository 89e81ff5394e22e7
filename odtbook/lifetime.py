"""A process that ends with the one that started it, however that ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from functools import cache

PARENT_DEATH_SIGNAL = 1             # PR_SET_PDEATHSIG of Linux


@cache
def end_with(parent: int) -> None:
    """End this process, which process ``parent`` started, within half a second of its end.

    Call it first in a process that is to leave nothing behind: a process that is killed ends
    nothing by itself.  On Linux it also ends with the thread that started it, and at once: a
    compiled library that keeps Python's lock would keep the thread here from looking.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent):
    if os.name == "nt":                 # where a process keeps the number of a parent that is gone
        kernel = ctypes.windll.kernel32
        kernel.WaitForSingleObject(kernel.OpenProcess(0x00100000, False, parent), -1)
    else:
        while os.getppid() == parent:   # an orphan gets another parent
            time.sleep(0.5)
    os._exit(1)                         # whatever its threads are at
