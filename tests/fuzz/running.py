"""Fits of what is registered: one of them, why it disagrees, and many with the same seeds."""

import traceback
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from fuzz import (  # noqa: F401
    feasible,
    limits,
    parts,
    programs,
    questions,
    regressors,
    searches,
)
from fuzz.drawing import Draw, Nothing, shrink
from fuzz.judging import Disagreement
from fuzz.registry import FUZZ

# What is said of the data, not of a fault: there is nothing to compare.
REFUSED = ("every class has", "rows have weight", "more than the 4194304 that fit",
           "CP-SAT counts in whole", "CP-SAT needs whole", "with memory_limit")


def outcome(name, draw):
    """Do one fit; return its case, "agree", "refused" or "disagree", and why."""
    case = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case = FUZZ[name][0](draw)
            case.run(draw)
    except Nothing:
        return None, "nothing", ""
    except Disagreement as found:
        return case, "disagree", str(found)
    except Exception as error:
        if isinstance(error, ValueError) and any(text in str(error) for text in REFUSED):
            return case, "refused", ""
        where = traceback.extract_tb(error.__traceback__)[-1]
        return case, "disagree", (f"{type(error).__name__}: {' '.join(str(error).split())[:300]} "
                                  f"({Path(where.filename).name}:{where.lineno})")
    return case, "agree", ""


def kind_of(why):
    """Return the words of a disagreement without its numbers, to tell two kinds apart."""
    return "".join(c for c in why if c.isalpha() or c == " ")[:40]


def explained(name, seed, why):
    """Return what a disagreement is, on the simplest problem that shows it."""
    kind = kind_of(why)

    def fails(draw):
        _, what, found = outcome(name, draw)
        return what == "disagree" and kind_of(found) == kind

    simpler = shrink(fails, seed)
    case, _, why = outcome(name, Draw(seed, simpler))
    lines = [f"{name}, seed {seed}: {why}", f"model = {getattr(case, 'model', None)!r}"]
    if case is None:
        pass
    elif (problem := getattr(case, "problem", None)) is not None:
        X = problem.X if getattr(case, "frame", None) is None else case.frame.to_dict("list")
        lines += [f"X = {X if isinstance(X, dict) else X.tolist()}", f"y = {problem.y.tolist()}",
                  f"weight = {None if problem.weight is None else problem.weight.tolist()}"]
        lines += [f"{key} = {value.tolist()}" for key, value in case.fit.items()]
    else:
        lines += [f"{key} = {value!r}" for key, value in vars(case).items() if key != "model"]
    repeat = f"ODT_FUZZ_SEED={seed} python -m pytest tests/fuzz -k '[{name}]'"
    return "\n".join([*lines, f"repeat with {repeat}"])


def seeds_of(name, seed, fits):
    """Return the seeds of the fits of one method: the given one first."""
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return [seed, *random.integers(0, 2**62, max(0, fits - 1)).tolist()]


def agree(name, fits, seed=0):
    """Do the fits of one method that belong to a seed; fail at the first that disagrees.

    Returns the status of each fit that was compared, None where there is no report.
    """
    statuses = []
    for number in seeds_of(name, seed, fits):
        case, what, why = outcome(name, Draw(number))
        if what == "disagree":
            pytest.fail(explained(name, number, why), pytrace=False)
        if what == "agree":
            statuses.append(getattr(getattr(case.model, "report_", None), "status", None))
    return statuses
