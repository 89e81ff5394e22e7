"""Fork a chapter or a template into an experiment of the reader's own."""

from __future__ import annotations

import json
import re
from pathlib import Path

from .book import find_notebook
from .templates import Template, code_cell, parameters_cell, read_notebook

_TEST = '''"""The quick grid of {name} runs, and every run leaves a record."""

from pathlib import Path

from odtbook import experiments

GRID = Path(__file__).with_name("{name}.toml")


def test_the_quick_grid_runs():
    records = experiments.run_experiment(GRID, quick=True)
    assert records
    assert [record["error"] for record in records if record["status"] == "failed"] == []
'''
_GRID_AXES = ("dataset", "max_depth", "split", "method")


def new(name: str, source: str | Path, folder: str | Path = ".") -> Path:
    """Copy a chapter or template into a fresh experiment that runs at once.

    Parameters
    ----------
    name : str
        A letter and up to 99 more letters, digits, ``-`` and ``_``; the name of the folder and its
        files.
    source : str or pathlib.Path
        A template (``murtree``), a chapter (``05_murtree``, or its number ``5``), a figure
        (``figure:5.4``: the code that draws it, and no more), or the path of a notebook.
    folder : str or pathlib.Path, default="."
        Where the new folder is made.

    Returns
    -------
    pathlib.Path
        The new folder: the notebook without outputs, the grid file, and a test.
        ``odt run <folder>`` runs it; records and executed notebooks stay inside.

    Raises
    ------
    ValueError
        If the name is not usable or taken, or there is no such chapter or template.
    """
    if not re.fullmatch(r"[A-Za-z][\w-]{0,99}", name):
        raise ValueError(f"{name!r} cannot name an experiment; begin with a letter, and use up to "
                         "100 letters, digits, - and _.")
    target = Path(folder) / name
    if target.exists():
        raise ValueError(f"{target} is there already; choose another name or remove it.")
    if str(source).startswith("figure:"):
        from odtbook.figure_code import find
        figure = find(str(source).removeprefix("figure:"))
        path, notebook = Path(f"figure {figure.number}"), figure.notebook()
    else:
        path = find_notebook(source)
        notebook = _stripped(read_notebook(path))
    if parameters_cell(notebook) is None:
        notebook["cells"].insert(0, code_cell("parameters", "seed = 0", tags=["parameters"]))
    with_record(notebook)
    target.mkdir(parents=True)
    copy = target / f"{name}.ipynb"
    copy.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    grid = _grid(name, path.name.removesuffix(".ipynb"), Template(copy))
    (target / f"{name}.toml").write_text(grid, encoding="utf-8")
    (target / f"test_{name.replace('-', '_')}.py").write_text(_TEST.format(name=name),
                                                             encoding="utf-8")
    return target


def with_record(notebook):
    """Let a notebook that records nothing end with an empty record."""
    if not any("experiments.emit(" in "".join(cell["source"]) for cell in notebook["cells"]):
        notebook["cells"].append(code_cell("record", (
            "# what a run records: put the numbers that matter into measures\n"
            "from odtbook import experiments\n\n"
            "experiments.emit(experiments.record(measures={}))")))


def _stripped(notebook):
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return notebook


def _grid(name, source, template):
    axes = [p for p in _GRID_AXES if p in template.defaults] or list(template.defaults)[:1]
    axes = [p for p in axes if template.defaults[p] is not None]
    lines = [f'title = "{name}, forked from {source}"', f'template = "{name}"', "",
             "[fixed]   # the same for every run"]
    lines += [_assignment(p, value) for p, value in template.defaults.items() if p not in axes]
    lines += ["", "[grid]   # every combination of these lists is a run"]
    lines += [_assignment(p, [template.defaults[p]]) for p in axes]
    lines += ["", "[quick]   # values that replace those above under --quick"]
    lines += [_assignment(p, [template.defaults[p]]) for p in axes]
    return "\n".join(lines) + "\n"


def _assignment(name, value):
    if value is None:
        return f"# {name} is None: TOML cannot say so, give a value here to change it"
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"
