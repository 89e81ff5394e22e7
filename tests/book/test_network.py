"""Tests have no network: neither this process nor what it starts."""

import socket
import subprocess
import sys
import urllib.request

import pytest


def test_this_process_connects_to_this_machine_only():
    for connect in ("connect", "connect_ex"):
        with socket.socket() as client, pytest.raises(OSError, match="tests have no network"):
            getattr(client, connect)(("192.0.2.1", 80))
    with pytest.raises(OSError, match="tests have no network"):
        urllib.request.urlopen("https://archive.ics.uci.edu/", timeout=5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()


def test_a_process_that_a_test_starts_has_no_network_either():
    code = "from urllib.request import urlopen; urlopen('https://archive.ics.uci.edu/', timeout=5)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "Connection refused" in done.stderr
