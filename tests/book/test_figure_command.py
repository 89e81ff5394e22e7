"""``odt figure`` draws what the page draws, and says what it cannot change."""

import base64
import builtins
import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
from matplotlib import _pylab_helpers
from matplotlib import pyplot as plt

from odtbook import dependence, experiments, figure_code, figure_command
from odtbook.cli import main
from odtbook.experiments import notebooks
from odtbook.experiments.runner import seconds_of_runs

FIGURES = figure_code.figures()
RECORDED = [figure for figure in FIGURES if figure.sources]
by_name = pytest.mark.parametrize("figure", RECORDED, ids=lambda figure: figure.name)


def pixels(drawn):
    buffer = io.BytesIO()
    figure_command.save(drawn, buffer)
    buffer.seek(0)
    return plt.imread(buffer)


@by_name
def test_every_figure_from_records_is_drawn_and_its_time_is_known(figure):
    with contextlib.redirect_stdout(io.StringIO()):
        drawn = figure_command.draw(figure)
    assert drawn.axes and np.ptp(pixels(drawn)) > 0
    taken = figure_command.seconds()
    assert figure.name in taken, f"run scripts/measure_figures.py {figure.name}"
    assert taken[figure.name] < 60
    plt.close("all")


@pytest.mark.parametrize("page", ["does_it_pay", "head_to_head_replication", "murtree_replication"])
def test_the_figure_is_that_of_the_whole_page(page, monkeypatch):
    """The page runs cell by cell, all of them, and each figure is compared as an image."""
    figures = {figure.at: figure for figure in FIGURES if figure.page.stem == page}
    assert figures
    monkeypatch.chdir(next(iter(figures.values())).page.parent)
    names = {"__name__": "__main__", "display": lambda *_: None}
    code = next(iter(figures.values())).code
    for at, source in enumerate(code[:max(figures) + 1]):
        plt.close("all")
        with contextlib.redirect_stdout(io.StringIO()), plt.ion():
            exec("\n".join("" if line[:1] in "%!" and line else line
                           for line in source.splitlines()), names)
            _pylab_helpers.Gcf.draw_all()
        if at in figures:
            shown = pixels(plt.figure(plt.get_fignums()[0]))
            with contextlib.redirect_stdout(io.StringIO()):
                alone = pixels(figure_command.draw(figures[at]))
            assert np.array_equal(shown, alone), figures[at].name


def test_a_program_has_every_name_that_it_reads():
    for figure in FIGURES:
        statements = [statement for _, statement in figure.program]
        read = set().union(*map(dependence._read, statements))
        given = set().union(*map(dependence._stored, statements), vars(builtins), ["display"])
        assert read <= given, f"{figure.name}: {read - given}"


def test_numbers_count_a_chapter_with_the_pages_below_it():
    numbers = [figure.number for figure in FIGURES if figure.number.startswith("5.")]
    assert numbers == [f"5.{k}" for k in range(1, len(numbers) + 1)]
    pages = [figure.page.stem for figure in FIGURES if figure.number.startswith("5.")]
    assert list(dict.fromkeys(pages)) == ["05_murtree", "murtree_practice", "murtree_objectives"]
    outside = [figure.number for figure in FIGURES if "." not in figure.number]
    assert outside == [f"{k}" for k in range(1, len(outside) + 1)]
    assert FIGURES[0].page.stem == "intro" and FIGURES[0].number == "1"
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
    (["fig-ch5-switches", "--set", "depth"], "its own parameters"),
    (["fig-ch5-switches", "--set", "datset=vote"], "did you mean 'dataset'"),
    (["fig-ch5-switches", "--set", "dataset=moon"], "no record behind figure"),
    (["fig-ch2-short", "--set", "d=deep"], "d is int"),
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


def test_set_keeps_the_records_with_a_value(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    figure = figure_code.find("fig-ch5-switches")
    whole = figure_command.draw(figure).axes[0].lines[0].get_xdata()
    datasets = sorted(set(experiments.load_records("murtree_switches")["dataset"]))[:2]
    some = figure_command.draw(figure, [f"dataset={name}" for name in datasets])
    assert len(some.axes[0].lines[0].get_xdata()) == 2 < len(whole)
    assert main(["figure", figure.number, "--set", f"dataset={datasets[0]}", "--out", "a.svg"]) == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    # and the records themselves are as they were
    assert len(set(experiments.load_records("murtree_switches")["dataset"])) > 2


def test_set_changes_a_value_of_the_code():
    figure = figure_code.find("fig-ch2-short")
    assert figure.parameters["d"] == 3
    with contextlib.redirect_stdout(io.StringIO()):
        assert not np.array_equal(pixels(figure_command.draw(figure)),
                                  pixels(figure_command.draw(figure, ["d=2"])))


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
    with contextlib.suppress(Exception):        # the figure of such records is not the point
        figure_command.draw(figure, [f"dataset={kept}"], rerun=True, say=said.append)
    assert asked and {point["dataset"] for point in asked} == {kept}
    total = seconds_of_runs("murtree_rows")
    assert total and re.search(r"\d+ runs? of murtree_rows, about [\dhmins ]+ by earlier runs",
                               said[0])
    (made,) = (tmp_path / "odt-results").glob("*.csv")
    assert made.name == f"murtree_rows-dataset-{kept}.csv"
    assert experiments.load_records("murtree_rows").equals(old)


@pytest.mark.parametrize("name", ["fig-ch5-switches", "fig-ch2-short", "fig-rep7-parts"])
def test_a_fork_of_a_figure_draws_the_same(name, tmp_path):
    figure = figure_code.find(name)
    folder = experiments.new("mine", f"figure:{figure.number}", tmp_path)
    notebook = json.loads((folder / "mine.ipynb").read_text())
    source = "\n".join("".join(cell["source"]) for cell in notebook["cells"]
                       if cell["cell_type"] == "code").partition("# what a run records")[0]
    plt.close("all")
    with contextlib.redirect_stdout(io.StringIO()), plt.ion():
        exec(source, {"__name__": "__main__"})
        _pylab_helpers.Gcf.draw_all()
        drawn = pixels(plt.figure(plt.get_fignums()[-1]))
        plt.close("all")
        assert np.array_equal(drawn, pixels(figure_command.draw(figure)))
    (grid,) = folder.glob("*.toml")
    assert experiments.Experiment(grid).points()


def test_the_lines_of_the_fold_make_the_figure(tmp_path, monkeypatch):
    """The command line itself, as printed below the figure on the page."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "_ext"))
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
    assert np.array_equal(plt.imread(tmp_path / f"figure-{figure.number}.png"),
                          pixels(figure_command.draw(figure)))
    (executed,) = tmp_path.rglob("notebooks/mine.ipynb")
    images = [output["data"]["image/png"] for cell in json.loads(executed.read_text())["cells"]
              for output in cell.get("outputs", ()) if "image/png" in output.get("data", {})]
    assert np.array_equal(plt.imread(io.BytesIO(base64.b64decode(images[-1]))),
                          plt.imread(tmp_path / f"figure-{figure.number}.png"))
