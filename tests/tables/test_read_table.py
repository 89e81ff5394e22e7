"""What is read of an ugly table, and whether the report says all that was done to it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tables.ugly import arrow, plain, tables

from odtbook.tables import OTHER, read_table

UGLY = tables()


def source(table, folder):
    """Return the frame, or the path of the file that is written."""
    if isinstance(table.content, bytes):
        path = folder / f"table{table.ending}"
        path.write_bytes(table.content)
        return path
    return table.content


@pytest.mark.parametrize("table", UGLY, ids=lambda table: table.name)
def test_ugly_table(table, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = read_table(source(table, tmp_path), table.target)
    report = str(read.report)
    for words in table.words:
        assert words in report, report
    assert read.task == table.task
    assert bool(read.report.unusable) != table.usable
    assert len(read.X) == len(read.y) == len(read.rows)
    if table.rows is not None:
        assert len(read.y) == table.rows
    # Every column that went in comes out, or has a line of its own that says why not.
    for name, what in read.report.columns.items():
        assert (what == "dropped") == (name not in read.X.columns and name != table.target)
        if what == "dropped" and len(read.y):
            assert any(line.startswith(repr(name)) and "dropped" in line
                       for line in read.report.lines), name
    if len(read.y):
        assert {name for name, what in read.report.columns.items()
                if what == "dropped"} == set(table.dropped)
    for name, kind in (table.kinds or {}).items():
        assert read.report.columns[name] == kind
    for name in read.X.columns:
        assert read.X[name].dtype in (object, np.float64)
        assert not np.isinf(read.X[name].to_numpy()[read.X[name].notna()].astype(float)).any() \
            if read.X[name].dtype != object else True


def drawn_table(rng):
    """Return a table of random columns, some of which a reader must drop, and its names."""
    n = int(rng.integers(30, 90))
    kinds = {
        "number": lambda: rng.normal(size=n).round(3), "whole": lambda: rng.integers(0, 9, n),
        "gaps": lambda: np.where(rng.random(n) < .4, np.nan, rng.integers(0, 50, n)),
        "word": lambda: rng.choice(["red", "blue, light", 'the "green"', None], n),
        "constant": lambda: np.full(n, 7), "empty": lambda: np.full(n, None),
        "id": lambda: rng.permutation(n) + 1,
        "token": lambda: [f"k{i}x" for i in rng.permutation(n)],
        "day": lambda: [f"2024-{m:02d}-11" for m in rng.integers(1, 13, n)],
        "at": lambda: [f"{h}:30" for h in rng.integers(0, 24, n)],
        "cost": lambda: [f"{v:,.2f} €" for v in rng.uniform(0, 9e4, n)]}
    chosen = rng.choice(list(kinds), rng.integers(1, 12))
    frame = pd.DataFrame({f"{kind} {j}": kinds[kind]() for j, kind in enumerate(chosen)})
    frame["y"] = rng.choice(["a", "b"], n)
    return frame[rng.permutation(frame.columns)]


@pytest.mark.parametrize("seed", range(60))
def test_no_column_and_no_row_is_dropped_in_silence(seed, tmp_path):
    rng = np.random.default_rng(seed)
    frame = drawn_table(rng)
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False, sep=str(rng.choice([",", ";", "\t", "|"])),
                 encoding=str(rng.choice(["utf-8", "utf-8-sig", "utf-16"])))
    read = read_table(path, "y")
    assert set(read.report.columns) == set(frame.columns)
    assert len(read.X) == len(frame)
    for name in frame.columns.drop("y"):
        if name not in read.X.columns:
            line = next(line for line in read.report.lines if line.startswith(repr(name)))
            assert "is dropped" in line
            assert not name.startswith(("number", "whole", "gaps", "word", "day", "at", "cost")) \
                or "in every row" in line


def test_values_come_out_as_they_went_in(tmp_path):
    base = plain()
    for options in ({}, {"sep": ";", "decimal": ","}, {"sep": "\t"}, {"sep": "|"}):
        path = tmp_path / "t.csv"
        base.to_csv(path, index=False, **options)
        read = read_table(path)
        np.testing.assert_array_equal(read.X["dose"], base["dose"])
        np.testing.assert_array_equal(read.X["age"], base["age"])
        assert read.X["sex"].tolist() == base["sex"].tolist()
        assert read.y.tolist() == base["label"].tolist()


@pytest.mark.parametrize("cells, numbers", [
    (["1,234.50", "7.1", "1,000,000"], [1234.5, 7.1, 1e6]),
    (["1.234,50", "7,1", "-3,25"], [1234.5, 7.1, -3.25]),
    (["1,234", "2,500", "12,000"], [1234, 2500, 12000]),
    (["0,123", "0,250", "0,999"], [.123, .25, .999]),
    (["1 234,5", "2 000", "7"], [1234.5, 2000, 7]),
    (["1'234.5", "2'000", "7"], [1234.5, 2000, 7]),
    (["€ 5", "€ 7.5", "€ 1,200.00"], [5, 7.5, 1200]),
    (["1e5", "2E-3", ".5"], [1e5, 2e-3, .5]),
    (["−3", "4", "+5"], [-3, 4, 5]),
])
def test_marks_of_numbers(cells, numbers):
    cells, numbers = cells * 10, numbers * 10
    read = read_table(pd.DataFrame({"x": cells, "y": ["a", "b"] * 15}), "y")
    np.testing.assert_allclose(read.X["x"], numbers)


@pytest.mark.parametrize("cells, first, last", [
    (["2024-01-31", "2024-02-01"], 0, 1),
    (["31.01.2024", "01.02.2024"], 0, 1),
    (["01/31/2024", "02/01/2024"], 0, 1),
    (["2024-01-31T06:00:00Z", "2024-02-01T12:00:00Z"], .25, 1.5),
])
def test_dates(cells, first, last):
    read = read_table(pd.DataFrame({"x": cells * 10, "y": ["a", "a", "b", "b"] * 5}), "y")
    assert read.report.columns["x"] == "date"
    np.testing.assert_allclose(read.X["x"][:2], [first, last])


def test_kinds_of_frames_agree():
    base = plain()
    base.loc[3:9, "age"] = np.nan
    base.loc[5, "sex"] = None
    frames = [base, base.convert_dtypes(), base.astype({"sex": "category", "label": "category"})]
    for package, frame in (("pyarrow", arrow),
                           ("polars", lambda f: pytest.importorskip("polars").from_pandas(f))):
        try:
            __import__(package)
        except ModuleNotFoundError:
            continue
        frames.append(frame(base))
    first = read_table(frames[0], "label")
    for frame in frames[1:]:
        read = read_table(frame, "label")
        pd.testing.assert_frame_equal(read.X, first.X)
        np.testing.assert_array_equal(read.y, first.y)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    plain().to_parquet(tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet", "label")
    pd.testing.assert_frame_equal(read.X, read_table(plain(), "label").X)


def test_later_rows_are_read_as_the_first():
    base = plain()
    base["town"] = np.where(np.arange(240) < 6, [f"u{i}" for i in range(240)], "Bern")
    base.loc[100:, "town"] = "Basel"
    base["day"] = pd.date_range("2024-01-05", periods=240).strftime("%Y-%m-%d")
    first = read_table(base, "label")
    later = base.tail(20).assign(town="Rome", day="2024-01-01", sex="other").drop(columns="label")
    later = later.assign(label="well")
    read = read_table(later, like=first)
    assert list(read.X.columns) == list(first.X.columns)
    assert set(read.X["town"]) == {OTHER} and read.X["sex"].isna().all()
    assert (read.X["day"] == -4).all()
    assert "'Rome'" in str(read.report) and "'other'" in str(read.report)


def test_refusals(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("\n \n")
    with pytest.raises(ValueError, match="empty"):
        read_table(tmp_path / "empty.csv")
    with pytest.raises(ValueError, match="no column 'lable'.*age, dose"):
        read_table(plain(), "lable")
    with pytest.raises(ValueError, match="spreadsheet"):
        (tmp_path / "t.xlsx").write_bytes(b"PK")
        read_table(tmp_path / "t.xlsx")
    with pytest.raises(ValueError, match="holds words"):
        read_table(plain(), "label", task="regression")
    with pytest.raises(ValueError, match="no table"):
        read_table(np.zeros((3, 2)))


def test_encoder_takes_what_was_not_seen():
    read = read_table(next(t for t in UGLY if t.name == "nullable types").content, "label")
    encoder = read.encoder().fit(read.X[:100])
    columns = encoder.transform(read.X[100:])
    assert columns.to_numpy().dtype == float and not columns.isna().any().any()
    assert "sex = male" in columns.columns
