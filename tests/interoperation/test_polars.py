"""Data frames of polars are rows like those of pandas, for every estimator."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import odtlib
from odtbook import experiments
from odtbook.compile_command import options_of
from odtbook.estimators import NAMES, class_of
from odtbook.tables import read_table
from odtlib import binarize

ESTIMATORS = NAMES


@pytest.fixture
def pl(tool):
    return tool("polars")


def small_estimator(name):
    estimator = class_of(name)(**options_of(name))
    wanted = {"max_depth": 2, "time_limit": 5.0, "random_state": 0, "n_estimators": 10}
    known = estimator.get_params()
    return estimator.set_params(**{key: wanted[key] for key in wanted if key in known})


def small_table(name):
    """Return 40 rows and their labels or targets, as one estimator takes them."""
    random = np.random.default_rng(0)
    X = random.integers(0, 4, (40, 3)).astype(float)
    if "Constrained" in name or "Projected" in name:
        labels = name == "ConstrainedTreeClassifier"
        return X, random.integers(0, 2, 40) if labels else random.random((40, 2))
    return X, X[:, 0] > X[:, 1] if name.endswith("Classifier") else random.random(40)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_to_polars_is_a_fit_to_pandas(pl, name):
    X, y = small_table(name)
    weight = np.arange(40) % 3          # rows of weight zero are left out
    one, other = pd.DataFrame(X, columns=["a", "b", "c"]), pl.DataFrame(X, schema=["a", "b", "c"])
    expected = small_estimator(name).fit(one, y, sample_weight=weight)
    found = small_estimator(name).fit(other, y, sample_weight=pl.Series(weight))
    assert list(found.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(found.predict(other), expected.predict(one))
    with pytest.raises(ValueError, match="feature names should match"):
        found.predict(other.rename({"a": "d"}))


@pytest.mark.parametrize("kind", ["String", "Categorical"])
def test_text_is_categories_where_an_estimator_takes_them(pl, kind):
    colours = ["red", "blue", "green", "blue"] * 10
    frame = pl.DataFrame({"colour": pl.Series(colours, dtype=getattr(pl, kind)),
                          "flag": [True, False] * 20})
    y = pl.Series([colour == "green" for colour in colours])
    model = odtlib.MurTreeClassifier(max_depth=1).fit(frame, y)
    assert model.report_.objective == 0
    np.testing.assert_array_equal(model.predict(frame), y)
    assert "green" in str(model.tree_)


def test_text_is_refused_by_the_name_of_its_column_elsewhere(pl):
    frame = pl.DataFrame({"colour": ["red", "blue"] * 10, "size": range(20)})
    with pytest.raises(ValueError, match="column 'colour' of X holds text .'red'.; encode it"):
        odtlib.ConstrainedTreeClassifier().fit(frame, [0, 1] * 10)


def test_missing_values_are_taken_or_refused(pl):
    frame, y = pl.DataFrame({"size": [1, None, 3, 4] * 5}), [0, 1, 0, 0] * 5
    model = odtlib.CARTClassifier().fit(frame, y)
    assert model.predict(frame).tolist() == y and "missing" in str(model.tree_)
    with pytest.raises(ValueError, match="NaN"):
        odtlib.RestrictedTreeClassifier().fit(frame, y)


def test_labels_of_polars_keep_their_type(pl):
    y = pl.Series(["late", "on time"] * 10)
    model = odtlib.CARTClassifier().fit(pl.DataFrame({"size": range(20)}), y)
    assert list(model.classes_) == ["late", "on time"]


def typed_columns(pl):
    """Return 60 rows: for each type of polars a column, and the first cells that it is read as."""
    day, rows = datetime.timedelta(days=1), range(60)
    first = datetime.datetime(2024, 1, 1)
    cents = [decimal.Decimal(f"{i}.{i % 4}5") for i in rows]
    columns = {
        "nullable": (pl.Series([None, *rows[1:]], dtype=pl.Int16) % 17, [np.nan, 1, 2]),
        "real": (pl.Series([0.5, float("nan"), *(i % 7 for i in rows[2:])]), [0.5, np.nan, 2]),
        "flag": (pl.Series([None, *(i % 4 == 1 for i in rows[1:])]), [np.nan, 1, 0]),
        "small": (pl.Series([i % 5 for i in rows], dtype=pl.UInt8), [0, 1, 2]),
        "wide": (pl.Series([i % 9 for i in rows], dtype=pl.Int128), [0, 1, 2]),
        "decimal": (pl.Series(cents, dtype=pl.Decimal(8, 2)), [0.05, 1.15, 2.25]),
        "gaps": (pl.Series([None, *cents[1:]], dtype=pl.Decimal(8, 2)), [np.nan, 1.15, 2.25]),
        "date": (pl.Series([(first + i * i * day).date() for i in rows]), [0, 1, 4]),
        "moment": (pl.Series([None, *(first + i * day / 2 for i in rows[1:])]), [np.nan, 0.5, 1]),
        "span": (pl.Series([(i % 11) * day / 4 for i in rows]), [0, 0.25, 0.5]),
        "clock": (pl.Series([datetime.time(i % 24, i) for i in rows]), [0, 1 + 1 / 60, 2 + 1 / 30]),
        "colour": (pl.Series([["red", "blue", None, "red"][i % 4] for i in rows],
                             dtype=pl.Categorical), ["red", "blue", None]),
        "size": (pl.Series([["low", "high", "mid"][i % 3] for i in rows],
                           dtype=pl.Enum(["low", "mid", "high"])), ["low", "high", "mid"]),
        "word": (pl.Series([["a", None, "b", "c", "d"][i % 5] for i in rows]), ["a", None, "b"]),
    }
    return pl.DataFrame({name: series for name, (series, _) in columns.items()}), {
        name: cells for name, (_, cells) in columns.items()}


def test_a_table_of_every_type_is_read_and_no_column_is_lost(pl):
    frame, expected = typed_columns(pl)
    useless = pl.DataFrame({"nothing": [None] * 60, "same": ["x"] * 60, "target": [0, 1, 1] * 20})
    read = read_table(frame.hstack(useless), "target")
    assert list(read.X.columns) == list(expected)
    for name, cells in expected.items():
        found = [None if pd.isna(cell) else cell for cell in read.X[name][:3]]
        wanted = [None if pd.isna(cell) else cell for cell in cells]
        assert found == (pytest.approx(wanted) if isinstance(cells[1], int | float) else wanted)
        gaps = sum(cell is None or cell != cell for cell in frame[name].to_list())
        assert gaps == read.X[name].isna().sum()
        alone = read_table(frame.select(name).hstack(useless), "target").report.lines
        assert any(line.startswith(f"{name!r} has {gaps} gap") for line in alone) == (gaps > 0)
    many = sum(read.X.isna().any())         # of many columns the gaps are one sentence
    assert any(line.startswith(f"{many} of {len(expected)} features have gaps")
               for line in read.report.lines)
    for name in ("nothing", "same"):
        assert any(line.startswith(repr(name)) and "dropped" in line for line in read.report.lines)


def test_types_of_numbers_are_fitted_and_others_refused_by_name(pl):
    frame, _ = typed_columns(pl)
    y = [0, 1, 1] * 20
    for name in ("nullable", "real", "flag", "small", "wide", "decimal", "gaps"):
        numbers = pd.DataFrame({name: [np.nan if cell is None else float(cell)
                                       for cell in frame[name].to_list()]})
        for kind in (odtlib.MurTreeClassifier, odtlib.CARTClassifier,
                     odtlib.ContinuousTreeClassifier):
            one, other = (kind(max_depth=2).fit(rows, y) for rows in (frame.select(name), numbers))
            assert one.report_.objective == other.report_.objective
            np.testing.assert_array_equal(one.predict(frame.select(name)), other.predict(numbers))
    for name in ("date", "moment", "span"):
        with pytest.raises(ValueError, match="turn the?m? into numbers|turn it into numbers"):
            odtlib.MurTreeClassifier().fit(frame.select(name), y)
    records = pl.DataFrame({"pair": [{"a": i, "b": 1} for i in range(60)]})
    with pytest.raises(ValueError, match="column 'pair' of X holds records"):
        odtlib.MurTreeClassifier().fit(records, y)


@pytest.mark.parametrize("name", binarize.__all__)
def test_binarisers_make_the_same_columns(pl, name):
    X, y = small_table("CARTClassifier")
    one, other = pl.DataFrame(X, schema=["a", "b", "c"]), pd.DataFrame(X, columns=["a", "b", "c"])
    found, expected = (clone(getattr(binarize, name)()).fit(rows, y) for rows in (one, other))
    np.testing.assert_array_equal(found.transform(one), expected.transform(other))
    assert list(found.get_feature_names_out()) == list(expected.get_feature_names_out())


def test_compare_takes_a_frame(pl, capsys):
    frame, _ = typed_columns(pl)
    frame = frame.with_columns(target=pl.Series(["no", "yes", "yes"] * 20))
    table = experiments.compare(frame, "target", max_depth=2, methods=["CART", "MurTree"])
    assert list(table.index) == ["CART", "MurTree"] and "error" not in table
    said = str(read_table(frame, "target").report)
    assert "of 14 features have gaps" in said and said in capsys.readouterr().out
