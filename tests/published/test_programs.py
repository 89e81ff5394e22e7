"""The programs of pricing: what a solver claims is what its solution costs."""

import numpy as np
import pytest

from odtbook.formulations.model import Model
from odtbook.published import programs


def one_of_two():
    """Minimise -x - 2y where at most one of them is 1."""
    model = Model("one of two")
    x = model.add_variables("x", 2, cost=np.array([-1.0, -2.0]), upper=1.0,
                            kind="integer")
    model.add_rows("at most one", 1, [0, 0], x, [1.0, 1.0], upper=1.0)
    return model


@pytest.mark.parametrize("solver", ["milp", "cp-sat"])
@pytest.mark.parametrize("start", [None, [1.0, np.nan]])
def test_programs_are_solved(solver, start):
    found, bound = programs.solutions(one_of_two(), solver, start=start and np.array(start))
    assert found[-1].tolist() == [0, 1] and bound == pytest.approx(-2)


def test_a_claim_below_the_cost_of_its_solution_is_not_taken(monkeypatch):
    """HiGHS 1.16 makes such claims of some programs that it starts from a part of a solution."""
    run, starts = programs.run, []

    def lying(engine, arrays, options, clock, in_subprocess, receive):
        def tell(message):
            if message[0] == "done" and options["start"] is not None:
                message = (*message[:2], -9.0, -9.0, *message[4:])
            receive(message)

        starts.append(options["start"])
        return run(engine, arrays, options, clock, in_subprocess, tell)

    monkeypatch.setattr(programs, "run", lying)
    found, bound = programs.solutions(one_of_two(), "milp", start=np.array([1.0, np.nan]))
    assert found[-1].tolist() == [0, 1] and bound == pytest.approx(-2)
    assert len(starts) == 2 and starts[1] is None
