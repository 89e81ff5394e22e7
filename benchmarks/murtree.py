"""Compare MurTree with STreeD on the same arrays: CPU seconds, alternating runs, one thread.

    python benchmarks/murtree.py --depth 3 4 5 [--peer STreeD] [--sets anneal ...] [--seeds 0 1]

Both are timed by their public ``fit``, each on arrays of the type that it likes best, compilation
apart.  All published sets are tried, each as it is packaged and varied (``turns.py``), with a mean
for each size class.  A set that a limit (of wall time) stopped is in no mean.  ``--peer
command:PATH`` times an executable that reads ``class feature feature ...`` lines: ``PATH -file FILE
-max-depth D -max-num-nodes N -time SECONDS``; its optima are not compared.

Other questions, on the sets named by ``--sets``:

``--threads N``  one thread against N: wall time, and CPU time of the thread that worked longest,
which is what the wall time would be on an idle machine.
``--rows N``     time for 1, 2, 4 ... times the rows, up to N of them.
``--path``       all node budgets in one run against the largest alone, and against the one that
takes longest alone.
``--memory``     how far a job drives the resident memory of a process of its own above what it
held just before, after a first small fit, for ours and for the peer (Linux).
``--missing S``  with a share S of all values missing: sides learned against the more frequent value
filled in, and a column for each feature that says where.
``--first``      the first fit of a process on any data, with nothing compiled yet and with all
kernels on disk.
"""

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from turns import Comparison, add_options, forms, processor, timed, wanted

from odtbook.datasets import available, load
from odtlib import MurTreeClassifier
from odtlib.murtree.solver import Solver


def load_sets():
    """Yield ``(name, X, y)`` for every set of the paper that is published."""
    for name in available("murtree"):
        if not name.endswith("_derived"):
            data = load(name)
            yield name, data.X, np.unique(data.y, return_inverse=True)[1].astype(np.int64)


def run_ours(X, y, depth, nodes, limit, n_jobs=1, every=False):
    """Return CPU seconds and the errors, None where the limit ended the search."""
    model = MurTreeClassifier(depth, nodes, time_limit=limit, n_jobs=n_jobs)
    taken, _ = timed(model.path if every else model.fit, X, y)
    report = model.report_
    return taken, report.objective if report.status == "optimal" else None


def run_streed(X, y, depth, nodes, limit):
    from pystreed import STreeDClassifier
    model = STreeDClassifier(max_depth=depth, max_num_nodes=nodes, time_limit=limit)
    X, y = X.astype(np.int32), y.astype(np.int32)
    started = time.process_time()
    try:
        model.fit(X, y)
    except RuntimeError:                           # no tree within the limit
        return time.process_time() - started, None
    taken = time.process_time() - started
    done = model.fit_result.is_optimal()
    return taken, float((model.predict(X) != y).sum()) if done else None


def run_dl85(X, y, depth, nodes, limit):
    from pydl85 import DL85Classifier
    model = DL85Classifier(max_depth=depth, time_limit=int(limit))
    X = X.astype(np.int32)
    taken, _ = timed(model.fit, X, y)
    return taken, None if model.timeout_ else float(model.error_)


def fit_gosdt(X, y, price, limit, depth=None):
    """Return CPU seconds, errors and splits of a tree that pays a share of the rows for each leaf.

    Errors and splits are None where the limit ended the search.
    """
    from gosdt import GOSDTClassifier
    model = GOSDTClassifier(price, allow_small_reg=True, depth_budget=depth, time_limit=int(limit))
    taken, _ = timed(model.fit, X, y)
    result = model.result_
    if result.status.name != "CONVERGED":
        return taken, None, None
    return (taken, float(round(result.model_loss * len(y))),
            round((result.upperbound - result.model_loss) / price) - 1)


def run_gosdt(X, y, depth, nodes, limit):
    # So little for each leaf that all of them together are worth less than an error.
    return fit_gosdt(X, y, 1 / (len(y) * (2 ** depth + 1)), limit, depth)[:2]


