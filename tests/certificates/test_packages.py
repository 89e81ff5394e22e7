"""The harness of the referee records each way in which a package can fail."""

import json
import sys
import textwrap

import numpy as np
import pytest
from certificates.test_certificates import least_cost

from odtbook.experiments import load_records, published
from odtbook.packages import LARGE, PACKAGES, Worker, asked, draw, judge, kinds, printed, shortened
from odtbook.referee import referee

STUB = """
    import json, os, sys, time
    print(json.dumps({"version": "1"}), flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        do = case["do"]
        if do == "crash":
            os._exit(139)
        if do == "hang":
            time.sleep(600)
        answer = {"root": {"feature": 0, "threshold": 0.5, "left": {"label": 0},
                           "right": {"label": 1}},
                  "said": None, "loss": None, "single": False, "fault": "", "seconds": 0.1,
                  "cpu": 0.1}
        if do == "lie":
            answer["loss"] = 3.0
        elif do == "wrong":
            answer["root"] = {"label": 0}
        elif do == "deep":
            answer["root"]["left"] = dict(answer["root"])
        elif do == "late":
            answer["seconds"] = answer["cpu"] = 9.0
        elif do == "busy":
            answer["seconds"] = 9.0
        elif do == "raise":
            answer = {"error": "ValueError: no"}
        print(json.dumps(answer), flush=True)
"""
CASE = {"kind": "plain", "form": "columns", "X": [[0], [0], [1], [1]], "y": [0, 0, 1, 1],
        "depth": 1, "weight": None, "price": 0.0, "leaf": 1, "nodes": None, "limit": 1.0}


@pytest.fixture
def worker(tmp_path):
    path = tmp_path / "stub.py"
    path.write_text(textwrap.dedent(STUB))
    worker = Worker("stub", 3.0, command=[sys.executable, str(path)])
    yield worker
    worker.close()


@pytest.mark.parametrize("do, outcome", [
    ("right", ("optimal", False)), ("crash", ("crashed", False)), ("hang", ("hangs", False)),
    ("lie", ("optimal", True)), ("wrong", ("beaten", False)), ("deep", ("outside", False)),
    ("late", ("late", False)), ("busy", ("stopped", False)), ("raise", ("crashed", False))])
def test_each_outcome_is_recorded_and_the_next_case_is_asked(worker, do, outcome):
    assert (worker.version, worker.missing) == ("1", "")
    for what, expected in ((do, outcome), ("right", ("optimal", False))):
        case = CASE | {"do": what}
        assert judge(case, worker.ask(case))[:2] == expected


def test_a_package_that_is_missing_or_ends_at_once_is_said_to_be(tmp_path):
    code = "print('{\"missing\": \"No module\"}')"
    assert Worker("stub", 3.0, [sys.executable, "-c", code]).missing == "No module"
    assert "status 3" in Worker("stub", 3.0, [sys.executable, "-c", "exit(3)"]).missing


def test_cases_are_the_same_for_a_number_small_and_of_every_kind():
    drawn = [draw(number) for number in range(len(kinds()))]
    assert json.dumps(drawn) == json.dumps([draw(number) for number in range(len(kinds()))])
    assert [(case["kind"], case["form"]) for case in drawn] == kinds()
    assert all(len(case["y"]) <= 20 for case in drawn)
    for package in PACKAGES:
        assert any(asked(package, case) for case in drawn)


def least_cost_of(case):
    """Return the least cost of all trees, and how much rounding may add to it."""
    limits = {"max_depth": case["depth"], "min_samples_leaf": case["leaf"],
              "split_penalty": case["price"]}
    limits |= {} if case["nodes"] is None else {"max_nodes": case["nodes"]}
    weight = None if case["weight"] is None else np.array(case["weight"], float)
    best, scale = least_cost(case["form"], np.array(case["X"], float), np.array(case["y"]), weight,
                             **limits)
    return best, 1e-7 * scale if "squares" in case["form"] else 1e-9


def verdict_of(case, tree):
    return referee(tree, np.array(case["X"], float), np.array(case["y"]), max_depth=case["depth"],
                   max_nodes=case["nodes"], min_samples_leaf=case["leaf"],
                   split_penalty=case["price"], sample_weight=case["weight"],
                   objective="squared_error" if "squares" in case["form"] else "errors")


