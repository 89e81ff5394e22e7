"""The rules that give verdicts, at their edges, and the report that they make of records."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from odtbook.experiments import book_root, published
from odtbook.experiments.book import names
from odtbook.experiments.results import load_records
from odtbook.verdicts import demirovic2022, words
from odtbook.verdicts.evidence import (
    Missing,
    Records,
    data,
    hours,
    means,
    method_runs,
    sets_of,
)
from odtbook.verdicts.papers import PAPERS
from odtbook.verdicts.patel2023 import variants
from odtbook.verdicts.render import shown_cells
from odtbook.verdicts.report import _with_units, numbers, reproduce
from odtbook.verdicts.rules import (
    KINDS,
    Tolerance,
    agree,
    half_unit,
    judge_cells,
    judge_figure,
    judge_statement,
)

NAN, INF = math.nan, math.inf


def table(published, ours, **further):
    return pd.DataFrame({"row": range(len(published)), "column": "a", "group": "seconds",
                         "published": np.array(published, float), "spread": NAN, "rule": None,
                         "ours": np.array(ours, float), **further})


@pytest.mark.parametrize(("published", "ours", "tolerance", "expected"), [
    (71.2, 71.3, Tolerance(0.1), True),
    (71.2, 71.4, Tolerance(0.1), False),
    (10, 20, Tolerance(factor=2), True),
    (20, 10, Tolerance(factor=2), True),
    (10, 21, Tolerance(factor=2), False),
    (0, 0.001, Tolerance(factor=2), False),
    (-1, -1, Tolerance(factor=2), True),
    (-1, -2, Tolerance(factor=3), False),
    (INF, INF, Tolerance(), True),
    (INF, 5, Tolerance(1e9), False),
    (NAN, 5, Tolerance(1e9), False),
    (5, NAN, Tolerance(1e9), False)])
def test_two_numbers_agree(published, ours, tolerance, expected):
    assert agree(published, ours, tolerance) is expected


def test_nine_tenths_of_all_printed_cells_must_agree():
    ten = np.arange(10.0)
    off = ten + np.array([0] * 9 + [1])
    assert judge_cells(table(ten, off), Tolerance(0.5))[0].verdict == "reproduced"
    off[0] += 1
    assert judge_cells(table(ten, off), Tolerance(0.5))[0].verdict == "differs"


def test_missing_cells_leave_open_what_they_could_still_turn():
    ten = np.arange(10.0)
    gaps = np.where(ten < 2, NAN, ten)
    judgement, _ = judge_cells(table(ten, gaps), Tolerance(0.5))
    assert (judgement.verdict, judgement.agreeing, judgement.compared) == ("not run", 8, 8)
    gaps[[8, 9]] += 5       # more than a tenth of all contradict, whatever the missing ones say
    assert judge_cells(table(ten, gaps), Tolerance(0.5))[0].verdict == "differs"
    assert judge_cells(table([1], [NAN]), Tolerance())[0].verdict == "not run"


def test_cells_that_the_text_does_not_show_are_left_out():
    judgement, cells = judge_cells(table([1, NAN], [1, 5]), Tolerance())
    assert (judgement.verdict, judgement.printed, len(cells)) == ("reproduced", 1, 1)


def test_only_recorded_seeds_excuse_a_difference():
    cells = table([80.0], [82.0], spread=[2.5])
    assert judge_cells(cells, Tolerance(0.1))[0].verdict == "within noise"
    assert judge_cells(cells.assign(spread=1.5), Tolerance(0.1))[0].verdict == "differs"
    assert judge_cells(cells.assign(spread=NAN), Tolerance(0.1))[0].verdict == "differs"
    # a change of sign is no noise unless the seeds show it
    assert judge_statement(["0.3"], [-0.2], [0.4]).verdict == "differs"
    assert judge_statement(["0.3"], [-0.2], [0.5]).verdict == "within noise"


def test_a_common_factor_is_divided_out_of_times_and_not_of_counts():
    cells = table([10, 20, 40, 5], [1, 2, 4, 5], group=["seconds"] * 3 + ["entries"])
    judgement, shown = judge_cells(cells, Tolerance(factor=1.1, scaled=True))
    assert (judgement.verdict, judgement.scale) == ("reproduced", pytest.approx(10))
    assert list(shown["ours"]) == [1, 2, 4, 5]      # as measured
    assert judge_cells(cells, Tolerance(factor=1.1))[0].verdict == "differs"
    cells["ours"] = [1, 2, 4, 0.5]                  # a count is no time
    assert judge_cells(cells, Tolerance(factor=1.1, scaled=True))[0].agreeing == 3
    # proportions decide
    other = table([10, 20, 40], [1, 2, 40])
    assert judge_cells(other, Tolerance(factor=2, scaled=True))[0].verdict == "differs"


def test_a_timeout_agrees_with_a_timeout_only():
    cells = table([INF, INF], [INF, 3.0], group="seconds")
    judgement, _ = judge_cells(cells, Tolerance(factor=2, scaled=True))
    assert judgement.agreeing == 1


def test_limits_bound_from_one_side():
    cells = table([0, 100], [13, 99], rule=["at least", "at most"])
    assert judge_cells(cells, Tolerance())[0].verdict == "reproduced"
    cells["ours"] = [-1.0, 101.0]
    assert judge_cells(cells, Tolerance())[0].agreeing == 0


def test_statements():
    assert judge_statement([], True).verdict == "reproduced"
    assert judge_statement(["5"], False).verdict == "differs"
    assert judge_statement(["1.0", "2.0"], [1, 2.4], [0, 0.5]).verdict == "within noise"
    assert judge_statement(["1.0", "2.0"], [1, 2.4]).verdict == "differs"
    assert judge_statement(["1.0", "2.0"], [1.04, 2]).verdict == "reproduced"
    with pytest.raises(ValueError, match="2 numbers are published and 1 are ours"):
        judge_statement(["1", "2"], [1.0])


def test_the_printed_digits_are_the_tolerance():
    assert [half_unit(text) for text in ("0.9", "36", "1e5", "0.226")] == pytest.approx(
        [0.05, 0.5, 5e4, 0.0005])
    assert numbers("0.9; 2.7 ") == ["0.9", "2.7"]


def test_a_text_may_miss_its_own_rounded_tables_by_two_units():
    # the text says 1.3, the tables give 1.41: from 1.25 to 1.46 agrees with one or the other
    for ours, verdict in ((1.25, "reproduced"), (1.46, "reproduced"), (1.47, "differs"),
                          (1.24, "differs")):
        assert judge_statement(["1.3"], [ours], tables=[1.41]).verdict == verdict
    # an erratum is no rounding, and counts are not rounded
    assert judge_statement(["2.3"], [1.9], tables=[1.9]).verdict == "differs"
    assert judge_statement(["124"], [122], tables=[122]).verdict == "differs"


@pytest.mark.parametrize(("verdicts", "expected"), [
    (["reproduced"] * 9 + ["differs"], "reproduced"),
    (["reproduced"] * 8 + ["differs"] * 2, "differs"),
    (["reproduced"] * 8 + ["not run"] * 2, "not run"),
    (["reproduced", "within noise"], "within noise"),
    (["reproduced", "not run", "not run"], "not run"),
    (["differs", "not run"], "differs"),
    ([], "not run")])
def test_figures(verdicts, expected):
    assert judge_figure(verdicts).verdict == expected


def runs_of(**columns):
    """Records of CART on a data set."""
    rows = pd.DataFrame({"dataset": "wine", "split": range(5), "method": "cart", "max_depth": 2,
                         "status": "heuristic", "train_accuracy": 0.9, "rows": 10,
                         "cpu_seconds": 1.0, "wall_seconds": 1.0,
                         "test_accuracy": [0.1, 0.2, 0.3, 0.4, 0.5], **columns})
    return Records(lambda name: rows, ["heuristics"])


def test_means_need_all_splits():
    assert means(runs_of(), "CART", "test").loc[("wine", 2)] == pytest.approx(30)
    assert means(runs_of(split=[0, 1, 2, 3, 3]), "CART", "test").empty


def test_only_records_as_published_judge_a_method():
    """The exact search over the same candidates is not CGH, nor is a run that a limit stopped."""
    run = {"dataset": "wine", "split": 0, "max_depth": 2, "sample_share": 0.9, "row_cuts": "all",
           "status": "optimal", "train_accuracy": 0.9, "test_accuracy": 0.9, "rows": 9,
           "measures": {}}
    forms = pd.DataFrame([{**run, "link": "prefix", "counters": {"converged": True}},
                          {**run, "link": "node", "counters": {"converged": False}}])
    with pytest.raises(Missing, match="no run of CGH ended|no record"):
        method_runs(Records(lambda name: forms, ["column_generation"]), "CGH")
    exact = "best tree of its candidates (90 %)"
    assert len(method_runs(Records(lambda name: forms, ["column_generation"]), exact)) == 1
    methods = data("methods")["methods"]
    assert {method["kind"] for method in methods.values()} == set(KINDS)
    for method in methods.values():
        for other in method.get("beside", ()):
            assert methods[other]["kind"] != "as published"


def test_cart_is_timed_by_its_own_runs():
    """Where column generation records the accuracy of CART, its time is not CART's."""
    records = Records(lambda name: pd.DataFrame([{
        "dataset": "wine", "split": 0, "max_depth": 2, "status": "optimal", "counters": {},
        "train_accuracy": 0.9, "test_accuracy": 0.9, "cpu_seconds": 60.0, "wall_seconds": 60.0,
        "measures": {part: {"cart_accuracy": 0.5} for part in ("train", "test")}}]),
        ["column_generation"])
    runs = method_runs(records, "CART")
    assert (runs["train"].iloc[0], runs["cpu_seconds"].isna().all()) == (50, True)


