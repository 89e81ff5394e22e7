"""What the fold below a figure says: the experiments that its cell depends on, and no others."""

import ast
import importlib.util
import json
import re
from pathlib import Path

import pytest

from odtbook.dependence import ITEM, Program, code_of, templates

ROOT = Path(__file__).resolve().parents[2]

spec = importlib.util.spec_from_file_location("figure_sources", ROOT / "_ext/figure_sources.py")
figure_sources = importlib.util.module_from_spec(spec)
spec.loader.exec_module(figure_sources)


def sources_of_cells(code):
    program = Program(code)
    return [program.sources(at) for at in range(len(code))]

CELLS = ["""
%matplotlib inline
from odtbook import experiments, verdicts
from odtbook.studies import head_to_head
import matplotlib.pyplot as plt
""", """
table = experiments.load_records("heuristics")
other = experiments.load_records("murtree")
""", """
means = table.groupby("method").mean()
print(means)
for name in means:
    print(name)
""", """
def records(name):
    return experiments.load_records(name)

both = [records(name) for name in ("milp", "milp_tuning")]
""", """
fig, ax = plt.subplots()
for part in both:
    ax.plot(part)
""", """
fig, ax = plt.subplots()
ax.plot([name for name in "abc"])
""", """
means["printed"] = verdicts.side_by_side("firat2020 T7")
""", """
print(means)
table = 3
""", """
print(table, experiments.yardstick())
""", """
head_to_head.complete(head_to_head.all_runs())
"""]
EXPECTED = [
    set(), {"heuristics", "murtree"}, {"heuristics"}, {"milp", "milp_tuning"},
    {"milp", "milp_tuning"}, set(), {"heuristics", "firat2020 T7"},
    {"heuristics", "firat2020 T7"}, {"continuous"},
    {"head_to_head", "heuristics", "column_generation_variants", "milp", "continuous"},
]


def test_dependence_follows_names_through_cells_loops_and_functions():
    assert sources_of_cells(CELLS) == EXPECTED


@pytest.mark.parametrize("path", sorted((ROOT / "chapters").rglob("[!.]*.ipynb")),
                         ids=lambda path: path.stem)
def test_every_notebook_is_understood_and_names_only_what_exists(path):
    if ".ipynb_checkpoints" in path.parts:
        return
    code = code_of(json.loads(path.read_text(encoding="utf-8")))
    found = set().union(*sources_of_cells(code))
    for name in found - set(templates()):
        assert ITEM.fullmatch(name)
    named = re.findall(r'(?:load_records|experiments\.execute)\(\s*"(\w+)"', "\n".join(code))
    assert set(named) <= found


def test_the_fold_of_a_table_names_cell_notebook_records_and_commands():
    html = figure_sources.fold("table", "chapters/07_head_to_head", "training",
                               {"heuristics", "milp_starts", "firat2020 T7"})
    assert 'href="../_sources/chapters/07_head_to_head.ipynb"' in html
    assert 'href="experiments/running.html#template-milp">milp_starts</a>' in html
    for line in ("odt run heuristics", "odt report --claim &quot;firat2020 T7&quot;"):
        assert line in html
    assert html.index("odt report") < html.index("anew") < html.index("odt run milp_starts")
    assert "odt figure" not in html


def program_of(*cells, at=-1):
    return "\n".join(ast.unparse(statement) for _, statement
                     in Program(list(cells)).behind(range(len(cells))[at]))


@pytest.mark.parametrize(("cells", "expected"), [
    # assigned anew: what was before does not count; a cell of its own always does
    (("a = 1", "a = 2", "b = 3", "print(a)"), "a = 2\nprint(a)"),
    # changed by a method, an item, a function that gets it, a loop, or the model that is fitted
    (("a = []", "a.append(1)", "c = a.copy()", "d = 1", "c"),
     "a = []\na.append(1)\nc = a.copy()\nc"),
    (("a = {}", "a[1] = 2", "fill(a)", "print(a)", "a"), "a = {}\na[1] = 2\nfill(a)\na"),
    (("a = 0", "for k in x:\n    a += k", "a"), "a = 0\nfor k in x:\n    a += k\na"),
    (("m = M()", "e = m.fit(1)", "m"), "m = M()\ne = m.fit(1)\nm"),
    # a function reads names when it is called
    (("def f():\n    return g() + k", "k = 1", "def g():\n    return 2", "h = 1", "f()"),
     "def f():\n    return g() + k\nk = 1\ndef g():\n    return 2\nf()"),
    (("k = 1", "def f():\n    global k\n    k += 1", "f()"),
     "k = 1\ndef f():\n    global k\n    k += 1\nf()"),
    # any method may change an object of a class of the notebook
    (("class Log:\n    pass", "a = Log()", "n = a.solve(3)", "m = len(b)", "a"),
     "class Log:\n    pass\na = Log()\nn = a.solve(3)\na"),
    # each draw changes the generator; names of comprehensions and arguments are no one else's
    (("r = np.random.default_rng(0)", "u = r.normal()", "x = r.normal()", "v = 1", "x"),
     "r = np.random.default_rng(0)\nu = r.normal()\nx = r.normal()\nx"),
    (("name = 1", "y = 2", "[name for name in y]"), "y = 2\n[name for name in y]"),
    (("fig = 1", "fig.set(a=1)", "with s():\n    fig = new()\n    fig.plot()"),
     "with s():\n    fig = new()\n    fig.plot()"),
    # settings of a module last, what it prints does not
    (("import pd", "pd.DataFrame().to_string()", "pd.rc('font')", "%time 3\npd.plot()"),
     "import pd\npd.rc('font')\npd.plot()"),
])
def test_a_program_is_what_its_cell_depends_on(cells, expected):
    assert program_of(*cells) == expected
