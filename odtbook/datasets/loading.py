"""Find, check and return data sets, and the five splits of their rows."""

from __future__ import annotations

import http.client
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from odtbook.datasets import catalogue, manifest
from odtbook.datasets.tables import DataError, Dataset, Table
from odtlib.requirements import needs

if TYPE_CHECKING:
    from pandas import DataFrame

DECIMALS = 3  # of the split files of the 14 small sets


def data_folder() -> Path | None:
    """The folder named by the environment variable ``ODTLIB_DATA``, None if it is not set."""
    named = os.environ.get("ODTLIB_DATA")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"ODTLIB_DATA names {named!r}, which is not a folder: correct it, or unset it to use "
            "the cache and the network"
        )
    return folder


def cache_folder() -> Path:
    """The folder of fetched data sets: ``ODTLIB_CACHE``, else the platform's cache folder."""
    named = os.environ.get("ODTLIB_CACHE")
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "odtlib"


def cache_file(entry: catalogue.Entry) -> Path:
    """The file in which a fetched data set is kept."""
    return cache_folder() / (entry.name.replace("/", "--") + ".npz")


def shipped_file(entry: catalogue.Entry) -> Path:
    """The file of a data set in the project's folder ``data/sets``; a wheel has the small ones."""
    return Path(str(manifest.data_path(f"sets/{entry.file}")))


def find_file(entry: catalogue.Entry) -> tuple[str, Path, Callable[[Path], Table]] | None:
    """Find the file of a data set; return the name of the place, the path and what reads it."""
    path = shipped_file(entry)
    if path.is_file():
        return "shipped", path, entry.read
    folder = data_folder()
    if folder is not None and (folder / entry.file).is_file():
        return "ODTLIB_DATA", folder / entry.file, entry.read
    path = cache_file(entry)
    return ("cache", path, _from_cache) if path.is_file() else None


def find_table(entry: catalogue.Entry) -> Table | None:
    """Make or read a data set without the network, checked; None if it is nowhere."""
    if entry.make is not None:
        table = entry.make()
        manifest.verify(entry.name, table, "what this version generates")
        return table
    found = find_file(entry)
    if found is None:
        return None
    _, path, read = found
    try:
        table = read(path)
    except Exception as error:  # readers raise errors of a dozen kinds on damaged bytes
        raise DataError(
            f"{path} cannot be read as the data set {entry.name!r} ({error}); it is damaged or "
            "cut short, so it is not used"
        ) from error
    manifest.verify(entry.name, table, str(path))
    return table


def _from_cache(path: Path) -> Table:
    with np.load(path, allow_pickle=False) as archive:
        return Table(archive["X"], archive["y"])


def fetch_table(entry: catalogue.Entry) -> Table:
    """Fetch a data set, compare it with the manifest, and only then keep it in the cache."""
    if not entry.downloads:
        raise FileNotFoundError(
            f"the data set {entry.name!r} has no source on the network; {advice(entry)}"
        )
    failures, wrong = [], False
    for source in entry.downloads:
        print(f"odtlib: fetching {entry.name} from {source.url}", file=sys.stderr)
        try:
            table = source.table()
            manifest.verify(entry.name, table, source.url)
        except (DataError, OSError, http.client.HTTPException) as error:
            wrong |= isinstance(error, DataError)
            failures.append(f"{source.url}: {error}")
        else:
            _keep(table, cache_file(entry))
            return table
    kind = DataError if wrong else FileNotFoundError
    raise kind(
        f"the data set {entry.name!r} could not be fetched ({'; '.join(failures)}); "
        f"{advice(entry)}"
    )


def _keep(table: Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and renamed: a reader never sees half a file.
    handle, aside = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, X=table.X, y=table.y)
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise


