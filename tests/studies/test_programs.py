"""Ten minutes of BinOCT and OCT: no record, some, all, and some of a busy machine."""

import math

import numpy as np
import pandas as pd
import pytest

from odtbook.experiments import Experiment, undisturbed, unrecorded
from odtbook.studies import programs

SETS = Experiment("milp_full").points()
SETS = list(dict.fromkeys(point["dataset"] for point in SETS))
WHERE = {"solver": "cp-sat", "max_depth": 3, "split": 0}


def run(dataset, method, progress, *, share=1.0, optimal=False, wall=600.0, rows=100):
    """A record of the first split at depth three."""
    parameters = next(p for p in Experiment("milp_full").points() if
                      {**p, "dataset": dataset, "method": method, **WHERE} == p)
    return {**parameters, "status": "optimal" if optimal else "time_limit",
            "objective": progress[-1][1], "bound": float(progress[-1][2]), "rows": rows,
            "train_accuracy": 1 - progress[-1][1] / rows, "test_accuracy": 0.5,
            "cpu_seconds": wall * share, "wall_seconds": wall, "measures": {},
            "counters": {"cpu_share": share, "progress": progress, "start_objective": 30.0}}


def table(*runs):
    return pd.DataFrame(list(runs))


def test_hours_are_those_of_the_limits_of_the_runs_that_are_not_recorded():
    made = table(*(run(name, "oct", [[1.0, 9.0, 0]]) for name in SETS[:4]))
    for runs, count, hours in ((pd.DataFrame(), 0, "4.7"), (made, 4, "4.0")):
        lines = programs.still_to_run("milp_full", runs, solver="cp-sat")
        first = lines.loc["cp-sat", 3, "first"]
        assert first["recorded"] == f"{count} of 28"
        assert first["missing"] == f"not run: at most {hours} hours"
        assert lines.loc[("cp-sat", 2, "others"), "missing"] == "not run: at most 18.7 hours"
        assert len(unrecorded("milp_full", runs, **WHERE)) == 28 - count
    every = table(*(run(name, method, [[1.0, 9.0, 0]]) for name in SETS
                    for method in ("oct", "binoct")))
    lines = programs.still_to_run("milp_full", every, solver="cp-sat")
    assert lines.loc[("cp-sat", 3, "first"), "missing"] == ""
    assert lines.loc[("cp-sat", 3, "others"), "recorded"] == "0 of 112"


def test_a_run_with_another_limit_is_another_run():
    quick = table({**run("wine", "oct", [[1.0, 9.0, 0]]), "time_limit": 2.0})
    assert len(unrecorded("milp_full", quick, **WHERE)) == 28


@pytest.mark.parametrize("share, optimal", [(0.95, False), (0.5, False), (0.5, True)])
def test_a_busy_machine_spoils_times_and_trees_at_a_limit_but_no_proof(share, optimal):
    found = table(run("wine", "oct", [[1.0, 9.0, 9]], share=share, optimal=optimal))
    kept = undisturbed(found)
    assert len(kept) == (share > 0.9 or optimal)
    assert kept["wall_seconds"].isna().all() == (share < 0.9)
    assert undisturbed(found.assign(counters=[{}])).empty != optimal
    shown = programs.side_by_side(found, programs.best_known(found)).loc["wine", "OCT"]
    assert shown["errors"] == ("refused" if kept.empty else "9")
    assert shown["s, clock / CPU"] == (
        "600 / 570" if share > 0.9 else "busy" if optimal else "")
    refused = programs.still_to_run("milp_full", found)["refused"]
    assert refused.sum() == refused["cp-sat", 3, "first"] == kept.empty


def test_both_models_stand_side_by_side():
    made = table(
        run("wine", "binoct", [[1.0, 30.0, 0], [5.0, 4.0, 4]], optimal=True, wall=5.0),
        run("wine", "oct", [[1.0, 30.0, 0], [9.0, 8.0, 2]]),
        run("monk1", "oct", [[1.0, 30.0, 0]]))
    best = pd.Series(4.0, programs.best_known(made).index)
    shown = programs.side_by_side(made, best)
    assert list(shown.index) == ["monk1", "wine"]
    assert shown.loc["wine"].to_dict() == {
        ("errors", "best"): "4", ("errors", "CART"): "30",
        ("BinOCT", "errors"): "4", ("BinOCT", "proved"): "4",
        ("BinOCT", "s, clock / CPU"): "5 / 5", ("OCT", "errors"): "8", ("OCT", "proved"): "2",
        ("OCT", "s, clock / CPU"): "600 / 600"}
    assert shown.loc["monk1", ("BinOCT", "errors")] == "not run"


def test_curves_against_a_slow_reference(tmp_path):
    rng, made = np.random.default_rng(3), []
    for name in SETS[:5]:
        for method in ("binoct", "oct"):
            times = np.sort(rng.uniform(0.1, 600, 6))
            errors = np.sort(rng.integers(5, 30, 6))[::-1]
            bounds = np.minimum(np.sort(rng.integers(0, 12, 6)), errors[-1])
            progress = [[float(t), None if k == 0 else float(e), int(b)]
                        for k, (t, e, b) in enumerate(zip(times, errors, bounds, strict=True))]
            made.append(run(name, method, progress))
    made = table(*made, run(SETS[5], "oct", [[1.0, 7.0, 0]]),         # without BinOCT
                 run(SETS[6], "oct", [[1.0, 7.0, 0]]),
                 run(SETS[6], "binoct", [[1.0, 7.0, 0]], share=0.3))    # of a busy machine
    best = made.groupby(programs.KEY)["objective"].min()
    curves = programs.anytime(made, best, [0.01, 50, 300, 600])
    assert curves.attrs["sets"] == 5
    for method, name in programs.NAMES.items():
        for second in curves.index:
            above, proved = [], 0
            for one in made[made["method"] == method].to_dict("records")[:5]:
                last, bound = math.inf, 0
                for when, errors, whole in one["counters"]["progress"]:
                    if when <= second:
                        last, bound = math.inf if errors is None else errors, whole
                above.append(last - best[one["dataset"], 0, 3])
                proved += bound >= last
            assert curves.loc[second, (name, "median")] == sorted(above)[2]
            assert curves.loc[second, (name, "upper quartile")] == sorted(above)[3]
            assert curves.loc[second, (name, "proved")] == 20 * proved


def test_without_records_there_are_empty_curves_and_tables():
    curves = programs.anytime(pd.DataFrame(), pd.Series(dtype=float), [1, 600])
    assert curves.attrs["sets"] == 0 and curves.isna().all(axis=None) and len(curves) == 2
    assert programs.best_known(pd.DataFrame()).empty
    assert programs.side_by_side(pd.DataFrame(), pd.Series(dtype=float)).empty
    lines = programs.still_to_run("milp_full", pd.DataFrame())
    assert (lines["refused"] == 0).all() and lines["missing"].str.startswith("not run").all()


def test_the_best_known_tree_is_the_proven_optimum_where_there_is_one():
    from odtbook.experiments import yardstick
    made = table(run("iris_uci", "oct", [[1.0, 9.0, 0]], rows=75))
    proved = round((1 - yardstick()["iris_uci", 0, 3]) * 75)
    assert programs.best_known(made)["iris_uci", 0, 3] == proved < 9
