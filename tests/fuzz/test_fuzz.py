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
from collections import Counter
from datetime import date
from os import environ
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from fuzz.drawing import Draw, Nothing, shrink
from fuzz.judging import ALWAYS, METHODS, own_methods
from fuzz.registry import FUZZ
from fuzz.running import agree, explained, kind_of, outcome, seeds_of
from scale import SCALE

import odtbook.formulations
import odtlib
from odtlib import binarize
from odtlib.constrained import sets
from odtlib.murtree.extensions.good_trees import GoodTrees

SEED = int(environ.get("ODT_FUZZ_SEED", date.today().strftime("%Y%m%d")))
FITS = 25 if SCALE == 1 else 1500      # for each unit of weight: a minute, an hour
# Drawn for people, passed on to scikit-learn, and the code of a set for kernels that project.
NOT_FUZZED = {"plot", "set_fit_request", "set_score_request", "encode"}


@pytest.mark.parametrize("name", FUZZ)
def test_agrees_with_the_reference(name):
    agree(name, round(FUZZ[name][1] * FITS), SEED)


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
