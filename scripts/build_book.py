"""Run the chapters and build the book; called by ``make book``, and by ``make test`` to check them.

The notebooks are executed in parallel into the cache of jupyter-cache, which knows a notebook by
its code alone. What else its outputs depend on (the library, the data, the templates, the pinned
versions) is hashed here: when any of it changed, everything built before is thrown away. The check
and the book share the cache, so that a notebook is executed once for both.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import os
import queue
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError

ROOT = Path(__file__).resolve().parents[1]
OUTPUTS_DEPEND_ON = (
    "odtlib", "odtbook", "data", "chapters/experiments", "constraints.txt", "_ext", "_config.yml"
)
CELL_TIMEOUT = 600
# A reset also ends the display of figures, so it is switched on again.
EMPTY_KERNEL = "import os; os.chdir({folder!r})\n%reset -f\n%matplotlib inline"
DEAD_END = "http://127.0.0.1:9"     # nothing listens there


def hash_of_inputs() -> str:
    """Return one hash of every file, beside the chapters, that their outputs depend on."""
    digest = hashlib.sha256(os.environ.get("ODTLIB_DATA", "").encode())
    tracked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    try:
        listing = subprocess.run(
            [*tracked, *OUTPUTS_DEPEND_ON], cwd=ROOT, check=True, capture_output=True
        ).stdout.decode()
        files = [ROOT / name for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):  # an archive without git
        places = [ROOT / name for name in OUTPUTS_DEPEND_ON]
        files = [f for place in places for f in ([place] if place.is_file() else place.rglob("*"))]
        files = [f for f in files if "__pycache__" not in f.parts]
    for file in sorted(set(files)):
        if file.is_file():
            digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def contents(only: str | None) -> dict:
    """Return the table of contents, or one of ``only`` and the pages that all others refer to."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    if only:
        common = ["chapters/appendices/glossary", "chapters/appendices/bibliography"]
        pages = [only, *(page for page in common if page != only)]
        toc["parts"] = [{"caption": "Draft", "chapters": [{"file": page} for page in pages]}]
    return toc


def notebooks(toc: dict) -> list[Path]:
    """Return the notebooks among the pages of a table of contents."""
    pages = [page["file"] for part in toc["parts"] for entry in part["chapters"]
             for page in (entry, *entry.get("sections", ()))]
    return [ROOT / f"{page}.ipynb" for page in pages if (ROOT / f"{page}.ipynb").exists()]


def join_streams(notebook) -> None:
    """Join what a cell printed piece by piece: MyST-NB would end a line after every piece."""
    for cell in notebook.cells:
        joined = []
        for output in cell.get("outputs", ()):
            if (joined and output.output_type == joined[-1].output_type == "stream"
                    and output.name == joined[-1].name):
                joined[-1].text += output.text
            else:
                joined.append(output)
        if "outputs" in cell:
            cell.outputs = joined


def execute(paths: list[Path], cache_folder: Path, jobs: int) -> bool:
    """Execute what the cache does not hold; print the traceback of every notebook that fails."""
    cache = get_cache(cache_folder)

    def is_new(path):
        try:
            cache.match_cache_notebook(nbformat.read(path, as_version=4))
        except KeyError:
            return True
        return False

    new, finished = [path for path in paths if is_new(path)], queue.SimpleQueue()
    todo, succeeded = iter(new), True
    with ThreadPoolExecutor(jobs) as pool:
        workers = [pool.submit(work, todo, finished.put) for _ in range(min(jobs, len(new)))]
        for worker in workers:
            worker.add_done_callback(finished.put)
        while workers:
            result = finished.get()
            if result in workers:
                workers.remove(result)
                result.result()     # raises what ended it, such as a kernel that died
                continue
            path, notebook, seconds, failure = result
            print(f"{path.name}: {seconds:.0f} s", flush=True)
            if failure:
                succeeded = False
                print(f"\n{path} failed:\n{failure}", file=sys.stderr)
            else:
                join_streams(notebook)
                bundle = CacheBundleIn(notebook, str(path), data={"execution_seconds": seconds})
                cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    return succeeded


