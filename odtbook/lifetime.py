"""A process that ends with the one that started it, however that ends."""

from __future__ import annotations

import os
import threading
import time
from functools import cache


@cache
def end_with(parent: int) -> None:
    """End this process, which process ``parent`` started, within half a second of its end.

    Call it first in a process that is to leave nothing behind: a process that is killed ends
    nothing by itself.
    """
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent):
    if os.name == "nt":                 # where a process keeps the number of a parent that is gone
        import ctypes
        kernel = ctypes.windll.kernel32
        kernel.WaitForSingleObject(kernel.OpenProcess(0x00100000, False, parent), -1)
    else:
        while os.getppid() == parent:   # an orphan gets another parent
            time.sleep(0.5)
    os._exit(1)                         # whatever its threads are at