def test_needed_hours_are_counted_from_records():
    runs = pd.DataFrame({"method": "oct", "status": ["optimal", "time_limit"],
                         "wall_seconds": [600.0, 30.0]})
    records = Records(lambda name: runs, ["milp"])
    said = hours(records, {"what": "it", "parts": [{"records": "milp", "limit": 6600}]})
    assert said == "not run: about 1 hour on two cores (it)"
    said = hours(records, {"what": "it", "parts": [{"runs": 12, "seconds": 3600}]})
    assert said == "not run: at most 6 hours on two cores (it)"
    assert "no record tells" in hours(records, {"what": "it", "parts": [{"records": "other"}]})


@pytest.mark.parametrize("word", [words.most, words.throughout, words.clearly, words.better])
def test_words_need_a_difference(word):
    assert word([1.0] * 8 + [2.0])[0]
    assert not word([0.0] * 9)[0]
    assert not word([-1.0] * 9)[0]
    with pytest.raises(Missing):
        word([1.0] * 4)


def test_clearly_and_slightly_are_not_the_same():
    assert not words.clearly([0.3] * 20)[0]         # significant, and small
    assert not words.clearly([9, -8, 9, -8, 9])[0]  # large, and not significant
    assert words.about_equal([0.1, -0.1] * 5)[0]
    assert not words.about_equal([0.4] * 12)[0]     # small, and significant
    assert words.comparable_on([0.5, -0.5, -3, 3, 2]) == (2, 5)


