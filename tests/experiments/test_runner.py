"""The runner runs the grid, and nothing that happens to it loses or doubles a record."""

import functools
import inspect
import json
import multiprocessing
import os
import random
import shlex
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from queue import SimpleQueue

import pytest
from experiments.runner_fakes import PARAMETERS, RUN, counting, pure, run_counting

import odtlib
from odtbook import experiments
from odtbook.cli import main
from odtbook.experiments import notebooks, runner
from odtbook.experiments.grid import Experiment
from odtbook.experiments.records import Journal, key, read_csv
from odtbook.experiments.templates import code_cell

BAD = 'title = "t"\ntemplate = "toy"\n[fixed]\nmode = "bad"\n[grid]\na = [1, 2, 3]\n'


@pytest.fixture(autouse=True, scope="module")
def kernel_of_this_module():
    yield
    notebooks.close_kernel()


def test_a_run_leaves_a_record_and_an_executed_notebook(toy):
    grid = toy()
    said = []
    records = experiments.run_experiment(grid, say=said.append)
    assert [record["measures"]["sum"] for record in records] == [
        1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]
    assert {record["status"] for record in records} == {"executed"}
    assert read_csv(grid.with_suffix(".csv")) == records
    assert "8 runs, 0 finished" in said[0]
    for record in records:
        assert record["notebook_seconds"] > 0
        point = record["parameters"]
        executed = json.loads((grid.parent / ".runs" / grid.stem / "notebooks"
                               / f"a-{point['a']}-b-{point['b']}.ipynb").read_text())
        outputs = [o for cell in executed["cells"] for o in cell.get("outputs", ())]
        assert outputs[-1]["data"][experiments.measure.MIME]["measures"] == record["measures"]

    # --resume has nothing to do, --quick redoes its part and keeps the rest
    again = experiments.run_experiment(grid, resume=True, executor=None, say=said.append)
    assert again == records
    assert "8 finished" in said[-2]
    before = grid.with_suffix(".csv").read_text()
    quick = experiments.run_experiment(grid, quick=True, only=["b=1"], say=said.append)
    assert pure(quick) == pure(records[1:2])
    assert "by earlier runs, 1 of them the same" in said[-3]
    assert "the numbers of 1 of 1 runs agree with those before" in said[-2]
    assert pure(read_csv(grid.with_suffix(".csv"))) == pure(records)

    # the CSV alone counts once it is written: an older one may be restored from git
    grid.with_suffix(".csv").write_text(before)
    assert experiments.run_experiment(grid, resume=True, executor=None,
                                      say=said.append) == records


