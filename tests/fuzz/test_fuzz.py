"""Random fits of every public method against slow references, a minute of them each day.

    python -m pytest tests/fuzz                                 # today's seed
    ODT_FUZZ_SEED=7 python -m pytest tests/fuzz -k pareto_front # another one, one method
    python tests/fuzz/test_fuzz.py --fits 20000 --seed 7        # a table of counts

A fit that disagrees is made simpler (rows, columns, weights, parameters) as long as it disagrees,
and printed with what repeats it.
"""

import argparse
import sys
import time
import traceback
import warnings
import zlib
from collections import Counter
from datetime import date
from os import environ
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

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
from fuzz.judging import ALWAYS, METHODS, Disagreement, own_methods
from fuzz.registry import FUZZ
from scale import SCALE

import odtbook.formulations
import odtlib
from odtlib import binarize
from odtlib.constrained import sets
from odtlib.murtree.extensions.good_trees import GoodTrees

SEED = int(environ.get("ODT_FUZZ_SEED", date.today().strftime("%Y%m%d")))
FITS = 25 if SCALE == 1 else 1500      # for each unit of weight: a minute, an hour
# What is said of the data, not of a fault: there is nothing to compare.
REFUSED = ("every class has", "rows have weight", "more than the 4194304 that fit",
           "CP-SAT counts in whole", "CP-SAT needs whole", "with memory_limit")
# Drawn for people, passed on to scikit-learn, and the code of a set for kernels that project.
NOT_FUZZED = {"plot", "set_fit_request", "set_score_request", "encode"}


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


@pytest.mark.parametrize("name", FUZZ)
def test_agrees_with_the_reference(name):
    for seed in seeds_of(name, SEED, round(FUZZ[name][1] * FITS)):
        what, why = outcome(name, Draw(seed))[1:]
        if what == "disagree":
            pytest.fail(explained(name, seed, why), pytrace=False)


def test_every_public_method_is_fuzzed():
    named = {method for _, _, methods in FUZZ.values() for method in methods}
    kinds = [kind for home in (odtlib, odtbook.formulations) for name in home.__all__
             if isinstance(kind := getattr(home, name), type)]
    kinds += [GoodTrees, *(kind for home in (binarize, sets) for name, kind in vars(home).items()
                           if isinstance(kind, type) and own_methods(kind)
                           and kind.__module__.startswith(home.__name__) and name[0] != "_")]
    missing = []
    for kind in kinds:
        for method in own_methods(kind) - NOT_FUZZED:
            called = {f"{base.__name__}.{method}" for base in kind.__mro__} & named
            if not (called or hasattr(kind, "fit") and (
                    method in METHODS or method in ALWAYS and method != "fit")):
                missing.append(f"{kind.__name__}.{method}")
    assert not missing, f"no fuzz calls {', '.join(sorted(missing))}"


def test_a_disagreement_is_shrunk_and_repeats():
    def fails(draw):
        try:
            problem = draw.classified(rows=12)
        except Nothing:
            return False
        return len(np.unique(problem.y)) > 1 and draw.pick(1, 2, 3) > 0

    seed = next(seed for seed in range(100) if fails(Draw(seed)))
    problem = Draw(seed, shrink(fails, seed)).classified(rows=12)
    assert problem.X.shape == (2, 1) and problem.weight is None
    assert seeds_of("trees", 3, 5) == seeds_of("trees", 3, 5)


def main():
    """Do many fits in this process, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", nargs="+", choices=FUZZ, default=list(FUZZ), metavar="NAME")
    options = parser.parse_args()
    counts, spent, found = Counter(), Counter(), Counter()
    whole = sum(FUZZ[name][1] for name in options.only)
    print(f"| method | agree | refused | disagree | CPU seconds |\n|{' --- |' * 5}")
    for name in options.only:
        fits = max(1, round(options.fits * FUZZ[name][1] / whole))
        for seed in seeds_of(name, options.seed, fits):
            began = time.process_time()
            _, what, why = outcome(name, Draw(seed))
            spent[name] += time.process_time() - began
            counts[name, what] += 1
            if what == "disagree":
                found[name, kind_of(why)] += 1
                if found[name, kind_of(why)] == 1:
                    print(explained(name, seed, why), file=sys.stderr)
        print(f"| {name} | {counts[name, 'agree']} | {counts[name, 'refused']} | "
              f"{counts[name, 'disagree']} | {spent[name]:.1f} |", flush=True)
    total = Counter()
    for (_, what), n in counts.items():
        total[what] += n
    print(f"\nseed {options.seed}: {total['agree']:,} agree, {total['refused']} refused, "
          f"{total['disagree']} disagree, {sum(spent.values()):.0f} CPU seconds")
    for (name, kind), n in found.items():
        print(f"  {name}: {n} x {kind}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
