"""JupyterLab: the page that `make lab` opens, and every notebook run through Jupyter's server."""

import asyncio
import json
import os
import re
import runpy
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import nbformat
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path.relative_to(ROOT).as_posix()
                   for path in (ROOT / "chapters").rglob("*.ipynb")
                   if ".ipynb_checkpoints" not in path.parts)
TOKEN = uuid.uuid4().hex
CELL_SECONDS = 600


@pytest.fixture(scope="module")
def start_page():
    return runpy.run_path(str(ROOT / "scripts" / "prepare_lab.py"))["start_page"]()


def test_the_start_page_lists_the_pages_in_reading_order(start_page):
    contents = start_page.partition("## Contents")[2]
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    pages = [page["file"] for part in parts for chapter in part["chapters"]
             for page in (chapter, *chapter.get("sections", ()))]
    linked = re.findall(r"^ +- \[.+\]\((\S+)\)$", contents, re.MULTILINE)
    assert [str(Path(link).with_suffix("")) for link in linked] == pages


def test_the_start_page_is_plain_markdown_whose_links_lead_to_files(start_page):
    assert ":::" not in start_page and "```" not in start_page and "{figure}" not in start_page
    for link in re.findall(r"\]\(([^)]+)\)", start_page):
        assert link.startswith("https://") or (ROOT / link).is_file(), link


def ask(address, path, method="GET", body=None):
    """Send a request to the server's interface; return what it answers."""
    request = urllib.request.Request(
        f"{address}{path}", method=method, headers={"Authorization": f"token {TOKEN}"},
        data=None if body is None else json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read()
    return json.loads(text) if text else None


SERVER = """
import runpy, sys
from odtbook.lifetime import end_with
end_with(int(sys.argv.pop(1)))
runpy.run_module("jupyterlab", run_name="__main__", alter_sys=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Start Jupyter's server in the repository, as `make lab` does; yield its address."""
    pytest.importorskip("jupyterlab")
    log = tmp_path_factory.mktemp("jupyter")
    environment = {**os.environ, "JUPYTER_RUNTIME_DIR": str(log), "JUPYTER_TOKEN": TOKEN,
                   "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    with (log / "log").open("w") as output, subprocess.Popen(
            [sys.executable, "-c", SERVER, str(os.getpid()), "--no-browser", "--allow-root",
             "--ip=127.0.0.1", "--port=0", f"--ServerApp.root_dir={ROOT}"],
            env=environment, stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            yield address_of(log, process)
        finally:
            process.terminate()


def address_of(folder, process):
    """Wait until the server says where it listens."""
    while process.poll() is None:
        for file in folder.glob("jpserver-*.json"):
            try:
                address = json.loads(file.read_text())["url"]
                ask(address, "api/status")
            except (ValueError, urllib.error.URLError):
                continue
            return address
        time.sleep(0.2)
    raise AssertionError((folder / "log").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS)
def test_a_notebook_runs_from_a_fresh_start(server, path):
    notebook = nbformat.from_dict(ask(server, f"api/contents/{path}")["content"])
    session = ask(server, "api/sessions", "POST", {
        "path": path, "name": Path(path).name, "type": "notebook", "kernel": {"name": "python3"}})
    try:
        error = asyncio.run(first_error(server, session["kernel"]["id"], notebook))
    finally:
        ask(server, f"api/sessions/{session['id']}", "DELETE")
    assert error is None


@pytest.mark.slow
@pytest.mark.parametrize(("tags", "error"), [
    ([], "cell 1: ZeroDivisionError: division by zero"), (["raises-exception"], None)])
def test_an_error_is_found_unless_its_cell_is_to_raise(server, tags, error):
    cells = [nbformat.v4.new_code_cell("a = 0"),
             nbformat.v4.new_code_cell("1 / a", metadata={"tags": tags})]
    kernel = ask(server, "api/kernels", "POST", {"name": "python3"})
    try:
        notebook = nbformat.v4.new_notebook(cells=cells)
        found = asyncio.run(first_error(server, kernel["id"], notebook))
    finally:
        ask(server, f"api/kernels/{kernel['id']}", "DELETE")
    assert found == error


async def first_error(address, kernel, notebook):
    """Run the code cells in order; return the first error that no tag allows, or None."""
    from tornado.httpclient import HTTPRequest
    from tornado.websocket import websocket_connect

    url = f"{address.replace('http', 'ws', 1)}api/kernels/{kernel}/channels"
    socket = await websocket_connect(HTTPRequest(url, headers={"Authorization": f"token {TOKEN}"}))
    try:
        for number, cell in enumerate(notebook.cells):
            if cell.cell_type != "code" or not cell.source.strip():
                continue
            reply = await asyncio.wait_for(run_cell(socket, cell.source), CELL_SECONDS)
            allowed = "raises-exception" in cell.metadata.get("tags", ())
            if reply["status"] != "ok" and not allowed:
                return f"cell {number}: {reply.get('ename')}: {reply.get('evalue')}"
    finally:
        socket.close()


async def run_cell(socket, source):
    """Run one cell; return the content of the kernel's reply, once it has sent all output."""
    header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "version": "5.3",
              "session": uuid.uuid4().hex, "username": "", "date": ""}
    content = {"code": source, "silent": False, "store_history": True, "user_expressions": {},
               "allow_stdin": False, "stop_on_error": False}
    await socket.write_message(json.dumps({
        "header": header, "parent_header": {}, "metadata": {}, "content": content,
        "channel": "shell", "buffers": []}))
    reply, idle = None, False
    while reply is None or not idle:
        text = await socket.read_message()
        assert text is not None, "the kernel's connection was closed"
        message = json.loads(text)
        if message["parent_header"].get("msg_id") != header["msg_id"]:
            continue
        if message["msg_type"] == "execute_reply":
            reply = message["content"]
        elif message["msg_type"] == "status":
            idle = message["content"]["execution_state"] == "idle"
    return reply
