"""One contract of time: no public method outlasts its limit, or Ctrl-C, by more than a second."""

import inspect
from itertools import product

import pytest
from scale import SCALE
from time_contract import ALLOWED, CALLS, Call, estimators, overrun, solving_methods

KINDS = "binary", "numeric"
ENDED = {"time_limit", "memory_limit", "interrupted", "KeyboardInterrupt", "TimeoutError",
         "MemoryError"}


def test_every_public_method_that_solves_is_called():
    assert {(call.estimator, call.method) for call in CALLS} == solving_methods()
    limited = {call.estimator for call in CALLS if call.limited}
    assert limited == {name for name, kind in estimators().items()
                       if "time_limit" in inspect.signature(kind).parameters}


def tries():
    """Yield what is tried with each call: all on the larger scale."""
    seen = set()
    for number, call in enumerate(CALLS):
        first = (call.estimator, call.method) not in seen
        seen.add((call.estimator, call.method))
        for kind, interrupt in product(KINDS, (False, True)):
            chosen = KINDS.index(kind) == (number + interrupt) % 2 and (first or not interrupt)
            if (call.limited or interrupt) and (chosen or not call.limited or SCALE > 1):
                yield pytest.param(call, kind, interrupt, id=f"{number}-{call}-{kind}-"
                                   f"{'ctrl-c' if interrupt else 'limit'}")


@pytest.mark.parametrize("call, kind, interrupt", list(tries()))
def test_a_call_ends(call, kind, interrupt):
    status, seconds = overrun(call, kind, 0.2, interrupt)
    assert seconds <= ALLOWED
    assert call.quick or status in ENDED


@pytest.mark.parametrize("interrupt", [False, True])
@pytest.mark.parametrize("call", [
    Call("RestrictedTreeClassifier"), Call("ColumnGenerationClassifier"),
    *(call for call in CALLS if call.estimator in (
        "ConstrainedTreeRegressor", "OptimalConstrainedTreeRegressor"))], ids=str)
def test_starts_and_fallbacks_are_under_the_clock(call, interrupt):
    status, seconds = overrun(call, "large", 0.05, interrupt)
    assert seconds <= ALLOWED and status in ENDED
