"""``odt figure`` draws what the page draws, and says what it cannot change."""

import base64
import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt

from odtbook import experiments, figure_code, figure_command
from odtbook.cli import main
from odtbook.experiments import notebooks, runner
from odtbook.experiments.templates import code_cell, read_notebook

ROOT = Path(__file__).resolve().parents[2]
FIGURES = figure_code.figures()
RECORDED = [figure for figure in FIGURES if figure.sources]
by_name = pytest.mark.parametrize("figure", RECORDED, ids=lambda figure: figure.name)
# What reads records in the kernel, where functions of the studies keep what they have read.
WATCH = """
def watch():
    import functools, gc
    from odtbook.experiments.grid import Experiment
    for function in [o for o in gc.get_objects() if type(o) is functools._lru_cache_wrapper]:
        if function.__module__.startswith("odtbook.studies"):
            function.cache_clear()
    real = getattr(Experiment.records, "real", Experiment.records)
    def reading(self, *further):
        reading.asked.add(self.name)
        return real(self, *further)
    reading.real, reading.asked = real, set()
    Experiment.records = reading
watch()
"""
TELL = """
from odtbook import experiments
from odtbook.experiments.grid import Experiment
experiments.emit(experiments.record(measures={"asked": sorted(Experiment.records.asked)}))
Experiment.records = Experiment.records.real
"""


@pytest.fixture(autouse=True, scope="module")
def kernel_of_this_module():
    yield
    notebooks.close_kernel()


def executed(notebook):
    """Execute a notebook; return its images by the ids of cells, and the experiments it read."""
    notebook["cells"] = [code_cell("watch", WATCH), *notebook["cells"], code_cell("tell", TELL)]
    answer = notebooks.execute_notebook(notebook, {})
    assert answer["error"] is None, answer["error"]
    images = {cell["id"]: pixels(base64.b64decode(output["data"]["image/png"]))
              for cell in reversed(json.loads(answer["notebook"])["cells"])
              for output in reversed(cell.get("outputs", ()))
              if "image/png" in output.get("data", {})}
    return images, set(answer["record"]["measures"]["asked"])


def pixels(content):
    return plt.imread(io.BytesIO(content))


@by_name
def test_a_figure_needs_the_cells_that_it_names_and_reads_the_records(figure):
    images, asked = executed(figure.notebook())
    assert np.ptp(images[figure.cell]) > 0
    assert set(figure.experiments) <= asked
    assert figure_command.seconds()[figure.name] < 60, "run scripts/measure_figures.py"


@pytest.mark.parametrize("page", ["does_it_pay", "head_to_head_replication", "murtree_replication"])
def test_the_figure_is_that_of_the_whole_page(page):
    figures = [figure for figure in FIGURES if figure.page.stem == page]
    images, _ = executed(read_notebook(figures[0].page))
    for figure in figures:
        alone, _ = executed(figure.notebook())
        assert np.array_equal(images[figure.cell], alone[figure.cell]), figure.name


def test_numbers_count_a_chapter_with_the_pages_below_it():
    numbers = [figure.number for figure in FIGURES if figure.number.startswith("5.")]
    assert numbers == [f"5.{k}" for k in range(1, len(numbers) + 1)]
    pages = [figure.page.stem for figure in FIGURES if figure.number.startswith("5.")]
    assert list(dict.fromkeys(pages)) == ["05_murtree", "murtree_practice", "murtree_objectives",
                                          "own_objective"]
    outside = [figure.number for figure in FIGURES if "." not in figure.number]
    assert outside == [f"{k}" for k in range(1, len(outside) + 1)]
    assert FIGURES[0].page.stem == "intro" and FIGURES[0].number == "1"
    inside = [[*map(int, figure.number.split("."))] for figure in FIGURES if "." in figure.number]
    assert inside == sorted(inside)         # a primer, too, counts with the chapter before it
    for names in ({figure.name for figure in FIGURES}, {figure.number for figure in FIGURES}):
        assert len(names) == len(FIGURES)


@pytest.mark.parametrize("words", [["5.4"], ["fig-ch5-switches"], ["ch5-switches"], ["Fig. 5.4"]])
def test_a_figure_goes_by_number_and_by_name(words):
    assert figure_code.find("fig-ch5-records").page.stem == "05_murtree"
    wanted = [w.replace("5.4", figure_code.find("fig-ch5-switches").number) for w in words]
    assert figure_code.find(*wanted).name == "fig-ch5-switches"


