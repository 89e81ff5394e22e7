"""Compare MurTree with STreeD on the same arrays: CPU seconds, alternating runs, one thread.

    ODTLIB_DATA=... python benchmarks/murtree.py --depth 4 [--peer streed] [--sets DL/anneal ...]

Ours is timed from validated arrays to the checked tree (packing included, compilation apart), with
a time limit armed; the peer from the same arrays to the end of its fit.  A data set is left out of
the mean where the peer takes less than 0.1 s, or is stopped by the limit (of wall time).
``--peer command:PATH`` times an executable that reads ``class feature feature ...`` lines:
``PATH -file FILE -max-depth D -max-num-nodes N -time SECONDS``.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from odtlib import MurTreeClassifier

SHORTEST = 0.1


def load_sets(folder):
    """Yield ``(name, X, y)`` for every set of the folder ``murtree_binary``."""
    for path in sorted((Path(folder) / "murtree_binary").glob("*.npz")):
        if path.stem == "derived":
            continue
        table = np.load(path)
        for key in sorted(table.files):
            if key.endswith(".nf"):
                name = key[:-3]
                X = np.unpackbits(table[name + ".X"], axis=1)[:, :int(table[key])]
                y = np.unique(table[name + ".y"], return_inverse=True)[1].astype(np.int64)
                yield f"{path.stem}/{name}", np.ascontiguousarray(X, dtype=np.float64), y


def run_ours(X, y, depth, nodes, limit):
    model = MurTreeClassifier(depth, nodes, time_limit=limit)
    model.classes_ = np.unique(y)
    started = time.process_time()
    _, report = model._solve(X, y, None)
    taken = time.process_time() - started
    return taken, report.status == "optimal", report.objective


def run_streed(X, y, depth, nodes, limit):
    from pystreed import STreeDClassifier
    model = STreeDClassifier(max_depth=depth, max_num_nodes=nodes, time_limit=limit)
    X, y = X.astype(np.int32), y.astype(np.int32)
    started = time.process_time()
    try:
        model.fit(X, y)
    except RuntimeError:                           # no tree within the limit
        return time.process_time() - started, False, None
    taken = time.process_time() - started
    return taken, model.fit_result.is_optimal(), float((model.predict(X) != y).sum())


def run_dl85(X, y, depth, nodes, limit):
    from pydl85 import DL85Classifier
    model = DL85Classifier(max_depth=depth, time_limit=int(limit))
    started = time.process_time()
    model.fit(X.astype(np.int32), y)
    return time.process_time() - started, not model.timeout_, float(model.error_)


def run_command(path):
    def run(X, y, depth, nodes, limit):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            np.savetxt(file, np.column_stack([y, X]).astype(int), fmt="%d")
            file.flush()
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([path, "-file", file.name, "-max-depth", str(depth), "-max-num-nodes",
                            str(nodes), "-time", str(limit)], capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return taken, taken < limit, None
    return run


def processor():
    """Return the name of the processor and its widest vectors."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    name = next((line.split(":")[1].strip() for line in text.splitlines()
                 if line.startswith("model name")), "unknown processor")
    return f"{name}, {'AVX-512' if 'avx512_bitalg' in text else 'no AVX-512 popcount'}"


def main():
    """Run the comparison and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--nodes", type=int, help="feature nodes (default: full tree)")
    parser.add_argument("--peer", default="streed", help="streed, dl85 or command:PATH")
    parser.add_argument("--sets", nargs="*", help="parts of names (default: all sets)")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each run")
    parser.add_argument("--rounds", type=int, default=3, help="runs of ours and of short peers")
    options = parser.parse_args()
    nodes = options.nodes or 2 ** options.depth - 1
    peers = {"streed": run_streed, "dl85": run_dl85}
    peer = peers.get(options.peer) or run_command(options.peer.removeprefix("command:"))
    print(f"{processor()}; depth {options.depth}, {nodes} feature nodes; CPU seconds")
    print(f"{'data set':40s} {'rows':>6s} {'cols':>5s} {'ours':>9s} {options.peer[:9]:>9s} "
          f"{'ratio':>7s}  errors")
    logs = []
    for name, X, y in load_sets(os.environ["ODTLIB_DATA"]):
        if options.sets and not any(part in name for part in options.sets):
            continue
        run_ours(X, y, 1, 1, options.limit)        # compiles or loads the kernels
        theirs, peer_done, their_errors = peer(X, y, options.depth, nodes, options.limit)
        ours, done, errors = run_ours(X, y, options.depth, nodes, options.limit)
        for _ in range(options.rounds - 1):
            ours = min(ours, run_ours(X, y, options.depth, nodes, options.limit)[0])
            if theirs < 2.0:
                theirs = min(theirs, peer(X, y, options.depth, nodes, options.limit)[0])
        note = ""
        if done and peer_done and their_errors is not None and errors != their_errors:
            note = "  DIFFERENT OPTIMA"
        elif not peer_done or not done:
            note = f"  stopped: {'the peer' if done else 'ours'}"
        ratio = theirs / ours
        if theirs >= SHORTEST and done and peer_done:
            logs.append(np.log(ratio))
        print(f"{name:40s} {X.shape[0]:6d} {X.shape[1]:5d} {ours:9.4f} {theirs:9.3f} "
              f"{ratio:7.1f}  {errors:g}{note}", flush=True)
    if logs:
        print(f"geometric mean over {len(logs)} sets of {SHORTEST} s or more: "
              f"1/{np.exp(np.mean(logs)):.1f}; slowest set 1/{np.exp(min(logs)):.1f}")


if __name__ == "__main__":
    main()