def load(
    name: str, *, as_frame: bool = False, rounded: bool = True, download: bool = True
) -> Dataset:
    """Load a data set and compare it with the manifest.

    A generated set is made; a shipped one is read from the project's folder ``data/sets`` (an
    installed package has its small files). Any other is read from the folder named by the
    environment variable ``ODTLIB_DATA``, else from the cache, else fetched and kept in the cache.

    Parameters
    ----------
    name : str
        A name of :func:`available`; case does not matter. Also the names in the MurTree and
        OCDT repositories (``"NL/iris_categorical_bin"``, ``"class_df_size_500_targets_3"``).
    as_frame : bool, default=False
        Return ``X`` as a DataFrame and ``y`` as a Series (several targets: a DataFrame).
    rounded : bool, default=True
        Give the 14 small sets of the papers as their split files have them, with three decimals;
        this changes values of ``Ionosphere``, ``banknote`` and ``wine`` only. With False they
        come as in the source. No other set is rounded.
    download : bool, default=True
        With False nothing is fetched, and a set that is not available locally is an error.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If there is no such data set; the message names similar ones.
    FileNotFoundError
        If it is not available locally and cannot be fetched.
    DataError
        If a file is not the data set that the manifest describes.

    Examples
    --------
    >>> from odtbook.datasets import load
    >>> load("monk1_full")
    Dataset('monk1_full': 432 rows, 6 features, 2 classes)
    """
    entry = catalogue.find(name)
    table = find_table(entry)
    if table is None:
        if not download:
            raise FileNotFoundError(_missing(entry))
        table = fetch_table(entry)
    facts = manifest.facts()[entry.name]
    if facts["sha256"] is None:
        warnings.warn(
            f"the data set {entry.name!r} was checked by its shape alone: no copy with a known "
            "checksum was available",
            stacklevel=2,
        )
    X, y = np.ascontiguousarray(table.X), np.ascontiguousarray(table.y)
    if rounded and entry.splits == "published rule":
        X = np.round(X, DECIMALS)
    features = tuple(facts["feature_names"] or (f"x{j}" for j in range(X.shape[1])))
    targets = tuple(facts["target_names"] or (str(label) for label in np.unique(y)))
    if as_frame or X.dtype.kind != "f":
        X = _frame(X, features)
    if as_frame:
        pd = needs("pandas", "plot", "A data set as a data frame")
        y = _frame(y, targets) if y.ndim == 2 else pd.Series(y, name="target")
    return Dataset(
        name=entry.name,
        X=X,
        y=y,
        feature_names=features,
        target_names=targets,
        description=f"{entry.description} Cite: {entry.citation}" if entry.citation else
        entry.description,
        source=entry.source,
        licence=entry.licence,
        citation=entry.citation,
        task=entry.task,
    )


def advice(entry: catalogue.Entry) -> str:
    """Return what to do where a data set is not available locally."""
    example = " (data/sets in the project's repository does)" if "shipped" in entry.kinds else ""
    folder = ("set the environment variable ODTLIB_DATA to a folder that holds "
              f"{entry.file}{example}")
    return f"run `odt data fetch {entry.name}`, or {folder}" if entry.downloads else folder


def _missing(entry: catalogue.Entry) -> str:
    here = "is not set" if data_folder() is None else f"has no {entry.file}"
    return (
        f"the data set {entry.name!r} is not at hand: it is not among the files of this "
        f"installation, ODTLIB_DATA {here} and the cache "
        f"{cache_folder()} does not have it; {advice(entry)}"
    )


def _frame(values, names):
    pd = needs("pandas", "plot", "A data set as a data frame")
    dtype = None if values.dtype.kind == "f" else object
    return pd.DataFrame(values, columns=list(names), dtype=dtype)


@overload
def available(kind: str | None = None, task: str | None = None, *,
              as_frame: Literal[False] = False) -> list[str]: ...
@overload
def available(kind: str | None = None, task: str | None = None, *,
              as_frame: Literal[True]) -> DataFrame: ...
