"""A tiny experiment of its own folder, so that no test touches the book's records."""

import json

import pytest
from experiments.runner_fakes import PARAMETERS, RUN

GRID = """
title = "Does the runner run?"
template = "toy"

[fixed]
mode = "good"

[grid]
a = [1, 2, 3, 4]
b = [0.5, 1]

[quick]
a = [1]
"""


def notebook(*sources):
    """A notebook as JSON: the first cell holds the parameters."""
    cells = [{"cell_type": "code", "id": f"cell-{i}", "outputs": [], "execution_count": None,
              "metadata": {"tags": ["parameters"] if i == 0 else []}, "source": source}
             for i, source in enumerate(sources)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4,
            "nbformat_minor": 5}


@pytest.fixture
def toy(tmp_path):
    """Make a toy experiment: ``toy()`` returns its grid file; arguments replace its parts."""
    def make(*, parameters=PARAMETERS, run=RUN, grid=GRID, name="toy"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "toy.ipynb").write_text(json.dumps(notebook(parameters, run)))
        (folder / f"{name}.toml").write_text(grid)
        return folder / f"{name}.toml"
    return make
