"""The book's table of missing values and categories is what the estimators do."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import get_tags

from tests.estimators import EXPECTED_FAILURES, PUBLIC, made, rows

PAGE = Path(__file__).parents[2] / "chapters" / "appendices" / "api.md"


def promised():
    """Return of every estimator in the table whether it takes missing values and categories."""
    page = PAGE.read_text(encoding="utf-8")
    text = page.partition("(who-takes-what)=")[2].partition("\n## What")[0]
    found = {}
    for line in re.findall(r"^\| .*`.*\|$", text, re.MULTILINE):
        names, *answers = [cell.strip() for cell in line.strip("|").split("|")]
        for name in re.findall(r"`(\w+)`", names):
            found[name] = tuple(answer != "no" for answer in answers)
    return found


def test_every_estimator_is_in_the_table():
    assert promised().keys() == set(PUBLIC)


@pytest.mark.parametrize("kind", ["missing", "categories"])
@pytest.mark.parametrize("name", PUBLIC)
def test_an_estimator_takes_what_the_table_says(name, kind):
    model = made(name)
    if "time_limit" in model.get_params():
        model.set_params(time_limit=2.0)
    X, y = rows(name)
    if kind == "missing":
        X[::4, 0] = np.nan
    else:
        X = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 1, "up", "down")})
    tags = get_tags(model).input_tags
    takes = promised()[name][kind == "categories"]
    assert takes == (tags.allow_nan if kind == "missing" else tags.categorical)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if takes:
            assert len(model.fit(X, y).predict(X)) == len(y)
        else:
            with pytest.raises(ValueError, match="NaN" if kind == "missing" else "text"):
                model.fit(X, y)


def test_the_page_says_which_of_scikit_learns_checks_fail():
    """Those that tests/shared/test_scikit_learn_checks.py expects to fail, and no others."""
    part = PAGE.read_text(encoding="utf-8").partition("## What scikit-learn's checks report")[2]
    said = {}
    for line in re.findall(r"^\| `check_.*\|$", part.partition("\n(")[0], re.MULTILINE):
        check, names, why = [cell.strip() for cell in line.strip("|").split("|")]
        for name in re.findall(r"`(\w+)`", names):
            said.setdefault(name, {})[check.strip("`")] = why
    assert said == EXPECTED_FAILURES