@pytest.mark.parametrize(("seconds", "expected"), [
    ([1, 2, 3, 4], True), ([5, 6, 7, 8], False), ([1, 1, 1, 1], False), ([1, 4, 9, 16], False),
    ([1, 1.7, 2.6, 3.3], True), ([1, 3, 2, 4], False)])
def test_linear_is_a_straight_line_that_follows_the_rows(seconds, expected):
    assert words.linear((1, 2, 3, 4), seconds) is expected


def test_lines_without_records_do_not_decide_a_share():
    assert words.share([True] * 9 + [False])[0]
    assert not words.share([True, False])[0]
    with pytest.raises(Missing, match="6 of 12"):
        words.share([True] * 6, of=12)
    assert words.share([False, False], of=12)[0] is False


def made(rows):
    """Records of column generation from a few values a run."""
    lines = []
    for row in rows:
        lines.append({
            "dataset": "a", "split": 0, "max_depth": 4, "link": "node", "row_cuts": "none",
            **{key: row[key] for key in row
               if key not in ("seconds", "value", "columns", "status")},
            "status": row.get("status", "optimal"), "objective": 2.0, "train_accuracy": 0.8,
            "rows": 10,
            "cpu_seconds": row["seconds"], "measures": {"train": {"cart_accuracy": 0.7,
                                                                  "optimum": 2.0}},
            "counters": {"relaxation": row["value"], "columns": row["columns"],
                         "converged": row.get("status") != "time_limit"}})
    return Records(lambda name: pd.DataFrame(lines), ["column_generation"])


