"""One fit: its clock, slices, incumbent, bound and trace, what ended it, and its report.

Every method tells a :class:`Fit` which trees and bounds it finds, and lets it run what may take
long.  Limits and Ctrl-C are handled here and nowhere else, and here reports are made.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress

import numpy as np

from odtlib.report import Clock, SolveReport, TimeUp
from odtlib.tolerance import ROUNDING

# Units of work of the first slice of a kernel, and seconds that a slice may take
FIRST_SLICE, LONGEST_SLICE = 2e5, 0.1
MOST_WORK = 2.0**60
FINISHING = 0.4         # seconds after a limit, or Ctrl-C, until the best tree is ready
STOPPED = "time_limit", "memory_limit", "interrupted"


class TooLarge(ValueError):
    """Something needs more memory than is allowed; raised before it is built."""


class Pace:
    """Say how much work a kernel does until Python looks at the clock and hears of a Ctrl-C.

    Each kernel counts work in a unit of its own.  The first slice is short, and every other one as
    long as it may be at the speed of the one before.

    Parameters
    ----------
    first : float, optional
        Units of work of the first slice (default: ``FIRST_SLICE``).
    """

    def __init__(self, first=None):
        self.work = FIRST_SLICE if first is None else first

    def slice(self, step, early=bool, most=MOST_WORK):
        """Return ``step(units of work)``, ``most`` at the most.

        ``early`` tells from the answer whether less work was done.
        """
        begin = time.perf_counter()
        answer = step(int(min(self.work, most)))
        taken = max(time.perf_counter() - begin, 1e-6)
        if self.work <= most and not early(answer):
            self.work *= min(4.0, 0.5 * LONGEST_SLICE / taken)
            self.work = min(max(1.0, self.work), MOST_WORK)
        return answer


class Fit:
    """Keep the best tree, a bound and the trace of a fit, and stop it at its limits.

    Parameters
    ----------
    clock : Clock
        Started when the fit began.
    judge : callable, optional
        ``judge(tree)`` returns the objective of a tree.
    scale : float, default=0.0
        The largest cost of a tree, as in :class:`~odtlib.SolveReport`.
    start : str, optional
        What the report says of the start.
    bound : float, default=0.0
        What no tree costs less than, as long as nothing else is known.
    verbose : int, default=0
        Whether each line of the trace is printed.

    Attributes
    ----------
    objective : float
        That of the best tree; infinity if there is none yet.
    ended : str
        How the fit ended, one of :data:`odtlib.report.STATUSES`; "heuristic" until it is known.
    proof : str
        What the tree is optimal for, should it prove to be.
    counters : dict
        What the report counts.
    trace : list of (float, float, float, str)
        Seconds, incumbent, bound and event.
    """

    def __init__(self, clock, judge=None, *, scale=0.0, start=None, bound=0.0, verbose=0):
        self.clock, self.judge, self.scale, self.start = clock, judge, scale, start
        self.verbose, self.bound = verbose, bound
        self.floor = 0.0                # that of any tree, whatever its columns
        self._tree, self.objective, self.ended = None, np.inf, "heuristic"
        self.proof, self.counters, self.trace = "", {}, []

    @property
    def tree(self):
        """The best tree; None if there is none yet."""
        if callable(self._tree):
            self._tree = self._tree()
        return self._tree

    @property
    def stopped(self):
        """Whether a limit or Ctrl-C has ended the fit."""
        return self.ended in STOPPED

    def offer(self, tree, objective=None, event=None, equal=False):
        """Keep a tree if it is better than the best so far; tell whether it is.

        ``tree`` may be a function that makes it once it is asked for; its ``objective`` is then
        needed.  An ``event`` is noted in the trace where the tree is kept.  With ``equal`` one that
        is as good is kept, too.
        """
        objective = self.judge(tree) if objective is None else objective
        if not (objective < self.objective or (equal and objective == self.objective)):
            return False
        self._tree, self.objective = tree, objective
        if event is not None:
            self.note(event)
        return True

    def learn(self, bound):
        """Take note that no tree costs less than a bound."""
        self.bound = max(self.bound, bound)

    def finish(self):
        """Say that no tree is better than the best one."""
        self.ended, self.bound = "optimal", self.objective

    def note(self, event, objective=None, bound=None, seconds=None):
        """Add a line to the trace, of what is known now unless it is given; print it if asked.

        Not printed are lines of the event "bound", of which a solver can send hundreds.
        """
        seconds = self.clock.elapsed if seconds is None else seconds
        objective = self.objective if objective is None else objective
        bound = min(self.bound if bound is None else bound, objective)
        self.trace.append((seconds, objective, bound, event))
        if self.verbose and event != "bound":
            with suppress(OSError, ValueError):     # a full or closed output ends no search
                print(f"{seconds:8.1f} s  objective {objective:g}  bound {bound:g}  {event}",
                      flush=True)

    @contextmanager
    def stops(self):
        """End what is done within at a limit or a Ctrl-C, and keep which one it was."""
        try:
            yield
            return
        except TimeUp:
            ended = "time_limit"
        except (TooLarge, MemoryError):
            ended = "memory_limit"
        except KeyboardInterrupt:
            ended = "interrupted"
        if self.ended != "optimal":         # what is complete was not stopped
            self.ended = ended

    def work(self, search):
        """Search slice by slice to the end; a limit or a Ctrl-C is raised.

        ``search.step(work)`` searches for about so much work, ``search.tell(fit)`` offers the best
        tree that is known and tells the bound, and ``search.done`` says when to end.
        """
        pace = Pace()
        while not search.done:
            self.clock.check()
            try:
                pace.slice(search.step)
            finally:
                search.tell(self)

    def finishing(self):
        """Return the clock for the trees that quick methods give after a limit or a Ctrl-C."""
        return Clock(FINISHING)

    def report(self):
        """Return the report of the best tree."""
        bound = self.bound
        if self.proof and self.objective - bound <= ROUNDING * self.scale:
            bound = self.objective           # they are sums of the same numbers
        report = SolveReport(self.ended, self.objective, bound, self.clock.elapsed,
                             start=self.start, counters=self.counters, trace=self.trace,
                             proof=self.proof, compile_seconds=self.clock.left_out,
                             scale=self.scale)
        report._floor = self.floor
        return report

    def outcome(self):
        """Return the best tree, judged once more, and its report."""
        self.objective = self.judge(self.tree)
        if self.ended == "optimal":
            self.bound = self.objective
        return self.tree, self.report()
