"""Execute a template through papermill, in a kernel that stays warm from run to run.

Starting a kernel and importing the solvers costs seconds, so each thread keeps one kernel.  Its
namespace is emptied before every run; modules stay loaded and compiled.  After a failure, and
after :data:`RUNS_PER_KERNEL` runs, the next run gets a fresh kernel.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import sys
import threading
import time
from queue import SimpleQueue

from odtlib.requirements import needs

from .book import PACKAGE
from .measure import MIME

RUNS_PER_KERNEL = 200
COMPILING = "odtlib: compiling"    # how the notice of odtlib._numba.warm begins
# Python looks for garbage after 700 new objects: a tenth of the time of loading and of reading
FIRST = ("import gc, os; gc.set_threshold(100_000, 20, 20); from odtbook.lifetime import end_with; "
         "end_with(os.getppid())")
# a reset also ends the display of figures, so it is switched on again
EMPTY_NAMESPACE = "%reset -f\n%matplotlib inline"
_local = threading.local()


def execute_notebook(notebook, parameters, timeout=None):
    """Execute a notebook with parameters and collect the record that it emits."""
    kernel = getattr(_local, "kernel", None)
    if kernel is None or kernel.runs >= RUNS_PER_KERNEL:
        close_kernel()
        kernel = _local.kernel = _Kernel()
    try:
        answer = kernel.run(notebook, parameters, timeout)
    except BaseException:
        close_kernel()
        raise
    if answer["error"] is not None:
        close_kernel()
    return answer


def close_kernel():
    """Shut down the kernel that this thread keeps, if there is one."""
    kernel, _local.kernel = getattr(_local, "kernel", None), None
    if kernel is not None:
        kernel.close()


def need_papermill():
    """Raise ModuleNotFoundError, which says what to install, where papermill is missing."""
    needs("papermill", "experiments", "Running templates")


class _Kernel:
    """One kernel and the one thread that talks to it.

    The thread keeps the event loop to which the kernel's sockets belong, so that a run may be
    asked for from anywhere: a worker process, a Dask thread, or a cell of another notebook.
    """

    def __init__(self):
        need_papermill()
        self.runs = 0
        self.closed = False
        self.manager = self.client = None
        # compiled queues: a Ctrl-C within a lock of Python's own executor leaves it locked for ever
        self.asked = SimpleQueue()
        atexit.register(self._kill)
        threading.Thread(target=self._serve, daemon=True).start()

    def run(self, notebook, parameters, timeout):
        return self._ask(self._run, notebook, parameters, timeout)

    def _ask(self, work, *arguments):
        """Have the thread do something, and return or raise what came of it."""
        answer = SimpleQueue()
        self.asked.put((work, arguments, answer))
        result, error = answer.get()
        if error is not None:
            raise error
        return result

    def _serve(self):
        for work, arguments, answer in iter(self.asked.get, None):
            try:
                answer.put((work(*arguments), None))
            except BaseException as error:
                answer.put((None, error))

    def _run(self, notebook, parameters, timeout):
        import nbformat
        from papermill import execute_notebook
        from papermill.exceptions import PapermillExecutionError
        _register_engine()
        started, error = time.perf_counter(), None
        executed = {"notebook": nbformat.from_dict(notebook)}
        try:
            execute_notebook(executed["notebook"], None, parameters=parameters,
                             engine_name="odtlib", kernel_name="python3", language="python",
                             progress_bar=False, execution_timeout=timeout,
                             warm=self, executed=executed)
        except PapermillExecutionError as failure:
            error = f"{failure.ename}: {failure.evalue}"
        except Exception as failure:   # a kernel that died or overran its time
            error = f"{type(failure).__name__}: {failure}"
        seconds = time.perf_counter() - started - executed.get("start_seconds", 0.0)
        self.runs += 1
        node = executed["notebook"]
        record = None
        if error is None:
            record, error = _emitted(node)
        return {"record": record, "error": _one_line(error), "seconds": seconds,
                "notebook": nbformat.writes(node)}

    def close(self):
        atexit.unregister(self._kill)
        # first the process, so that a cell under way ends and the thread is free again
        self.closed = True
        self._kill()
        self._ask(self._release)
        self.asked.put(None)

    def _kill(self):
        if self.manager is not None and self.manager.has_kernel:
            self.manager.provisioner.process.kill()

    def _release(self):
        # sockets left open would block the interpreter when it collects their context
        from jupyter_core.utils import run_sync
        if self.client is not None:
            self.client.stop_channels()
        if self.manager is not None:
            run_sync(self.manager.shutdown_kernel)(now=True)
            run_sync(self.manager.cleanup_resources)()


def _register_engine():
    from papermill.clientwrap import PapermillNotebookClient
    from papermill.engines import Engine, papermill_engines
    from tqdm import tqdm
    if "odtlib" in papermill_engines._engines:
        return

    class Client(PapermillNotebookClient):
        """papermill's client, which shows on the terminal that a kernel is compiling."""

        def process_message(self, message, cell, cell_index):
            if message["msg_type"] == "stream":
                for line in message["content"]["text"].splitlines():
                    if line.startswith(COMPILING):
                        tqdm.write(line, file=sys.stderr)
            return super().process_message(message, cell, cell_index)

    class WarmEngine(Engine):
        """papermill's own engine, but with a kernel that outlives the notebook."""

        @classmethod
        def execute_managed_notebook(cls, manager, kernel_name, *, warm, executed,
                                     execution_timeout=None, start_timeout=60, **_):
            executed["notebook"] = manager.nb
            client = Client(manager, km=warm.manager, kernel_name=kernel_name,
                                             startup_timeout=start_timeout)
            started = time.perf_counter()
            if warm.manager is None:
                client.create_kernel_manager()
                # the interpreter that runs this, whatever a kernel of this name points to
                client.km.kernel_spec.argv[0] = sys.executable
                client.extra_arguments = ["--log-level=ERROR"]
                client.start_new_kernel(env=_kernel_environment())
                warm.manager = client.km
                if warm.closed:     # meanwhile, by Ctrl-C, which found no kernel to end
                    warm._kill()
                client.start_new_kernel_client()
                warm.client = client.kc
                client.wait_for_reply(client.kc.execute(FIRST, silent=True))
            client.kc = warm.client
            client.wait_for_reply(client.kc.execute(EMPTY_NAMESPACE, silent=True))
            executed["start_seconds"] = time.perf_counter() - started
            client.timeout = execution_timeout
            client.execute(cleanup_kc=False)

    papermill_engines.register("odtlib", WarmEngine)


def _kernel_environment():
    """Return the environment of a kernel: it must find this odtlib, and data by absolute path."""
    environment = dict(os.environ)
    paths = [str(PACKAGE.parent), environment.get("PYTHONPATH")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    if environment.get("ODTLIB_DATA"):
        environment["ODTLIB_DATA"] = os.path.abspath(environment["ODTLIB_DATA"])
    return environment


def _emitted(notebook):
    records = [output["data"][MIME] for cell in notebook.cells if cell.cell_type == "code"
               for output in cell.outputs if MIME in output.get("data", {})]
    if len(records) != 1:
        return None, (f"the notebook emitted {len(records)} records; end it with one "
                      "experiments.emit(record)")
    return json.loads(json.dumps(records[0])), None


def _one_line(error):
    if error is None:
        return None
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", error).split())[:500]