@pytest.mark.parametrize(("limit", "printed", "tells"), [
    (60.0, 30.0, True), (60.0, 31.0, False), (60.0, math.inf, False), (600.0, math.inf, True)])
def test_a_stopped_run_says_only_what_its_limit_can_tell(limit, printed, tells):
    runs = pd.DataFrame([{"status": "time_limit", "cpu_seconds": limit, "time_limit": limit,
                          "counters": {}}], index=["a set"])
    found = demirovic2022._measured(runs, "a set", printed)
    assert math.isinf(found) if tells else math.isnan(found)


@pytest.mark.parametrize(("five", "status", "expected"), [
    ([4.0, 90.0], "optimal", True), ([1.0, 12.0], "optimal", True), ([1.0, 1.0], "optimal", False),
    ([1.0, 60.0], "time_limit", True), ([0.1, 2.0], "time_limit", None)])
def test_stopped_runs_of_depth_five_prove_that_it_is_harder_but_not_that_it_is_easier(
        monkeypatch, five, status, expected):
    sets = ["murtree/anneal", "murtree/vehicle"]
    runs = {4: pd.DataFrame({"cpu_seconds": [1.0, 1.0], "status": "optimal"}, sets),
            5: pd.DataFrame({"cpu_seconds": five, "status": ["optimal", status]}, sets)}
    monkeypatch.setattr(demirovic2022, "_full", lambda side, depth: runs[depth])
    if expected is None:
        with pytest.raises(Missing, match=r"stopped runs of depth five may decide \(1\)"):
            demirovic2022.five_harder(None)
    else:
        assert demirovic2022.five_harder(None)[0] is expected


def test_variants_are_compared_within_blocks_of_equal_runs():
    rows = [{"row_cuts": cuts, "split": split, "seconds": 1.0 + split, "value": 8.5, "columns": 3}
            for cuts in ("none", "upper") for split in (0, 1)]
    rows.append({"row_cuts": "none", "split": 2, "seconds": 100.0, "value": 9.5, "columns": 3})
    found = variants(made(rows), "row_cuts", ["none", "upper"])
    assert found["cpu_seconds"].loc["a"].tolist() == [1.5, 1.5]     # without the third split
    assert found["proved"].loc["a"].tolist() == [2, 2]
    with pytest.raises(Missing, match="all of row_cuts: none, all"):
        variants(made(rows), "row_cuts", ["none", "all"])


def test_a_master_that_ran_out_of_time_proves_nothing():
    """Its value may be below the tree and one more; the status of the run is what counts."""
    rows = [{"row_cuts": "none", "split": 0, "seconds": 60.0, "value": 8.0, "columns": 3,
             "status": "time_limit"}]
    found = variants(made(rows), "row_cuts", ["none"])
    assert found["proved"].loc["a"].tolist() == found["ended"].loc["a"].tolist() == [0]


# ------------------------------------------------------------------ the whole report


@pytest.fixture(scope="module")
def report():
    return reproduce()


def test_every_item_of_the_papers_is_judged(report):
    keys = [result.key for result in report.items]
    wanted = [f"firat2020 {x}" for x in "T3 T4 T6 T7 T8 T9 T10 F1 F2".split()]
    wanted += [f"patel2023 T{k}" for k in range(5, 10)] + [f"patel2023 F{k}" for k in range(1, 8)]
    wanted += ["birbil2024 T1"] + [f"birbil2024 F{k}" for k in range(1, 7)]
    wanted += [f"demirovic2022 {x}" for x in "T1 T2 T3 T4 T5 F5 F6".split()]
    assert sorted(keys) == sorted(wanted)
    assert len(keys) == 35
    assert sum(report.counts().values()) == 35


