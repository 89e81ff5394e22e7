"""The rules that give verdicts, at their edges, and the report that they make of records."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from odtbook.experiments import book_root, published
from odtbook.experiments.results import load_records
from odtbook.verdicts.counterparts import DATA_SETS, Missing, Records, over_splits, variants
from odtbook.verdicts.reproduction import ITEMS, PAPERS, numbers, reproduce, shown_cells
from odtbook.verdicts.rules import (
    Tolerance,
    agree,
    judge_cells,
    judge_figure,
    judge_statement,
)
from odtbook.verdicts.statements import NOT_RUN, STATEMENTS

NAN, INF = math.nan, math.inf


def table(published, ours, **further):
    return pd.DataFrame({"row": range(len(published)), "column": "a",
                         "published": np.array(published, float),
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
    # the first rule counts what is missing against us, the second does not
    gaps = np.where(ten < 2, NAN, ten)
    judgement, _ = judge_cells(table(ten, gaps), Tolerance(0.5, noise=1))
    assert (judgement.verdict, judgement.agreeing, judgement.compared) == ("within noise", 8, 8)
    assert judge_cells(table(ten, gaps), Tolerance(0.5))[0].verdict == "differs"


def test_cells_that_the_text_does_not_show_are_left_out():
    judgement, cells = judge_cells(table([1, NAN], [1, 5]), Tolerance())
    assert (judgement.verdict, judgement.printed, len(cells)) == ("reproduced", 1, 1)


def test_fewer_than_half_of_the_cells_give_no_verdict():
    assert judge_cells(table([1, 2, 3], [1, NAN, NAN]), Tolerance())[0].verdict == "not run"
    assert judge_cells(table([1, 2], [1, NAN]), Tolerance())[0].verdict == "differs"
    assert judge_cells(table([1], [NAN]), Tolerance())[0].verdict == "not run"


def test_a_cell_may_carry_its_own_noise():
    cells = table([80.0], [82.0], noise=[2.5])
    assert judge_cells(cells, Tolerance(0.1, noise=0))[0].verdict == "within noise"
    assert judge_cells(cells, Tolerance(0.1))[0].verdict == "differs"
    assert judge_cells(cells.assign(noise=1.5), Tolerance(0.1, noise=0))[0].verdict == "differs"


def test_a_common_factor_is_divided_out_in_each_group():
    cells = table([10, 20, 40, 5], [1, 2, 4, 5], group=["seconds"] * 3 + ["entries"])
    judgement, shown = judge_cells(cells, Tolerance(factor=1.1, scaled=True))
    assert judgement.verdict == "reproduced"
    assert judgement.scales == pytest.approx({"seconds": 10, "entries": 1})
    assert list(shown["ours"]) == [1, 2, 4, 5]      # as measured
    assert judge_cells(cells, Tolerance(factor=1.1))[0].verdict == "differs"
    # proportions decide
    other = table([10, 20, 40], [1, 2, 40], group="seconds")
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
    assert judge_statement([], True, Tolerance()).verdict == "reproduced"
    assert judge_statement([5], False, Tolerance()).verdict == "differs"
    assert judge_statement([1, 2], [1, 2.4], Tolerance(0.1, noise=0.5)).verdict == "within noise"
    assert judge_statement([1, 2], [1, 2.4], Tolerance(0.1)).verdict == "differs"
    assert judge_statement([1, 2], [1.05, 2], Tolerance(0.1)).verdict == "reproduced"
    with pytest.raises(ValueError, match="2 numbers are published and 1 are ours"):
        judge_statement([1, 2], 1.0, Tolerance())


@pytest.mark.parametrize(("verdicts", "expected"), [
    (["reproduced"] * 9 + ["differs"], "reproduced"),
    (["reproduced"] * 8 + ["differs"] * 2, "differs"),
    (["reproduced"] * 8 + ["not run"] * 2, "within noise"),
    (["reproduced", "within noise"], "within noise"),
    (["reproduced", "not run", "not run"], "not run"),
    (["differs", "not run"], "differs"),
    ([], "not run")])
def test_figures(verdicts, expected):
    assert judge_figure(verdicts).verdict == expected


def test_means_need_all_splits():
    runs = pd.DataFrame({"dataset": "a", "max_depth": 2, "split": range(5), "rows": 10,
                         "test": [1.0, 2, 3, 4, 5]})
    found = over_splits(runs, "test").loc[("a", 2)]
    assert found["mean"] == 3
    assert found["noise"] == pytest.approx(2 * np.sqrt(2.5 / 5))
    assert over_splits(runs.iloc[:4], "test").empty
    # one split of a large set counts, with the noise of a share of its rows
    large = runs.iloc[:1].assign(dataset="magic04", test=80.0, rows=8000)
    found = over_splits(large, "test").loc[("magic04", 2)]
    assert found["noise"] == pytest.approx(2 * np.sqrt(80 * 20 / 4000))


def made(rows):
    """Records of column generation from a few values a run."""
    lines = []
    for row in rows:
        lines.append({
            "dataset": "a", "split": 0, "max_depth": 4, "link": "node", "row_cuts": "none",
            **{key: row[key] for key in row if key not in ("seconds", "value", "columns")},
            "status": "optimal", "objective": 2.0, "train_accuracy": 0.8, "rows": 10,
            "cpu_seconds": row["seconds"], "measures": {"train": {"cart_accuracy": 0.7,
                                                                  "optimum": 2.0}},
            "counters": {"relaxation": row["value"], "columns": row["columns"]}})
    return Records(lambda name: pd.DataFrame(lines), ["column_generation"])


def test_variants_are_compared_within_blocks_of_equal_runs():
    rows = [{"row_cuts": cuts, "split": split, "seconds": 1.0 + split, "value": 8.5, "columns": 3}
            for cuts in ("none", "upper") for split in (0, 1)]
    rows.append({"row_cuts": "none", "split": 2, "seconds": 100.0, "value": 9.5, "columns": 3})
    found = variants(made(rows), "row_cuts", ["none", "upper"])
    assert found["cpu_seconds"].loc["a"].tolist() == [1.5, 1.5]     # without the third split
    assert found["proved"].loc["a"].tolist() == [2, 2]              # 8.5 < 8 + 1
    with pytest.raises(Missing, match="all of row_cuts: none, all"):
        variants(made(rows), "row_cuts", ["none", "all"])


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


def test_every_result_of_the_texts_has_a_function_or_a_reason():
    claims = published("claims")
    assert claims.index.is_unique
    results = set(claims.index[claims["kind"] == "result"])
    assert results == set(STATEMENTS) | set(NOT_RUN)
    assert not set(STATEMENTS) & set(NOT_RUN)
    assert set(claims["kind"]) == {"result", "setting", "quoted", "formula"}
    assert set(claims["paper"]) == set(PAPERS)
    for name, claim in claims.iterrows():
        assert name.startswith(f"{claim['paper']}-")
        if claim["kind"] == "result":
            numbers(claim["value"])     # they are numbers


def test_figures_without_cells_have_statements():
    claims = published("claims")
    of_item = set(claims["paper"] + " " + claims["item"].fillna(""))
    for item in ITEMS:
        assert item.cells is not None or item.key in of_item, item.key


def test_texts_agree_with_their_own_tables_but_for_known_errors(report):
    """What Side "published" computes is right, or an erratum."""
    known = {"firat2020-oct-test", "firat2020-large-improves",
             "verwer2019-rows", "birbil2024-scores-infeasible", "birbil2024-better",
             "demirovic2022-similarity-all"}
    found = set()
    claims = published("claims")
    for result in report.statements:
        said = result.by_tables
        if said.startswith(("yes", "no")):
            ok = said.startswith("yes")
        elif said:
            ok = np.allclose([float(part) for part in said.split(";")],
                             numbers(claims.loc[result.key, "value"]), atol=0.15)
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
        few = (records["sample_share"] == 0.7) & (records["split"] < 2)
        records.loc[few, "train_accuracy"] -= 0.01
        return records
    before = report.find("patel2023 T7")
    after = reproduce(changed("column_generation", worse), ["patel2023"]).find("patel2023 T7")
    assert before.verdict == "reproduced"
    assert after.verdict != "reproduced"
    assert after.judgement.agreeing < before.judgement.agreeing


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
    assert "factor 2, one common factor apart" in described
    with pytest.raises(ValueError, match="did you mean 'firat2020 T7'"):
        report.find("firat2020 T77")
    with pytest.raises(ValueError, match="no paper 'nobody2020'"):
        reproduce(papers=["nobody2020"])


def test_cells_are_shown_as_measured_and_scaled(report):
    cells = shown_cells(report.find("demirovic2022 T5"), agreeing=True)
    scale = report.find("demirovic2022 T5").judgement.scales["seconds"]
    one = cells.loc[("ionosphere", "Depth=4, MurTree")]
    assert one["published"] == 89
    assert one["ours, scaled"] == pytest.approx(scale * one["ours"], rel=0.02)


def test_every_data_set_of_the_tables_is_known():
    for name in ("firat2020_table6", "patel2023_table5"):
        assert set(published(name)["Dataset"]) <= set(DATA_SETS)
    for number in (7, 8, 9):
        assert set(published(f"patel2023_table{number}").index) <= set(DATA_SETS)


def test_the_command(capsys):
    from odtbook.cli import main
    assert main(["report", "--paper", "verwer2019", "--claims"]) == 0
    assert "verwer2019-features" in capsys.readouterr().out
    assert main(["report", "--experiments"]) == 0
    assert "head_to_head" in capsys.readouterr().out
    assert main(["report", "--item", "nothing"]) == 2
    assert "did you mean" not in capsys.readouterr().err


def test_the_records_that_the_report_reads_are_committed():
    names = {path.stem for path in (book_root() / "data" / "results").glob("*.csv")}
    assert {"column_generation", "heuristics", "constrained", "murtree_budgets",
            "constrained_figures"} <= names
