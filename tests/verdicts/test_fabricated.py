"""Every table, figure and statement can fail: records that were never made give both verdicts."""

import re
import warnings

import pytest
from verdicts import fabricated

from odtbook.datasets import manifest
from odtbook.experiments import published
from odtbook.verdicts import demirovic2022
from odtbook.verdicts.evidence import Records
from odtbook.verdicts.papers import PAPERS
from odtbook.verdicts.report import _Judge, verdict_on

CLAIMS = published("claims")
ANSWERED = [name for paper in PAPERS.values() for name in paper.answers]
ITEMS = [f"{key} {label}" for key, paper in PAPERS.items() for label in paper.data["items"]]

# read from the catalogue of data sets, not from records
SIZES = {"firat2020 T6", "patel2023 T5", "firat2020-data-sets", "patel2023-data-sets",
         "verwer2019-rows", "verwer2019-features"}
# Statements on times of a program that we only have a substitute for, whatever is recorded: no
# verdict but "not run"; what stands beside must answer both ways all the same.
SUBSTITUTES = {
    "birbil2024-times", "birbil2024-compromise", "birbil2024-class-times",
    "birbil2024-class-tradeoff", "birbil2024-slow", "demirovic2022-sat",
    "demirovic2022-sparse-any", "demirovic2022-murtree-time"}
# items that speak of them, or of runs of fifteen hours, in more than a tenth of what they say
OPEN_ITEMS = {"patel2023 F1", "patel2023 F4", "birbil2024 F5", "demirovic2022 F5"}


@pytest.fixture(scope="module", autouse=True)
def names():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demirovic2022, "names", fabricated.all_names)
        yield


@pytest.fixture(scope="module")
def judges():
    """A judge for each world, made at its first use."""
    made = {}

    def judge(build):
        if build not in made:
            made[build] = _Judge(fabricated.records(build()))
        return made[build]
    return judge


def verdict(judge, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # of tests on constant series
        if name in CLAIMS.index:
            found = judge.claim(name, CLAIMS.loc[name])
            if name in SUBSTITUTES:
                assert found.verdict == "not run"
                return {"ye": "reproduced", "no": "differs"}.get(found.beside[:2], "not run")
            return found.verdict
        return verdict_on(name, judge.records).verdict


@pytest.mark.parametrize("name", sorted({*ANSWERED, *ITEMS} - SIZES))
def test_it_agrees_where_the_paper_is_right_and_differs_where_it_is_wrong(name, judges):
    paper = re.split("[ -]", name)[0]
    right = fabricated.OTHER_WORLDS.get(name, fabricated.AGREEING[paper])
    expected = "not run" if name in OPEN_ITEMS else "reproduced"
    assert verdict(judges(right), name) == expected
    wrong = {verdict(judges(world), name) for world in fabricated.WRONG[paper]}
    assert "differs" in wrong


@pytest.mark.parametrize("name", sorted(SIZES))
def test_sizes_are_judged_by_the_catalogue(name, monkeypatch):
    facts = {key: dict(fact) for key, fact in manifest.facts().items()}
    facts["monk3"]["rows"] = 124        # as printed
    facts["hand_posture"] = {"rows": 78095, "features": 37, "classes": 5}
    monkeypatch.setattr(manifest, "facts", lambda: facts)
    assert verdict(_Judge(Records(experiments=[])), name) == "reproduced"
    for fact in facts.values():
        fact.update(rows=20_000, features=2, classes=9)
    assert verdict(_Judge(Records(experiments=[])), name) == "differs"


def test_every_item_and_statement_has_fabricated_records():
    results = set(CLAIMS.index[CLAIMS["kind"] == "result"])
    assert set(ANSWERED) <= results
    for name in results - set(ANSWERED):        # no function: the runs were not made
        paper = CLAIMS.loc[name, "paper"]
        said = PAPERS[paper].data["statements"][name.removeprefix(f"{paper}-")]
        assert said["unmade"] in PAPERS[paper].data["unmade"]
    assert set(fabricated.AGREEING) == set(fabricated.WRONG) == set(PAPERS)
    assert {*SIZES, *SUBSTITUTES, *OPEN_ITEMS, *fabricated.OTHER_WORLDS} <= {*ANSWERED, *ITEMS}


@pytest.mark.parametrize("paper", sorted(PAPERS))
def test_equal_values_prove_nothing(paper, judges):
    """Where all methods are alike, no statement that compares methods holds."""
    flat = next(w for w in fabricated.WRONG[paper] if w.__name__.endswith("flat"))
    held = {name for name in PAPERS[paper].answers if verdict(judges(flat), name) == "reproduced"}
    assert held - SIZES <= {
        # these say that methods are alike, or are not about methods
        "firat2020-all-ended", "firat2020-solved-all", "firat2020-comparable",
        "firat2020-no-gain-two", "firat2020-large-rows",
        "patel2023-similar-relaxations", "patel2023-similar-gains", "patel2023-close",
        "patel2023-proved", "patel2023-most-proved", "birbil2024-shallow", "birbil2024-deep",
        "birbil2024-class-comparable", "birbil2024-class-feasible", "birbil2024-tree-features",
        "birbil2024-tree-class", "birbil2024-cars-rows", "birbil2024-scores-rows",
        "demirovic2022-tens-of-thousands", "demirovic2022-depth-three",
        "demirovic2022-four-minutes", "demirovic2022-minutes", "demirovic2022-mt-f",
        "demirovic2022-sat", "demirovic2022-sparse-any", "demirovic2022-cart-time",
        "demirovic2022-murtree-time"}