@pytest.fixture
def book(toy, tmp_path, monkeypatch):
    """A checkout whose one experiment is the toy; its records are there, and what was said."""
    grid = toy()
    folder = tmp_path / "checkout" / "chapters" / "experiments"
    folder.mkdir(parents=True)
    for file in (grid, grid.with_suffix(".ipynb")):
        file.rename(folder / file.name)
    monkeypatch.setattr("odtbook.experiments.book.PACKAGE", tmp_path / "checkout" / "odtbook")
    monkeypatch.setenv("RUNS_LOG", str(tmp_path / "log"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("odtbook.experiments.run_experiment", functools.partial(
        experiments.run_experiment, executor=counting))
    assert main(["run", "toy", "--record"]) == 0
    return tmp_path / "checkout" / "data" / "results" / "toy.csv"


@pytest.mark.parametrize("words", [["--quick"], [], ["--jobs", "2"], ["--only", "a=2"],
                                   ["--resume"], ["--set", "a=3"]])
def test_the_records_of_the_book_change_only_where_a_run_is_told_to(book, capsys, words):
    before, stamp = book.read_bytes(), book.stat().st_mtime_ns
    capsys.readouterr()
    assert main(["run", "toy", *words]) == 0
    said = capsys.readouterr().out
    assert book.read_bytes() == before and book.stat().st_mtime_ns == stamp
    assert not list(book.parent.parent.rglob("journal*"))
    (made,) = (book.parents[3] / "odt-results").glob("*.csv")
    assert f"records in {os.path.join('odt-results', made.name)}" in said
    runs = len(read_csv(made))
    assert f"the numbers of {runs} of {runs} runs agree with those before" in said
    assert main(["run", "toy", "--record", "--only", "a=1"]) == 0
    assert book.stat().st_mtime_ns != stamp
    assert "2 of 2 runs agree" in capsys.readouterr().out
    assert main(["run", "toy", "--record", "--set", "a=3"]) == 2


def test_a_run_says_which_numbers_differ_from_those_before(book, capsys):
    text = book.read_text()
    assert text.count('{""square"": 9}') == 2
    book.write_text(text.replace('{""square"": 9}', '{""square"": 8}', 1))
    assert main(["run", "toy"]) == 0
    assert ("the numbers of 1 of 8 runs differ from those before; the first is a=3, b=0.5: "
            "square = 9, was 8") in capsys.readouterr().out


def test_a_run_under_an_old_name_is_resumed_not_repeated(toy, monkeypatch, tmp_path):
    monkeypatch.setenv("RUNS_LOG", str(tmp_path / "log"))
    grid = toy(parameters=PARAMETERS.replace("a = 1", "old = 1"),
               grid='title = "t"\ntemplate = "toy"\n[grid]\nold = [1, 2, 3]\n')
    journal = Journal(Experiment(grid).place.runs / "journal.jsonl")
    asked = Experiment(grid).points()
    journal.begin(map(key, asked))
    done = {**experiments.record(measures={"square": 1}), "parameters": asked[0], "commit": None,
            "dirty": None, "date": "2026-01-02T03:04:05+00:00", "notebook_seconds": 1.0}
    journal.append({name: done[name] for name in experiments.records.COLUMNS})
    toy(grid='title = "t"\ntemplate = "toy"\n[grid]\na = [1, 2, 3]\n')
    monkeypatch.setitem(experiments.records.RENAMED, "toy", {"old": "a"})
    found = experiments.run_experiment(grid, resume=True, executor=counting, say=lambda line: None)
    assert [record["parameters"]["a"] for record in found] == [1, 2, 3]
    assert (tmp_path / "log").read_text().split() == ["2", "3"]


def test_a_failed_run_is_a_record_and_can_be_retried(toy):
    grid = toy(grid=BAD)
    said = []
    records = experiments.run_experiment(grid, say=said.append)
    assert [r["status"] for r in records] == ["executed", "failed", "executed"]
    assert records[1]["error"] == "RuntimeError: no luck with two"
    assert "1 of 3 runs FAILED" in said[-1]

    toy(grid=BAD, run=RUN.replace("a == 2", "a == 9"))
    resumed = experiments.run_experiment(grid, resume=True, executor=None, say=said.append)
    assert resumed == records
    mended = experiments.run_experiment(grid, retry_failed=True, say=said.append)
    assert [r["status"] for r in mended] == ["executed"] * 3
    assert (mended[0], mended[2]) == (records[0], records[2])
    assert read_csv(grid.with_suffix(".csv")) == mended


def test_runs_in_one_kernel_are_alike_and_a_dead_kernel_is_replaced(toy):
    run = ("import os\nfrom odtbook import experiments\n"
           "if a == 2:\n    os._exit(1)\n"
           "if a == 4:\n    experiments.emit(experiments.record())\n"
           "import matplotlib.pyplot as plt\nplt.plot([0, a])\n"
           "seen = 'left_over' in globals()\nleft_over = a\n"
           "experiments.emit(experiments.record(measures={'pid': os.getpid(), 'seen': seen}))")
    grid = toy(run=run, grid=BAD.replace("[1, 2, 3]", "[0, 1, 2, 3, 4]"))
    records = experiments.run_experiment(grid, say=lambda line: None)
    assert [r["status"] for r in records] == ["executed", "executed", "failed", "executed",
                                              "failed"]
    assert "DeadKernelError" in records[2]["error"]
    assert "emitted 2 records" in records[4]["error"]
    first, second, third = (records[i]["measures"] for i in (0, 1, 3))
    assert first["pid"] == second["pid"] != third["pid"]
    assert not (first["seen"] or second["seen"] or third["seen"])
    for path in (grid.parent / ".runs" / grid.stem / "notebooks").iterdir():
        drawn = "image/png" in path.read_text()
        assert drawn == (not path.name.startswith("a-2.")), "only the dead kernel shows no picture"


def test_a_record_that_breaks_the_schema_is_a_failed_run(toy):
    def wrong(notebook, point, timeout):
        record = experiments.record(train_accuracy=97.0)
        return {"record": record, "error": None, "seconds": 0.0, "notebook": "{}"}

    records = experiments.run_experiment(toy(), quick=True, executor=wrong,
                                         say=lambda line: None)
    assert {r["error"] for r in records} == {
        "the record is not valid: train_accuracy = 97.0 is not between 0 and 1"}


def test_a_time_limit_becomes_a_limit_of_the_cell(toy):
    def limit(notebook, point, timeout):
        record = experiments.record(measures={"timeout": timeout})
        return {"record": record, "error": None, "seconds": 0.0, "notebook": "{}"}

    grid = 'title = "t"\ntemplate = "toy"\n[grid]\ntime_limit = [10]\n'
    path = toy(parameters="time_limit = 1.0", grid=grid)
    (record,) = experiments.run_experiment(path, executor=limit, say=lambda line: None)
    assert record["measures"] == {"timeout": 330}
    path.write_text(grid.replace("10", "0.4"))      # papermill takes whole seconds only
    (record,) = experiments.run_experiment(path, executor=limit, say=lambda line: None)
    assert record["measures"] == {"timeout": 302}
    assert isinstance(record["measures"]["timeout"], int)
    path.write_text("seconds = 7\n" + grid)         # of a run of many fits
    (record,) = experiments.run_experiment(path, executor=limit, say=lambda line: None)
    assert record["measures"] == {"timeout": 7}
    notebook = json.loads((path.parent / "toy.ipynb").read_text())
    notebook["cells"][1]["source"] = "import time; time.sleep(60)"
    answer = notebooks.execute_notebook(notebook, {}, timeout=1)
    assert "CellTimeoutError" in answer["error"]


def test_ctrl_c_while_a_kernel_starts_runs_no_cell(tmp_path, monkeypatch):
    notebook = {"cells": [code_cell("ran", f"open({str(tmp_path / 'ran')!r}, 'w').close()")],
                "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    starting, pressed = threading.Event(), threading.Event()

    def starts():
        starting.set()
        pressed.wait()
        register()

    register = notebooks._register_engine
    monkeypatch.setattr(notebooks, "_register_engine", starts)
    kernel = notebooks._Kernel()
    kernel.asked.put((kernel._run, (notebook, {}, None), SimpleQueue()))
    starting.wait()
    threading.Timer(0.2, pressed.set).start()       # the kernel is closed before it is there
    kernel.close()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("dirty", [True, False, None])
def test_runs_of_changed_code_are_said_not_to_count(toy, tmp_path, monkeypatch, dirty):
    monkeypatch.setenv("RUNS_LOG", str(tmp_path / "log"))
    monkeypatch.setattr(runner, "code_state", lambda: {"commit": "0" * 40, "dirty": dirty})
    said = []
    experiments.run_experiment(toy(), quick=True, executor=counting, say=said.append)
    assert ("reports leave these runs out" in said[-1]) == (dirty is True)


def test_two_grids_in_one_folder_keep_their_runs_apart(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNS_LOG", str(tmp_path / "log"))
    first = toy()
    second = first.with_name("other.toml")
    second.write_text(first.read_text().replace("1, 2, 3, 4", "7"))
    records = experiments.run_experiment(first, executor=counting, say=lambda line: None)
    first.with_suffix(".csv").unlink()
    journal = Journal(Experiment(first).place.runs / "journal.jsonl")
    journal.begin(Experiment(first).declared())     # what a kill leaves: runs in the journal only
    for record in records[:3]:
        journal.append(record)
    said = []
    experiments.run_experiment(second, executor=counting, say=said.append)
    assert not any("outside the grid" in line for line in said)
    experiments.run_experiment(first, resume=True, executor=counting, say=said.append)
    assert "toy: 8 runs, 3 finished" in said[-2]
    assert len(read_csv(first.with_suffix(".csv"))) == 8


def test_missing_papermill_is_said_before_anything_starts(toy, monkeypatch, capsys):
    grid = toy()
    monkeypatch.setitem(sys.modules, "papermill", None)
    assert main(["run", str(grid)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("odt: Running templates needs papermill, which is not installed")
    assert "[experiments]" in captured.err
    assert len(captured.err.splitlines()) == 1
    assert sorted(path.name for path in grid.parent.iterdir()) == ["toy.ipynb", "toy.toml"]


def test_the_command_alone_prints_its_help_and_its_version(capsys):
    assert main([]) == 0
    assert "run the grid of an experiment" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"odtlib {odtlib.__version__}\n"


def test_records_outside_the_grid_are_dropped_and_said(toy, monkeypatch, tmp_path):
    monkeypatch.setenv("RUNS_LOG", str(tmp_path / "log"))
    grid = toy()
    experiments.run_experiment(grid, executor=counting, say=lambda line: None)
    grid.write_text(grid.read_text().replace("1, 2, 3, 4", "1, 2, 5"))
    said = []
    records = experiments.run_experiment(grid, resume=True, executor=counting, say=said.append)
    assert "4 records are outside the grid and dropped" in said[0]
    assert [r["parameters"]["a"] for r in records] == [1, 1, 2, 2, 5, 5]
    assert read_csv(grid.with_suffix(".csv")) == records
    assert (tmp_path / "log").read_text().split() == list("11223344") + ["5", "5"]


@pytest.mark.parametrize("content", [b"\0" * 900, b"parameters,status\n", b""])
def test_files_that_cannot_be_read_are_put_aside_and_said(toy, tmp_path, monkeypatch, content):
    monkeypatch.setenv("RUNS_LOG", str(tmp_path / "log"))
    grid = toy()
    table = grid.with_suffix(".csv")
    journal = grid.parent / ".runs" / "toy" / "journal.jsonl"
    experiments.run_experiment(grid, executor=counting, say=lambda line: None)
    for number in ("", "-2"):       # the second time the name is taken
        table.write_bytes(content)
        journal.write_bytes(b'{"asked": [1]}\n')
        said = []
        records = experiments.run_experiment(grid, resume=True, executor=counting,
                                             say=said.append)
        assert len(records) == 8 and read_csv(table) == records
        aside = table.with_name(f"toy.csv.unreadable{number}")
        assert aside.read_bytes() == content
        assert journal.with_name(f"journal.jsonl.unreadable{number}").exists()
        assert "asked[0] = 1 is not text" in said[0] and "journal.jsonl.unreadable" in said[0]
        assert "toy.csv is no table of records" in said[1] and aside.name in said[1]
    assert len((tmp_path / "log").read_text().split()) == 24


def failing(error, after=3):
    """An executor that answers a few times, then raises."""
    def answer(notebook, point, timeout):
        if point["a"] == after:
            raise error
        return counting(notebook, point, timeout)
    return answer


@pytest.mark.parametrize(("error", "status", "says"), [
    (KeyboardInterrupt(), 130, "interrupted"), (MemoryError(), 2, "a worker was lost (MemoryError"),
    (RecursionError("too deep"), 2, "RecursionError: too deep"),
    (OverflowError("too\nlarge"), 2, "OverflowError: too large"),
    (OSError(28, "No space left on device"), 2, "No space left on device"),
    (CancelledError("gone"), 2, "CancelledError: gone")])
def test_whatever_ends_a_run_is_one_sentence_and_finished_runs_are_kept(
        toy, tmp_path, monkeypatch, capsys, error, status, says):
    monkeypatch.setenv("RUNS_LOG", str(tmp_path / "log"))
    grid = toy()
    monkeypatch.setattr("odtbook.experiments.run_experiment", functools.partial(
        experiments.run_experiment, executor=failing(error)))
    assert main(["run", str(grid)]) == status
    *_, sentence = capsys.readouterr().err.strip().splitlines()
    assert sentence.startswith("odt: ") and says in sentence
    assert "finished runs are kept" in sentence
    assert [record["parameters"]["a"] for record in read_csv(grid.with_suffix(".csv"))] == [
        1, 1, 2, 2]
    assert len(Journal(grid.parent / ".runs" / "toy" / "journal.jsonl").open) == 4


@pytest.mark.parametrize(("error", "status", "says"), [
    (OverflowError("too large"), 2, "OverflowError: too large (in "),
    (RecursionError("too deep"), 2, "please report it"), (KeyError("x"), 2, "KeyError: 'x' (in"),
    (NotImplementedError(), 2, "NotImplementedError (in"), (ValueError(), 2, "ValueError (in"),
    (MemoryError(), 2, "memory"), (KeyboardInterrupt(), 130, "interrupted"),
    (OSError(30, "Read-only file system", "/records"), 2, "/records: Read-only file system"),
    (OSError(28, "No space left on device"), 2, "No space left on device"),
    (BrokenPipeError(32, "Broken pipe"), 2, "Broken pipe"),     # not that of the output
    (ValueError("two\nlines"), 2, "odt: two lines")])
def test_a_command_ends_with_one_sentence_whatever_it_raises(monkeypatch, capsys, error, status,
                                                             says):
    def command(options):
        raise error
    monkeypatch.setattr("odtbook.cli._report", command)
    assert main(["report"]) == status
    message = capsys.readouterr().err
    assert says in message and message.startswith("odt: ") and message.count("\n") == 1


def test_a_reader_that_goes_away_hears_nothing(toy):
    python = shlex.quote(sys.executable)
    command = f"{python} -m odtbook report --experiments | head -n 1"
    ended = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True,
                           text=True)
    assert ended.stderr == "" and ended.returncode in (0, 141)
    broken = subprocess.run(
        ["bash", "-c", f"{python} -c 'import time; time.sleep(1)\n"
         "from odtbook.cli import main; import sys; sys.exit(main([\"data\", \"list\"]))' | true; "
         "exit ${PIPESTATUS[0]}"], capture_output=True, text=True)
    assert (broken.stderr, broken.returncode) == ("", 141)


def test_records_are_kept_where_nothing_can_be_written(toy, tmp_path, monkeypatch, capsys):
    """The disk is full after four runs: the journal keeps them, and --resume does the others."""
    monkeypatch.setenv("RUNS_LOG", str(tmp_path / "log"))
    grid = toy()
    written = Journal.append

    def full(*_):
        raise OSError(28, "No space left on device", "records")

    def append(journal, record):
        if len(journal.finished) == 4:
            full()
        written(journal, record)
    monkeypatch.setattr("odtbook.experiments.run_experiment", functools.partial(
        experiments.run_experiment, executor=counting))
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", append)
        patch.setattr(runner, "write_csv", full)
        assert main(["run", str(grid)]) == 2
    assert capsys.readouterr().err.strip().endswith("odt: records: No space left on device")
    assert main(["run", str(grid), "--resume"]) == 0
    assert (tmp_path / "log").read_text().split() == list("112233344")
    assert len(read_csv(grid.with_suffix(".csv"))) == 8


def test_killed_at_eighteen_random_moments_the_records_are_those_of_one_undisturbed_run(
        toy, tmp_path):
    """Here papermill is replaced by a function that answers in milliseconds, so that kills fall
    densely on the runner's own work: the journal, the lock, the CSV.  The next test kills the
    real thing.  Each kill is SIGKILL to a process of its own; a run that ended before its kill
    starts anew, and only kills that leave work undone count."""
    runs = 60
    grid = toy(grid=f'title = "t"\ntemplate = "toy"\n[grid]\na = {list(range(runs))}\n')
    run_counting(tmp_path / "undisturbed", grid, resume=False)
    undisturbed = read_csv(grid.with_suffix(".csv"))
    assert (tmp_path / "undisturbed").read_text().split() == [str(a) for a in range(runs)]

    chance = random.Random(3)
    processes = multiprocessing.get_context("forkserver")
    # what a run imports, so that the kills find it at work
    processes.set_forkserver_preload(["joblib", "odtbook.experiments",
                                      "sklearn.utils._param_validation"])
    kills, attempts, resume, kept = 0, 0, False, 0
    while kills < 18:
        attempts += 1
        assert attempts < 400, "the runs do not begin before they are killed"
        log = tmp_path / f"log-{attempts}"
        process = processes.Process(target=run_counting, args=(log, grid, resume))
        process.start()
        process.join(chance.uniform(0.05, 0.5))
        process.kill()
        process.join()
        journal = Journal(grid.parent / ".runs" / grid.stem / "journal.jsonl")
        done = len(log.read_text().split()) if log.exists() else 0
        if process.exitcode == 0:
            resume, kept = False, 0
            continue
        assert process.exitcode == -signal.SIGKILL
        kills += bool(journal.open)
        if journal.asked:
            # all finished work is kept but for the run that the kill interrupted
            left = len(journal.open)
            assert runs - left >= kept + done - 1
            kept, resume = runs - left, True
    run_counting(tmp_path / "last", grid, resume)
    records = read_csv(grid.with_suffix(".csv"))
    assert len(records) == runs
    assert pure(records) == pure(undisturbed)


def test_killed_twice_with_real_kernels_the_command_resumes(toy):
    """The `odt` command with papermill and two workers, SIGKILL at two random moments of its
    work; workers and kernels must end by themselves, or the next attempt would share the cores
    with them."""
    slow = RUN.replace("record =", "import os, time\ntime.sleep(0.4)\nrecord =").replace(
        '"sum": a + b', '"sum": a + b, "pid": os.getpid()')
    grid = toy(run=slow)
    command = [sys.executable, "-m", "odtbook", "run", str(grid), "--jobs", "2"]
    chance = random.Random(4)
    pids = set()
    for attempt in range(2):
        process = subprocess.Popen(command + ["--resume"] * attempt, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        before = attempt * len(pids)
        journal = grid.parent / ".runs" / grid.stem / "journal.jsonl"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (
                not journal.exists() or len(Journal(journal).finished) <= 0):
            time.sleep(0.05)
        time.sleep(chance.uniform(0, 0.5))
        assert process.poll() is None, "the runner ended before it could be killed"
        process.kill()
        process.wait()
        finished = Journal(journal).finished
        assert 0 < len(finished) < 8 - before
        pids |= {record["measures"]["pid"] for record in finished.values()}
    assert main(["run", str(grid), "--resume"]) == 0
    records = read_csv(grid.with_suffix(".csv"))
    assert [r["measures"]["sum"] for r in records] == [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]
    own = {record["measures"]["pid"] for record in records} - pids
    assert len(own) == 1   # one kernel for what was left
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(map(_alive, pids)):
        time.sleep(0.1)
    assert not any(map(_alive, pids))


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_second_runner_is_refused_until_the_first_is_gone(toy, tmp_path, monkeypatch):
    grid = toy()
    script = ("import sys, time\nfrom odtbook.experiments.runner import _locked\nfrom pathlib "
              "import Path\nwith _locked(Path(sys.argv[1]), 'toy'):\n    print('held', flush=True)"
              "\n    time.sleep(60)")
    lock = grid.parent / ".runs" / grid.stem / "lock"
    holder = subprocess.Popen([sys.executable, "-c", script, str(lock)], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(RuntimeError, match=f"process {holder.pid}.* is at work on toy"):
        experiments.run_experiment(grid, executor=counting, say=lambda line: None)
    holder.kill()
    holder.communicate()
    monkeypatch.setenv("RUNS_LOG", str(tmp_path / "log"))
    assert len(experiments.run_experiment(grid, executor=counting, say=lambda line: None)) == 8


def test_a_dask_cluster_runs_the_grid(toy):
    """A real scheduler and two worker processes on the loopback interface."""
    from distributed import LocalCluster
    run = RUN.replace("record =", "import os, time\ntime.sleep(0.3)\nrecord =").replace(
        '"sum": a + b', '"sum": a + b, "pid": os.getpid()')
    grid = toy(run=run)
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1",
                      dashboard_address=None) as cluster:
        records = experiments.run_experiment(grid, dask=cluster.scheduler_address,
                                             say=lambda line: None)
    assert [r["status"] for r in records] == ["executed"] * 8
    assert [r["measures"]["sum"] for r in records] == [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]
    assert len({r["measures"]["pid"] for r in records}) == 2
    assert read_csv(grid.with_suffix(".csv")) == records


def test_a_scheduler_that_is_lost_is_one_sentence_and_finished_runs_are_kept(toy, capsys):
    from distributed import LocalCluster
    run = RUN.replace("record =", "import time\ntime.sleep(0.5 if a == 1 else 100)\nrecord =")
    grid = toy(run=run)
    journal = grid.parent / ".runs" / "toy" / "journal.jsonl"
    cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=True, host="127.0.0.1",
                           dashboard_address=None)

    def close():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (journal.exists()
                                                   and len(Journal(journal).finished) == 2):
            time.sleep(0.1)
        cluster.close()
    closing = threading.Thread(target=close)
    closing.start()
    assert main(["run", str(grid), "--dask", cluster.scheduler_address]) == 2
    closing.join()
    sentence = capsys.readouterr().err.strip().splitlines()[-1]
    assert f"the Dask scheduler at {cluster.scheduler_address} was lost" in sentence
    assert len(read_csv(grid.with_suffix(".csv"))) == 2


def test_a_cluster_that_does_not_answer_is_one_sentence(toy, monkeypatch):
    monkeypatch.setattr("odtbook.experiments.runner.CONNECT_SECONDS", 0.5)
    grid = toy()
    with pytest.raises(RuntimeError, match="no Dask scheduler answers at tcp://127.0.0.1:9;"):
        experiments.run_experiment(grid, dask="tcp://127.0.0.1:9", say=lambda line: None)
    assert not Journal(grid.parent / ".runs" / grid.stem / "journal.jsonl").asked


def test_execute_returns_the_record_of_one_run_or_a_list(toy):
    template = toy().parent / "toy.ipynb"
    record = experiments.execute(template, a=5)
    assert record["measures"] == {"sum": 5.5}
    assert record["parameters"] == {"a": 5, "b": 0.5, "mode": "good", "note": None}
    several = experiments.execute(template, a=[1, 2], b=1)
    assert [r["measures"]["sum"] for r in several] == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="toy.ipynb failed: RuntimeError: no luck with two"):
        experiments.execute(template, a=2, mode="bad")
    assert not (template.parent / ".runs").exists()


def test_execute_works_inside_a_running_notebook(toy):
    template = toy().parent / "toy.ipynb"
    inner = (f"from odtbook import experiments\ninner = experiments.execute({str(template)!r}, "
             "a=41)\nexperiments.emit(experiments.record(measures=inner['measures']))")
    outer = {**json.loads(template.read_text())}
    outer["cells"][1]["source"] = inner
    answer = notebooks.execute_notebook(outer, {})
    assert answer["error"] is None
    assert answer["record"]["measures"] == {"sum": 41.5}


def test_set_changes_a_parameter_and_leaves_the_records_alone(toy, monkeypatch, tmp_path):
    monkeypatch.setenv("RUNS_LOG", str(tmp_path / "log"))
    grid = toy()
    experiments.run_experiment(grid, executor=counting)
    before = grid.with_suffix(".csv").read_text()
    said = []
    records = experiments.run_experiment(grid, changes=["a=7"], executor=counting,
                                         say=said.append)
    assert [(r["parameters"]["a"], r["parameters"]["b"]) for r in records] == [(7, 0.5), (7, 1.0)]
    changed = grid.parent / "toy-a-7.csv"
    assert read_csv(changed) == records
    assert grid.with_suffix(".csv").read_text() == before
    # a change counts before [quick], and one that has two values is a run of each
    records = experiments.run_experiment(grid, quick=True, changes=["a=8", "a=9", "b=1"],
                                         executor=counting, say=said.append)
    assert [record["parameters"]["a"] for record in records] == [8, 9]
    # one run: its notebook is named; several: their folder
    folder = os.path.relpath(grid.parent / ".runs" / "toy-a-7" / "notebooks")
    assert f"executed notebooks in {folder}" in said[1]
    records = experiments.run_experiment(grid, changes=["a=7"], only=["b=1"], executor=counting,
                                         say=said.append)
    path = said[-1].rpartition("the executed notebook is ")[2].partition(";")[0]
    assert os.path.exists(path) and path.endswith("b-1.0.ipynb")


@pytest.mark.parametrize(("change", "value"), [
    ("a=3", 3), ("b=2", 2.0), ("note=true", True), ("note=True", True), ("note=word", "word"),
    ("note='5'", "5"), ("note=None", None), ("mode=bad", "bad"), ("note=a=b", "a=b"),
])
def test_set_reads_values_as_a_template_writes_them(toy, change, value):
    points = Experiment(toy(), [change]).points()
    assert {point[change.partition("=")[0]] for point in points} == {value}


def test_set_takes_numbers_for_text_where_the_default_is_text(toy):
    grid = toy(parameters=PARAMETERS + '\nlabel = "x"')
    assert {point["label"] for point in Experiment(grid, ["label=5"]).points()} == {"5"}


def test_files_of_changed_experiments_differ_where_their_names_are_cut(toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = [Experiment("murtree", [f"dataset={name}"]).place
              for name in ("murtree/vote", "murtree/yeast")]
    assert len({place.results for place in places}) == 2
    assert {place.results.parent for place in places} == {tmp_path / "odt-results"}
    assert all(place.results.name.isascii() and "/" not in place.results.name for place in places)


def test_compiling_in_a_kernel_is_said_on_the_terminal(toy, capsys):
    from odtlib._numba import warm
    notice = f"{notebooks.COMPILING} toys once, for about 1 s; later runs start at once."
    grid = toy(run="import sys\nprint('other', file=sys.stderr)\n"
                   f"print({notice!r}, file=sys.stderr)\n" + RUN)
    experiments.run_experiment(grid, only=["a=1", "b=1"])
    said = capsys.readouterr().err
    assert notice in said.splitlines()
    assert "other" not in said
    assert 'say(f"compiling ' in inspect.getsource(warm.announce)
    assert notebooks.COMPILING == "odtlib: compiling"
    assert 'print(f"odtlib: {sentence}"' in inspect.getsource(warm.say)


@pytest.mark.parametrize("arguments", [
    ["nothing-like-this"], ["my.csv"], [], ["{grid}", "--all"], ["{grid}", "--jobs", "0"],
    ["{grid}", "--only", "c=1"], ["{grid}", "--set", "c=1"], ["{grid}", "--set", "a"],
    ["{grid}", "--set", "a=x"], ["--all", "--set", "a=1"]])
def test_the_command_refuses_before_it_starts(toy, capsys, arguments):
    grid = toy()
    assert main(["run", *(a.format(grid=grid) for a in arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("odt: ")
    assert len(captured.err.splitlines()) == 1
    assert captured.out == ""
    assert not (grid.parent / ".runs").exists()


def test_a_template_may_gain_a_parameter_without_losing_its_records(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNS_LOG", str(tmp_path / "log"))
    grid = toy()
    records = experiments.run_experiment(grid, executor=counting, say=lambda line: None)
    toy(parameters=PARAMETERS + "\nextra = 3")
    resumed = experiments.run_experiment(grid, resume=True, executor=None, say=lambda line: None)
    assert [r["parameters"] for r in resumed] == [{**r["parameters"], "extra": 3}
                                                  for r in records]
    assert list(experiments.load_records(grid, changed=True)["extra"]) == [3] * 8
    toy(parameters=PARAMETERS.replace("\nnote = None", ""))
    said = []
    experiments.run_experiment(grid, executor=counting, say=said.append)
    assert "8 records are outside the grid and dropped" in said[0]
