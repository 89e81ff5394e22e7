"""Ctrl-C at calls drawn from all that a public method makes, those of other libraries included."""

import random
import time
import warnings

import numpy as np
import pytest
from interrupt import calls_within, press_at
from scale import SCALE
from sklearn import get_config
from time_contract import CALLS, at_depth, estimators, further, several_targets

DRAWN = 25 * SCALE              # kinds of calls of each method
SLOW = 2.0                      # seconds of calls that are enough for a method
pressed = set()                 # by the methods before


def question(call):
    """Return a function that asks the question of a call for a small table."""
    random = np.random.default_rng(0)
    X = random.integers(0, 3, (24, 3)).astype(float)
    target = X[:, :2].sum(axis=1) + random.normal(size=24)
    if call.estimator.endswith("Classifier"):
        y = (target > np.median(target)).astype(int)
    elif several_targets(call.estimator):
        y = np.abs(target[:, None] + random.normal(size=(24, 3)))
    else:
        y = target
    if call.estimator == "SurvivalTree":
        y = np.column_stack([random.random(24) < 0.7, np.exp(-target)])
    kind, call = estimators()[call.estimator], at_depth(call, 2)
    few = {"random_state": 0, "max_restarts": 2, "n_estimators": 2, "cv": 2}
    names = kind().get_params()
    parameters = {**call.parameters, **{name: few[name] for name in few if name in names}}
    arguments = further(call, X, y)

    def ask():
        model = kind(**parameters)
        if call.method == "certificate":
            model.set_params(max_depth=1).fit(X, y).set_params(max_depth=2)
        getattr(model, call.method)(X, y, **arguments)
        return getattr(model, "report_", None)

    return ask


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_ctrl_c_is_never_another_exception(call):
    ask, config = question(call), get_config()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = ask()                                  # compiles
        calls = calls_within(ask)
        new = [kind for kind in calls if kind not in pressed]
        begun = time.perf_counter()
        for kind in random.Random(0).sample(new, min(DRAWN, len(new))):
            if time.perf_counter() - begun > SLOW * SCALE:
                break
            pressed.add(kind)
            for number in {1, calls[kind]}:
                found = press_at(ask, kind, number)
                where = f"{kind[0].co_filename}:{kind[0].co_firstlineno} {kind[0].co_name}"
                assert get_config() == config, f"Ctrl-C at {where} changed scikit-learn"
                if found is None or isinstance(found, KeyboardInterrupt):
                    continue
                assert not isinstance(found, BaseException), f"{found!r} of Ctrl-C at {where}"
                assert found.status in ("interrupted", "optimal"), where
                if call.method == "fit" and report.status == "optimal":    # not of a smaller tree
                    assert found.lower_bound <= report.objective * (1 + 1e-9), where
        after = ask()
    if report is not None:
        assert (after.status, after.objective) == (report.status, report.objective)


def test_an_error_after_a_ctrl_c_that_was_handled_stays_an_error():
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(ValueError, match="row 0, column 0 of X holds infinity"):
            estimators()["MurTreeClassifier"]().fit([[np.inf], [1.0]], [0, 1])
