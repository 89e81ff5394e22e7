"""The commands that the pages print: those of a console are run, those of a sentence understood."""

import re
import shlex
import shutil

import pytest
from pages import ROOT, prose

from odtbook import cli, experiments
from odtbook.experiments import notebooks
from odtbook.experiments.records import key

PAGES = [path for folder in ("*", "chapters/**/*", "data/*", "tests/*", "odtlib/*")
         for path in sorted(ROOT.glob(folder)) if path.suffix in (".md", ".ipynb", ".toml")
         and path.name != "CHANGELOG.md"]


def text_of(path):
    """The prose of a page."""
    return prose(path) if path.suffix == ".ipynb" else path.read_text(encoding="utf-8")


CONSOLE = [(path, block) for path in PAGES
           for block in re.findall(r"(?s)```(?:bash|console|sh)\n(.*?)```", text_of(path))
           if re.search(r"(?m)^(\$ )?odt ", block)]
SENTENCES = sorted({(path.name, command) for path in PAGES
                    for command in re.findall(r"`(odt [^`]*)`|# +(odt .*)", text_of(path))
                    for command in command if command})


def replaying(run_experiment):
    """Return what runs an experiment by the records of the book; what has none, a fork, runs."""
    def run(name, **options):
        records = experiments.Experiment(name).records()

        def replay(notebook, point, timeout=None):
            record = records.get(key(point))
            if record is None and "quick" not in point:     # no whole chapter
                return notebooks.execute_notebook(notebook, point, timeout)
            return {"record": record or experiments.record(), "error": None, "seconds": 0.0,
                    "notebook": "{}"}
        return run_experiment(name, **{**options, "jobs": 1, "executor": replay})
    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    yield tmp_path_factory.mktemp("reader")
    notebooks.close_kernel()


def test_there_are_console_lines():
    assert len(CONSOLE) >= 6 and len(SENTENCES) >= 10


@pytest.mark.parametrize(("path", "block"), CONSOLE,
                         ids=[f"{path.stem}-{k}" for k, (path, _) in enumerate(CONSOLE)])
def test_the_lines_of_a_console_run(path, block, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(experiments, "run_experiment", replaying(experiments.run_experiment))
    before = {file: file.stat().st_mtime_ns for file in (ROOT / "data").rglob("*.csv")}
    for line in block.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[:1] != ["odt"]:
            continue
        if words[1:2] == ["new"]:
            shutil.rmtree(words[2], ignore_errors=True)      # a reader would take another name
        if words[1:] == ["report"]:                         # tests/verdicts judge all claims
            words.append("--experiments")
        status, error = cli.main(words[1:]), capsys.readouterr().err
        if "192.0.2.1" in line:
            assert status == 2 and "no Dask scheduler answers at tcp://192.0.2.1" in error
        else:
            assert status == 0, f"{line}: {error}"
    assert {file: file.stat().st_mtime_ns for file in before} == before


@pytest.mark.parametrize(("page", "command"), SENTENCES)
def test_the_command_of_a_sentence_is_understood(page, command):
    words = shlex.split(command)[1:]
    known = cli._parser()._subparsers._group_actions[0].choices | {"--help": None}
    if len(words) == 1 or words[1:] == ["--dask"]:          # a command, or an option, as such
        assert words[0] in known
        assert not words[1:] or words[1] in known[words[0]]._option_string_actions
        return
    options = cli._parser().parse_args(words)
    if words[0] == "figure" and options.figure:
        assert cli.figure_command.find(options.figure)