@pytest.mark.parametrize("number", range(len(kinds())))
def test_what_beats_a_tree_is_the_best_of_all_trees(number):
    case = draw(number)
    best, near = least_cost_of(case)
    verdict = verdict_of(case, {"label": case["y"][0]})
    assert verdict.status in ("beaten", "optimal")
    found = verdict.better_objective if verdict.status == "beaten" else verdict.objective
    assert found == pytest.approx(best, rel=1e-9, abs=near)


def test_the_record_accuses_nobody_falsely():
    """Each case that the book shows is small, and where a tree is beaten, all trees are tried."""
    accused = [one for found in load_records("referee")["measures"].str.get("smallest")
               for one in found]
    assert accused
    for one in accused:
        case, tree = one["case"], one["tree"]
        assert len(case["y"]) <= 20 or case["kind"] == "time limit"
        if one["failure"] == "beaten":
            best, near = least_cost_of(case)
            verdict = verdict_of(case, one["said"] if tree is None else tree)
            assert verdict.status == "beaten" and verdict.objective > best
            assert verdict.better_objective == pytest.approx(best, rel=1e-9, abs=near)


def test_every_so_many_cases_one_is_large():
    for number, form in ((LARGE - 1, "columns"), (2 * LARGE - 1, "thresholds")):
        case = draw(number)
        assert (case["kind"], case["form"], case["limit"]) == ("time limit", form, 1.0)
        assert asked("STreeD", case) is None or form == "columns"
        assert asked("ArborEnum", case) is None


def test_a_case_is_reduced_while_it_fails():
    case = CASE | {"X": [[0, k] for k in range(8)], "y": [k % 2 for k in range(8)]}
    small = shortened(case, lambda case: sum(case["y"]) >= 2)
    assert (small["X"], small["y"]) == ([[0], [0]], [1, 1])


def test_our_own_programs_answer_in_a_process_of_their_own():
    worker = Worker("our Continuous", 12.0)
    cases = [asked("our Continuous", draw(number)) for number in range(2 * len(kinds()))]
    for case in filter(None, cases):
        assert judge(case, worker.ask(case))[:2] == ("optimal", False)
    worker.close()


@pytest.mark.parametrize("source", ["DL8.5", "pytrees DL8.5"])
def test_printed_optima_are_those_of_our_rows(source):
    """Each printed number is proved, and the next ones below and above it are refuted."""
    cases, optima = printed(source, 1.0)
    assert len(cases) == len(published("optima").loc[source]) > 40
    small = [pair for pair in zip(cases, optima) if len(pair[0]["y"]) < 900 and (
        len(pair[0]["X"][0]) < 150)]
    assert len(small) > 10
    for case, optimum in small:
        assert judge(case, optimum)[0] == "optimal"
        assert judge(case, optimum + 1)[0] == "beaten"
        assert judge(case, optimum - 1)[0] == "outside"


def test_printed_optima_of_first_rows_and_of_explained_variance():
    cases, _ = printed("ConTree", 1.0)
    assert [len(case["y"]) for case in cases if case["data"] == "continuous/bank"] == [1097, 1097]
    for case, optimum in zip(*printed("Quant-BnB", 1.0)):
        if (case["data"], case["depth"]) == ("quantbnb/qsar", 2):
            assert judge(case, optimum)[0] == "optimal"
            assert judge(case, 0.999 * optimum)[0] == "outside"
            assert judge(case, 1.001 * optimum)[0] == "beaten"


@pytest.mark.parametrize("source", ["DL8.5", "pytrees DL8.5", "pytrees ConTree", "ConTree",
                                    "Quant-BnB"])
def test_the_record_of_printed_optima_is_about_these_numbers(source):
    """A verdict fits the number, what packages returned fits the verdict, and each is there."""
    records = load_records("referee_printed").set_index("source")
    if source not in records.index:
        pytest.skip("not recorded yet")
    cases, optima = printed(source, 1.0)
    numbers = records.loc[source, "measures"]["numbers"]
    assert len(numbers) == len(cases)
    for case, optimum, one in zip(cases, optima, numbers):
        assert (one["data"], one["rows"], one["depth"], one["leaf"]) == (
            case["data"], len(case["y"]), case["depth"], case["leaf"])
        assert one["printed"] == pytest.approx(optimum)
        assert one["outcome"] in ("optimal", "beaten", "outside", "open")
        if one["least"] is not None:
            near = 1e-6 * abs(optimum)
            if one["outcome"] == "optimal":     # proved: nobody has less
                assert one["least"] >= optimum - near
            if one["least"] < optimum - near:   # a tree is there that has less
                assert one["outcome"] == "beaten"
