"""What is read of an ugly table, and whether the report says all that was done to it."""

import bz2
import gzip
import io
import lzma
import re
import time
import unicodedata
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from tables.ugly import arrow, plain, tables

from odtbook.tables import files, read_table, source_of, whole

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
    (["90.5 mg/dl", "1,204.5 mg/dl", "88 mg/dl"], [90.5, 1204.5, 88]),
    (["3 m/s²", "4.5 m/s²", "0 m/s²"], [3, 4.5, 0]),
])
def test_marks_of_numbers(cells, numbers):
    cells, numbers = cells * 10, numbers * 10
    read = read_table(pd.DataFrame({"x": cells, "y": ["a", "b"] * 15}), "y")
    np.testing.assert_allclose(read.X["x"], numbers)


@pytest.mark.parametrize("cells, first, last", [
    (["2024-01-31", "2024-02-01"], 0, 1),
    (["31.01.2024", "01.02.2024"], 0, 1),
    (["01/31/2024", "02/01/2024"], 0, 1),
    (["03/01/2024 12:00 am", "03/05/2024 6:00 PM"], 0, 4.75),       # twelve hours: America
    (["03/01/2024 10:00", "03/05/2024 16:00"], 5 / 12, 121 + 2 / 3),
    (["13/01/2024 12:00 am", "14/01/2024 6:00 PM"], 0, 1.75),
    (["2024/01/31 9:00:00 AM GMT+2", "2024/02/01 1:00:00 PM GMT+1"], 7 / 24, 1.5),
    (["2024-01", "2024-03"], 0, 60),
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
        if package == "pyarrow":
            frames.append(__import__(package).Table.from_pandas(base))
    first = read_table(frames[0], "label")
    for frame in frames[1:]:
        read = read_table(frame, "label")
        pd.testing.assert_frame_equal(read.X, first.X)
        np.testing.assert_array_equal(read.y, first.y)


@pytest.mark.parametrize("cells, kind, says, first", [
    # numbers
    ("€500|€3,643", "number", "commas between thousands", 500),
    ("-$5.00|$7.50", "number", "the unit '$' left out", -5),
    ("($5)|$7", "number", "as -1", -5),
    ("5-|7", "number", "as -1", -5),
    ("5 kg|7.5 kg", "number", "the unit 'kg' left out", 5),
    ("USD 5|USD 1,200.50", "number", "the unit 'USD'", 5),
    ("5°C|-7°C", "number", "unit '°C'", 5),
    ("|".join([*(f"{k} kg" for k in range(5, 24)), "7"]), "number", "'kg' left out, which not", 5),
    ("1\u2009234|7", "number", "blanks between thousands", 1234),
    ("1’234|7", "number", "apostrophes", 1234),
    ("12,34,567|1,00,000", "number", "commas between thousands", 1234567),
    ("1,234|8,500", "number", "a guess", 1234),
    ("1.5e-3|2E+2", "number", "powers of ten", .0015),
    ("|".join(map(str, [*range(7, 20), 10**400])), "number", "read as gaps", 7),
    ("007|123", "category", "begin with 0", "007"),
    ("01067|90210", "category", "begin with 0", "01067"),
    ("5 mg|2 g", "category", "signs or words ('g', 'mg')", "5 mg"),
    ("9007199254740993|9007199254740992", "category", "too large", "9007199254740993"),
    # words
    ("1.2.3|1.10.12", "category", "", "1.2.3"),
    ("1.2.10|1.3.22", "category", "", "1.2.10"),
    ("10.0.2.2|10.0.0.1", "category", "", "10.0.2.2"),
    ("3-7-6|1-7-5", "category", "", "3-7-6"),
    ("2021-01|2021-40", "category", "", "2021-01"),
    ("+49 30 1234567|+49 30 7654321", "category", "", "+49 30 1234567"),
    ("1/2|3/4", "category", "two numbers in a cell", "1/2"),
    ("20-29|30-39", "category", "two numbers", "20-29"),
    ("CHF 1'200.-|CHF 95.-", "number", "'.-' for no cents and the unit 'CHF'", 1200),
    ("7.25|8,50|9,75", "number", "decimal commas and decimal points", 7.25),
    ("$5|€7", "category", "signs or words ('$', '€')", "$5"),
    ("AA|Aa|aa", "category", "", "AA"),
    ("1|2|3+", "category", "words in the others ('3+')", "1"),
    ("2024-01-31T06:00:00+02:00|2024-02-01T12:00:00+01:00", "date", "times in UTC", 1/6),
    ("May 5|Mar 7", "category", "", "May 5"),
    ("1-May|3-Mar", "category", "", "1-May"),
    ("Yes|yes|yes|no|NO|no", "category", "capital letters alone ('NO', 'Yes')", "yes"),
    # times and dates
    ("9:53 PM|12:15 AM", "number", "hours", 21 + 53 / 60),
    ("45:30:00|5:00:00", "number", "spans of time, hours", 45.5),
    ("10:56.6|39:13.5", "number", "minutes", 10 + 56.6 / 60),
    ("2h 24m|12 hrs", "number", "read as days", .1),
    ("PT6H|P1DT12H", "number", "read as days", .25),
    ("20240131|20240201", "date", "one number", 0),
    ("2021-02-03|9999-12-31", "date", "year 9999", 0),
    ("1009-06-26|1010-06-26", "date", "since 1009-06-26", 0),
    ("22.03.22|01.12.22", "date", "day first", 0),
    ("3 March 2022|12 May 2022", "date", "months by name", 0),
])
def test_what_cells_are_taken_for(cells, kind, says, first, tmp_path):
    cells = cells.split("|") * 20
    frame = pd.DataFrame({"x": cells, "z": np.arange(len(cells)) % 7,
                          "y": np.where(np.arange(len(cells)) % 3, "a", "b")})
    path = tmp_path / "t.csv"
    for separator in ",;":
        frame.to_csv(path, index=False, sep=separator)
        read = read_table(path, "y")
        assert read.report.columns["x"] == kind, read.report
        assert says in str(read.report)
        assert read.X["x"][0] == (pytest.approx(first) if kind != "category" else first)
        np.testing.assert_array_equal(read.X["z"], frame["z"])


def test_blanks_around_a_name_are_said(tmp_path):
    """The files of `odt try` take the name without them."""
    text = "a, b ,  c,label\n" + "\n".join(f"{k % 7},{k % 5},{k % 3},{'pq'[k % 7 > 3]}"
                                           for k in range(60))
    (tmp_path / "t.csv").write_text(text, "utf-8-sig")
    read = read_table(tmp_path / "t.csv", "label")
    assert read.feature_names == ["a", "b", "c"]
    assert "'b', 'c' are written with blanks around in the table." in read.report.lines
    assert "blanks around" not in str(read_table(plain(), "label").report)


def test_numbers_of_many_digits_stay_what_they_are():
    """As classes, in a column of one value, and where one cut tells the target."""
    x = np.arange(60) % 20 - 10.0
    frame = pd.DataFrame({"x": x * 1_234_567.0, "one": 12_345_678.0, "y": np.where(
        x > 0, 0.12345678, 0.12345679)})
    read = read_table(frame, "y")
    assert sorted(set(read.y)) == ["0.12345678", "0.12345679"]
    assert "'one' is 12345678 in every row" in str(read.report)
    large = read_table(frame.assign(y=np.where(x > 0, 1e20, 2e20)), "y")
    assert set(large.y) == {"1e+20", "2e+20"}           # beyond what int64 holds
    assert "(one cut, at 0)" in str(read_table(frame.assign(x=np.where(x, x, -0.0)), "y").report)
    same = read_table(frame.assign(y=7), "y", task="regression").report
    assert same.unusable == "'y' is 7 in every row: nothing to predict."
    rng = np.random.default_rng(0)
    many = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90)})
    said = str(read_table(many.assign(y=3 * many["a"] + 5), "y").report)
    assert "'y' is 'a' times a number, plus another, in every row; if known only" in said


