"""The manifest: shape, class counts and checksum of every data set, to recognise a wrong file.

``python -m odtbook.write_manifest`` writes it.
"""

from __future__ import annotations

import importlib.resources
import json
from functools import cache
from pathlib import Path

import numpy as np

from odtbook.datasets.tables import DataError, Table, class_counts, digest

SPLITS = "sets/cg_splits/splits.npz"
CHECKSUMS = "sets/SHA256SUMS"  # of the shipped files


def data_path(name: str):
    """The path of a file of the project's ``data`` folder, in a wheel or in a checkout."""
    root = importlib.resources.files("odtbook")
    installed = root.joinpath("_data", name)
    if installed.is_file():
        return installed
    return Path(str(root)).parent / "data" / name


@cache
def facts() -> dict[str, dict]:
    """What the manifest says of every data set, by name."""
    path = data_path("manifest.json")
    try:
        return json.loads(path.read_text(encoding="utf-8"))["data_sets"]
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is missing: reinstall odtlib, or in a checkout run "
            "`python -m odtbook.write_manifest`"
        ) from None


def measure(table: Table) -> dict:
    """Measure a table: shape, class counts and checksum."""
    measured = {"rows": len(table.X), "features": table.X.shape[1]}
    if table.y.ndim == 1:
        counts = class_counts(table.y)
        measured |= {"classes": len(counts), "class_counts": counts}
    else:
        measured["targets"] = table.y.shape[1]
    return measured | {"sha256": digest(table.X, table.y)}


def verify(name: str, table: Table, where: str) -> None:
    """Raise DataError, which says what differs, unless a table agrees with the manifest."""
    expected = facts()[name]
    for key, value in measure(table).items():
        if expected[key] is not None and expected[key] != value:
            raise DataError(
                f"{where} is not the data set {name!r}: its {key.replace('_', ' ')} should be "
                f"{_short(expected[key])} but is {_short(value)}; the file is damaged or another "
                "version, so it is not used"
            )


def _short(value) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:20] + "..."  # a checksum, or the counts of 26 classes


def stored_splits(name: str) -> np.ndarray:
    """To which part of each of five splits every row belongs (0 train, 1 test, 2 validation)."""
    with data_path(SPLITS).open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return stored[name]