def test_whatever_is_not_reproduced_says_why(report):
    for result in [*report.items, *report.statements]:
        assert (result.verdict == "reproduced") or len(result.because) > 8, result.key


def test_every_claim_is_of_a_known_kind():
    claims = published("claims")
    assert claims.index.is_unique
    assert set(claims["kind"]) == {"result", "setting", "quoted", "formula", "question"}
    assert set(claims["paper"]) == set(PAPERS)
    for name, claim in claims.iterrows():
        assert name.startswith(f"{claim['paper']}-")
        if claim["kind"] == "result":
            [float(text) for text in numbers(claim["value"])]


def test_figures_without_cells_have_statements():
    claims = published("claims")
    of_item = set(claims["paper"] + " " + claims["item"].fillna(""))
    for key, paper in PAPERS.items():
        for label in paper.data["items"]:
            assert label in paper.cells or f"{key} {label}" in of_item


def test_a_reason_names_what_shows_it():
    """An experiment with records, an erratum, or a test."""
    errata = (book_root() / "chapters" / "appendices" / "errata.ipynb").read_text("utf-8")
    tests = "".join(path.read_text("utf-8") for path in (book_root() / "tests").rglob("test_*.py"))
    for paper in PAPERS.values():
        for said in [*paper.data["items"].values(), *paper.data["statements"].values()]:
            assert ("because" in said) == ("shown_by" in said)
            shown = said.get("shown_by", "")
            if shown.startswith("erratum"):
                assert f"**{shown.split()[1]}. " in errata, shown
            elif shown.startswith("test_"):
                assert f"def {shown}(" in tests, shown
            elif shown:
                path = book_root() / "data"
                assert (path / "results" / f"{shown}.csv").exists() or (
                    path / "published" / f"{shown}.csv").exists(), shown
            if "unmade" in said:
                assert said["unmade"] in paper.data["unmade"]
        for runs in paper.data.get("unmade", {}).values():
            assert runs.get("experiment", "milp_full") in names()


def test_texts_agree_with_their_own_tables_but_for_known_errors(report):
    """What Side "published" computes is right, or an erratum."""
    known = {"firat2020-oct-test", "firat2020-large-improves",
             "verwer2019-rows", "verwer2019-depths-2-3", "birbil2024-scores-infeasible",
             "birbil2024-better", "demirovic2022-similarity-all"}
    found = set()
    claims = published("claims")
    for result in report.statements:
        said = result.by_tables
        if said.startswith(("yes", "no")):
            ok = said.startswith("yes")
        elif said:
            ok = np.allclose([float(part) for part in said.split(";")],
                             [float(text) for text in numbers(claims.loc[result.key, "value"])],
                             atol=0.15)
        else:
            continue
        if not ok:
            found.add(result.key)
    assert found == known


def changed(name, change):
    """Records of the book with those of one experiment changed."""
    def load(experiment):
        records = load_records(experiment)
        return change(records.copy()) if experiment == name else records
    return Records(load)


def test_a_changed_record_changes_the_report(report):
    def worse(records):
        records.loc[records["dataset"] != "cars", "rows"] += 7
        return records
    before = report.find("birbil2024-scores-rows")
    after = reproduce(changed("constrained", worse), ["birbil2024"]).find("birbil2024-scores-rows")
    assert (before.verdict, after.verdict) == ("reproduced", "differs")


def test_a_lost_record_is_missed():
    def lost(records):
        return records[records["dataset"] != "scores"]
    found = reproduce(changed("constrained", lost), ["birbil2024"])
    item = found.find("birbil2024 F2")
    assert item.judgement.compared == 20
    claim = found.find("birbil2024-scores-worst")
    assert claim.verdict == "not run"
    assert "birbil2024 F2" in claim.because


def test_without_records_nothing_is_claimed():
    found = reproduce(Records(experiments=[]))
    rows = {result.key: result.verdict for result in found.items}
    sizes = {"firat2020 T6", "patel2023 T5"}    # compared with the manifest of the data
    assert {verdict for key, verdict in rows.items() if key not in sizes} == {"not run"}
    held = {r.key for r in found.statements if r.verdict != "not run"}
    assert held <= {"firat2020-data-sets", "patel2023-data-sets", "verwer2019-rows",
                    "verwer2019-features"}


