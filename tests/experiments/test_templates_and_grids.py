"""Whatever is wrong with a template, a grid or a parameter is refused before anything starts."""

import json
import random
import time

import pytest
from experiments.runner_fakes import PARAMETERS

from odtbook import experiments
from odtbook.cli import main
from odtbook.experiments import book
from odtbook.experiments.grid import Experiment, select
from odtbook.experiments.templates import Template, check_dataset


def template_of(toy, **parts):
    return Template(toy(**parts).parent / "toy")


def test_parameters_are_completed_with_defaults(toy):
    template = template_of(toy)
    point = template.complete({"a": 7, "b": 2})
    assert point == {"a": 7, "b": 2.0, "mode": "good", "note": None}
    assert list(point) == ["a", "b", "mode", "note"]
    assert isinstance(point["b"], float)


@pytest.mark.parametrize(("parameters", "says"), [
    ({"aa": 1}, "has no parameter 'aa' .did you mean 'a'"),
    ({"A": 1}, "has no parameter 'A' .did you mean 'a'"),
    ({"a": "1"}, "a = '1' is str; give int"),
    ({"a": 1.5}, "a = 1.5 is float; give int"),
    ({"a": True}, "a = True is bool; give int"),
    ({"b": "x"}, "give float"),
    ({"b": False}, "give float"),
    ({"mode": "ugly"}, "is not one of 'good', 'bad'"),
    ({"note": {"x": 1}}, "give a plain value"),
])
def test_wrong_parameters_are_refused(toy, parameters, says):
    template = template_of(toy)
    with pytest.raises(ValueError, match=says):
        template.complete(parameters)
    with pytest.raises(ValueError, match=says):
        experiments.execute(template.path, **parameters)