def test_persons_by_their_name_may_belong_together():
    frame = pd.DataFrame({"patient": [f"P{k}" for k in np.arange(90) % 15], "a": np.arange(90) % 7,
                          "customer type": [f"c{k}" for k in np.arange(90) % 11],
                          "y": ["p", "q", "q"] * 30})
    assert read_table(frame, "y").report.together == ["patient"]


def test_versions_are_known_by_name():
    frame = pd.DataFrame({"version": ["1.9", "1.10"] * 20, "y": list("aabb") * 10})
    read = read_table(frame, "y")
    assert read.X["version"].tolist()[:2] == ["1.9", "1.10"]
    assert "versions by its name" in str(read.report)


@pytest.mark.parametrize("kind, cell", [
    ("number", str), ("number", lambda i: f"{i} h"),
    ("number", lambda i: f"{i // 60}:{i % 60:02d}"),
    ("date", lambda i: f"2024-{i // 28 + 1:02d}-{i % 28 + 1:02d}")])
def test_a_word_in_many_cells_of_numbers_times_or_dates_is_a_gap(kind, cell):
    cells = ["unknown" if i % 5 == 0 else cell(i) for i in range(100)]
    read = read_table(pd.DataFrame({"x": cells, "y": ["a", "b"] * 50}), "y")
    assert read.report.columns["x"] == kind and read.X["x"].isna().sum() == 20
    assert "20 cells with 'unknown'" in str(read.report)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    plain().to_parquet(tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet", "label")
    pd.testing.assert_frame_equal(read.X, read_table(plain(), "label").X)


def test_refusals(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("\n \n")
    with pytest.raises(ValueError, match="empty"):
        read_table(tmp_path / "empty.csv")
    with pytest.raises(ValueError, match="no column 'lable'.*age, dose"):
        read_table(plain(), "lable")
    for content, says in (
            (b"\x1f\x8b\x08", "cannot be unpacked"), (b"PK\x03\x04", "cannot be unpacked"),
            (b'[{"a": 1}]', "no table of text"), (b"<!DOCTYPE html><p>404", "no table of text"),
            (bytes(range(256)) * 9, "no table of text")):
        (tmp_path / "odd.csv").write_bytes(content)
        with pytest.raises(ValueError, match=says):
            read_table(tmp_path / "odd.csv", "label")
    with pytest.raises(ValueError, match="stands in row 0"):
        read_table(pd.DataFrame([["age", "label"], [1, "a"]]), "label")
    with pytest.raises(ValueError, match="no column 'sick'"):       # a value, not a name
        read_table(source(UGLY[0], tmp_path), "sick")
    with pytest.raises(ValueError, match="folder"):
        read_table(tmp_path)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match="not a whole file"):
        read_table(tmp_path / "t.parquet")
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


@pytest.mark.parametrize("ending, write", [
    (".xlsx", lambda frame, path: frame.to_excel(path, index=False, startrow=2)),
    (".dta", lambda frame, path: frame.to_stata(path, write_index=False)),
    (".jsonl", lambda frame, path: frame.to_json(path, orient="records", lines=True)),
    (".json", lambda frame, path: frame.to_json(path, orient="records")),
    (".feather", lambda frame, path: frame.to_feather(path)),
    (".arff", lambda frame, path: path.write_text(
        "@relation r\n@attribute age numeric\n@attribute dose numeric\n"
        "@attribute sex {male,female}\n@attribute label {sick,well}\n@data\n"
        + frame.to_csv(index=False, header=False))),
])
def test_files_of_other_programs(ending, write, tmp_path):
    path = tmp_path / f"t{ending}"
    write(plain(), path)
    read, wanted = read_table(path, "label"), read_table(plain(), "label")
    pd.testing.assert_frame_equal(read.X, wanted.X)
    assert read.y.tolist() == wanted.y.tolist()
    path.write_bytes(b"PK\x03\x04 no such file")
    with pytest.raises(ValueError, match=path.name):
        read_table(path, "label")


def test_ordered_categories_stay_ordered():
    sizes = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
    frame = plain().assign(size=pd.Series(np.arange(240) % 3).map(
        dict(enumerate(sizes.categories))).astype(sizes))
    frame.loc[5, "size"] = None
    read = read_table(frame, "label")
    assert read.X["size"].tolist()[:5] == [0, 1, 2, 0, 1] and np.isnan(read.X["size"][5])
    assert "0: small, 1: medium, 2: large" in str(read.report)


def test_lines_of_types_that_orange_writes(tmp_path):
    text = plain().to_csv(index=False, sep="\t").split("\n", 1)
    path = tmp_path / "t.tab"
    path.write_text(f"{text[0]}\ncontinuous\tc\tfemale male\td\n\t\t\tclass\n{text[1]}")
    read = read_table(path, "label")
    assert len(read.y) == 240 and set(read.y) == {"sick", "well"}
    assert "as Orange writes them" in str(read.report)


@pytest.mark.parametrize("cell", ["(5" + " " * 20_000 + "-1", "1" * 20_000 + "x", "1," * 10_000,
                                  "1 d " * 5_000 + "x", "\u00a0" * 20_000 + "5"])
def test_long_cells_and_many_empty_lines_take_no_longer_than_their_length(cell, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n" * 40_000 + "x;z;y\n" + "".join(
        f"{cell};{i % 3};{'ab'[i % 2]}\n" for i in range(30)), encoding="utf-8")
    begun = time.process_time()
    assert len(read_table(path, "y").y) == 30
    assert time.process_time() - begun < 6


