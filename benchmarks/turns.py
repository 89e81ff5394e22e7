"""What the comparisons share: public fits in turns, CPU seconds, and a mean for each size class.

A problem is tried as it is packaged ("as is") and varied by a seed ("varied"): a bootstrap of the
rows, 2 % of the labels another one, the columns in another order.  What is tuned to the packaged
sets alone shows there.

With ``--record FILE`` each problem is a line of a table (``data/speed.csv`` is shown in the book),
which only code without uncommitted changes may write.  A run replaces the lines of its problems.
"""

import csv
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np

from odtbook.experiments.runner import code_state

CLASSES = ((0.0, "less than 0.01 s"), (0.01, "0.01 to 0.1 s"), (0.1, "0.1 to 1 s"),
           (1.0, "1 s and more"))     # of the peer
FLIPPED = 0.02
PATIENCE = 2.0     # seconds of the peer after which it is not run again
PACKAGES = {"STreeD": "pystreed", "ConTree": "pycontree", "ArborEnum": "arborenum",
            "DL8.5": "pydl8.5", "GOSDT": "gosdt", "FastSmallTree": "imodels"}
COLUMNS = ("question depth dataset rows columns objective ours theirs stopped peer date commit "
           "processor").split()


def processor():
    """Return the name of the processor and its widest vectors."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    name = next((line.split(":")[1].strip() for line in text.splitlines()
                 if line.startswith("model name")), "unknown processor")
    return f"{name}, {'AVX-512' if 'avx512_bitalg' in text else 'no AVX-512 popcount'}"


def varied(X, y, seed):
    """Return a seeded variation of a data set; labels are 0, 1, ..., targets any numbers."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(len(y), size=len(y))
    X, y = np.ascontiguousarray(X[rows][:, rng.permutation(X.shape[1])]), y[rows]
    moved = np.flatnonzero(rng.random(len(y)) < FLIPPED)
    y[moved] = rng.choice(y, size=len(moved))
    return X, y if y.dtype.kind in "fV" else np.unique(y, return_inverse=True)[1]


def timed(fit, *problem):
    """Return the CPU seconds of a call, and what it returns."""
    began = time.process_time()
    result = fit(*problem)
    return time.process_time() - began, result


class Comparison:
    """The rows of a table and the ratios of both programs' times, by size class of the peer."""

    def __init__(self, question, depth, peer, options, slack=1e-6):
        """Take the options of the command; ``peer`` is a package, or what its fits are called.

        Its objective may be worse by the share ``slack`` and still counts as the optimum.
        """
        self.question, self.depth, self.peer = question, depth, peer
        self.rounds, self.record, self.ratios = options.rounds, options.record, []
        self.slack = slack
        code = code_state()
        if self.record and code["dirty"]:
            raise SystemExit("the code has uncommitted changes: commit them before a record")
        self.made_by = [f"{peer} {version(PACKAGES[peer])}" if peer in PACKAGES else peer,
                        str(date.today()), code["commit"], processor()]
        print(f"{question}, depth {depth}; {processor()}; CPU seconds")
        print(f"{'data set':44s} {'rows':>7s} {'cols':>5s} {'objective':>10s} {'ours':>9s} "
              f"{peer[:9]:>9s} {'ratio':>7s}", flush=True)

    def add(self, name, shape, ours, theirs):
        """Run both in turns and print a line; each returns CPU seconds and a proved objective.

        The objective is None where a limit ended the run, and NaN where the program does not tell
        it.  Asserted is that ours is no worse; where it is better the peer's proof was wrong, as
        our tree shows, and the problem is in no mean.  The smallest time of each counts.
        """
        runs, spent = [], 0.0
        while len(runs) < self.rounds and (not runs or spent < PATIENCE):
            runs.append((ours(), theirs()))
            spent += runs[-1][1][0]
            (_, a), (_, b) = runs[-1]
            stopped = [who for who, found in (("ours", a), (self.peer, b)) if found is None]
            if not stopped and not np.isnan(b):
                assert a <= b * (1 + 1e-6) + 1e-6, f"{name}: {a} against {b}"
                if b > a * (1 + self.slack) + 1e-6:    # our tree shows that the peer's is none
                    stopped = [f"{self.peer} is wrong"]
        a, b = (min(run[k][0] for run in runs) for k in range(2))
        if not stopped:
            self.ratios.append((b, b / a))
        shown = runs[0][0][1] if runs[0][0][1] is not None else np.nan
        print(f"{name:44s} {shape[0]:7d} {shape[1]:5d} {shown:10.6g} {a:9.4f} {b:9.4f} "
              f"{b / a:7.1f}{'  ' + ', '.join(stopped) if stopped else ''}", flush=True)
        if self.record:
            self._write([self.question, self.depth, name, *shape, f"{shown:.10g}", f"{a:.6f}",
                         f"{b:.6f}", "+".join(stopped)])

    def _write(self, line):
        """Write a line of the record, in place of an earlier one of the same problem."""
        path = Path(self.record)
        lines = []
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                lines = list(csv.reader(file))[1:]
        line = [*map(str, line), *self.made_by]
        same = COLUMNS.index("rows"), COLUMNS.index("peer")
        lines = [other for other in lines if other[:same[0]] != line[:same[0]]
                 or other[same[1]].split()[0] != self.peer]
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines, line])

    def summary(self, shortest=0.0):
        """Print geometric mean and smallest ratio of each size class and of all."""
        ends = [least for least, _ in CLASSES[1:]] + [np.inf]
        parts = [(label, low, high) for (low, label), high in zip(CLASSES, ends, strict=True)]
        for label, low, high in [*parts, ("all sets", shortest, np.inf)]:
            ratios = [ratio for seconds, ratio in self.ratios if low <= seconds < high]
            if ratios:
                print(f"{self.peer}, {label}: {len(ratios)} sets, geometric mean "
                      f"{np.exp(np.mean(np.log(ratios))):.1f}, smallest {min(ratios):.2f}",
                      flush=True)


def forms(X, y, seeds):
    """Yield ``(mark, X, y)`` of a problem as it is, and of its variation by each seed above 0."""
    for seed in seeds:
        yield ("", X, y) if seed == 0 else (f" ~{seed}", *varied(X, y, seed))


def add_options(parser, rounds=3):
    """Add the options that all comparisons have."""
    parser.add_argument("--sets", nargs="+", help="parts of names (default: all sets)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1],
                        help="0: the packaged set; others: variations of it")
    parser.add_argument("--rounds", type=int, default=rounds,
                        help="runs of each, fewer where the peer takes long")
    parser.add_argument("--record", metavar="FILE", help="write each problem into this table")


def wanted(name, options):
    """Tell whether a data set is among those asked for."""
    return not options.sets or any(part in name for part in options.sets)