@pytest.mark.parametrize(("arguments", "said"), [
    (["99.9"], "has no figure '99.9'"),
    (["fig-ch5-swiches"], "did you mean"),
    (["fig-ch5-switches", "--out", "x.jpeg"], "end the name with .png"),
    (["fig-ch5-switches", "--out", "nowhere/x.png"], "there is no folder nowhere"),
    (["fig-ch5-switches", "--set", "depth"], "dataset=murtree/"),
    (["fig-ch5-switches", "--set", "datset=vote"], "did you mean 'dataset'"),
    (["fig-ch5-switches", "--set", "dataset=vote_uci"], "no record has dataset=vote_uci"),
    (["fig-ch5-front", "--set", "allowed=many"], "give int, like its default 7"),
    (["fig-ch1-eight", "--rerun"], "computed whenever it is drawn"),
    (["--rerun"], "say which figure"),
])
def test_what_cannot_be_done_is_said_in_one_sentence(arguments, said, capsys, tmp_path,
                                                     monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["figure", *arguments]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("odt: ") and said in error
    assert not list(tmp_path.iterdir())


def test_the_list_says_what_each_figure_is_drawn_from(capsys):
    assert main(["figure"]) == 0
    lines = capsys.readouterr().out
    for figure in FIGURES:
        (line,) = re.findall(rf".* {figure.name} .*", lines)
        assert ("records: " in line) == bool(figure.sources)
        assert all(name in line for name in figure.experiments)
    assert "Pictures to play with" in lines


def test_set_draws_from_a_part_of_the_records_and_names_the_file_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    figure = figure_code.find("fig-ch5-switches")
    assert main(["figure", figure.number, "--set", "list"]) == 0
    datasets = re.search(r"dataset=([^;]*)", capsys.readouterr().out)[1].split("|")
    assert sorted(datasets) == sorted(set(experiments.load_records("murtree_switches")["dataset"]))
    assert main(["figure", figure.number, "--set", "dataset=murtree/vehicle"]) == 0
    (file,) = tmp_path.iterdir()
    assert file.name.startswith(f"figure-{figure.number}-dataset-murtree_vehicle")
    said = capsys.readouterr().out
    assert "with dataset=murtree/vehicle. Its caption in the book, without that" in said
    assert not np.array_equal(pixels(file.read_bytes()), pixels(figure_command.draw(figure)))
    # a figure that compares depths cannot be drawn from one, and says from which it is drawn
    with pytest.raises(ValueError, match=r"KeyError: .*several values.*max_depth=3\|6\|9\|12\|15"):
        figure_command.draw(next(f for f in FIGURES if f.cell == "one-figure"), ["max_depth=3"])


def test_set_changes_a_value_of_the_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figure = figure_code.find("fig-ch5-front")
    assert figure.parameters["allowed"] == 7
    assert main(["figure", figure.name, "--set", "allowed=2", "--out", "a.svg"]) == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    assert not np.array_equal(pixels(figure_command.draw(figure, ["allowed=2"])),
                              pixels(figure_command.draw(figure, ["allowed=7"])))


def test_rerun_says_the_time_by_the_records_and_draws_from_new_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figure, said, asked = figure_code.find("fig-ch5-rows"), [], []
    old = experiments.load_records("murtree_rows")
    kept = "monk1_full"

    def fake(notebook, point, timeout=None):
        asked.append(point)
        return {"record": experiments.record(status="optimal", objective=1, bound=1, rows=10,
                                             train_accuracy=0.5, cpu_seconds=1.0),
                "error": None, "seconds": 0.0, "notebook": "{}"}

    original = experiments.run_experiment
    monkeypatch.setattr(experiments, "run_experiment",
                        lambda *a, **k: original(*a, **k, executor=fake))
    with contextlib.suppress(ValueError):        # the figure of such records is not the point
        figure_command.draw(figure, [f"dataset={kept}"], rerun=True, say=said.append)
    assert asked and {point["dataset"] for point in asked} == {kept}
    total = runner.seconds_of_runs("murtree_rows")
    assert total and re.search(r"\d+ runs? of murtree_rows, about [\dhmins ]+ by earlier runs",
                               said[0])
    (made,) = (tmp_path / "odt-results").glob("*.csv")
    assert made.name == f"murtree_rows-dataset-{kept}.csv"
    assert experiments.load_records("murtree_rows").equals(old)


def test_the_lines_of_the_fold_make_the_figure(tmp_path):
    """The command line itself, as printed below the figure on the page."""
    sys.path.insert(0, str(ROOT / "_ext"))
    import figure_sources
    figure = figure_code.find("fig-ch5-switches")
    lines = figure_sources.lines_of(figure, figure_command.seconds())
    assert [line.partition("  ")[0].strip() for line in lines] == [
        f"odt figure {figure.number}", f"odt figure {figure.number} --rerun",
        f"odt new mine --from figure:{figure.number}", "odt run mine"]
    assert all(re.search(r"# \d+ (s|min|h)", line) for line in lines)
    for line in (lines[0], *lines[2:]):
        words = line.partition("#")[0].split()
        subprocess.run([sys.executable, "-m", "odtbook", *words[1:]], cwd=tmp_path, check=True,
                       env={**notebooks._kernel_environment()}, capture_output=True)
    drawn = pixels((tmp_path / f"figure-{figure.number}.png").read_bytes())
    (file,) = tmp_path.rglob("notebooks/mine.ipynb")
    images = [output["data"]["image/png"] for cell in json.loads(file.read_text())["cells"]
              for output in cell.get("outputs", ()) if "image/png" in output.get("data", {})]
    assert np.array_equal(pixels(base64.b64decode(images[-1])), drawn)


@pytest.mark.parametrize("page", figure_code.pages(), ids=lambda page: page[1].stem)
def test_every_cell_names_what_there_is(page):
    cells = read_notebook(page[1])["cells"]
    names = {path.stem for path in (ROOT / "chapters" / "experiments").glob("*.toml")}
    declared, above = set(), set()
    for cell in cells:
        about = cell["metadata"].get("odt", {})
        assert set(about.get("needs", ())) <= above and set(about) <= {"needs", "records"}
        if cell["cell_type"] == "code":
            above.add(cell["id"])
        declared |= set(about.get("records", ()))
    assert all(name in names or figure_code.ITEM.fullmatch(name) for name in declared)


def test_the_fold_of_a_table_names_cell_notebook_records_and_commands():
    sys.path.insert(0, str(ROOT / "_ext"))
    import figure_sources
    html = figure_sources.fold("table", "chapters/07_head_to_head", "training",
                               {"heuristics", "milp_starts", "firat2020 T7"})
    assert 'href="../_sources/chapters/07_head_to_head.ipynb"' in html
    assert 'href="experiments/running.html#template-milp">milp_starts</a>' in html
    for line in ("odt run heuristics", "odt report --claim &quot;firat2020 T7&quot;"):
        assert line in html
    assert html.index("odt report") < html.index("odt-results") < html.index("odt run milp_starts")
    assert "odt figure" not in html