def work(paths: Iterator[Path], finish: Callable[[tuple], None]) -> None:
    """Execute notebooks one after the other, and hand over what became of each.

    Loading the libraries takes longer than most notebooks, so that one kernel serves for all until
    one fails.  It is emptied before each: no name is left, only modules stay loaded.
    """
    # At its default level a kernel warns that it does not encrypt its messages, which do not leave
    # this machine.
    client = NotebookClient(
        nbformat.v4.new_notebook(), kernel_name="python3", timeout=CELL_TIMEOUT,
        record_timing=False, extra_arguments=["--log-level=ERROR"])
    try:
        for path in paths:
            if client.km is None:
                client.create_kernel_manager()
                client.start_new_kernel()
                client.start_new_kernel_client()
            empty = EMPTY_KERNEL.format(folder=str(path.parent))
            client.wait_for_reply(client.kc.execute(empty, silent=True))
            client.nb = nbformat.read(path, as_version=4)
            started, failure = time.perf_counter(), ""
            try:
                client.execute(cleanup_kc=False)
            except (CellExecutionError, CellTimeoutError):
                failure = traceback.format_exc()
                client._cleanup_kernel()
            finish((path, client.nb, time.perf_counter() - started, failure))
    finally:
        if client.km is not None:
            client._cleanup_kernel()


def printed(cell) -> str:
    """Return what a cell wrote to the standard output, and its result as text."""
    return "".join(
        output.get("text", "") if output.output_type == "stream" and output.name == "stdout"
        else output.get("data", {}).get("text/plain", "")
        for output in cell.outputs)


def claims_hold(paths: list[Path], cache_folder: Path) -> bool:
    """Compare the stored output of each cell tagged ``nbval-check-output`` with the new one."""
    cache = get_cache(cache_folder)
    hold = True
    for path in paths:
        stored = nbformat.read(path, as_version=4)
        executed = cache.merge_match_into_notebook(nbformat.read(path, as_version=4))[1]
        for before, now in zip(stored.cells, executed.cells, strict=True):
            if "nbval-check-output" not in before.metadata.get("tags", []):
                continue
            if printed(before) != printed(now):
                hold = False
                changes = difflib.unified_diff(
                    printed(before).splitlines(), printed(now).splitlines(),
                    "stored", "executed", lineterm="")
                print(f"\n{path.relative_to(ROOT)}, cell {before.id}: the output is not the one "
                      "that is stored.", *changes, sep="\n", file=sys.stderr)
    return hold


def block_the_network() -> None:
    """Give the kernels a proxy that does not exist: a check needs nothing from elsewhere."""
    for scheme in ("http", "https", "all"):
        os.environ[f"{scheme}_proxy"] = os.environ[f"{scheme}_proxy".upper()] = DEAD_END
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "localhost,127.0.0.1,::1"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="notebooks executed at a time")
    parser.add_argument("--builder", default="html", choices=["html", "linkcheck"])
    parser.add_argument("--check", action="store_true",
                        help="run the notebooks without a network, compare their claims, and stop")
    parser.add_argument("--only", metavar="PAGE", help="build one page apart, without -W")
    options = parser.parse_args()

    toc = contents(options.only)
    folder = ROOT / "_build" / "only" / Path(options.only).name if options.only else ROOT
    build = folder / "_build"
    key, key_file = hash_of_inputs(), build / "inputs.sha256"
    if not key_file.exists() or key_file.read_text() != key:
        for stale in ("html", ".doctrees", ".jupyter_cache"):
            shutil.rmtree(build / stale, ignore_errors=True)
        build.mkdir(parents=True, exist_ok=True)
        key_file.write_text(key)
    if options.check:
        block_the_network()
    if not execute(notebooks(toc), build / ".jupyter_cache", options.jobs):
        return 1
    if options.check:
        return 0 if claims_hold(notebooks(toc), build / ".jupyter_cache") else 1

    command = [Path(sys.executable).with_name("jupyter-book"), "build", ROOT, "--keep-going"]
    command += ["--builder", options.builder]
    if options.only:
        toc_file = build / "_toc.yml"
        toc_file.write_text(yaml.safe_dump(toc), encoding="utf-8")
        command += ["--toc", toc_file, "--path-output", folder]
    else:
        command += ["-W"]
    status = subprocess.run(command, cwd=ROOT).returncode
    if status or options.builder != "html":
        # Sphinx would not read the faulty pages again, and the next run would seem to succeed.
        for stale in ("html", ".doctrees"):
            shutil.rmtree(build / stale, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