def available(kind: str | None = None, task: str | None = None, *,
              as_frame: bool = False) -> list[str] | DataFrame:
    """List the names of the data sets.

    Parameters
    ----------
    kind : str, default=None
        Only those of one kind: ``"shipped"`` (comes with the project; an installed package lacks
        the largest files), ``"generated"`` (needs no file at all), ``"small"`` and ``"large"``
        (the tables of the column-generation papers), ``"uci"``, ``"murtree"``, ``"continuous"``,
        ``"quantbnb"``, ``"constrained"``. A set can be of several kinds.
    task : str, default=None
        Only ``"classification"`` or only ``"regression"``.
    as_frame : bool, default=False
        Return a DataFrame with one row per data set, with its entries in the catalogue and
        manifest.

    Returns
    -------
    list of str, or DataFrame

    Examples
    --------
    >>> from odtbook.datasets import available
    >>> available("small")[:3]
    ['iris_uci', 'wine', 'balance-scale']
    """
    if kind is not None and kind not in catalogue.KINDS:
        raise ValueError(f"kind is one of {', '.join(catalogue.KINDS)}, not {kind!r}")
    if task is not None and task not in catalogue.TASKS:
        raise ValueError(f"task is one of {', '.join(catalogue.TASKS)}, not {task!r}")
    chosen = {
        name: entry
        for name, entry in catalogue.entries().items()
        if (kind is None or kind in entry.kinds) and (task is None or task == entry.task)
    }
    if not as_frame:
        return list(chosen)
    pd = needs("pandas", "plot", "The table of the data sets")
    facts = manifest.facts()
    rows = {name: facts[name] | vars(entry) for name, entry in chosen.items()}
    columns = ["rows", "features", "classes", "class_counts", "targets", "kinds", "task", "source",
               "licence", "citation", "description"]
    table = pd.DataFrame.from_dict(rows, orient="index").reindex(columns=columns)
    # the share of the largest class, which a tree without a split gets right
    table["class_counts"] = table["class_counts"].map(
        lambda counts: max(counts.values()) / sum(counts.values()), na_action="ignore"
    )
    table["kinds"] = table["kinds"].map(", ".join)
    table = table.rename_axis("name").rename(columns={"class_counts": "largest_class"})
    return table.astype({"classes": "Int64", "targets": "Int64"})


N_SPLITS = 5


def rule(n_rows: int, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divide rows by the papers' rule: half to train, a quarter to test, the rest to validate.

    Split ``s`` permutes the rows by ``RandomState(1234 s)``; the first ceil(n/4) test, the next
    floor(n/2) train. It gives, row by row and in order, the split files that Patel et al. published
    for six of the small sets.
    """
    order = np.random.RandomState(1234 * split).permutation(n_rows)
    n_test, n_train = -(-n_rows // 4), n_rows // 2
    return order[n_test : n_test + n_train], order[:n_test], order[n_test + n_train :]


def splits(name: str) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Give the five 50/25/25 splits of a data set's rows.

    The 14 small sets are split by the papers' rule, the large ones as in the split files of Patel
    et al. (row numbers stored with this package, in increasing order; rows that are exact
    duplicates are interchangeable). For every other set the papers' rule is applied to its rows:
    reproducible, but published nowhere.

    Parameters
    ----------
    name : str
        A name of :func:`available`. Data sets with the same rows (``iris`` and ``iris_uci``,
        ``car`` and ``car_evaluation``) get the same splits.

    Returns
    -------
    list of five (train, test, validation)
        Arrays of row numbers, int64, disjoint, together all rows.
    """
    entry = catalogue.find(name)
    if entry.splits == "missing":
        raise ValueError(
            f"the published splits of {entry.name!r} were not found; divide its rows yourself, "
            "for example by sklearn.model_selection.train_test_split"
        )
    if entry.splits == "published rows":
        parts = manifest.stored_splits(entry.name)
        return [tuple(np.flatnonzero(row == part) for part in range(3)) for row in parts]
    n_rows = manifest.facts()[entry.name]["rows"]
    return [rule(n_rows, split) for split in range(N_SPLITS)]