def test_a_cell_may_be_longer_than_the_reader_of_python_takes(tmp_path):
    path = tmp_path / "t.csv"
    plain().assign(note=["n" * 200_000, *["short"] * 239]).to_csv(path, index=False)
    assert len(read_table(path, "label").y) == 240


def test_what_is_packed_is_unpacked_within_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 1000)
    for ending, module in ((".gz", gzip), (".bz2", bz2), (".xz", lzma)):
        path = tmp_path / f"t.csv{ending}"
        path.write_bytes(module.compress(b"a,b\n" * 100_000))
        with pytest.raises(ValueError, match="holds more than"):
            read_table(path)
    with zipfile.ZipFile(tmp_path / "t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", b"a,b\n" * 100_000)
    with pytest.raises(ValueError, match="holds more than"):
        read_table(tmp_path / "t.zip")


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC"])
def test_the_target_is_found_however_its_letters_are_composed(form):
    frame = plain().rename(columns={"label": "größe", "age": "Übung"})
    for written in ("NFC", "NFD"):
        frame.columns = [unicodedata.normalize(written, name) for name in frame.columns]
        read = read_table(frame, unicodedata.normalize(form, "größe"),
                          drop=[unicodedata.normalize(form, "Übung")])
        assert unicodedata.normalize("NFC", read.target) == "größe" and read.X.shape[1] == 2


