"""What pytest needs to know of the notebooks, of the shell that started it, and of the network."""

import os
import signal
import socket

# Nothing listens here: what the tests start (kernels, commands, browsers) takes it for a proxy.
DEAD_END = ("127.0.0.1", 9)
NBVAL_TIMEOUT, CELL_TIMEOUT = 2000, 300       # seconds for a cell: nbval's default, and ours


def pytest_configure(config):
    """Block the network, and let tests of Ctrl-C pass where a shell makes SIGINT be ignored."""
    _block_the_network()
    if getattr(config.option, "nbval_cell_timeout", None) == NBVAL_TIMEOUT:
        config.option.nbval_cell_timeout = CELL_TIMEOUT
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _block_the_network():
    """Refuse connections to other machines, here and in the processes that the tests start."""
    for scheme in ("http", "https", "all"):
        for name in (f"{scheme}_proxy", f"{scheme}_PROXY".upper()):
            os.environ[name] = "http://{}:{}".format(*DEAD_END)
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "localhost,127.0.0.1,::1"
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, _only_to_this_machine(getattr(socket.socket, name)))


def _only_to_this_machine(connect):
    def guarded(self, address):
        # A datagram socket sends nothing when it is connected; Dask finds its own address so.
        if self.family in (socket.AF_INET, socket.AF_INET6) and self.type == socket.SOCK_STREAM:
            host, port = address[:2]
            here = host in ("localhost", "::1") or host.startswith("127.")
            if not here or (host, port) == DEAD_END:
                raise ConnectionRefusedError("the tests have no network: conftest.py blocks it")
        return connect(self, address)

    return guarded


def pytest_itemcollected(item):
    """Let nbval compare stored outputs as nbstripout leaves them, and standard output alone."""
    cell = getattr(item, "cell", None)
    if cell is not None and cell.get("outputs") and cell.execution_count is None:
        cell.execution_count = 1
    # Notices, such as that of a compilation, are for the terminal and no claim of a cell.
    skipped = getattr(item.parent, "skip_compare", None)
    if skipped is not None and "stderr" not in skipped:
        item.parent.skip_compare = (*skipped, "stderr")
