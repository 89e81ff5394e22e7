"""`odt try`: the page, in a real browser, and the files beside it."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from browser import chromium
from tables.ugly import plain, tables

from odtbook import try_page, trying
from odtbook.cli import main
from odtbook.studies import does_it_pay
from odtbook.tables import read_table
from odtlib import DecisionTree, MurTreeClassifier, MurTreeRegressor

UGLY = {table.name: table for table in tables()}
PAGES = ["plain", "gaps", "sentinels and hostile names", "a numeric target", "one class"]


def written(name, folder, **options):
    """Run the command on an ugly table and return the path of its page."""
    table = UGLY[name]
    path = folder / f"table{table.ending}"
    path.write_bytes(table.content)
    page = folder / "page.html"
    assert main(["try", str(path), "--target", table.target, "--time", "1",
                 "--output", str(page)]) == 0
    return page


@pytest.mark.parametrize("name", PAGES)
def test_page_in_a_browser(name, tmp_path, capsys):
    page = written(name, tmp_path)
    printed = capsys.readouterr().out
    for words in UGLY[name].words:
        assert words in printed
    from axe_playwright_python.sync_playwright import Axe
    with chromium() as browser:
        for scheme in ("light", "dark"):
            for width in (1280, 390):
                context = browser.new_context(viewport={"width": width, "height": 844},
                                              color_scheme=scheme)
                tab = context.new_page()
                faults = []
                tab.on("pageerror", lambda error, faults=faults: faults.append(str(error)))
                tab.on("request", lambda request, faults=faults: None if request.url.startswith(
                    ("file:", "data:")) else faults.append(request.url))
                tab.goto(page.as_uri())
                assert tab.evaluate("document.documentElement.scrollWidth") <= width
                shown = tab.inner_text("main")
                for words in UGLY[name].words:
                    assert words in shown
                assert not faults
                found = Axe().run(tab).response["violations"]
                assert not found, [(v["id"], v["nodes"][0]["html"][:200]) for v in found]
                context.close()
    if UGLY[name].usable:
        tree = DecisionTree.from_json(page.with_suffix(".json").read_text())
        assert page.with_suffix(".dot").read_text() == tree.to_dot()
        assert "nan" not in shown and "Does an optimal tree pay here?" in shown


def awkward(seed, task):
    """Return a table with gaps and categories, some of them in later rows only."""
    rng = np.random.default_rng(seed)
    n = 150
    frame = pd.DataFrame({
        "a b": rng.normal(size=n).round(1), "c": rng.choice(["it's", 'x"y', "z", None], n),
        "d": rng.choice([0.0, 1.0, np.nan], n), "e": rng.choice(["p", "q"], n)})
    score = frame["a b"] + (frame["c"] == "z") - frame["d"].fillna(3) * (frame["e"] == "p")
    frame["y"] = score + rng.normal(size=n) / 3 if task == "regression" else \
        np.where(score > 0, "up", "down")
    return read_table(frame, "y", task=task)


@pytest.mark.parametrize("numbers_only", [False, True])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("seed", range(3))
def test_the_python_file_predicts_as_the_tree(seed, task, numbers_only):
    table = awkward(seed, task)
    if numbers_only:
        table.X = table.X[["a b", "d"]]
    # Some columns have no gap in the fit, and all have one later.
    table.X = table.X.assign(**{"a b": table.X["a b"].fillna(0.0)})
    kind = MurTreeRegressor if task == "regression" else MurTreeClassifier
    model = kind(3).fit(table.X, table.y)
    trial = trying.Trial(table, model, {"max_depth": 3}, [], {}, None, None, 5, None, 0, 0.0)
    space = {}
    exec(try_page.standalone(trial), space)
    later = table.X.copy()
    later.iloc[::3, 0] = np.nan
    for X in (table.X, later):
        rows = [{name: None if value is None or value != value else value
                 for name, value in row.items()} for row in X.to_dict("records")]
        found = [space["predict"](row) for row in rows]
        wanted = model.predict(X)
        if task == "regression":
            np.testing.assert_allclose(found, wanted)
        else:
            assert found == wanted.tolist()


def test_sentences_say_both_sides_and_where_gaps_go():
    table = awkward(0, "classification")
    model = MurTreeClassifier(2).fit(table.X, table.y)
    said = try_page.sentences(model, "classification")
    assert len(said) == model.get_n_leaves()
    assert not any("not " in line and "is not " not in line for line in said)
    counts = [int(word) for line in said for word in [line.split(" of ")[1].split()[0]]]
    assert sum(counts) == len(table.y)


def test_of_two_bounds_of_one_side_the_tighter_is_said():
    said = try_page._tightest(["a > 1", "a <= 9", "b <= 2 or missing", "a > 3.5", "a = x > 1",
                               "b <= 1", "a <= 1e-05", "c is not > 1", "c is not > 2"])
    assert said == ["a > 3.5", "a <= 1e-05", "b <= 2 or missing", "a = x > 1", "b <= 1",
                    "c is not > 1", "c is not > 2"]
    y = np.arange(16) // 4
    model = MurTreeClassifier(2, binarizer="all").fit(np.arange(16.0)[:, None], y)
    assert sorted(try_page.sentences(model, "classification"))[0].count(" and ") <= 1


def test_the_lines_of_python_repeat_the_tree(tmp_path, capsys):
    page = written("gaps", tmp_path)
    source = page.read_text()
    import html
    code = html.unescape(source[source.index("<code>") + 6:source.index("</code>")])
    assert len(code.splitlines()) == 10
    capsys.readouterr()
    exec(code, {})
    tree = DecisionTree.from_json(page.with_suffix(".json").read_text())
    assert str(tree) in capsys.readouterr().out


def test_a_table_that_takes_too_long_is_measured_on_fewer_rows(monkeypatch):
    frame = plain(2000)
    monkeypatch.setattr(trying, "MOST_ROWS", 1600)
    monkeypatch.setattr(trying, "FEWEST_ROWS", 200)
    table = read_table(frame, "label")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        trial = trying.try_table(table, 0.5)
    assert len(trial.rows) < 400 and any("of the 2,000 rows" in note for note in trial.notes)
    assert len(trial.scores[trying.TREE]) >= 2
    assert len({len(scores) for scores in trial.scores.values()}) == 1
    assert json.loads(trial.model.tree_.to_json())


def test_verdict_uses_the_half_on_which_the_rule_was_tested():
    sets = does_it_pay.gains(does_it_pay.fold_table())
    first = sets[sets["half"] == "chosen on"]
    assert does_it_pay.choose_limit(first) == does_it_pay.LIMIT
    assert 0.4 < len(first) / len(sets) < 0.6
    above = first["training"] >= does_it_pay.LIMIT
    assert (first["test"][above] > 0).all()
    assert not (first["test"][first["training"] >= does_it_pay.LIMIT - 1] > 0).all()


def test_refusals(tmp_path, capsys):
    path = tmp_path / "t.csv"
    plain().to_csv(path, index=False)
    for arguments, says in ((["--time", "0"], "no time"), (["--target", "x"], "no column 'x'"),
                            (["--output", str(tmp_path / "no" / "p.html")], "no folder")):
        assert main(["try", str(path), *arguments]) == 2
        assert says in capsys.readouterr().err
    assert main(["try", str(tmp_path / "none.csv")]) == 2


@pytest.mark.parametrize("gain, words", [(8.25, "8.2 points more rows"), (0.0, "0.0 points more"),
                                         (-8.25, "8.2 points fewer rows than CART, which cuts")])
def test_a_tree_over_few_questions_is_not_said_to_gain_what_it_loses(gain, words):
    scores = dict.fromkeys([trying.TREE, "CART", trying.TUNED, "forest"], [0.8, 0.7, 0.9])
    trial = trying.Trial(None, None, {}, [], scores, None, None, 3, gain, 0, 1.0)
    said = try_page.verdict(trial)
    assert words in said[0] and ("yes, it pays" in said[0]) == (gain > 4)
