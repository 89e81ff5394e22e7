"""load, available and splits."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from odtbook import write_manifest
from odtbook.datasets import (
    DataError,
    available,
    catalogue,
    load,
    loading,
    manifest,
    splits,
    tables,
)

SMALL = (
    "iris_uci wine balance-scale tic-tac-toe car_evaluation banknote IndiansDiabetes Ionosphere "
    "seismic_bumps spambase Statlog_satellite monk1 monk2 monk3"
).split()
LARGE = "default_credit HTRU_2 letter_recognition magic04 Statlog_shuttle".split()


@pytest.mark.parametrize("name", available("generated"))
def test_generated_sets_need_nothing(name, nothing_at_hand):
    data = load(name, download=False)
    assert data.name == name
    assert data.X.shape == (len(data.y), len(data.feature_names))
    if data.task == "classification":
        assert len(np.unique(data.y)) == len(data.target_names)
        assert data.y.dtype == np.int64
    else:
        assert data.y.shape == (len(data.X), len(data.target_names))
    assert data.description and data.source and data.licence and data.citation


@pytest.mark.parametrize("name", available("shipped"))
def test_shipped_sets_come_with_the_project(name, only_shipped):
    data = load(name, download=False)
    assert data.name == name and data.source
    assert data.description.endswith(f"Cite: {data.citation}") and data.citation
    assert data.licence.startswith(("MIT", "CC BY 4.0", "CC0", "public domain"))


def test_all_but_the_sets_without_a_licence_are_shipped():
    for name, entry in catalogue.entries().items():
        unlicensed = entry.licence == "not stated" or name == "hand_posture"
        assert ("shipped" in entry.kinds) != unlicensed, name
    assert len(available("shipped")) == 149


def test_shipped_files_are_listed_and_credited(shipped_files):
    listed = (shipped_files / "SHA256SUMS").read_text(encoding="utf-8")
    assert listed == write_manifest.checksums()
    names = {line.split("  ")[1] for line in listed.splitlines()}
    credits = (shipped_files / "LICENSES.md").read_text(encoding="utf-8")
    assert names == set(re.findall(r"`(\w+/[^`/]+\.(?:csv\.gz|npz))`", credits))
    for name in available("shipped"):
        entry = catalogue.entries()[name]
        if entry.file:
            assert entry.file in names, name
            if "UCI" in entry.source and name.partition("/")[0] == name:
                row = next(line for line in credits.splitlines() if f"`{entry.file}`" in line)
                assert entry.citation in row, name
    assert sum(path.stat().st_size for path in shipped_files.rglob("*")) < 10e6


def test_every_set_at_hand_is_the_one_described():
    loaded = []
    for name in available():
        try:
            data = load(name, download=False)
        except FileNotFoundError:
            continue
        loaded.append(name)
        assert data.X.shape == (len(data.y), len(data.feature_names)), name
        if data.task == "classification":
            assert data.y.dtype == np.int64 and data.y.ndim == 1, name
            assert len(np.unique(data.y)) == len(data.target_names), name
        else:
            assert data.y.dtype == np.float64, name
            assert data.y.shape[1] == len(data.target_names), name
        if not hasattr(data.X, "iloc"):
            assert data.X.dtype == np.float64 and data.X.flags.c_contiguous, name
            assert np.isfinite(data.X).all(), name
    assert set(available("shipped")) <= set(loaded)


def test_manifest_is_what_the_script_writes():
    assert json.loads(json.dumps(write_manifest.build())) == manifest.facts()


def test_a_new_set_needs_its_file_to_be_described(only_shipped, monkeypatch):
    known = {name: facts for name, facts in manifest.facts().items() if name != "scores"}
    monkeypatch.setattr(write_manifest, "facts", lambda: known)
    with pytest.raises(SystemExit, match="scores is new and its file ocdt/scores"):
        write_manifest.build()


def test_catalogue_names_are_unambiguous():
    spellings = [
        spelling.lower()
        for entry in catalogue.entries().values()
        for spelling in (entry.name, *entry.aliases)
    ]
    assert len(spellings) == len(set(spellings))
    assert list(manifest.facts()) == available()


def test_other_spellings():
    assert catalogue.find("ionosphere").name == "Ionosphere"
    assert catalogue.find("NL/iris_categorical_bin").name == "murtree/iris_categorical_bin"
    assert catalogue.find("class_df_size_500_targets_3").name == "class_500_3"


@pytest.mark.parametrize(
    "wrong, hint",
    [
        ("irys", "did you mean iris"),
        ("anneal", "murtree/anneal"),
        ("monk1full", "monk1_full"),
        ("nothing like it", "available()"),
        ("", "available()"),
    ],
)
def test_unknown_names_get_a_hint(wrong, hint):
    with pytest.raises(ValueError, match="there is no data set") as caught:
        load(wrong)
    assert hint in str(caught.value)


def test_names_are_strings():
    with pytest.raises(TypeError, match="is a string"):
        load(1)


def test_available_filters():
    assert sorted(available("small")) == sorted(SMALL)
    assert available("large") == [*LARGE, "hand_posture"]
    assert len(available("murtree")) == 82 + 2
    assert len(available("continuous")) == 14
    stand_ins = [f"{name}_generated" for name in ("scores", "cars", "hts", "manifold")]
    assert set(available(task="regression")) == {
        *available("quantbnb"), *available("constrained"), *stand_ins}
    assert len(available("quantbnb")) == 4
    assert available("generated", "regression") == [
        *(name for name in available("constrained") if name.startswith("class_")), *stand_ins]
    with pytest.raises(ValueError, match="kind is one of"):
        available("tiny")
    with pytest.raises(ValueError, match="task is one of"):
        available(task="clustering")


def test_available_as_frame():
    frame = available("small", as_frame=True)
    assert frame.loc["monk1", ["rows", "features", "classes"]].tolist() == [124, 6, 2]
    assert frame.loc["monk2", "largest_class"] == pytest.approx(105 / 169)
    assert list(frame.index) == available("small")


def test_as_frame():
    data = load("iris", as_frame=True)
    assert list(data.X.columns) == list(data.feature_names)
    assert data.y.name == "target" and data.y.tolist() == load("iris").y.tolist()


def test_a_loaded_set_is_the_callers_own():
    data = load("monk1_full")
    data.X[0, 0] = 99
    assert load("monk1_full").X[0, 0] == 1
    assert pickle.loads(pickle.dumps(data)).X[0, 0] == 99
    with pytest.raises(AttributeError):
        data.name = "other"


def test_one_hot():
    car = load("car").one_hot()
    assert car.X.shape == (1728, 21) and car.X.dtype == np.float64
    assert np.array_equal(car.X.sum(axis=1), np.full(1728, 6.0))
    assert car.feature_names[:4] == ("buying=high", "buying=low", "buying=med", "buying=vhigh")
    assert load("car").one_hot(drop_first=True).X.shape == (1728, 15)
    iris = load("iris")
    assert iris.one_hot() is iris


def test_rounding_changes_three_sets_only():
    changed = []
    for name in SMALL:
        rounded, exact = load(name).X, load(name, rounded=False).X
        assert np.array_equal(rounded, np.round(exact, 3))
        if not np.array_equal(rounded, exact):
            changed.append(name)
    assert sorted(changed) == ["Ionosphere", "banknote", "wine"]
    assert np.array_equal(load("HTRU_2").X, load("HTRU_2", rounded=False).X)


def test_cars_are_the_first_500_complete_rows(load_unshipped):
    cars, full = load_unshipped("cars"), load_unshipped("cars_full")
    place, path, _ = loading.find_file(catalogue.find("cars"))
    if place == "cache":
        pytest.skip("the cache has the table only, not the file that it was made from")
    header, *rows = tables.read_rows(path)
    complete = [dict(zip(header, row, strict=True)) for row in rows if "" not in row]
    assert len(full.y) == len(complete) == 6045
    for row, x, (flag, amount) in zip(complete[:500], cars.X, cars.y, strict=True):
        values = dict(zip(cars.feature_names, x, strict=True))
        assert values["INCOME"] == float(row["INCOME"].replace("$", "").replace(",", ""))
        assert values["AGE"] == float(row["AGE"])
        assert (flag, amount) == (float(row["TARGET_FLAG"]), float(row["TARGET_AMT"]))
    assert np.array_equal(full.X[:500], cars.X)


def test_scores_follow_the_rule_that_altered_them(load_unshipped):
    scores, raw = load_unshipped("scores"), load_unshipped("scores_unconstrained")
    assert scores.X.equals(raw.X)
    maths, reading, writing = raw.y.T.copy()
    writing[reading <= 50] = 0
    maths[reading + writing <= 110] = 0
    assert np.array_equal(scores.y, np.column_stack([maths, reading, writing]))


@pytest.mark.parametrize("name", [name for name in available("constrained")
                                  if name.startswith("class_")])
def test_students_take_at_most_two_courses(name):
    assert (load(name).y > 0).sum(axis=1).max() == 2


def test_series_add_up_to_15(load_unshipped):
    for seed in range(5):
        y = load_unshipped(f"hts_500_{seed}").y
        assert (y > 0).sum(axis=1).max() <= 4 and (y.sum(axis=1) == 15).all()


def test_the_credit_set_of_murtree_predicts_the_limit():
    binary, raw = load("murtree/default_credit_categorical_bin"), load("default_credit")
    assert np.array_equal(binary.X[:, -1], raw.y)
    limit = raw.X[:, raw.feature_names.index("LIMIT_BAL")]
    for label, low, high in ((0, 1e4, 4e4), (3, 5e4, 1.4e5), (1, 1.5e5, 3.6e5), (2, 3.7e5, 1e6)):
        assert ((limit >= low) & (limit <= high) == (binary.y == label)).all()


# --- splits


@pytest.mark.parametrize("name", SMALL)
def test_small_splits_are_those_of_scikit_learn(name):
    from sklearn.model_selection import train_test_split

    n = manifest.facts()[name]["rows"]
    for s, (train, test, validation) in enumerate(splits(name)):
        expected = train_test_split(range(n), train_size=0.5, test_size=0.25, random_state=1234 * s)
        assert train.tolist() == expected[0] and test.tolist() == expected[1]
        assert sorted([*train, *test, *validation]) == list(range(n))


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_splits_equal_the_stored_ones(name):
    stored = manifest.stored_splits("iris" if name == "iris_uci" else name)
    found = splits(name)
    assert len(found) == 5
    for parts, codes in zip(found, stored, strict=True):
        for code, part in enumerate(parts):
            assert np.array_equal(np.sort(part), np.flatnonzero(codes == code))


@pytest.mark.parametrize("name", LARGE)
def test_large_splits_need_no_files(name, nothing_at_hand):
    n = manifest.facts()[name]["rows"]
    for parts in splits(name):
        assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n))
        assert [len(part) / n for part in parts] == pytest.approx([0.5, 0.25, 0.25], abs=1e-3)


def test_sets_with_the_same_rows_are_split_alike():
    for one, other in (("iris", "iris_uci"), ("car", "car_evaluation")):
        for parts, same in zip(splits(one), splits(other), strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(parts, same, strict=True))


def test_missing_splits_are_refused():
    with pytest.raises(ValueError, match="were not found"):
        splits("hand_posture")


@pytest.mark.parametrize(
    "name, depth, printed", [("monk1", 2, 76.8), ("Ionosphere", 2, 91.0), ("wine", 3, 99.3)]
)
def test_cart_reproduces_the_printed_training_accuracy(name, depth, printed):
    """Firat et al., Tables 7 and 8, column CART; Ionosphere needs the rounded values."""
    from sklearn.tree import DecisionTreeClassifier

    data = load(name)
    accuracies = []
    for train, _, _ in splits(name):
        tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
        accuracies.append(
            100 * tree.fit(data.X[train], data.y[train]).score(data.X[train], data.y[train])
        )
    assert np.mean(accuracies) == pytest.approx(printed, abs=0.06)


# --- wrong and missing files


@pytest.fixture
def copied(shipped_files, nothing_at_hand, tmp_path, monkeypatch):
    """A folder of data of our own with one good file, and nothing else at hand."""
    folder = tmp_path / "data"
    (folder / "cg_splits").mkdir(parents=True)
    shutil.copyfile(shipped_files / "cg_splits/monk1.csv.gz", folder / "cg_splits/monk1.csv.gz")
    monkeypatch.setenv("ODTLIB_DATA", str(folder))
    return folder / "cg_splits/monk1.csv.gz"


def _rewrite(path, change):
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    path.write_bytes(gzip.compress("\n".join(change(lines)).encode()))


def test_a_good_file_is_read(copied):
    assert len(load("monk1", download=False).y) == 124


@pytest.mark.parametrize(
    "change, property_named",
    [
        (lambda lines: lines[:-1], "rows"),
        (lambda lines: [line[2:] for line in lines], "features"),
        (lambda lines: [*lines[:1], lines[1][:-1] + "0", *lines[2:]], "class counts"),
        (lambda lines: [lines[0], *lines[:0:-1]], "sha256"),  # same rows in another order
        (lambda lines: [lines[0], "2" + lines[1][1:], *lines[2:]], "sha256"),
    ],
)
def test_a_changed_file_is_refused_in_one_sentence(copied, change, property_named):
    _rewrite(copied, change)
    with pytest.raises(DataError, match="is not the data set 'monk1'") as caught:
        load("monk1", download=False)
    assert f"its {property_named} should be" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spoil", ["truncate", "text", "empty", "flip"])
def test_an_unreadable_file_is_refused(copied, spoil):
    good = copied.read_bytes()
    spoilt = {"truncate": good[:-20], "text": b"a1,target\n1,1\n", "empty": b"",
              "flip": good[:40] + bytes(20) + good[60:]}
    copied.write_bytes(spoilt[spoil])
    with pytest.raises(DataError) as caught:
        load("monk1", download=False)
    assert "not used" in str(caught.value)


def test_a_cell_that_is_too_long_is_refused(only_shipped, tmp_path, monkeypatch):
    (tmp_path / "ocdt").mkdir()
    path = tmp_path / "ocdt/scores_constrained_exams.csv.gz"
    path.write_bytes(gzip.compress(b"gender\n" + b"x" * 200_000))
    monkeypatch.setenv("ODTLIB_DATA", str(tmp_path))
    with pytest.raises(DataError, match="larger than field limit"):
        load("scores")


def test_a_damaged_header_of_an_array_is_refused(nothing_at_hand, tmp_path, monkeypatch):
    (tmp_path / "continuous").mkdir()
    stored = io.BytesIO()
    np.save(stored, np.zeros((4, 2)))
    with zipfile.ZipFile(tmp_path / "continuous/bank.npz", "w") as archive:
        archive.writestr("X.npy", stored.getvalue().replace(b"}", b"{"))
    monkeypatch.setenv("ODTLIB_DATA", str(tmp_path))
    with pytest.raises(DataError, match="cannot be read"):
        load("continuous/bank")


def test_nothing_is_unpickled(nothing_at_hand, tmp_path, monkeypatch):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    folder = tmp_path / "continuous"
    folder.mkdir()
    np.savez(folder / "bank.npz", X=np.array([Bomb()], dtype=object), y=np.zeros(1, dtype=np.uint8))
    monkeypatch.setenv("ODTLIB_DATA", str(tmp_path))
    with pytest.raises(DataError, match="cannot be read"):
        load("continuous/bank", download=False)


def test_places_are_asked_in_order(copied, only_shipped, monkeypatch):
    entry = catalogue.find("monk1")
    shipped = Path(manifest.data_path("sets/" + entry.file))
    loading._keep(loading.find_table(entry), loading.cache_file(entry))
    assert loading.find_file(entry)[:2] == ("ODTLIB_DATA", copied)
    copied.unlink()
    assert loading.find_file(entry)[:2] == ("cache", loading.cache_file(entry))
    monkeypatch.setattr(loading, "shipped_file", lambda entry: shipped)
    assert loading.find_file(entry)[:2] == ("shipped", shipped)


def test_a_missing_set_says_what_to_do(nothing_at_hand):
    with pytest.raises(FileNotFoundError, match="odt data fetch monk1") as caught:
        load("monk1", download=False)
    assert "ODTLIB_DATA is not set" in str(caught.value)
    assert "cg_splits/monk1.csv.gz" in str(caught.value)


def test_a_wrong_folder_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("ODTLIB_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="which is not a folder"):
        load("scores", download=False)
    assert len(load("iris").y) == 150 and len(load("monk1").y) == 124


def test_a_set_without_checksum_is_checked_by_shape_and_says_so(monkeypatch, tmp_path):
    folder = tmp_path / "cg_splits"
    folder.mkdir()
    monkeypatch.setenv("ODTLIB_DATA", str(tmp_path))
    header = ",".join([*(f"c{j}" for j in range(33)), "target"])
    row = ",".join(["0.5"] * 33)
    lines = [header, *(f"{row},{1 + i % 5}" for i in range(78095))]
    path = folder / "hand_posture.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode(), compresslevel=1))
    with pytest.warns(UserWarning, match="by its shape alone"):
        assert load("hand_posture").shape == (78095, 33)
    path.write_bytes(gzip.compress("\n".join(lines[:-1]).encode(), compresslevel=1))
    with pytest.raises(DataError, match="rows should be 78095"):
        load("hand_posture")


# --- the checksum, the manifest's place, the import


def test_the_checksum_is_the_documented_one():
    import hashlib
    import struct

    X = np.array([["a", "é"], ["bc", ""]])
    y = np.array([1, 0])
    expected = b"odtlib-table 1 2 2 1\n" + b"s1:a2:bc" + "s2:é".encode() + b"0:"
    expected += b"f" + struct.pack("<2d", 1.0, 0.0)
    assert tables.digest(X, y) == hashlib.sha256(expected).hexdigest()


def test_the_checksum_sees_values_and_not_their_form():
    X = np.array([[0.0, 1.5], [2.0, np.nan]])
    y = np.array([0, 1])
    same = np.asfortranarray(np.array([[-0.0, 1.5], [2.0, -np.nan]]))
    assert tables.digest(same, y.astype(np.uint8)) == tables.digest(X, y)
    text = np.array([["x", "y"], ["zz", "w"]])
    assert tables.digest(text.astype(object), y) == tables.digest(text, y)
    assert tables.digest(np.array([["x", "y"], ["z", "zw"]]), y) != tables.digest(text, y)
    assert tables.digest(np.nextafter(X, 9.0), y) != tables.digest(X, y)
    assert tables.digest(X[:, :1], X[:, 1:]) != tables.digest(X, X[:, :0])


def test_the_manifest_is_found_in_an_installed_package(tmp_path, monkeypatch):
    package = tmp_path / "odtlib"
    (package / "_data").mkdir(parents=True)
    (package / "_data" / "manifest.json").write_text('{"data_sets": {"a": {}}}')
    monkeypatch.setattr(manifest.importlib.resources, "files", lambda name: package)
    manifest.facts.cache_clear()
    try:
        assert manifest.facts() == {"a": {}}
        (package / "_data" / "manifest.json").unlink()
        manifest.facts.cache_clear()
        with pytest.raises(FileNotFoundError, match="reinstall odtlib"):
            manifest.facts()
    finally:
        manifest.facts.cache_clear()


def test_the_import_is_cheap():
    code = (
        "import sys, odtbook.datasets as d; d.available(); d.catalogue; "
        "heavy = {'pandas', 'sklearn', 'numba', 'scipy'} & set(sys.modules); "
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_platforms_cache_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("ODTLIB_CACHE", raising=False)
    for platform, variable in (("linux", "XDG_CACHE_HOME"), ("win32", "LOCALAPPDATA")):
        monkeypatch.setattr(loading.sys, "platform", platform)
        monkeypatch.setenv(variable, str(tmp_path))
        assert loading.cache_folder() == tmp_path / "odtlib"
    monkeypatch.setattr(loading.sys, "platform", "darwin")
    assert loading.cache_folder().parts[-3:] == ("Library", "Caches", "odtlib")
