"""What the fold below a figure says: the experiments that its cell depends on, and no others."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

spec = importlib.util.spec_from_file_location("figure_sources", ROOT / "_ext/figure_sources.py")
figure_sources = importlib.util.module_from_spec(spec)
spec.loader.exec_module(figure_sources)

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
    assert figure_sources.sources_of_cells(CELLS) == EXPECTED


@pytest.mark.parametrize("path", sorted((ROOT / "chapters").rglob("[!.]*.ipynb")),
                         ids=lambda path: path.stem)
def test_every_notebook_is_understood_and_names_only_what_exists(path):
    if ".ipynb_checkpoints" in path.parts:
        return
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(c["source"]) if c["cell_type"] == "code" else "" for c in cells]
    found = set().union(*figure_sources.sources_of_cells(code))
    for name in found - set(figure_sources.templates()):
        assert figure_sources.ITEM.fullmatch(name)
    named = re.findall(r'(?:load_records|experiments\.execute)\(\s*"(\w+)"', "\n".join(code))
    assert set(named) <= found


def test_the_fold_names_cell_notebook_records_and_commands():
    html = figure_sources.fold("figure", "chapters/07_head_to_head", "hurt-picture",
                               {"heuristics", "milp_starts", "firat2020 T7"}, True)
    assert 'href="../_sources/chapters/07_head_to_head.ipynb"' in html
    assert 'href="experiments/running.html#template-milp">milp_starts</a>' in html
    for line in ("odt run heuristics", "odt report --claim &quot;firat2020 T7&quot;",
                 "odt new mine --from 07_head_to_head", "odt run mine"):
        assert line in html
    assert "quick=False" not in html        # the book shows the quick form
    assert html.index("odt run mine") < html.index("anew") < html.index("odt run milp_starts")