def run_command(path, X, y, depth, nodes, limit):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        np.savetxt(file, np.column_stack([y, X]).astype(int), fmt="%d")
        file.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([path, "-file", file.name, "-max-depth", str(depth), "-max-num-nodes",
                        str(nodes), "-time", str(limit)], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, np.nan if taken < limit else None


def resident(field):
    """Return ``VmRSS`` (now) or ``VmHWM`` (the peak) of this process in megabytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"this system does not tell {field} of a process")


def measure_memory(options, nodes):
    """Print the growth of the peak memory of a process for each solver."""
    print(f"{'data set':40s} {'ours':>9s} {options.peer[:9]:>9s}  megabytes above the warm process")
    for name, _, _ in chosen_sets(options):
        grown = []
        for solver in ("ours", options.peer):
            command = [sys.executable, __file__, "--grown", solver, "--sets", name, "--depth",
                       str(options.depth), "--nodes", str(nodes), "--limit", str(options.limit)]
            grown.append(float(subprocess.run(command, capture_output=True, check=True,
                                              text=True).stdout.split()[-1]))
        print(f"{name:40s} {grown[0]:9.1f} {grown[1]:9.1f}", flush=True)


def print_growth(options, nodes, peers):
    """Print how much one job adds to the peak memory of this process."""
    run = run_ours if options.grown == "ours" else peers[options.grown]
    for _, X, y in chosen_sets(options):
        rng = np.random.default_rng(0)           # as many classes: the same kernels
        run(rng.integers(0, 2, (50, 5)).astype(float), np.arange(50) % (y.max() + 1),
            options.depth, nodes, 10.0)
        narrow = X.astype(np.int32)              # what the peer's run makes of it is there before
        # Memory that was freed but kept, and a peak of long ago, would hide what the job takes.
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        before = resident("VmRSS")
        run(X if options.grown == "ours" else narrow, y, options.depth, nodes, options.limit)
        print(resident("VmHWM") - before)
        return


def measure_first(options):
    """Print the CPU time of the first fit in a process, before and after kernels are on disk."""
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = (float(subprocess.run(
                [sys.executable, __file__, "--once"], capture_output=True, check=True, text=True,
                env={**os.environ, "NUMBA_CACHE_DIR": folder}).stdout.split()[-1])
                for _ in range(2))
        print(f"first fit: {cold:6.2f} with nothing compiled, {warm:5.2f} with kernels on disk",
              flush=True)


def print_first():
    """Print the CPU time of the first fit of this process."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (200, 12)), rng.integers(0, 2, 200)
    started = time.process_time()
    MurTreeClassifier(4).fit(X, y)
    print(time.process_time() - started)


def compare_threads(options, nodes):
    """Print wall time and longest CPU time of a thread for one thread and several."""
    longest, work = [], Solver._work_until

    def timed(self, stop, clock):
        started = time.thread_time()
        done = work(self, stop, clock)
        longest.append(time.thread_time() - started)
        return done

    Solver._work_until = timed
    print(f"{'data set':40s} {'wall, 1':>9s} {'wall, ' + str(options.threads):>9s} {'ratio':>7s} "
          f"{'CPU, 1':>9s} {'longest':>9s} {'ratio':>7s}")
    for name, X, y in chosen_sets(options):
        rows = []
        for n_jobs in (1, options.threads):
            best = (np.inf, np.inf)
            for _ in range(options.rounds):
                longest.clear()
                wall, own = time.perf_counter(), time.thread_time()
                report = run_ours(X, y, options.depth, nodes, options.limit, n_jobs=n_jobs)
                wall, own = time.perf_counter() - wall, time.thread_time() - own
                best = (min(best[0], wall), min(best[1], own + max(longest, default=0.0)))
            rows.append((*best, report[1]))
        (wall, cpu, errors), (wall_n, cpu_n, errors_n) = rows
        note = "" if errors == errors_n else "  DIFFERENT OPTIMA"
        print(f"{name:40s} {wall:9.3f} {wall_n:9.3f} {wall / wall_n:7.2f} {cpu:9.3f} {cpu_n:9.3f} "
              f"{cpu / cpu_n:7.2f}{note}", flush=True)


def compare_rows(options, nodes):
    """Print the time for repeated rows."""
    print(f"{'data set':40s} {'rows':>9s} {'CPU':>9s} {'us a row':>9s}")
    for name, X, y in chosen_sets(options):
        copies = 1
        while copies * len(X) <= options.rows:
            rows, labels = np.tile(X, (copies, 1)), np.tile(y, copies)
            taken, errors = run_ours(rows, labels, options.depth, nodes, options.limit)
            print(f"{name:40s} {len(rows):9d} {taken:9.4f} {1e6 * taken / len(rows):9.2f}"
                  f"{'  stopped' if errors is None else ''}", flush=True)
            copies *= 2


def compare_path(options, nodes):
    """Print the time for all node budgets against that for the largest, and for the hardest."""
    print(f"{'data set':40s} {'largest':>9s} {'hardest':>9s} {'all':>9s} {'ratio':>7s} "
          f"{'ratio':>7s}")
    taken = []
    for name, X, y in chosen_sets(options):
        each = [min(run_ours(X, y, options.depth, most, options.limit)[0]
                    for _ in range(options.rounds)) for most in range(1, nodes + 1)]
        together = min(run_ours(X, y, options.depth, nodes, options.limit, every=True)[0]
                       for _ in range(options.rounds))
        taken.append((each[-1], max(each), together))
        print(f"{name:40s} {each[-1]:9.4f} {max(each):9.4f} {together:9.4f} "
              f"{together / each[-1]:7.2f} {together / max(each):7.2f}", flush=True)
    largest, hardest, together = np.array(taken).T
    for what, alone in (("the largest", largest), ("the hardest", hardest)):
        mean = np.exp(np.mean(np.log(together / alone)))
        print(f"all budgets, by {what} alone: geometric mean {mean:.2f}, of the sums "
              f"{together.sum() / alone.sum():.2f}")


def compare_missing(options, nodes):
    """Print time and errors with missing values, and with the same filled in and indicated."""
    print(f"{'data set':40s} {'learned':>9s} {'indicator':>9s} {'ratio':>7s} {'errors':>8s} "
          f"{'errors':>8s}")
    ratios = []
    for name, X, y in chosen_sets(options):
        hole = np.random.default_rng(0).random(X.shape) < options.missing
        holed = np.where(hole, np.nan, X)
        frequent = (np.nanmean(holed, axis=0) > 0.5).astype(float)
        forms = [holed, np.hstack([np.where(hole, frequent, X), hole]).astype(float)]
        runs = [[run_ours(rows, y, options.depth, nodes, options.limit) for rows in forms]
                for _ in range(options.rounds)]
        learned, indicated = (min(run[k][0] for run in runs) for k in range(2))
        ratios.append(learned / indicated)
        errors = [np.nan if found is None else found for _, found in runs[0]]
        print(f"{name:40s} {learned:9.4f} {indicated:9.4f} {ratios[-1]:7.2f} "
              f"{errors[0]:8.0f} {errors[1]:8.0f}", flush=True)
    print(f"learned by indicator: geometric mean {np.exp(np.mean(np.log(ratios))):.2f}")


def chosen_sets(options):
    """Yield the data sets whose names contain one of those asked for."""
    for name, X, y in load_sets():
        if wanted(name, options):
            yield name, X, y


def compare_peer(options, nodes, peer):
    """Print the time of ours and of the peer, in turns, and the means of their ratios."""
    table = Comparison("errors" if nodes == 2 ** options.depth - 1 else f"errors, {nodes} nodes",
                       options.depth, options.peer, options)
    limits = options.depth, nodes, options.limit
    for name, X, y in chosen_sets(options):
        for mark, rows, labels in forms(X, y, options.seeds):
            bits, narrow = rows.astype(np.uint8), rows.astype(np.int32)
            run_ours(bits, labels, 2, 3, options.limit)            # loads the kernels
            table.add(name + mark, rows.shape, partial(run_ours, bits, labels, *limits),
                      partial(peer, narrow, labels, *limits))
    table.summary()


def main():
    """Run the comparison and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, nargs="+", default=[4])
    parser.add_argument("--nodes", type=int, help="feature nodes (default: full tree)")
    parser.add_argument("--peer", default="STreeD", help="STreeD, DL8.5, GOSDT or command:PATH")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each run")
    add_options(parser)
    parser.add_argument("--threads", type=int, help="compare one thread with so many")
    parser.add_argument("--rows", type=int, help="repeat the rows up to so many")
    parser.add_argument("--path", action="store_true", help="compare all budgets with the largest")
    parser.add_argument("--missing", type=float, help="share of values that are missing")
    parser.add_argument("--memory", action="store_true", help="compare the growth of memory")
    parser.add_argument("--first", action="store_true", help="time the first fit of a process")
    parser.add_argument("--grown", help=argparse.SUPPRESS)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    peers = {"STreeD": run_streed, "DL8.5": run_dl85, "GOSDT": run_gosdt}
    peer = peers.get(options.peer) or partial(run_command, options.peer.removeprefix("command:"))
    if options.nodes and options.peer in ("DL8.5", "GOSDT"):
        parser.error(f"{options.peer} cannot limit feature nodes; leave out --nodes")
    if options.once:
        print_first()
        return
    if options.first:
        print(f"{processor()}; CPU seconds")
        measure_first(options)
        return
    for depth in options.depth:
        options.depth = depth
        nodes = options.nodes or 2 ** options.depth - 1
        if options.grown:
            print_growth(options, nodes, peers)
            continue
        run_ours(np.eye(4), np.array([0, 1, 0, 1]), 2, 3, options.limit)   # loads the kernels
        if options.memory:
            measure_memory(options, nodes)
        elif options.threads:
            compare_threads(options, nodes)
        elif options.rows:
            compare_rows(options, nodes)
        elif options.missing:
            compare_missing(options, nodes)
        elif options.path:
            compare_path(options, nodes)
        else:
            compare_peer(options, nodes, peer)


if __name__ == "__main__":
    main()