def test_columns_that_give_the_target_away_are_named():
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame({
        "a": rng.normal(size=n), "week": rng.integers(1, 53, n), "town": rng.choice(["x", "y"], n),
        "Sample Number": np.concatenate([np.arange(1, 201), np.arange(1, 201)]),
        "Patient ID": [f"p{i}" for i in rng.integers(0, 90, n)]})
    frame["arrest"] = np.where(frame["week"] < 40, "yes", "no")
    frame.loc[:3, "arrest"] = "no"
    frame["wage"] = np.exp(rng.normal(size=n))
    frame["logwage"] = np.log(frame["wage"])
    frame = pd.concat([frame, frame.iloc[:7]])
    read = read_table(frame.drop(columns=["wage", "logwage"]), "arrest")
    said = str(read.report)
    assert re.search(r"'week' alone tells 'arrest' in 4\d\d of 407 rows \(one cut, at 39\)", said)
    assert "'Sample Number' goes up by one" in said and "Sample Number" not in read.X
    assert "'Patient ID' may say which rows belong together" in said
    assert "7 rows of 407 are the same as an earlier one" in said
    assert "'a' alone" not in said and "'town' alone" not in said
    read = read_table(frame, "wage", drop=["week"])
    assert "'logwage' alone tells 'wage' nearly (rank correlation 1.000)" in str(read.report)
    assert "'week' is dropped, as asked." in str(read.report)
    assert "'a' alone" not in str(read.report)
    survival = pd.DataFrame({"time": rng.random(n), "x": rng.random(n), "cens": rng.random(n) < .4})
    assert "'survival' may be, by its name, the time until 'cens'" in str(
        read_table(survival.rename(columns={"time": "survival"}), "cens").report)
    assert "'time' may be, by its name, the time until 'cens'" in str(
        read_table(survival, "cens").report)


def test_rows_that_belong_together_are_known_by_their_column():
    frame = plain().assign(who=[f"p{i // 4}" for i in range(240)])
    frame.loc[0, "who"] = None
    frame.loc[8, "label"] = None
    read = read_table(frame, "label", groups="who")
    assert len(read.groups) == len(read.y) == 239 and "who" not in read.X
    assert len(set(read.groups)) == 61 and "61 groups" in str(read.report)


def test_an_address_is_no_file(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="addresses are not read; save https://a.org/t.csv"):
        with source_of("https://a.org/t.csv"):
            pass
    with pytest.raises(ValueError, match="addresses are not read; save https://a.org/t.csv"):
        read_table("https://a.org/t.csv")
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_table("C:/t.csv")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,x\n2,y\n")))
    with source_of("-") as path:
        assert path.read_text() == "a,b\n1,x\n2,y\n"


