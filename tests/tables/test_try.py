"""`odt try`: the page, in a real browser, the notebook, and the files beside it."""

import re
import sqlite3
import subprocess
import sys
import time
import warnings
from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import pytest
from browser import chromium
from tables.ugly import plain, tables

from odtbook import trying
from odtbook.cli import main
from odtbook.experiments.book import folder
from odtbook.studies import does_it_pay
from odtbook.tables import BEGUN, read_table
from odtbook.try_command import _write
from odtlib import DecisionTree

UGLY = {table.name: table for table in tables()}
PAGES = ["plain", "long words", "sentinels and hostile names", "a numeric target", "one class"]


def written(name, folder, *options):
    """Run the command on an ugly table and return the path of its page."""
    table = UGLY[name]
    path = folder / f"table{table.ending}"
    path.write_bytes(table.content)
    page = folder / "page.html"
    assert main(["try", str(path), "--target", table.target, "--time", "4", *options,
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
                if UGLY[name].usable:       # the tree is seen, drawn for this width
                    seen = tab.evaluate("""[...document.querySelectorAll(
                        '.outline, .wide-only img')].filter(e => e.offsetWidth > 40)
                        .map(e => e.className || e.tagName)""")
                    assert seen == (["outline"] if width < 640 else ["IMG"]) or \
                        "one leaf" in shown and seen == []
                hidden = tab.evaluate("""[...document.querySelectorAll('.shown')].filter(
                    e => e.querySelector('tr')?.children.length < 4
                    && e.scrollWidth > e.clientWidth).map(e => e.innerText)""")
                assert not hidden       # the numbers of a table of few columns are in sight
                found = Axe().run(tab).response["violations"]
                assert not found, [(v["id"], v["nodes"][0]["html"][:200]) for v in found]
                context.close()
    text = page.read_text(encoding="utf-8")
    assert "http" not in re.sub(r"http://www.w3.org/\S+", "", text) and "<script" not in text
    if UGLY[name].usable:
        tree = DecisionTree.from_json(page.with_suffix(".json").read_text())
        assert page.with_suffix(".dot").read_text() == tree.to_dot()
        assert "nan" not in shown and "Does it pay here?" in shown


@pytest.mark.parametrize("n, word", [(2, "no"), (14, "a rather long species "), (20, "x")])
def test_a_confusion_table_of_many_classes_is_in_sight(n, word, tmp_path):
    """On a desk its columns need no scrolling: the names above many of them stand upright."""
    truth = np.tile([f"{word}{k}" for k in range(n)], 150)
    shown = pd.crosstab(truth, truth, rownames=["class"], colnames=["predicted"])
    cell = nbformat.v4.new_code_cell(id="confusion", outputs=[nbformat.v4.new_output(
        "display_data", {"text/html": shown._repr_html_()})])
    page = tmp_path / "p.html"
    _write(page, nbformat.v4.new_notebook(cells=[cell]), {}, "t.csv", "")
    with chromium() as browser:
        tab = browser.new_context(viewport={"width": 1280, "height": 844}).new_page()
        tab.goto(page.as_uri())
        assert tab.evaluate("""[...document.querySelectorAll('.shown')].map(
            e => e.scrollWidth <= e.clientWidth)""") == [True]
        assert tab.evaluate("""[...document.querySelectorAll('thead tr:first-child th')].map(
            e => getComputedStyle(e).writingMode)""") == [
                "horizontal-tb", *n * ["vertical-rl" if n > 7 else "horizontal-tb"]]
        assert tab.inner_text("main").count("150") == n


@pytest.mark.parametrize("n", [20, 21])
def test_of_more_than_twenty_classes_those_that_are_mixed_up_are_shown(n):
    """A notebook shows twenty columns of a frame."""
    template = nbformat.read(folder() / "own_data.ipynb", as_version=4)
    (cell,) = [cell for cell in template.cells if cell.get("id") == "confusion"]
    truth = np.repeat([f"c{k}" for k in range(n)], 2 + np.arange(n))
    said = truth.copy()
    said[truth == "c5"], said[:1] = "c7", "c9"
    space = {"np": np, "pd": pd, "trying": trying, "shares": np.unique(truth),
             "question": SimpleNamespace(classes=True), "table": SimpleNamespace(y=truth),
             "judged": SimpleNamespace(rows=np.arange(len(truth)), found={trying.TREE: said})}
    exec(cell.source, space)
    if n == 20:
        assert space["shown"].shape == (20, 19) and space["shown"].loc["c5", "c7"] == 7
    else:
        assert space["shown"]["rows"].to_dict() == {("c5", "c7"): 7, ("c0", "c9"): 1}


def test_a_page_without_a_verdict_says_so_once(tmp_path, capsys):
    page = written("plain", tmp_path, "--time", "0.05").read_text("utf-8")
    shown = page[:page.index("The code of this page")]
    assert shown.count("There is no verdict: the time did not suffice for 5 folds") == 1
    assert shown.count("no verdict") == 1 and "Nothing was measured on new rows" in shown
    assert "<li>Not measured.</li>" in shown and "not measured" in shown and "none" not in shown[
        shown.index("Whom does it get wrong"):]
    assert "If age" in shown or "If dose" in shown or "Nothing beats one leaf" in shown


def test_the_notebook_runs_again_as_it_stands(tmp_path, capsys):
    """Its own cells, changed in a parameter, give the page's part that the parameter changes."""
    page = written("gaps", tmp_path, "--depth", "1", "--drop", "age", "--seed", "3")
    notebook = nbformat.read(page.with_suffix(".ipynb"), as_version=4)
    cells = {cell.get("id"): cell for cell in notebook.cells if cell.cell_type == "code"}
    space = {}
    injected = next(cell for cell in notebook.cells
                    if "injected-parameters" in cell.metadata.get("tags", []))
    for source in (cells["parameters"].source, injected.source):
        exec(source, space)
    assert (space["max_depth"], space["drop"], space["seed"]) == (1, ["age"], 3)
    table = trying.table_of(space["dataset"], space["target"], drop=space["drop"])
    assert "age" not in table.feature_names and "'age' is dropped, as asked." in table.report.lines
    question = trying.ask(table, max_depth=2, seed=3, seconds=4)
    found = trying.fit_tree(question)
    assert found.model.max_depth == 2
    assert "of depth at most 1" in page.read_text(encoding="utf-8")


def test_one_process_loads_what_computes(tmp_path):
    """The command itself needs neither pandas nor scikit-learn: on a busy computer they take long.
    """
    path = tmp_path / "t.csv"
    plain(60).to_csv(path, index=False)
    program = ("import sys; from odtbook.cli import main; "
               "assert main(['try', sys.argv[1], '--time', '4', '--output', sys.argv[2]]) == 0; "
               "assert not {'pandas', 'sklearn', 'matplotlib'} & {*sys.modules}")
    done = subprocess.run([sys.executable, "-c", program, path, tmp_path / "p.html"],
                          capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("- 'label' is the target, since it is the last column")
    assert "<title>The optimal tree of t.csv</title>" in (tmp_path / "p.html").read_text("utf-8")


def test_the_time_counts_from_when_the_command_began(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    plain(60).to_csv(path, index=False)
    assert trying.table_of(str(path)).seconds < 5
    monkeypatch.setenv(BEGUN, str(time.time() - 7))
    assert 7 <= trying.table_of(str(path)).seconds < 9


def test_when_the_clock_has_ended_sizes_of_the_middle_are_tried(monkeypatch):
    """At least one, and those that are left out are counted; of all equal ones it is the first."""
    table = read_table(rare(), "ill")
    question, rows = trying.ask(table, metric="accuracy", seconds=20), np.arange(len(table.y))
    candidates = trying.protocol(question, 1.0)[trying.TREE][1]
    chosen, ended = trying._choice(question, trying.TREE, rows, 1.0, 0.0)
    assert chosen == candidates[4] and ended >= 3 * 7
    monkeypatch.setattr(trying.Question, "score", lambda *_: 0.0)
    assert trying._choice(question, trying.TREE, rows, 1.0, np.inf)[0] == candidates[0]


def test_pictures_say_what_the_page_says(tmp_path, capsys):
    """No gaps where the rows have none, and no second area beside that of the table."""
    page = written("plain", tmp_path, "--time", "20")
    notebook = nbformat.read(page.with_suffix(".ipynb"), as_version=4)
    drawn = {cell.id: "".join("".join(output.data.get("image/svg+xml", ""))
                              for output in cell.outputs if "data" in output)
             for cell in notebook.cells if cell.cell_type == "code"}
    assert "<!--" in drawn["tree"] and "missing" not in drawn["tree"]     # texts are comments
    assert "optimal tree" in drawn["curves"] and "AUC" not in drawn["curves"]


def test_what_exists_is_replaced_only_if_an_earlier_run_wrote_it(tmp_path, capsys):
    page = written("one class", tmp_path)
    assert written("one class", tmp_path) == page               # its own files
    assert "will be replaced" in capsys.readouterr().err
    path = tmp_path / "table.csv"
    before = path.read_bytes()
    (tmp_path / "page.json").write_text("mine")
    for output in (page, tmp_path / "table.csv", tmp_path / "no" / "p.html"):
        assert main(["try", str(path), "--output", str(output)]) == 2
    said = capsys.readouterr().err
    assert "page.json exists" in said and "no page" in said and "no folder" in said
    assert path.read_bytes() == before and (tmp_path / "page.json").read_text() == "mine"
    (tmp_path / "page.json").unlink()
    notebook = page.with_suffix(".ipynb")
    notebook.write_text(notebook.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert main(["try", str(path), "--output", str(page)]) == 2     # somebody changed it
    assert "page.ipynb exists" in capsys.readouterr().err


def test_a_run_that_is_ended_leaves_nothing_half(tmp_path, capsys, monkeypatch):
    """Neither what was handed over before the page, nor what the next run would refuse."""
    from nbconvert import HTMLExporter

    from odtbook import try_command

    def interrupted(*_):
        raise KeyboardInterrupt
    with monkeypatch.context() as patch:
        patch.setattr(HTMLExporter, "from_notebook_node", interrupted)
        with pytest.raises(AssertionError, match="130"):
            written("plain", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
    whole, done = try_command.write_whole, []

    def ended(path, content):
        done.append(path) if len(done) < 3 else interrupted()
        whole(path, content)
    with monkeypatch.context() as patch:
        patch.setattr(try_command, "write_whole", ended)
        with pytest.raises(AssertionError, match="130"):
            written("plain", tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    page = written("plain", tmp_path)
    assert "will be replaced" in capsys.readouterr().err
    names = {path.name for path in tmp_path.iterdir()}
    assert {"page.html", "page.ipynb", "page.py", "page-card.txt"} < names
    text = page.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert f"output = \\\"{page.with_suffix('')}\\\"" in text      # where a reader's run writes
    page = written("one class", tmp_path)       # which has no tree, nor that of the run before
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "page.html", "page.ipynb"}


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    from odtbook.files import write_whole
    write_whole(tmp_path / "a.txt", "old")
    with pytest.raises(OSError, match="cannot be written"):
        write_whole(tmp_path / "no" / "b.txt", "new")

    def full(path, data):
        with open(path, "wb") as file:
            file.write(data[:1])
        raise OSError(28, "No space left on device")
    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match=r"cannot be written \(No space"):
        write_whole(tmp_path / "a.txt", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


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


@pytest.mark.parametrize("weights", [None, {"up": 3}])
def test_sentences_say_both_sides_and_count_rows(weights):
    table = awkward(0, "classification")
    question = trying.ask(table, class_weight=weights, max_depth=2, seconds=5)
    found = trying.fit_tree(question)
    said = trying.sentences(found)
    assert len(said) == found.model.get_n_leaves()
    assert not any("not " in line and "is not " not in line for line in said)
    assert sum(int(line.split(" of ")[-1].split()[0]) for line in said) == len(table.y)
    right = sum(int(re.search(r"\((\d+) of", line)[1]) for line in said)
    assert right == (found.model.predict(table.X) == table.y).sum()
    drawn = found.tree
    assert drawn.value[0].sum() == len(table.y)
    leaves = drawn.feature < 0
    assert drawn.value[leaves].sum() == len(table.y)


def test_a_leaf_that_errs_is_not_right_on_all_rows():
    table = read_table(pd.DataFrame({"x": [0, 1] * 300, "y": ["p", "q"] * 298 + ["q"] * 4}), "y")
    said = trying.sentences(trying.fit_tree(trying.ask(table, max_depth=1, seconds=5)))
    assert list(said) == ["If x <= 0.5, then p (298 of 300 rows, 99 %).",
                          "If x > 0.5, then q (300 of 300 rows, 100 %)."]


def test_a_class_that_no_leaf_answers_is_named():
    rng = np.random.default_rng(0)
    x = rng.random(300)
    frame = pd.DataFrame({"x": x, "y": np.where(x < 0.5, 1, 3)})
    frame.loc[rng.choice(300, 70, replace=False), "y"] = 2
    said = trying.sentences(trying.fit_tree(trying.ask(read_table(frame, "y"), max_depth=1)))
    assert said[-1] == "No row gets the answer '2', which 23 % of the rows have." and len(said) == 3
    frame["y"] = frame["y"].replace(2, 1)
    said = trying.sentences(trying.fit_tree(trying.ask(read_table(frame, "y"), max_depth=1)))
    assert len(said) == 2 and "No row" not in str(said)


def test_what_the_fit_says_is_said_in_sentences():
    """Of one leaf, and of a column of many words."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": [f"t{k}" for k in rng.integers(0, 60, 400)],
                          "y": rng.permutation(np.repeat(["p", "q"], [300, 100]))})
    said = trying.fit_tree(trying.ask(read_table(frame, "y", task="classification"), max_depth=1,
                                      metric="accuracy", seconds=60)).lines
    assert "One leaf: no tree within the limits costs less." in said
    assert any(line.startswith("Feature town has 47 categories") for line in said)
    assert all(line[0].isupper() and line[-1] == "." and line[-2] != "." for line in said)


def test_of_two_bounds_of_one_side_the_tighter_is_said():
    frame = pd.DataFrame({"x": np.arange(160) / 2, "g": np.arange(160) % 3})
    frame["y"] = [f"c{k}" for k in np.arange(160) // 40]
    question = trying.ask(read_table(frame, "y"), max_depth=3, seconds=5)
    said = trying.sentences(trying.fit_tree(question))
    assert len(said) == 4
    for line in said:
        assert line.count("x <=") <= 1 and line.count("x >") <= 1
    assert any("x > 39.75 and x <= 59.75" in line for line in said)


def test_what_a_column_equals_says_all_that_is_known_of_it():
    frame = pd.DataFrame({"x": list("aabbccdd") * 20, "z": [0, 1] * 80})
    frame["y"] = [str("abcd".index(x) * (1 - z)) for x, z in zip(frame["x"], frame["z"])]
    said = trying.sentences(trying.fit_tree(trying.ask(read_table(frame, "y"), max_depth=4,
                                                       seconds=5)))
    equal = [line for line in said if "x = " in line]
    assert not any("x is not" in line for line in equal)
    assert len(equal) == 3 and any(line.count("x is not") == 3 for line in said)


def test_a_gap_is_said_where_it_goes_and_a_bound_as_what_it_means():
    """Only a gap that passes all conditions on its column is said; dates are said as dates."""
    rng = np.random.default_rng(1)
    day, x = rng.integers(0, 120, 800), rng.integers(0, 24, 800) * 10.0
    codes, x[::6] = rng.integers(0, 3, 800), np.nan
    frame = pd.DataFrame({"day": pd.Timestamp("2024-01-01") + pd.to_timedelta(day, "D"), "x": x,
                          "size": pd.Categorical.from_codes(codes, ["s", "m", "l"], ordered=True)})
    frame["y"] = np.select([day < 60, codes > 1, x < 80, (x < 160) | np.isnan(x)],
                           ["a", "b", "c", "d"], "e")
    table = read_table(frame, "y")
    found = trying.fit_tree(trying.ask(table, max_depth=5, seconds=10))
    said = str(trying.sentences(found))
    assert "day <= 59.5 (2024-02-29)" in said and "day > 59.5 (2024-02-29)" in said
    assert "size <= 1.5 (m)" in said and "size > 1.5 (m)" in said
    questions = trying.asked(found)
    assert "day <= 59.5 (2024-02-29)" in questions["day"]
    assert questions["size"] == ["size <= 0.5 (s)", "size <= 1.5 (m)"]
    assert "x <= 75 or missing" in questions["x"]
    (d,) = [line for line in said.split("\n") if "then d" in line]
    assert re.search(r"\(x (<=|>) \S+ and x (<=|>) \S+ or missing\)", d)
    assert not any("missing" in line for line in said.split("\n") if "then c" in line
                   or "then e" in line)
    assert trying.meant(table, "day", 1.5) == "2024-01-02 12:00"


def test_numbers_and_dates_are_said_as_an_analyst_writes_them():
    """No powers of ten, and of a date between two days the last that is below."""
    rng = np.random.default_rng(0)
    day = 25 * rng.integers(0, 8, 300)
    frame = pd.DataFrame({"day": pd.Timestamp("2024-01-01") + pd.to_timedelta(day, "D"),
                          "pay": 27_000.0 + 1000 * rng.integers(0, 7, 300)})
    frame["y"] = (1e6 + 1e5 * (day > 80) + 40_000 * (frame["pay"] > 30_000)
                  + rng.normal(0, 10, 300).round(2))
    table = read_table(frame.astype({"day": str}), "y")
    found = trying.fit_tree(trying.ask(table, max_depth=2, seconds=60))
    said, proved = str(trying.sentences(found)), str(trying.certified(found))
    assert "day <= 87.5 (2024-03-28)" in said and "pay <= 30500" in said
    for line in map(str, found.tree.value[found.tree.feature < 0, 0].round().astype(int)):
        assert f"then {line} (" in said
    assert "e+" not in said + proved
    assert not re.search(r"\d\.\d{9}", proved) and "has checked it" in proved
    assert "CART" not in proved         # whose questions these are not
    right = re.findall(r"costs? (?:less than )?(\d+\.?\d*)", proved)
    assert ("(but for rounding)" in proved) == (right[0] != right[1]) and len(right) == 2
    shown = trying.as_meant(table, table.X.iloc[:3])
    assert shown["day"].tolist() == frame["day"][:3].astype(str).tolist()
    assert "other tree" in str(trying.good_trees(found))
    card = str(trying.card(found, trying.Judged(
        found.question, [], pd.DataFrame(), np.arange(0), {}, {}, []), "rows.csv"))
    assert "'day' holds dates" in card and "--task" not in card and "classes" not in card


def made(table, scores, found, **options):
    """Return what cross-validation would have found: scores by method, in five folds each."""
    question = trying.ask(table, **options)
    frame = pd.DataFrame([{"method": name, "round": 0, "fold": k, question.metric: score + k / 1e3}
                          for name, score in scores.items() for k in range(5)])
    return trying.Judged(question, [], frame, np.arange(len(table.y)), found, {}, [],
                         np.unique(table.y))


def test_wrong_rows_are_shown_as_the_file_has_them():
    assert [trying.as_written(value) for value in (
        0.5195, 1234.56, 3.4000000953674316, 0.123456789, 20240131.0, 1234567.891, -3.0)] == [
        "0.5195", "1234.56", "3.4", "0.1235", "20240131", "1234568", "-3"]


@pytest.mark.parametrize("name", ["plain", "a numeric target"])
def test_all_that_a_trial_needs_is_compiled_before_anything_is_timed(name, monkeypatch):
    """Also what counts good trees, as compiling is left out of the time there alone."""
    base, target = plain(), "dose" if name == "a numeric target" else "label"
    question, warm = trying.ask(read_table(base, target), seconds=20), []
    monkeypatch.setattr(trying, "_choice", lambda question, *_, **__: (
        warm.append(question), (trying.protocol(question, 1.0)[trying.TREE][1][0], 0))[1])
    owner = type(trying.protocol(question, 1.0)[trying.TREE][0](
        np.arange(60), 2, 0.0, question.objectives[0]))
    called = owner.good_trees
    monkeypatch.setattr(owner, "good_trees", lambda *given, **options: (
        warm.append("good trees"), called(*given, **options))[1])
    trying.fit_tree(question)
    assert warm == ["good trees", question]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_tree_that_does_not_beat_one_answer_is_said_to(task, monkeypatch):
    """In large letters, and the book's rule does not speak against what was measured."""
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    frame["y"] = rng.permutation(np.repeat(["p", "q"], [220, 180])) if task == "classification" \
        else rng.normal(size=n)
    table = read_table(frame, "y")
    monkeypatch.setattr(trying, "_rule", lambda _: "The rule says yes, it pays.")
    for score, better in ((0.55 if task == "classification" else 0.0, False), (0.9, True)):
        right = rng.random(n) < score
        found = dict.fromkeys(trying.protocol(trying.ask(table), 1.0),
                              np.where(right, table.y, table.y[::-1]))
        judged = made(table, dict.fromkeys(found, score), found)
        said = trying.pays(judged)
        one = 55.0 if task == "classification" else 0.0
        assert f"from one answer for all rows by {100 * score - one + 0.2:+.1f} points" in said[0]
        assert said[0].startswith("The tree is not seen to beat one leaf.") != better
        assert said._repr_html_().startswith("<ul>") == better
        assert said[0].endswith("it is better." if better else "from chance.")
        if task == "classification":
            assert said[-1].startswith("The rule says yes") and "do not bear that out" in said[-1]
    frame["y"] = frame["a"] > 0
    table = read_table(frame, "y", task="classification")
    judged = made(table, dict.fromkeys(found, -0.2), dict.fromkeys(found, table.y), cost={"1": 3})
    saved = min(np.mean(table.y == 0), 3 * np.mean(table.y == 1)) - 0.198
    assert re.search(rf"by \{saved:+.3f} \(\S+ to \S+\) saved per row: it is better",
                     trying.pays(judged)[0])


def test_good_trees_and_the_proof_are_about_the_questions_that_are_shown():
    """Also where these are the questions of CART, with which the tree costs less."""
    rng = np.random.default_rng(5)
    x = rng.exponential(size=(700, 4))
    edges = np.sort(rng.choice(x[:, 0], 7, replace=False))          # which no even cuts hit
    frame = pd.DataFrame(x).add_prefix("x").assign(
        y=np.searchsorted(edges, x[:, 0]) * 5 % 8 + rng.random(700) / 100)
    question = trying.ask(read_table(frame, "y"), max_depth=2, seconds=60)
    make, rows = trying.protocol(question, 20.0)[trying.TREE][0], np.arange(700)
    model, _ = trying._fitted(
        question, make(rows, max_depth=2, price=0.01, objective="squared_error"), rows)
    found = trying.Found(question, model, [], model.apply(question.table.X))
    asks, said = trying.asked(found), str(trying.certified(found))
    assert len(asks) < 4 and "questions about numbers are those of a CART tree" in said
    assert "No question was made of" not in said
    assert f"at least 5 rows in a leaf over the {sum(map(len, asks.values()))} questions" in said

    def costs(part, depth):
        """Return what every tree over these questions costs on a part of the rows."""
        y = question.table.y[part]
        every = [np.sum((y - y.mean()) ** 2)]
        for column in found.columns.T if depth else ():
            sides = [np.flatnonzero(column[part] == side) for side in (0, 1)]
            if min(map(len, sides)) >= 5:
                one, two = (costs(part[side], depth - 1) for side in sides)
                every += [a + b + model.split_penalty for a in one for b in two]
        return every

    every = np.array(costs(rows, 2))
    assert every.min() == pytest.approx(model.report_.objective)
    others = np.count_nonzero(every <= 1.01 * every.min()) - 1
    assert str(trying.good_trees(found)).startswith(f"- {others or 'No'} other tree")
    model.time_limit = 1e-9
    said = str(trying.certified(found))
    assert "written down as far as the time sufficed" in said and "for rounding" not in said
    model.report_.status, model.report_.lower_bound = "time_limit", 0.0
    assert "ended the search before anything was proved. With more" in str(trying.certified(found))


def test_one_answer_explains_nothing_of_the_rows_that_were_drawn():
    """R² is of their variance, which that of the table may differ from."""
    y = np.append(np.arange(100.0), np.full(900, 50.0))
    table = read_table(pd.DataFrame({"x": np.arange(1000.0) ** 1.5, "y": y}), "y")
    question, rows = trying.ask(table), np.arange(100)
    assert question.score(y[rows], np.full(100, y[rows].mean()), counted=y[rows]) == 0
    scores = pd.DataFrame([{"method": trying.TREE, "round": 0, "fold": k, "R²": 0.9 + k / 1e3}
                           for k in range(5)])
    judged = trying.Judged(question, [], scores, rows, {trying.TREE: y[rows]}, {}, [], y[rows])
    assert "from one answer for all rows by +90.2 points (" in trying.pays(judged)[0]
    assert question.score(y[100:], y[100:], counted=y[100:]) == 1


def test_a_quantity_of_a_draw_is_judged_by_the_variance_of_the_draw(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(3000), "y": rng.random(3000) ** 30})
    question = trying.ask(read_table(frame, "y"), seconds=12)
    told(monkeypatch, lambda rows, splits: (8, 0.5))
    judged = trying.judge(question)
    assert len(judged.rows) == 500 and np.array_equal(
        judged.counted, question.table.y[judged.rows])


def test_parts_without_a_mistake_are_not_among_the_worst():
    frame = pd.DataFrame({"x": np.repeat(["a", "b", "c", "d"], 50), "y": np.tile(["p", "q"], 100)})
    table = read_table(frame, "y")
    wrong = table.y.copy()
    wrong[150:] = "p"
    parts = trying.parts(made(table, {trying.TREE: 0.8}, {trying.TREE: wrong}))
    assert parts.index.tolist() == ["x: d"]
    assert trying.parts(made(table, {trying.TREE: 1.0}, {trying.TREE: table.y})).empty


def test_cart_of_the_same_size_has_one_leaf_where_the_tree_has():
    for y in (np.arange(60.0), np.tile(["p", "q"], 30)):
        question = trying.ask(read_table(pd.DataFrame({"x": np.arange(60) ** 1.5, "y": y}), "y"))
        for leaves in (1, 2, 3):
            make, (size,) = trying.protocol(question, 1.0, leaves)[trying.SAME]
            rows = np.arange(60)
            model, _ = trying._fitted(question, make(rows, **size), rows, question.columns)
            assert getattr(model, "regressor_", model).get_n_leaves() == leaves


def test_a_leaf_that_answers_by_its_costs_is_explained():
    table = read_table(plain(60), "label")
    label = str(table.y[0])
    said = "most of its rows are not of"
    assert said in str(trying.ask(table, cost={label: 4}).lines)
    assert said not in str(trying.ask(table).lines)


def test_names_of_methods_can_stand_in_a_list():
    for y in (np.arange(60.0), np.tile(["p", "q"], 30)):
        table = read_table(pd.DataFrame({"x": np.arange(60) ** 1.5, "y": y}), "y")
        assert not any("," in name for name in trying.protocol(trying.ask(table), 1.0))


def test_parts_of_a_quantity_have_as_many_digits_in_any_unit():
    frame = pd.DataFrame({"x": np.repeat([0.0, 1.0, 2.0, 6.0], 50)})
    for unit in (1e-9, 1.0, 1e9):
        table = read_table(frame.assign(y=unit * np.arange(1, 201)), "y", task="regression")
        names = trying.protocol(trying.ask(table), 1.0)
        judged = made(table, dict.fromkeys(names, 0.8), dict.fromkeys(names, table.y * (1 + 1 / 7)))
        parts = trying.parts(judged)["mean absolute error"]
        assert parts.astype(float).to_numpy() == pytest.approx(unit * np.array(
            [175.5, 125.5, 75.5, 25.5]) / 7, rel=1e-3)
        assert max(map(len, parts)) <= 11


def test_what_stands_beside_a_picture_has_short_lines():
    for name in ("yes", "a $ and a $", "definitely and without any reservation " * 9, "w" * 999):
        lines = trying.plain(f"found of {name}").split("\n")
        assert len(lines) <= 3 and max(map(len, lines)) <= 40
        assert all(line.count("$") == line.count(r"\$") for line in lines)


def test_parts_are_named_by_the_values_that_are_in_them():
    frame = pd.DataFrame({"x": np.repeat([0.0, 1.0, 2.0, 6.0], 50),
                          "when": pd.date_range("2024-01-01", periods=200).astype(str),
                          "y": np.tile(["p", "q"], 100)})
    table = read_table(frame, "y")
    names = trying.protocol(trying.ask(table), 1.0)
    wrong = table.y.copy()
    wrong[150:] = "p"
    parts = trying.parts(made(table, dict.fromkeys(names, 0.8), dict.fromkeys(names, wrong)))
    assert "x: 6" in parts.index and "when: 2024-05-30 to 2024-07-18" in parts.index
    assert not any("-0.001" in name for name in parts.index)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_what_is_handed_over_predicts_as_the_tree(task):
    """All files, on rows with gaps, whatever the classes weigh."""
    table = awkward(2, task)
    weights = {"class_weight": {"up": 4}} if task == "classification" else {}
    found = trying.fit_tree(trying.ask(table, max_depth=3, seconds=5, **weights))
    files = trying.exports(found)
    assert {".py", ".json", ".js", ".sql", ".dot"} <= set(files)
    wanted = found.model.predict(table.X)
    np.testing.assert_array_equal(DecisionTree.from_json(files[".json"]).predict(table.X), wanted)
    space = {}
    exec(files[".py"], space)
    rows = table.X.to_dict("records")
    assert [space["predict"](row) for row in rows] == wanted.tolist()
    if task == "classification":
        chances = np.array([list(space["predict_proba"](row).values()) if isinstance(
            space["predict_proba"](row), dict) else space["predict_proba"](row) for row in rows])
        for leaf in np.unique(found.leaf):
            inside = found.leaf == leaf
            np.testing.assert_allclose(chances[inside][0], [
                np.mean(table.y[inside] == label) for label in found.model.classes_])


def misspelt(seed, n=300):
    """Return a table as a file may have it: capitals, blanks, rare words and marks of gaps."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "city": rng.choice(["Bonn", "bonn", " Bonn", "BONN ", "Köln", "it's", "n/a", "?", ""], n),
        "firm": np.where(rng.random(n) < 0.3, [f"f{k}" for k in range(n)],
                         rng.choice(["A&B", "a&b", "C"], n)),
        "dose": rng.integers(0, 9, n).astype(float), "yes": rng.choice(["ja", "JA", "nein"], n)})


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_file_takes_words_as_the_table_has_them(task, seed, tmp_path):
    """The page merges spellings and rare words, and reads marks as gaps; so do the files."""
    raw = misspelt(seed)
    plain_city = raw["city"].str.strip().str.lower()
    score = 2.0 * (plain_city == "bonn") + 3 * plain_city.isin(["n/a", "?", ""]) * (
        raw["firm"].str.len() > 1) - (raw["yes"].str.lower() == "ja") + (raw["dose"] > 4)
    score = score + (raw["firm"].str.match("f\\d"))
    raw["y"] = score if task == "regression" else np.where(score > 1.5, "up", "down")
    raw.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv", "y", task=task)
    found = trying.fit_tree(trying.ask(table, max_depth=4, seconds=5))
    assert found.model.get_n_leaves() > 4
    wanted, refused = found.model.predict(table.X), []
    files, rows = trying.exports(found, refused), raw.drop(columns="y")
    assert not refused
    space = {}
    exec(files[".py"], space)
    assert [space["predict"](row) for row in rows.to_dict("records")] == wanted.tolist()
    base = sqlite3.connect(":memory:")
    rows.to_sql("t", base, index=False)
    assert [label for label, in base.execute(f"select {files['.sql']} from t")] == wanted.tolist()
    again = DecisionTree.from_json(files[".json"])
    np.testing.assert_array_equal(again.predict(rows), wanted)
    assert again.to_json() == files[".json"] and again.to_sql() == files[".sql"]
    np.testing.assert_array_equal(found.model.tree_.predict(table.X), again.predict(table.X))


def test_gaps_that_the_rows_did_not_have_go_the_same_way_in_every_file():
    """With weights the heavier side of a test is another than that with more rows."""
    table = read_table(rare().drop(columns="who"), "ill")
    found = trying.fit_tree(trying.ask(table, max_depth=2, seconds=5))
    assert found.tree.n_splits and found.question.weights
    rows = table.X.copy()
    rows.loc[::2, "a"] = np.nan
    rows.loc[::3, "b"] = np.nan
    rows.loc[::5, "c"] = None
    wanted, files, space = found.model.predict(rows), trying.exports(found), {}
    exec(files[".py"], space)
    assert [space["predict"](row) for row in rows.to_dict("records")] == wanted.tolist()
    np.testing.assert_array_equal(DecisionTree.from_json(files[".json"]).predict(rows), wanted)
    base = sqlite3.connect(":memory:")
    rows.to_sql("t", base, index=False)
    assert [label for label, in base.execute(f"select {files['.sql'].rstrip().rstrip(';')} "
                                             "from t")] == wanted.tolist()


def rare(n=600, share=0.05):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n),
                          "c": rng.choice(["u", "v"], n), "who": rng.integers(0, 60, n)})
    score = frame["a"] + (frame["c"] == "u") + rng.normal(size=n)
    frame["ill"] = np.where(score > np.quantile(score, 1 - share), "yes", "no")
    return frame


def test_a_rare_class_is_judged_by_balanced_accuracy_unless_something_else_is_asked():
    table = read_table(rare(), "ill", groups="who")
    question = trying.ask(table, seconds=30)
    assert question.metric == "balanced accuracy" and question.weights == "balanced"
    assert "5.0 % of the rows" in question.lines[0] and "50.0 %" in question.lines[0]
    found = trying.fit_tree(question)
    predicted = found.model.predict(table.X)
    assert (predicted == "yes").sum() > 30
    for options, metric in (({"cost": {"yes": 5}}, "cost"), ({"metric": "accuracy"}, "accuracy")):
        asked = trying.ask(table, **options)
        assert asked.metric == metric
        assert asked.weights == ({"no": 1.0, "yes": 5.0} if metric == "cost" else None)
    y, none = table.y, np.full(len(table.y), "no")
    costly = trying.ask(table, cost={"yes": 5})
    assert costly.score(y, none) == pytest.approx(-5 * np.mean(y == "yes"))
    assert question.score(y, none) == 0.5
    assert trying.ask(read_table(plain(), "label")).metric == "accuracy"
    for options, says in (({"cost": {"maybe": 5}}, "no class 'maybe'.*no, yes"),
                          ({"cost": {"yes": np.nan}}, "above 0"), ({"metric": "f1"}, "metric"),
                          ({"cost": {"yes": 2}, "class_weight": "balanced"}, "one of them"),
                          ({"max_depth": 0}, "^--depth is 0"),
                          ({"max_leaf_nodes": 1}, "^--leaves is 1")):
        with pytest.raises(ValueError, match=says):
            trying.ask(table, **options)


def test_misspelt_classes_of_a_row_each_are_not_learned():
    """They are no rare class that is to be found, and balanced weights do not make them one."""
    table = read_table(rare(share=0.4), "ill")
    table.y = table.y.astype(object)
    table.y[:6] = ["yess", "y", "n", "Noo", "yes.", "N"]
    table.y = table.y.astype(str)
    assert trying.ask(table).metric == "accuracy"
    question = trying.ask(table, metric="balanced accuracy", seconds=20)
    weight = question.row_weights()
    assert (weight[:6] == weight.min()).all() and weight.max() > weight.min()
    assert "Classes of fewer than 5 rows are no part of this" in str(question.lines)
    assert "has 39." in question.lines[0] and "accuracy of 50.0 %" in question.lines[0]
    found = trying.fit_tree(question)
    assert {str(found.tree.classes[label]) for label in found.tree.label[np.unique(
        found.leaf)]} == {"yes", "no"}
    few = trying.too_few(np.array(["a"] * 9 + ["b"] * 4))
    assert not len(few)                 # a rare class of two is what is asked for


def test_of_many_classes_a_split_pays_though_each_weighs_little():
    """The price of a split falls with them, and how many can be answered at all is said."""
    rng = np.random.default_rng(0)
    k = rng.integers(0, 60, 1800)
    table = read_table(pd.DataFrame({
        "a": k // 8 + rng.normal(0, 0.2, 1800), "b": k % 8 + rng.normal(0, 0.2, 1800),
        "y": [f"k{one}" for one in k]}), "y")
    question = trying.ask(table, seconds=20)
    assert "So they answer with at most 16 of the 60 classes; --depth allows more" in str(
        question.lines)
    assert "at most 4 of the 60 classes; --leaves allows" in str(trying.ask(
        table, max_leaf_nodes=4).lines)
    assert trying.fit_tree(question).model.get_n_leaves() > 1
    assert "So they answer" not in str(trying.ask(read_table(rare(), "ill")).lines)


def test_the_tree_of_a_rare_class_may_minimise_the_gini_impurity():
    """Both objectives are candidates; the page says which was chosen, and what it costs."""
    table = read_table(rare(300, 0.1), "ill")
    question = trying.ask(table, max_depth=2, seconds=30)
    offered = trying.protocol(question, 1.0)[trying.TREE][1]
    assert [size["objective"] for size in offered] == ["errors", "gini"] * 2
    for options in ({"metric": "accuracy"}, {"cost": {"yes": 5}}, {"class_weight": {"yes": 5}},
                    {"cost": {"yes": 5}, "metric": "balanced accuracy"}):
        assert trying.ask(table, **options).objectives == ["errors"]
    weight, yes = question.row_weights(), table.y == "yes"
    for objective, words in (("gini", "the Gini impurity"), ("errors", "weight of the wrong rows")):
        question.objectives = [objective]
        found = trying.fit_tree(question)
        proved = str(trying.certified(found))
        assert f": {words}" in proved and "has checked it" in proved
        assert not re.search(r"\.\d{10}", proved)
        assert ("Brier score" in proved) == (objective == "gini")
        leaves = pd.DataFrame({"yes": weight * yes, "no": weight * ~yes}).groupby(found.leaf).sum()
        least = leaves.min(axis=1) if objective == "errors" else \
            2 * leaves.prod(axis=1) / leaves.sum(axis=1)
        price = found.model.split_penalty * (len(leaves) - 1)
        said = float(re.search(r"costs (\S+):", proved)[1])
        assert said == pytest.approx(least.sum() + price, rel=1e-9)
        assert words in str(trying.card(found, trying.Judged(
            question, [], pd.DataFrame(), np.arange(0), {}, {}, []), "rows.csv"))


def told(monkeypatch, seconds):
    """Have each fold take the seconds that are told, half of them for its last two methods.

    Returns the list of its training and test rows. ``seconds`` takes the number of training rows
    and of inner splits, and returns the seconds, and those of them in which sizes are chosen.
    """
    folds = []

    def fold(question, train, test, limit, until, splits, names=None):
        names, answers = list(names or trying.protocol(question, 1.0)), {}
        if train is test:       # which loads what is timed
            return trying.Fold(test, answers, None, 0, 0.0)
        folds.append((train, test))
        whole, choosing = seconds(len(train), splits)
        for name in names:
            if question.clock.elapsed > until and len(answers) >= 2:
                break
            question.clock.start -= whole * (0.25 if name in ("forest", "boosting") else 0.1)
            answers[name] = question.table.y[test], None
        return trying.Fold(test, answers, None, 0, choosing * len(answers) / len(names))
    monkeypatch.setattr(trying, "_fold", fold)
    return folds


@pytest.mark.parametrize("groups", [None, "who"])
@pytest.mark.parametrize("n", [600, 3000])
def test_every_verdict_has_five_stratified_folds(n, groups, monkeypatch):
    """Also where the time suffices for few rows only; groups stay whole."""
    table = read_table(rare(n), "ill", groups=groups)
    question = trying.ask(table, seconds=20)
    folds = told(monkeypatch, lambda rows, splits: (rows / 480, 0.5))
    judged = trying.judge(question)
    assert len(judged.scores) % (5 * len(judged.found)) == 0 and len(judged.rows)
    if n == 600:
        assert len(judged.rows) == n
    else:
        assert trying.PILOT * 0.9 <= len(judged.rows) < n and "draw of" in judged.lines[0]
        share = np.mean(table.y[judged.rows] == "yes")
        assert share == pytest.approx(0.05, abs=0.01 if groups is None else 0.04)
    for train, test in folds[1:]:
        assert not set(train) & set(test)
        if groups:
            assert not set(table.groups[train]) & set(table.groups[test])
        elif len(test) > 90:
            assert np.mean(table.y[test] == "yes") == pytest.approx(0.05, abs=0.012)


def test_without_time_for_five_folds_there_is_no_verdict(monkeypatch):
    question = trying.ask(read_table(rare(), "ill"), seconds=2)
    told(monkeypatch, lambda rows, splits: (4, 0.5))
    judged = trying.judge(question)
    assert not len(judged.rows) and judged.lines[0].startswith("There is no verdict: the time")
    assert "it is" not in str(trying.pays(judged)) and trying.worth(judged).empty
    few = trying.judge(trying.ask(read_table(rare(40), "ill", groups="c"), seconds=5))
    assert "need more rows, or groups" in few.lines[0]


@pytest.mark.parametrize("loading, counted", [(3.0, 3.0), (50.0, 10.0)])
def test_loading_and_reading_are_part_of_the_time(loading, counted):
    """On a busy computer they take long; half of the time is left for the trial itself."""
    table = read_table(rare(), "ill")
    table.seconds = loading
    question = trying.ask(table, seconds=20)
    assert counted <= question.clock.elapsed < counted + 1


def test_what_is_compared_is_what_is_shown():
    """The sentence follows from the numbers in it, at every rounding."""
    table = read_table(rare(), "ill")
    rng = np.random.default_rng(0)
    for metric in ("balanced accuracy", "accuracy", "cost"):
        question = trying.ask(table, metric=metric, max_depth=2)
        for _ in range(40):
            base = rng.normal(0.8, 0.0005, 5)
            found = {name: rng.permuted(table.y) for name in trying.protocol(question, 1.0)}
            scores = pd.DataFrame([
                {"method": name, "round": 0, "fold": k, metric: base[k] + rng.normal(0, 0.0004)}
                for name in trying.protocol(question, 1.0) for k in range(5)])
            judged = trying.Judged(question, [], scores, np.arange(len(table.y)), found, {}, [],
                                   np.unique(table.y))
            for line in trying.pays(judged):
                low, high = map(float, re.search(r"\((\S+) to (\S+)\)", line).groups())
                assert ("it is better" in line) <= (low > 0) and \
                    ("it is worse" in line) <= (high < 0)
                assert ("chance" in line) <= (low <= 0 <= high)
                assert ("it is ahead" in line) <= (low > 0)
                assert not re.search(r"-0\.0+[^\d]", line)


def test_rivals_that_are_worse_are_said_to_be():
    table = read_table(rare(), "ill")
    question = trying.ask(table, metric="accuracy", max_depth=2)
    for away, says in ((-0.2, "it is worse."), (0.0, "chance."), (0.2, "it is ahead of")):
        found = {name: np.where(np.arange(600) % 5 < 3 + (name == trying.TREE or away == 0),
                                table.y, "never") if away < 0 else table.y
                 for name in trying.protocol(question, 1.0)}
        scores = {name: 0.7 + away * (name in ("forest", "boosting", "logistic regression"))
                  for name in found}
        said = [line for line in trying.pays(made(table, scores, found, metric="accuracy",
                                                  max_depth=2)) if "logistic" in line]
        assert len(said) == 1 and says in said[0], said


def test_trees_of_a_quantity_that_are_the_same_are_said_not_to_differ():
    x = np.arange(200) % 4
    table = read_table(pd.DataFrame({"a": x, "b": np.arange(200) % 7 * 1.5, "y": x // 2 * 9.0
                                     + np.arange(200) % 9 / 8}), "y", task="regression")
    both = trying.TREE, trying.SAME
    said = trying.pays(made(table, dict.fromkeys(both, 0.9), dict.fromkeys(both, table.y)))
    assert said[1].endswith("(+0.0 to +0.0) of R²: no difference that could be told from chance.")


def test_folds_that_agree_prove_little_where_rows_are_few():
    """Twelve rows that are all right do not prove 100 %, nor three discordant ones a gain."""
    X = pd.DataFrame({"a": np.arange(12.0), "y": ["n"] * 6 + ["p"] * 6})
    for n, bound in ((12, 80.0), (12_000, 99.5)):
        table = read_table(pd.concat([X] * (n // 12)), "y")
        for metric in ("accuracy", "balanced accuracy", "cost"):
            question = trying.ask(table, metric=metric)
            found = dict.fromkeys(trying.protocol(question, 1.0), table.y)
            worse = table.y.copy()
            worse[np.flatnonzero(worse == "p")[:3]] = "n"
            found["forest"] = worse
            scores = pd.DataFrame([
                {"method": name, "round": 0, "fold": k,
                 metric: question.score(table.y, found[name]), "AUC": 1.0}
                for name in found for k in range(5)])
            judged = trying.Judged(question, [], scores, np.arange(n), found, {}, [],
                                   np.unique(table.y))
            mean, low, high = judged.interval(trying.TREE, metric)
            if metric == "cost":
                assert high == 0 and "(0.000 to" in judged.text(trying.TREE, metric)
            else:
                assert (mean, high) == (100, 100) and (low < bound) == (n == 12)
                assert (judged.interval(trying.TREE, "AUC")[1] < bound) == (n == 12)
            mean, low, high = judged.interval(trying.TREE, metric, "forest")
            assert mean > 0 or n > 12
            assert low <= 0 <= high or n > 12


def test_rows_of_one_group_count_as_fewer():
    """Twelve persons of a hundred rows each that are all right do not prove 100 %."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(12), 100)
    frame = pd.DataFrame({"a": rng.normal(size=1200), "who": who, "one": np.arange(1200),
                          "y": np.where(who % 2, "p", "n")})
    wide = {}
    wrong = np.where(frame["y"] == "p", "n", "p")
    for kind, right in (("all", np.full(1200, True)), ("by person", who % 6 > 0),
                        ("by chance", rng.random(1200) < 0.8),
                        ("alike", np.arange(1200) % 2 > 0)):
        for groups in (None, "one", "who"):
            table = read_table(frame.drop(columns={"one", "who"} - {groups}), "y", groups=groups)
            found = dict.fromkeys(trying.protocol(trying.ask(table), 1.0), frame["y"].to_numpy())
            found[trying.TREE] = np.where(right, frame["y"], wrong)
            scores = dict.fromkeys(found, 0.8)
            judged = made(table, scores, found, metric="accuracy")
            judged.scores["AUC"] = 0.8
            wide[kind, groups] = np.array([np.ptp(judged.interval(trying.TREE, *of)[1:]) for of in (
                ["accuracy"], ["AUC"], ["accuracy", trying.SAME])])
        assert (wide[kind, None] == wide[kind, "one"]).all()
        assert (wide[kind, "who"] >= wide[kind, None]).all()
    assert (wide["all", "who"] > 4 * wide["all", None]).all()
    assert (wide["by person", "who"] > 4 * wide["by person", None]).all()
    assert (wide["by chance", "who"] < 2 * wide["by chance", None]).all()
    assert wide["alike", "who"] == pytest.approx(wide["alike", None])   # half of each person's


@pytest.mark.parametrize("yes, groups", [(2, None), (8, "who")])
def test_a_class_that_not_every_fold_tests_is_no_part_of_balanced_accuracy(yes, groups):
    """Folds without a row of it would call its absence success."""
    frame = rare(300).assign(ill="no")
    frame.loc[frame["who"].sort_values().index[:yes], "ill"] = "yes"
    frame["who"] = frame["who"].where(frame["ill"] == "no", -1)
    judged = trying.judge(trying.ask(read_table(frame, "ill", groups=groups), seconds=20))
    assert not len(judged.rows)
    assert "There is no verdict: not each of 5 folds has a row of 'yes'" in judged.lines[0]
    frame.loc[(frame["a"] > 0.5) & (frame["ill"] == "no"), "ill"] = "perhaps"
    judged = trying.judge(trying.ask(read_table(frame, "ill", groups=groups), seconds=20))
    assert list(judged.counted) == ["no", "perhaps"]
    assert any("leaves 'yes' out" in line for line in judged.lines)


def test_an_outlier_in_one_fold_does_not_rule_the_share_of_variance():
    """R² is of the variance of the column; a difference of it may exceed 100 points."""
    y = np.append(np.linspace(0, 1, 199), 1e6)
    table = read_table(pd.DataFrame({"x": np.arange(200.0) ** 1.5, "y": y}), "y")
    question = trying.ask(table)
    part = np.arange(0, 198, 5)
    assert question.score(y[part], np.full(40, y.mean())) > 0.99        # r2_score: -3e8
    assert question.score(y, np.full(200, y.mean())) == pytest.approx(0)
    names = trying.protocol(question, 1.0)
    scores = pd.DataFrame([{"method": name, "round": 0, "fold": k, "R²": -30.0 * (name == "forest")}
                           for name in names for k in range(5)])
    judged = trying.Judged(question, [], scores, np.arange(200), {}, {}, [])
    assert judged.interval(trying.TREE, "R²", "forest").tolist() == [3000, 3000, 3000]


def test_boosting_learns_from_few_rows_and_rare_values():
    """Its smallest leaf is that of the other methods, and not 20 rows."""
    rng = np.random.default_rng(0)
    product = rng.integers(0, 40, 400)
    table = read_table(pd.DataFrame({"product": [f"p{k}" for k in product],
                                     "price": rng.exponential(size=40)[product]}), "price")
    question = trying.ask(table, seconds=60)
    train, test = trying.folds_of(table.y, 5, table.task, 0)[0]
    answers = trying._fold(question, train, test, 1.0, np.inf, 1).answers
    assert question.score(table.y[test], answers["boosting"][0]) > 0.9


def test_every_method_tells_small_and_close_numbers_apart():
    """scikit-learn's trees see no step below 1e-7, nor one that float32 does not have."""
    rng = np.random.default_rng(0)
    x = rng.permutation(100)
    for values in (x * 1e-12, 1e15 + 3 * x, (x - 50) * 3e306):
        table = read_table(pd.DataFrame({"x": values, "y": np.where(x < 40, "p", "q")}), "y")
        question = trying.ask(table, max_depth=1, seconds=60)
        train, test = trying.folds_of(table.y, 5, table.task, 0)[0]
        for name, (answer, _) in trying._fold(question, train, test, 1.0, np.inf, 1
                                              ).answers.items():
            assert question.score(table.y[test], answer) >= 0.9, (values[0], name)
        assert "is right on as many rows as CART, to a tenth" in trying._rule(question)


def test_every_method_tells_small_targets_apart():
    """scikit-learn's trees take a variance below 2e-16 for none."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 8, 200)
    shares = []
    for unit in (1.0, 1e-11):
        table = read_table(pd.DataFrame({"x": x, "y": unit * (x + rng.normal(size=200) / 9)}), "y")
        question = trying.ask(table, max_depth=3, seconds=60)
        train, test = trying.folds_of(table.y, 5, table.task, 0)[0]
        answers = trying._fold(question, train, test, 1.0, np.inf, 1).answers
        shares.append([question.score(table.y[test], answer) for answer, _ in answers.values()])
    assert len(shares[0]) == 7 and np.min(shares) > 0.9


def test_copies_of_a_row_are_not_learned_from_and_tested_on():
    """A forest would know them by heart; equal rows of few values are no copies."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=150), "y": rng.choice(["p", "q"], 150)})
    table = read_table(pd.concat([frame] * 3), "y")
    assert "300 rows of 450 are the same as an earlier one in the target and every feature; such " \
        "rows count as copies" in str(table.report)
    for train, test in trying.folds_of(table.y, 5, table.task, 0, table.groups):
        assert not set(table.X["a"][train]) & set(table.X["a"][test])
    table = read_table(pd.concat([frame.assign(a=frame["a"] > 0)] * 3), "y")
    assert table.groups is None and "copies" not in str(table.report)


def test_a_proof_that_takes_long_to_check_does_not_hold_the_page_up(monkeypatch):
    """The checker is ended; numbers beyond float32 do not end the page either."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=100) * 1e300, "b": rng.normal(size=100)})
    table = read_table(frame.assign(y=np.where(frame["b"] > 0, "p", "q")), "y")
    question = trying.ask(table, max_depth=1, seconds=5)
    found = trying.fit_tree(question)
    assert "has checked it: no tree" in str(trying.certified(found))
    found.model.time_limit = -4.999
    question.clock.start += 60
    said = str(trying.certified(found))
    assert "checking it takes longer than this page" in said and "no certificate" not in said
    train, test = trying.folds_of(table.y, 5, table.task, 0)[0]
    assert len(trying._fold(question, train, test, 1.0, np.inf, 1).answers) == 7
    assert "points" in trying._rule(question)


@pytest.mark.parametrize("largest, late, why", [
    (1, 0, "so many rows and questions"), (1e9, 9, "so little time (--time)")])
def test_why_there_is_no_certificate_is_said(largest, late, why, monkeypatch):
    found = trying.fit_tree(trying.ask(read_table(plain(60)), max_depth=1, seconds=10))
    found.question.clock.start -= late
    monkeypatch.setattr(trying, "LARGEST_PROOF", largest)
    assert f"no certificate to check: with {why} it may take" in str(trying.certified(found))


def test_all_rows_are_used_where_a_fold_costs_little_more_with_them(monkeypatch):
    """Time in which sizes are chosen, on few rows, does not grow with the table."""
    table = read_table(rare(6000), "ill")
    question = trying.ask(table, seconds=60)
    told(monkeypatch, lambda rows, splits: (1.5 * splits + rows / 4000, 1.5 * splits))
    judged = trying.judge(question)
    assert len(judged.rows) == 6000
    assert question.clock.elapsed < question.clock.time_limit


def test_time_left_over_is_for_more_rows_rather_than_more_rounds(monkeypatch):
    """A first fold may have taken long by chance, or since the computer was busy."""
    table = read_table(rare(6000), "ill")
    question = trying.ask(table, seconds=60)
    calls = told(monkeypatch, lambda rows, splits: (
        (8 if len(calls) < 3 else 0.5) + rows / 4000, 0.4))
    judged = trying.judge(question)
    assert len(calls[0][0]) == len(calls[2][0]) == 400 and len(judged.rows) > 2000
    assert question.clock.elapsed < question.clock.time_limit


@pytest.mark.parametrize("groups", [None, "who"])
@pytest.mark.parametrize("n", [600, 6000])
def test_with_little_time_there_are_fewer_rivals_rather_than_no_verdict(n, groups, monkeypatch):
    """Five folds of the tree and CART of its size come first; the page names the others."""
    sizes = np.random.default_rng(1).integers(1, 60, n)         # so that no draw has 500 rows
    frame = rare(n).assign(who=np.repeat(np.arange(n), sizes)[:n])
    question = trying.ask(read_table(frame, "ill", groups=groups), seconds=12)
    folds = told(monkeypatch, lambda rows, splits: (8, 0.5))
    judged = trying.judge(question)
    assert len(folds) == 5 and (len(judged.rows) == 600 if n == 600 else
                                abs(len(judged.rows) - 500) <= 60 * bool(groups))
    assert list(judged.found) == judged.scores["method"].unique().tolist() == list(
        trying.CARTS[:2]) == trying.worth(judged).index.tolist()
    assert any("did not suffice for: tuned CART, " in line for line in judged.lines)
    assert "forest" not in str(trying.pays(judged)) and question.clock.elapsed < 24


def test_what_is_too_good_is_said_to_be():
    """A leak in two columns together, and rows of persons who are in all folds."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (300, 4)), columns=list("abcd"))
    frame["y"] = np.where(frame["a"] ^ frame["b"], "left", "stayed")
    frame["who"] = [f"P{k // 5}" for k in range(300)]
    frame["height"] = np.repeat(rng.normal(size=60), 5)
    judged = trying.judge(trying.ask(read_table(frame, "y"), max_depth=2, seconds=8))
    assert "If 'who' says which rows belong together, all this is too good" in str(
        trying.Lines(judged.lines))
    said = re.search(r"(\S+) % .* of accuracy \((.+)\) is rare", str(trying.pays(judged)))
    assert float(said[1]) == 100 == judged.interval(said[2], "accuracy")[0]
    judged = trying.judge(trying.ask(read_table(frame.assign(
        y=rng.permutation(frame["y"])), "y", groups="who"), max_depth=2, seconds=8))
    assert "too good" not in str(judged.lines) and "is rare" not in str(trying.pays(judged))


def test_a_rule_that_had_no_time_is_not_contradicted():
    question = trying.ask(read_table(rare(share=0.4), "ill"), seconds=9)
    question.clock.start -= 60
    y, names = question.table.y, list(trying.protocol(question, 1.0))
    scores = pd.DataFrame([{"method": name, "round": 0, "fold": k, "accuracy": float(
        name == trying.TREE)} for name in names for k in range(5)])
    found = {name: y if name == trying.TREE else np.roll(y, 1) for name in names}
    said = trying.pays(trying.Judged(question, [], scores, np.arange(len(y)), found, {}, []))
    assert "as many leaves by +100.0 points" in said[1] and "it is better" in said[1]
    assert said[-1] == "There was no time for the fits of the book's rule (--time)."


def test_on_a_computer_that_becomes_busy_all_rows_are_kept_and_some_rivals_go(monkeypatch):
    question = trying.ask(read_table(rare(6000), "ill"), seconds=60)
    folds = told(monkeypatch, lambda rows, splits: (
        (4 if len(folds) < 4 else 20) * (rows / 4800) ** 0.7 + 0.5, 0.5))
    judged = trying.judge(question)
    assert len(judged.rows) == 6000 and len(judged.found) < 7
    assert question.clock.elapsed < 60


def test_the_book_s_rule_is_applied_to_the_number_that_is_shown(monkeypatch):
    """3.0 points are three points or more, also where they are 2.96."""
    table = read_table(plain(), "label")
    question = trying.ask(table, seconds=1e6)
    for gain in (2.94, 2.96, 3.04, -1.0, 0.04):
        scores = iter([0.9, 0.9 - gain / 100])

        class Fitted:
            report_ = None

            def __init__(self, *_, **__):
                pass

            def fit(self, *_):
                return self

            def score(self, *_):
                return next(scores)  # noqa: B023
        monkeypatch.setattr(trying, "MurTreeClassifier", Fitted)
        monkeypatch.setattr(trying, "make_pipeline", Fitted)
        said = trying._rule(question)
        if gain == 0.04:
            assert "right on as many rows as CART, to a tenth" in said and "expect nothing" in said
            continue
        shown = float(re.search(r"right on (\S+) points (more|fewer)", said)[1])
        assert ("yes, it pays" in said) == (shown >= does_it_pay.LIMIT and gain > 0)
        assert f"{abs(gain):.1f}" in said


def test_verdict_uses_the_half_on_which_the_rule_was_tested():
    sets = does_it_pay.gains(does_it_pay.leaf_table())
    first = sets[sets["half"] == "chosen on"]
    assert does_it_pay.choose_limit(first) == does_it_pay.LIMIT
    assert 0.4 < len(first) / len(sets) < 0.6
    above = first["training"] >= does_it_pay.LIMIT
    assert (first["test"][above] > 0).all()
    assert not (first["test"][first["training"] >= does_it_pay.LIMIT - 1] > 0).all()


def test_every_method_takes_costs():
    table = read_table(rare(200, 0.3), "ill")
    question = trying.ask(table, cost={"yes": 5}, max_depth=1, seconds=1e4)
    train, test = trying.folds_of(table.y, 5, table.task, 0)[0]
    answers = trying._fold(question, train, test, 5.0, np.inf, 1).answers
    shares = {name: np.mean(answer == "yes") for name, (answer, _) in answers.items()}
    assert len(shares) == 7 and min(shares.values()) > 0.3, shares


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_each_method_learns_and_the_proof_is_checked(task):
    table = awkward(1, task)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        question = trying.ask(table, max_depth=2, seconds=40)
        found = trying.fit_tree(question)
        proved = trying.certified(found)
        judged = trying.judge(question)
    assert "has checked it: no tree of depth 2" in str(proved)
    assert set(judged.found) == set(trying.protocol(question, 1.0))
    best = trying.worth(judged)
    assert best.shape[0] == 7 and not best.isin(["–"]).any().any()
    for name in judged.found:       # recomputed from the predictions of the first round
        first = judged.scores[(judged.scores["method"] == name) & (judged.scores["round"] == 0)]
        if task == "classification":
            right = np.mean(judged.found[name] == table.y[judged.rows])
            assert first["accuracy"].mean() == pytest.approx(right, abs=0.02)
            assert not np.isnan(judged.chances[name]).any()
    assert len(trying.parts(judged)) and len(judged.trees) == 5
    assert trying.used(found.model, table)[0] in table.feature_names
    assert len(trying.good_trees(found)) == 1


def test_hostile_names_stay_data(tmp_path, capsys):
    """In the page, on the terminal, and in what is handed over."""
    base = plain(60)
    evil = '</script><img src=x onerror="document.title=1">\u202e$x$"""\'\\'
    frame = base.rename(columns={"age": f"\x1b[31m{evil}", "label": f"y{evil}"})
    frame["sex"] = frame["sex"] + evil
    frame[f"y{evil}"] = frame[f"y{evil}"] + evil
    path = tmp_path / "a'<b>&.csv"
    frame.to_csv(path, index=False)
    page = tmp_path / "p.html"
    assert main(["try", str(path), "--time", "4", "--output", str(page)]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err and "\u202e" not in said.out + said.err
    with chromium() as browser:
        tab = browser.new_page()
        tab.goto(page.as_uri())
        assert "optimal tree of a'<b>&.csv" in tab.title()
        assert tab.evaluate("document.querySelectorAll('img[src=x]').length") == 0
    assert main(["try", str(path), "--target", "\x1b[31mno", "--output", str(page)]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_refusals(tmp_path, capsys):
    path = tmp_path / "t.csv"
    plain().to_csv(path, index=False)
    output = ["--output", str(tmp_path / "p.html")]
    for arguments, says in ((["--target", "x"], "odt: there is no column 'x'"),
                            (["--depth", "0"], "odt: --depth is 0"),
                            (["--cost", "balanced"], "CLASS=NUMBER"),
                            (["--cost", "well=2", "--cost", "well=3"], "gives well twice"),
                            (["--cost", "yes"], "CLASS=NUMBER")):
        assert main(["try", str(path), "--target", "label", *output, *arguments]) == 2
        assert says in capsys.readouterr().err
    for read, asked, says in (
            ({}, {"seconds": 0.0}, "--time is 0"), ({}, {"max_leaf_nodes": 1}, "--leaves is 1"),
            ({}, {"seed": 2**32}, "give a number below 4294967296"),
            ({}, {"seconds": 1e10}, "more than 0 and up to 1e9"),
            ({}, {"cost": {"well": 2}, "class_weight": "balanced"}, "--cost and --class-weight"),
            ({"target": "dose"}, {"metric": "cost"},
             "leave --cost, --class-weight and --metric out"),
            ({}, {"cost": {"yes": 5}}, "no class 'yes'"),
            ({}, {"cost": {"Well": 5}}, "no class 'Well' (did you mean 'well'?)"),
            ({"drop": ["AGE"]}, {}, "(did you mean 'age'?); those are"),
            ({"target": "Label"}, {}, "(did you mean 'label'?); the columns"),
            ({"drop": ["label"]}, {}, "is the target"),
            ({"groups": "no"}, {}, "--groups 'no' is no column beside"),
            ({"groups": "label"}, {}, "--groups 'label' is the target"),
            ({"task": "regression"}, {}, "holds words")):
        with pytest.raises(ValueError, match=re.escape(says)):
            trying.ask(trying.table_of(str(path), **{"target": "label", **read}), **asked)
    with pytest.raises(SystemExit):
        main(["try", str(path), "--Target=label"])
    assert "--Target=label (did you mean '--target'?)" in capsys.readouterr().err
    assert main(["try", str(tmp_path / "none.csv")]) == 2
    capsys.readouterr()
    assert main(["try", "d\udce4ta.csv"]) == 2      # a name that is not in UTF-8
    assert "'d\\udce4ta.csv' is no text in UTF-8; rename" in capsys.readouterr().err
    assert main(["try", "https://example.org/t.csv"]) == 2
    assert "addresses are not read" in capsys.readouterr().err
    assert not list(tmp_path.glob("p*"))


def test_a_page_is_named_after_the_whole_name_of_its_table(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("sales.2023.csv", "sales.2024.csv.gz"):
        pd.DataFrame({"x": [0, 1] * 30, "y": [0, 0, 1] * 20}).to_csv(name, index=False)
        assert main(["try", name, "--time", "0.05"]) == 0
    assert {path.name for path in tmp_path.glob("*.html")} == {
        "sales.2023-tree.html", "sales.2024-tree.html"}


def test_a_notebook_of_that_name_in_the_working_folder_is_not_run(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_data.ipynb").write_text("mine")
    assert written("one class", tmp_path).is_file()


def test_the_card_says_which_numbers_the_tree_takes_otherwise_than_the_file_has_them():
    """Words it takes as the file has them, also the rare ones that it calls (other)."""
    rng = np.random.default_rng(0)
    rare = rng.random(200) < 0.4
    frame = pd.DataFrame({"city": np.where(rare, [f"c{k // 3}" for k in range(200)], "Bonn"),
                          "share": [f"{k} %" for k in rng.integers(0, 9, 200)],
                          "tiny": [f"{k}e-05" for k in rng.integers(1, 9, 200)]})
    for y, asked in ((rare, "city"), (frame["share"] > "4", "share"),
                     (frame["tiny"] > "4", "tiny")):
        table = read_table(frame.assign(y=np.where(y, "p", "q")), "y")
        found = trying.fit_tree(trying.ask(table, max_depth=1, seconds=5))
        said = str(trying.card(found, trying.Judged(
            found.question, [], pd.DataFrame(), np.arange(0), {}, {}, []), "rows.csv"))
        assert f"'{asked}' of 3 features" in said and "(other)" not in said
        assert "'tiny' is read" in str(table.report) and "'tiny' is read" not in said
        assert said.count("as they were read, and not as the file has them: 'share' is read as "
                          "numbers with the unit '%'") == (asked == "share")


def test_what_a_line_holds_stays_on_it():
    frame = pd.DataFrame({"c": ["a\nb", "c"] * 20, "y": ["no\nnever", "yes"] * 20})
    found = trying.fit_tree(trying.ask(read_table(frame, "y"), max_depth=1, seconds=5))
    said = trying.sentences(found)
    assert len(str(said).split("\n")) == len(said) == 2 and r"c = a\nb," in str(said)
    outline = trying.Outline(found)._repr_html_()
    assert "\n" not in outline and r"no\nnever" in outline


@pytest.mark.parametrize("options", [{}, {"cost": {"01": 3, "1": 2}}])
def test_classes_that_are_written_as_numbers(options):
    """scikit-learn looks for the weight of the label "01" under the number 1."""
    frame = rare(200)
    frame["ill"] = np.select([frame["a"] < 0.05, frame["a"] < 0.5], ["01", "1"], "x")
    table = read_table(frame, "ill")
    question = trying.ask(table, max_depth=1, seconds=60, **options)
    train, test = trying.folds_of(table.y, 5, table.task, 0)[0]
    fold = trying._fold(question, train, test, 1.0, np.inf, 1)
    assert len(fold.answers) == 7
    for answer, _ in fold.answers.values():
        assert set(answer) <= {"01", "1", "x"}
    weight = question.row_weights()
    totals = [weight[table.y == label].sum() for label in ("01", "1", "x")]
    counts = [np.sum(table.y == label) for label in ("01", "1", "x")]
    assert totals == pytest.approx([200 / 3] * 3 if not options else np.multiply(
        counts, [3, 2, 1]))


def test_seeds_draw_other_folds():
    table = read_table(rare(), "ill")
    first, second = (trying.ask(table, seed=seed) for seed in (0, 1))
    for draw in range(3):
        assert trying._seed(first, 5, draw) != trying._seed(second, 5, draw)
    few = [set(trying.drawn(question, np.arange(600), 300, 4)) for question in (first, second)]
    assert few[0] != few[1]