@pytest.mark.parametrize(("words", "says"), [
    ("murtree --set max_depth=-1", "'max_depth' parameter of MurTreeClassifier must be"),
    ("murtree --set max_depth=2 --set max_depth=-1", "Got -1"),
    ("survival --set max_depth=-1", "'max_depth' parameter of TreeClassifier must be"),
    ("column_generation --set sample_share=2", "'sample_share' parameter of ThresholdSampling"),
    ("milp --set n_jobs=0", "'n_jobs' parameter of TreeClassifier"),
    ("survival --set table=gbsg", "'name' parameter of survival_table must be"),
    ("constrained --set dataset=iris", "'dataset' parameter of table must be"),
    ("constrained --set max_courses=0", "max_courses = 0 is out of range; give at least 1."),
    ("constrained_ensembles --set n_estimators=-1", "give at least 1."),
    ("continuous --set split=5", "split = 5 is out of range; give at least 0, at most 4."),
    ("leaves --set sizes=[2,1]", "sizes = 1 is out of range; give at least 2."),
    ("leaves --set method=forest", "is not one of 'exact', 'cart', 'pruned-cart'"),
    ("does_it_pay --set method=tuned", "is not one of 'cart', 'exact', 'tuned-cart'"),
    ("head_to_head --set method=carts", "did you mean 'cart'"),
    ("murtree_perfect --set share=nan", "share = 'nan' is str; give float"),
    ("referee_printed --set packages=['STReeD']", "did you mean 'STreeD'"),
])
def test_a_value_that_an_estimator_refuses_is_said_once_before_the_runs(
        words, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", *words.split(), "--quick"]) == 2
    said = capsys.readouterr()
    assert said.err.count(says) == 1 and not said.out and not list(tmp_path.iterdir())


def test_no_value_of_the_book_s_grids_is_refused():
    for name in book.names():
        grid = Experiment(name)
        grid.template.refuse_values([*grid.points(), *grid.points(quick=True)])


@pytest.mark.parametrize(("parameters", "says"), [
    ("a = len('x')", "line 1 .* not a plain assignment"),
    ("a = 1\nprint(a)", "line 2 .* not a plain assignment"),
    ("a = (", "the parameters cell is not Python"),
    ("a = " + "-" * 100_000 + "1", "the parameters cell is not Python"),
    ("a = 1  # one of: 1, (", "the values after '# one of: 1, .' are not a list"),
    ("a = b = 1", "line 1 .* not a plain assignment"),
    ("status = 'x'", "a parameter cannot be called 'status'"),
])
def test_wrong_parameters_cells_are_refused(toy, parameters, says):
    with pytest.raises(ValueError, match=says):
        template_of(toy, parameters=parameters)


@pytest.mark.parametrize(("line", "good", "bad", "says"), [
    ("n = 1  # at least 1; of them", [1, 10**6], [0, -1], "out of range; give at least 1."),
    ("n = 0.5  # at least 0, at most 1", [0, 1, 0.5], [-0.1, 1.01], "at least 0, at most 1"),
    ("n = None  # at least 2", [None, 2], [1, "x"], "at least 2"),
    ("n = [1]  # at least 1", [[], [1, 2]], [[1, 0]], "n = 0 is out of range"),
    ("n = [1]", [[3]], [["a"], [1.5]], "is list; give list, like its default"),
    ('n = ["p"]  # one of: "p", "q"', [["q", "p"]], [["p", "r"]], "'r' is not one of 'p', 'q'"),
    ('n = "p"  # a key of table, below', ["p", "q"], ["r"], "'r' is not one of 'p', 'q'"),
])
def test_a_comment_says_what_a_parameter_may_be(toy, line, good, bad, says):
    template = template_of(toy, parameters=line, run='table = {"p": 1, "q": [2, {"r": 3}]}')
    for value in good:
        assert template.complete({"n": value}) == {"n": value}
    for value in bad:
        with pytest.raises(ValueError, match=says):
            template.complete({"n": value})


def test_a_switch_may_have_more_values_than_two(toy):
    template = template_of(toy, parameters='switch = True  # one of: True, "half", False')
    for value in (True, False, "half"):
        assert template.complete({"switch": value}) == {"switch": value}
    for value, says in ((1, "1 is int; give bool"), ("all", "is not one of True, 'half', False")):
        with pytest.raises(ValueError, match=says):
            template.complete({"switch": value})


def test_a_notebook_without_parameters_cell_is_refused(toy):
    path = toy().parent / "toy.ipynb"
    path.write_text(path.read_text().replace('"parameters"', '"other"'))
    with pytest.raises(ValueError, match="no cell tagged 'parameters'"):
        Template(path)


def test_unknown_data_sets_are_refused(toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="no data set 'irich'; did you mean iris"):
        check_dataset("irich")
    with pytest.raises(ValueError, match="no file 'my.csv'"):
        template_of(toy, parameters="dataset = 'iris'").complete({"dataset": "my.csv"})
    (tmp_path / "my.csv").write_text("x,label\n" + "1,a\n2,b\n" * 3)
    check_dataset("my.csv")
    check_dataset("iris")


@pytest.mark.parametrize("text", ["", "a,b,label\n", "\n\n", "\0" * 100, "label\nx\ny\n",
                                  "a,label\n1,\n2,\n"])
def test_a_table_that_cannot_be_used_is_refused_before_anything_runs(toy, tmp_path, capsys, text):
    (tmp_path / "my.csv").write_text(text)
    grid = toy(parameters=PARAMETERS + '\ndataset = "iris"')
    assert main(["run", str(grid), "--set", f"dataset={tmp_path / 'my.csv'}"]) == 2
    sentence = capsys.readouterr().err
    assert sentence.startswith("odt: ") and sentence.count("\n") == 1 and "my.csv" in sentence
    assert not (grid.parent / ".runs").exists()


@pytest.mark.parametrize("text", ["a;b;label\n1;2,5;x\n3;4,5;y\n", "a,label\n1,x\n2\n3,y\n"])
def test_a_table_with_other_marks_or_short_rows_is_taken(toy, tmp_path, text):
    (tmp_path / "my.csv").write_text(text * 3)
    grid = toy(parameters=PARAMETERS + '\ndataset = "iris"')
    points = Experiment(grid, [f"dataset={tmp_path / 'my.csv'}"]).points()
    assert {point["dataset"] for point in points} == {str(tmp_path / "my.csv")}


def test_unknown_notebooks_and_experiments_are_refused():
    with pytest.raises(ValueError, match="no template or chapter 'murtre' .did you mean"):
        Template("murtre")
    with pytest.raises(ValueError, match="no experiment 'nothing'"):
        Experiment("nothing")


def test_the_grid_is_every_combination(toy):
    experiment = Experiment(toy())
    points = experiment.points()
    assert [(p["a"], p["b"]) for p in points] == [(a, b) for a in (1, 2, 3, 4) for b in (0.5, 1)]
    assert [(p["a"], p["b"]) for p in experiment.points(quick=True)] == [(1, 0.5), (1, 1.0)]


def test_several_grids_are_united_without_doubles(toy):
    grid = ('title = "t"\ntemplate = "toy"\n[[grid]]\na = [1, 2]\n[[grid]]\na = [2, 3]\n'
            'mode = ["good", "bad"]\n')
    points = Experiment(toy(grid=grid)).points()
    assert [(p["a"], p["mode"]) for p in points] == [
        (1, "good"), (2, "good"), (2, "bad"), (3, "good"), (3, "bad")]


def test_a_parameter_that_is_a_list_takes_lists(toy):
    grid = 'title = "t"\ntemplate = "toy"\n[grid]\nsizes = {}\n'
    parts = {"parameters": "sizes = [1, 2]"}
    one = Experiment(toy(grid=grid.format("[3, 4]"), **parts)).points()
    two = Experiment(toy(grid=grid.format("[[3], [4]]"), **parts)).points()
    assert one == [{"sizes": [3, 4]}]
    assert two == [{"sizes": [3]}, {"sizes": [4]}]


@pytest.mark.parametrize(("grid", "says"), [
    ("title = ", "not valid TOML"),
    ('title = "t"', "must hold title and template"),
    ('title = "t"\ntemplate = "murtree"\nseconds = 0', "within 0 seconds; give 1 or more"),
    ('title = "t"\ntemplate = "toy"\nsplits = 3', "it holds 'splits', which is none of"),
    ('title = "t"\ntemplate = "toy"\n[grid]\nc = [1]', "no parameter 'c'"),
    ('title = "t"\ntemplate = "toy"\n[quick]\na = ["x"]', "a = 'x' is str"),
    ('title = "t"\ntemplate = "none"', "no template or chapter 'none'"),
    ('title = 3\ntemplate = "toy"', "title = 3 is not text"),
    ('title = "t"\ntemplate = 3', "template = 3 is not text"),
    ('title = "t"\ntemplate = "toy"\ngrid = 3', "grid = 3 is not a list or a table or empty"),
    ('title = "t"\ntemplate = "toy"\ngrid = [3]', "grid.0. = 3 is not a table"),
    ('title = "t"\ntemplate = "toy"\nfixed = [1]', r"fixed = \[1\] is not a table"),
    ('title = "t"\ntemplate = "toy"\nquick = "x"', "quick = 'x' is not a table"),
    ('title = "t"\ntemplate = "toy"\n[grid]\na = []', r"a = \[\] leaves nothing to run"),
    ('title = "t"\ntemplate = "toy"\n[quick]\na = []', r"a = \[\] leaves nothing to run"),
])
def test_wrong_grid_files_are_refused(toy, grid, says):
    with pytest.raises(ValueError, match=says):
        Experiment(toy(grid=grid))


LINES = ['title = "t"', 'template = "toy"', "[grid]", "[fixed]", "[quick]", "[[grid]]",
         "a = [1, 2]", "b = 0.5", "b = 1e400", "b = inf", "b = [nan, 1]", "a = " + "[" * 5000,
         "a = 1" + "0" * 5000,
         "a = 0x" + "f" * 9000, "a = {x = 1}", "a = 1979-05-27", "a = []", "a = [[1]]", 'a = "1"',
         'mode = "good"', 'note = "\\u0000"', 'note = """' + "x" * 20_000 + '"""',
         "note = 9e999",
         "note = 2024-01-01T00:00:00Z", "grid = 3", "a.b.c = 1", "a = 1_0", "b = -inf",
         "c = 1", "=",
         "a = " + "-" * 100_000 + "1", "a = 92233720368547758080", "\0", "title = 1"]


@pytest.mark.parametrize("seed", range(200))
def test_a_grid_of_random_lines_is_expanded_or_refused_in_one_sentence(toy, seed):
    rng = random.Random(seed)
    begin = LINES[:2 + rng.randrange(2)] if rng.random() < 0.9 else []
    grid = toy(grid="\n".join(begin + rng.choices(LINES, k=rng.randrange(6))))
    try:
        experiment = Experiment(grid)
    except ValueError as error:
        assert len(str(error)) < 600 and "\n" not in str(error)
        return
    for point in experiment.points():
        assert set(point) == {"a", "b", "mode", "note"}
        assert json.loads(json.dumps(point, allow_nan=False)) == point


@pytest.mark.parametrize("value", [
    "1e400", "inf", "nan", "-" * 100_000 + "1", "[" * 100_000, "(" * 300 + "1", "9" * 5000,
    "0x" + "f" * 9000, "1j", "b'x'", "{1: 2}", "{1, 2}", "[1, b'x']", "lambda: 0", "x" * 20_000,
    "\ud800", "\0", "", "None", "1979", "1_0", "True"])
@pytest.mark.parametrize("name", ["a", "b", "mode", "note", "sizes"])
def test_a_value_on_the_command_line_is_taken_or_refused_in_one_sentence(toy, name, value):
    grid = toy(parameters=PARAMETERS + "\nsizes = [1, 2]")
    try:
        points = Experiment(grid, [f"{name}={value}"]).points()
    except ValueError as error:
        assert len(str(error)) < 400 and "\n" not in str(error)
    else:
        assert json.loads(json.dumps(points, allow_nan=False)) == points
        assert all(len(json.dumps(point)) < 11_000 for point in points)


def test_a_huge_grid_is_counted_before_it_is_made(toy):
    table = f"a = {list(range(2000))}\nb = {[k / 2 for k in range(2000)]}\n"
    began = time.process_time()
    for part in (f"[grid]\n{table}", "[grid]\na = 1\n[quick]\n" + table,
                 f"[[grid]]\n{table}" * 3):
        with pytest.raises(ValueError, match="the grid has (12|4),000,000 runs, more than 100,000"):
            Experiment(toy(grid=f'title = "t"\ntemplate = "toy"\n{part}'))
    assert time.process_time() - began < 20     # and no memory for four million runs
    with pytest.raises(ValueError, match="4,000,000 runs"):
        experiments.execute(toy().with_suffix(".ipynb"), a=[*range(2000)],
                            b=[k / 2 for k in range(2000)])


@pytest.mark.parametrize("content", [
    b"", b"{", b"[]", b"\xff", b'{"cells": 3}', b'{"cells": [3]}', b'{"cells": [{}]}', b"[" * 9999,
    b'{"cells": [{"cell_type": "code", "source": 3, "metadata": {}}]}', b'{"a": NaN, "cells": []}'])
def test_a_file_that_is_no_notebook_is_refused(toy, content):
    path = toy().with_name("toy.ipynb")
    path.write_bytes(content)
    says = "toy.ipynb (is not valid JSON|is no notebook|has no cell)"
    with pytest.raises(ValueError, match=says):
        Template(path)
    with pytest.raises(ValueError, match=says):
        experiments.run_experiment(path.with_suffix(".toml"))


def test_a_grid_file_in_another_encoding_is_refused(toy):
    grid = toy()
    grid.write_bytes('title = "Größe"\ntemplate = "toy"'.encode("latin-1"))
    with pytest.raises(ValueError, match="not valid TOML"):
        Experiment(grid)


def test_names_too_long_for_a_file_are_refused():
    with pytest.raises(ValueError, match="there is no experiment"):
        Experiment("x" * 300)
    with pytest.raises(ValueError, match="there is no template or chapter"):
        Template("x" * 300)


def test_conditions_restrict_the_grid(toy):
    experiment = Experiment(toy())
    points, names = experiment.points(), experiment.template.defaults

    def kept(*conditions):
        return [(p["a"], p["b"]) for p in select(points, conditions, names)]

    assert kept("a=2") == [(2, 0.5), (2, 1.0)]
    assert kept("a=2", "a=3", "b=1") == [(2, 1.0), (3, 1.0)]
    for wrong in ("c=1", "a", "a=9"):
        with pytest.raises(ValueError, match="--only|no run of the grid"):
            kept(wrong)


@pytest.mark.parametrize("name", sorted(p.stem for p in book.folder().glob("*.ipynb")))
def test_every_template_of_the_book_is_well_formed(name):
    template = Template(name)
    assert template.complete({}) == template.defaults
    sources = ["".join(cell["source"]) for cell in template.notebook["cells"]]
    assert sum("experiments.emit(" in source for source in sources) == 1


@pytest.mark.parametrize("name", book.names())
def test_every_grid_of_the_book_expands(name):
    experiment = Experiment(name)
    assert experiment.points(quick=True)
    assert len(experiment.points()) >= len(experiment.points(quick=True))


def test_a_table_of_ones_own_is_cut_by_the_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.tsv").write_text("x\tlabel\n" + "1\ta\n2\tb\n4\ta\n" * 9)
    own = Experiment("murtree", ["dataset=my.tsv", "max_depth=3"])
    assert {point["binarizer"] for point in own.points()} == {"auto"}
    asked = Experiment("murtree", ["dataset=my.tsv", "binarizer=mdlp"])
    assert {point["binarizer"] for point in asked.points()} == {"mdlp"}
    assert {point["binarizer"] for point in Experiment("murtree").points()} == {"mdlp", "all"}
