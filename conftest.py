"""What pytest needs to know of the notebooks, and of the shell that started it."""

import signal


def pytest_configure(config):
    """Let tests of Ctrl-C pass in the background too, where a shell makes SIGINT be ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_itemcollected(item):
    """Let nbval compare stored outputs as nbstripout leaves them, and standard output alone."""
    cell = getattr(item, "cell", None)
    if cell is not None and cell.get("outputs") and cell.execution_count is None:
        cell.execution_count = 1
    # Notices, such as that of a compilation, are for the terminal and no claim of a cell.
    skipped = getattr(item.parent, "skip_compare", None)
    if skipped is not None and "stderr" not in skipped:
        item.parent.skip_compare = (*skipped, "stderr")
