"""Sentences that name numbers, ranks or choices, against what the code and the records say."""

import heapq
import re

import numpy as np
from pages import ROOT, cells_of, prose
from scipy.optimize import linprog

from odtbook import experiments
from odtbook.published import cart_star
from odtbook.verdicts import firat2020
from odtbook.verdicts.evidence import Records
from odtlib import TunedCARTClassifier


def cell(page, name):
    """Return the text of a cell of a page, in one line."""
    return next(c for c in cells_of(ROOT / "chapters" / f"{page}.ipynb") if c.id == name).source


def said(page, name):
    return " ".join(cell(page, name).split())


def test_the_bounds_and_errors_of_the_primer_s_stumps():
    page = "primer_linear_programs"
    names = {"np": np, "heapq": heapq, "linprog": linprog}
    exec(cell(page, "stump").replace("from odtbook.interactive import step_search", ""), names)
    labels, sides, log = names["y"], names["left"], names["log"]
    errors = {(a, b): min(int((np.where(left, a, b) != labels).sum()) for left in sides)
              for a in (0, 1) for b in (0, 1)}
    (both_0,) = (node for node in log if node["branch"] == "c2 = 0"
                 and log[node["parent"]]["branch"] == "c1 = 0")
    words = {1: "one", 2: "two", 3: "three", 4: "four"}
    text = said(page, "stump-note")
    assert f"The first bound is {log[0]['value']:.3g}, although every stump makes at least " \
        f"{words[min(errors.values())]} errors" in text
    assert f"With class 0 in both leaves the bound is {both_0['value']:.3g}, and every such " \
        f"stump makes {words[errors[0, 0]]} errors" in text
    assert log[2]["branch"] == "c1 = 1"
    third = log[2]["value"]
    assert f"The third node (left leaf of class 1) has the bound {third:.3g}, so it has at " \
        f"least {words[int(np.ceil(third))]} errors" in text


def test_mdlp_alone_is_last():
    text = said("murtree_practice", "columns-what")
    assert "MDLP alone loses by far the most" in text
    assert "on test rows it is last or among the last" in text
    lost, test = {}, {}
    for run in experiments.load_records("murtree_columns").to_dict("records"):
        found = run["measures"]
        for name, one in found.items():
            if found["proved"] and isinstance(one, dict):
                key = run["max_rows"], name
                lost.setdefault(key, []).append((one["errors"] - found["optimum"]) / run["rows"])
                test.setdefault(key, []).append(np.mean(one["test_accuracy"]))
    for rows in {rows for rows, _ in lost}:
        worst, second, *_ = sorted(((np.mean(v), k[1]) for k, v in lost.items() if k[0] == rows),
                                   reverse=True)
        assert worst[1] == "mdlp" and worst[0] > 1.5 * second[0]
        order = sorted((np.mean(v), k[1]) for k, v in test.items() if k[0] == rows)
        assert "mdlp" in [name for _, name in order[:2]]


def test_the_tuned_cart_chooses_what_is_said():
    random = np.random.default_rng(0)
    X, y = random.random((60, 3)), random.integers(0, 2, 60)
    model = TunedCARTClassifier(max_depth=2, random_state=0).fit(X, y)
    assert set(model.best_params_) == {"max_depth", "ccp_alpha"}
    landing = (ROOT / "intro.ipynb").read_text(encoding="utf-8")
    lesson = (ROOT / "chapters" / "01_trees_and_cart.ipynb").read_text(encoding="utf-8")
    assert "`TunedCARTClassifier`, which chooses depth and pruning by cross-validation" in landing
    assert "`TunedCARTClassifier`, which chooses depth and pruning penalty by cross-" in lesson


def test_cart_star_did_not_pay():
    lesson = (ROOT / "chapters" / "01_trees_and_cart.ipynb").read_text(encoding="utf-8")
    assert re.search(r"\(CART\\\\\*, which chooses impurity, class weights and the smallest nodes "
                     "at a fixed depth, did not pay on the small sets above", lesson)
    assert set(cart_star().grid) == {"criterion", "class_weight", "min_samples_split",
                                     "min_samples_leaf"}
    records = experiments.load_records("heuristics")
    test = records.pivot_table("test_accuracy", "max_depth", "method")
    assert (test["tuned-cart"] < test["cart"]).all()


def test_the_pricing_programs_reach_the_mean_of_enumeration():
    assert "the same mean as enumeration" in said("column_generation_replication", "tried-note")
    part, = firat2020.by_programs(Records())
    means = [float(number) for number in re.findall(r"([\d.]+) %", part.ours)]
    assert len(means) == 2 and abs(means[0] - means[1]) < 0.05
    assert "on 14 data sets" in part.ours


def test_what_is_no_error_is_not_under_what_is_wrong():
    """Open questions and later results are no errors of a paper."""
    errata = (ROOT / "chapters" / "appendices" / "errata.ipynb").read_text(encoding="utf-8")
    right = {int(number) for number in re.findall(
        r"\*\*(\d+)\. (?:Not an error|A later result)", errata)}
    assert right >= {9, 18, 21, 35}
    seen = 0
    for path in sorted((ROOT / "chapters").glob("*_replication.ipynb")):
        said = prose(path)
        wrong = said.partition("## What is wrong in the paper")[2].partition("\n## ")[0]
        assert "pen question" not in wrong, path
        for entries in re.findall(r"Entries ([^\[]*) of the \[errata\]", said):
            for first, last in re.findall(r"(\d+)(?: to (\d+))?", entries):
                seen += 1
                assert not right & set(range(int(first), int(last or first) + 1)), path
    assert seen > 10


def glued(page, monkeypatch):
    """Run the code of a page; return its names, and what it puts into its text."""
    import matplotlib.pyplot as plt
    import myst_nb
    texts, names = {}, {}
    monkeypatch.setattr(myst_nb, "glue", lambda name, value, display=True: texts.__setitem__(
        name, str(value)))
    for found in cells_of(ROOT / f"{page}.ipynb"):
        if found.cell_type == "code":
            exec(found.source, names)
    plt.close("all")
    return names, texts


def test_the_landing_page_states_nothing_that_its_linked_page_does_not_show(monkeypatch):
    first, stated = glued("intro", monkeypatch)
    names, texts = glued("chapters/does_it_pay", monkeypatch)
    used = re.findall(r"\{glue:text\}`pay-([\w-]+)`", (
        ROOT / "chapters" / "does_it_pay.ipynb").read_text(encoding="utf-8"))
    for kind, line in names["by_kind"].iterrows():     # the picture
        some = {**first["kinds"], "all": first["sign"]["training"] > -100}[kind]
        assert line.to_list() == [int(some.sum()), *(
            first["points"](first["sign"][gain][some]) for gain in ("test", "pruned"))], kind
    shown = " ".join([*(texts[f"pay-{name}"] for name in used), names["shown"].to_string(),
                      *(str(line) for line in names["lines"].values())])
    landing = (ROOT / "intro.ipynb").read_text(encoding="utf-8")
    stated.pop("land-verdicts")     # of the table of claims
    for name, value in stated.items():
        assert f"`{name}`" in landing
        assert re.search(rf"(?<![\d.]){re.escape(value)}(?![\d.]*\d)", shown), (name, value)