def test_leaks_of_a_quantity_are_said_and_none_is_invented():
    """Words that fix it, columns whose sum it is, and persons of whom there are several rows."""
    rng = np.random.default_rng(0)
    n, person = 600, rng.integers(0, 50, 600)
    frame = pd.DataFrame({
        "casual": rng.poisson(20, n), "registered": rng.poisson(90, n), "hour": rng.normal(size=n),
        "who": [f"P{k}" for k in person], "height": rng.normal(size=50)[person],
        "colour": rng.choice(list("rgb"), n)})
    said = str(read_table(frame.assign(bikers=frame["casual"] + 2 * frame["registered"]),
                          "bikers").report)
    assert "'bikers' is a sum of 'casual', 'registered', each times a number" in said
    assert "'who' may say which rows belong together" in said and "'colour'" not in said
    said = str(read_table(frame.assign(price=rng.normal(size=50)[person]), "price").report)
    assert "'who' alone tells 'price' nearly (it explains 100.0 % of the variance)" in said
    frame["height"] += rng.normal(size=n)
    said = str(read_table(frame.assign(y=frame["casual"] + rng.normal(size=n)), "y").report)
    assert "sum of" not in said and "belong together" not in said and "explains" not in said


@pytest.mark.parametrize("share", [0.5, 0.004, 0.0])
def test_what_no_model_can_know_is_said(share):
    """Rows that agree in every feature, gaps as well, and differ in their label."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice([1.5, 2.5, np.nan], 2000),
                          "b": rng.choice(["x", "y", None], 2000)})
    frame["y"] = np.where((frame["a"] == 1.5) ^ (rng.random(2000) < share), "p", "q")
    read = read_table(frame, "y")
    cells = [f"{a} {b}" for a, b in zip(read.X["a"], read.X["b"])]
    right = 100 * pd.crosstab(np.array(cells), read.y).max(axis=1).sum() / 2000
    said = re.search(r"'y' differs between rows .* right on more than (\S+) % of the rows",
                     str(read.report))
    assert bool(said) == (right <= 99) == (share == 0.5)
    assert not said or right <= float(said[1]) < right + 0.1


def test_a_feature_may_be_called_the_target():
    frame = pd.DataFrame({"the target": [1.5, 2.5] * 30, "x": np.arange(60) % 7, "y": ["a"] * 60})
    frame.loc[::3, "y"] = "b"
    same = 60 - len(frame.drop_duplicates())
    assert f"{same} rows of 60 are the same as" in str(read_table(frame, "y").report)


@pytest.mark.parametrize("quote", ["'", '"'])
def test_arff_as_weka_writes_it(quote, tmp_path):
    """Quoted names and words, gaps, comments, texts and dates; no cells are moved."""
    path = tmp_path / "t.arff"
    q = quote
    rows = [f"{k},{q}dark blue{q}, {'?' if k % 5 == 0 else 'red'},{q}it\\{q}s, {k % 7}{q},"
            f"{'c1' if k % 3 else 'c2'}" for k in range(1, 61)]
    path.write_text(f"% made\n@RELATION t\n@attribute {q}m 1{q} numeric\n@Attribute shade "
                    f"{{red,{q}dark blue{q}}}\n@attribute b {{red,?}}\n@attribute note string\n"
                    "@attribute class {c1,c2}\n\n@DATA\n% none\n" + "\n".join(rows) + "\n")
    read = read_table(path, "class")
    assert read.feature_names == ["b", "note"] and "'m 1' numbers the rows" in str(read.report)
    assert set(read.X["note"]) == {f"it{q}s, {k}" for k in range(7)}
    assert read.X["b"].isna().sum() == 12 and (read.y == "c2").sum() == 20
    assert "'shade' is 'dark blue' in every row" in str(read.report)
    path.write_text(path.read_text().replace("\n3,", "\n3,3,"))
    with pytest.raises(ValueError, match="row 3 of its data has 6 cells for 5 attributes"):
        read_table(path, "class")
    path.write_text("{0 1, 2 3}\n")
    with pytest.raises(ValueError, match="no attributes, or no data"):
        read_table(path, "class")


LEAKS = [
    "one cut", "a flag", "two cuts", "four cuts", "a square above", "squares", "a square",
    "gaps", "known", "gaps of words", "gaps and a quantity", "chance"]


def leaking(name, n):
    """Return a table with a column that gives the target away, and what is to be said of it."""
    rng = np.random.default_rng(0)
    x, yes, noise = rng.normal(size=n), rng.random(n) < 0.3, rng.normal(size=n)
    answer = np.where(yes, "yes", "no")
    leak, y, says = {
        "one cut": (x, 1000 * (x > 0.3) + noise, "nearly (it explains 100.0 % of the variance)"),
        "a flag": (yes + 0.0, 1000 * yes + noise, "nearly (it explains 100.0 % of the variance)"),
        "two cuts": (x, np.select([x < -0.5, x < 0.6], ["a", "b"], "c"), "in every row (2 cuts)"),
        "four cuts": (x, pd.cut(x, [-9, -1, -0.3, 0.3, 1, 9]).astype(str), "in every row (4 cuts)"),
        "a square above": (x, np.where(x**2 > 1, "yes", "no"), "in every row (2 cuts)"),
        "squares": (x, pd.cut(x**2, [-1, 0.3, 1.5, 99]).astype(str), "in every row (4 cuts)"),
        "a square": (x, x**2, "nearly (it explains 99.1 % of the variance of its ranks)"),
        "gaps": (np.where(yes, x, np.nan), answer, "in every row, by where it has gaps"),
        "known": (np.where(yes, np.nan, 5.0), answer, "in every row, by where it has gaps"),
        "gaps of words": (np.where(yes, rng.choice(["u", "v"], n), None), answer,
                          "in every row, by where it has gaps"),
        "gaps and a quantity": (np.where(yes, x, np.nan), 1000 * yes + noise,
                                "nearly (it explains 100.0 % of the variance), by where it has "
                                "gaps"),
        "chance": (np.where(yes, x, np.nan), rng.permutation(answer), "")}[name]
    frame = pd.DataFrame({"a": rng.normal(size=n), "leak": leak, "b": rng.normal(size=n), "y": y})
    frame.loc[rng.random(n) < 0.2, "b"] = np.nan
    frame["c"] = np.where(rng.random(n) < 0.2, np.nan, 7.0)     # which says nothing, without notice
    return frame, says


@pytest.mark.parametrize("name", LEAKS)
def test_a_column_that_gives_the_target_away_is_said_whatever_way_it_does(name):
    """Of a quantity or of many classes by cuts, and of anything by where a column has gaps."""
    frame, says = leaking(name, 300)
    told = re.findall("'(.)' alone tells|'leak' alone tells 'y' (.*);",
                      str(read_table(frame, "y").report))
    assert told == ([("", says)] if says else [])


@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("blurred", [0.0, 0.02])
def test_of_many_rows_a_draw_overlooks_no_leak(name, blurred, monkeypatch):
    frame, _ = leaking(name, 12_000)
    rng = np.random.default_rng(1)
    some = rng.random(len(frame)) < blurred
    frame.loc[some, "y"] = rng.permutation(frame.loc[some, "y"].to_numpy().copy())
    quickly = read_table(frame, "y").report.lines
    monkeypatch.setattr(whole, "LARGE", np.inf)
    assert quickly == read_table(frame, "y").report.lines
    assert blurred or any("alone tells" in line for line in quickly) == (name != "chance")


@pytest.mark.parametrize("columns", [5, 6])
def test_gaps_of_many_columns_are_said_in_one_sentence(columns):
    """With the columns that have the most."""
    frame = pd.DataFrame({f"c{k}": np.arange(60) * (k + 2) % 11 for k in range(8)}, dtype=object)
    for k in range(columns):
        frame.loc[:k, f"c{k}"] = "?" if k == 4 else None
    said = read_table(frame.assign(y=["p", "q"] * 30), "y").report.lines
    if columns == 5:
        assert [line for line in said if "gap" in line] == [
            "'c0' has 1 gap in 60 rows.", *(f"'c{k}' has {k + 1} gaps in 60 rows."
                                            for k in range(1, 4)),
            "'c4' has 5 gaps in 60 rows, some written '?'."]
    else:
        assert [line for line in said if "gap" in line] == [
            "6 of 8 features have gaps, most of all 'c5' (in 6 of 60 rows), 'c4' (in 5 of 60 rows, "
            "some written '?'), 'c3' (in 4 of 60 rows)."]


def test_none_is_a_class_of_a_target_of_words():
    frame = pd.DataFrame({"a": np.arange(60) % 7, "b": ["none", "x", "y"] * 20,
                          "y": ["None", "mild", "none", "severe"] * 15})
    read = read_table(frame, "y")
    assert dict(zip(*np.unique(read.y, return_counts=True))) == {"mild": 15, "none": 30,
                                                                 "severe": 15}
    assert "'y' is 'none' in 30 rows, which is read as a class" in str(read.report)
    assert read.X["b"].isna().sum() == 20
    frame["y"] = ["none", "1", "2", "n/a"] * 15
    read = read_table(frame, "y")
    assert read.y.tolist() == [1, 2] * 15
    assert "30 gaps in 60 rows, some written 'none', 'n/a'" in str(read.report)


@pytest.mark.parametrize("seasons", [3, 9, 14])
def test_seasons_are_no_months(seasons):
    cells = [f"{2001 + k % seasons}-{2 + k % seasons:02d}" for k in range(84)]
    read = read_table(pd.DataFrame({"s": cells, "y": ["p", "q"] * 42}), "y")
    assert read.report.columns["s"] == "category" and read.X["s"].tolist() == cells


def test_dates_as_excel_numbers_them_are_dates():
    """By the name of the column and by the numbers: 43,831 is the first day of 2020."""
    days = 43831 + np.arange(60) * 7 % 50
    read = read_table(pd.DataFrame({"Order date": days + 0.25, "update": days, "date": days - 43000,
                                    "y": ["p", "q"] * 30}), "y")
    assert read.report.columns["Order date"] == "date"
    assert read.report.columns["update"] == read.report.columns["date"] == "number"
    assert ("'Order date' holds dates as Excel numbers them and is read as days since 2020-01-01"
            in str(read.report))
    assert read.X["Order date"].tolist() == (days - 43831 + 0.25).tolist()


@pytest.mark.parametrize("low, times, says", [(0, 3, "and no other number below 0"), (0, 1, None),
                                              (-5, 3, None)])
def test_a_negative_mark_among_large_numbers_is_said(low, times, says):
    """It is near them, as they are wide; but no other is negative."""
    numbers = np.r_[[-99] * times, low, np.linspace(15_000, 150_000, 60 - times)]
    said = str(read_table(pd.DataFrame({"a": numbers, "y": (["p", "q"] * 31)[:61]}), "y").report)
    assert (f"'a' holds -99 {times} times, {says}" in said) if says else "holds -99" not in said


def test_two_lines_of_names_may_hold_years(tmp_path):
    path = tmp_path / "t.csv"
    body = "".join(f"{'pq'[k % 2]}{k % 3};{k % 7};{k % 5};{'pq'[k % 2]}\n" for k in range(60))
    path.write_text(f"Client;Sales;;\ntown;2022;2023;left\n{body}")
    read = read_table(path, "left")
    assert read.feature_names == ["town", "2022", "2023"] and len(read.y) == 60
    path.write_text(f"Client;Sales;;\ntown;12;13;left\n{body}")
    with pytest.raises(ValueError, match="delete the lines above it"):
        read_table(path, "left")


@pytest.mark.parametrize("above", ["Report of May;;\n", "Report;;\n;;\n", "\n;;\nReport;;\n\n"])
@pytest.mark.parametrize("target", [None, "y"])
def test_a_title_above_the_names_is_left_out(above, target, tmp_path):
    """Excel writes as many separators into each line as the table has."""
    path = tmp_path / "t.csv"
    body = "".join(f"{k % 7};{k % 3};{'pq'[k % 2]}\n" for k in range(60))
    path.write_text(f"{above}a;b;y\n{body}")
    read = read_table(path, target)
    assert read.feature_names == ["a", "b"] and read.target == "y" and len(read.y) == 60
    assert "above the row of names" in str(read.report)
    path.write_text(f";;y\n{body}")            # names of one column alone
    assert read_table(path).feature_names == ["column1", "column2"]


def test_features_that_foretell_well_are_no_leaks():
    for bunch in (load_iris, load_wine, load_breast_cancer):
        data = bunch(as_frame=True)
        frame = data.data.assign(y=data.target_names[data.target])
        assert "alone tells" not in str(read_table(frame, "y").report)