def test_the_report_as_text_and_markdown(report):
    text = report.text()
    assert re.match(r"35 tables and figures: \d+ reproduced, \d+ within noise, \d+ differs, "
                    r"\d+ not run\n", text)
    assert f"{len(report.statements)} statements of the texts" in text
    markdown = report.markdown()
    assert "## Patel et al. (2023), Table 7" in markdown
    assert "| Tic tac toe, k = 2 | Revised CG, CG | 71.8 |" in markdown
    described = report.describe("demirovic2022 T5")
    assert "factor 2, one common factor of all times apart" in described
    with pytest.raises(ValueError, match="did you mean 'firat2020 T7'"):
        report.find("firat2020 T77")
    with pytest.raises(ValueError, match=r"did you mean firat2020 T7 or patel2023 T7\?"):
        report.find("T7")
    with pytest.raises(ValueError, match="no paper 'nobody2020'"):
        reproduce(papers=["nobody2020"])


def test_other_methods_stand_beside_the_published_one(report):
    cells = shown_cells(report.find("firat2020 T7"), agreeing=True)
    exact = cells["best tree of its candidates (90 %)"]
    rows = [key for key in cells.index if key[1].endswith("CGH")]
    assert exact.loc[rows].notna().all()
    assert not (cells.loc[rows, "ours"] > exact.loc[rows] + 1e-9).any()
    assert "BinOCT, HiGHS, 30 s" in cells


def test_one_picture_per_paper_has_one_dot_per_cell(report):
    ax = report.picture("firat2020")
    dots = sum(len(points.get_offsets()) for points in ax.collections)
    cells = [r.cells for r in report.items if r.paper == "firat2020" and r.cells is not None]
    assert dots == sum(np.isfinite(c["published"]).sum() for c in cells)
    assert str(dots) in ax.alt
    assert report.picture("verwer2019") is None


def test_every_data_set_of_the_tables_is_known():
    for name in ("firat2020_table6", "patel2023_table5"):
        assert set(published(name)["Dataset"]) <= set(sets_of())
    for number in (7, 8, 9):
        assert set(published(f"patel2023_table{number}").index) <= set(sets_of())


def test_the_command(capsys):
    from odtbook.cli import main
    assert main(["report", "--paper", "verwer2019", "--claims"]) == 0
    assert "verwer2019-features" in capsys.readouterr().out
    assert main(["report", "--experiments"]) == 0
    assert "head_to_head" in capsys.readouterr().out
    assert main(["report", "--item", "nothing"]) == 2
    assert "did you mean" not in capsys.readouterr().err
    assert main(["report", "--paper", "verwer2019", "--write", "no/such/folder.md"]) == 2
    assert capsys.readouterr().err == "odt: no/such/folder.md: No such file or directory\n"
    with pytest.raises(SystemExit):
        main(["report", "--item", "firat2020 T7", "--write", "report.md"])


def test_the_records_that_the_report_reads_are_committed():
    names = {path.stem for path in (book_root() / "data" / "results").glob("*.csv")}
    assert {"column_generation", "heuristics", "constrained", "murtree_budgets",
            "constrained_figures"} <= names


@pytest.mark.parametrize(("value", "unit", "words"), [
    ("5; 6", "data sets; of", "5 of 6 data sets"), ("5; 20", "% from; to", "5 to 20 %"),
    ("65; 68", "%; data sets", "65 %, 68 data sets"), ("100; 77; 57", "%", "100; 77; 57 %"),
    ("10", "minutes", "10 minutes"), ("", "", ""), ("100; 1e-6", "paths; ", "100 paths, 1e-6")])
def test_printed_numbers_stand_beside_their_units(value, unit, words):
    assert _with_units(value, unit) == words


def test_html_marks_commands_as_code_and_time_limits_as_papers_do(report):
    for paper in PAPERS:
        text = report.html(paper)
        assert "`" not in text
        assert not re.search(r">\s*inf<", text)
    assert "<code>odt run" in report.html("firat2020")
    assert "<td>—</td>" in report.html("demirovic2022")
