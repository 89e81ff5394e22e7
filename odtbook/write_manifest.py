"""Write ``data/manifest.json`` and the row numbers of the published splits.

``python -m odtbook.write_manifest`` measures every data set, from the files in the folder
named by ``ODTLIB_DATA`` and from the generators. Run it after a change of the catalogue and look
at the difference before you commit it: a changed checksum means changed data.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from odtlib.datasets import catalogue
from odtlib.datasets.loading import data_folder
from odtlib.datasets.manifest import SPLITS, data_path, measure


def describe(entry: catalogue.Entry, measured: dict, feature_names, target_names) -> dict:
    """Everything the manifest says of one data set."""
    return {
        "kinds": list(entry.kinds),
        "task": entry.task,
        **measured,
        "splits": entry.splits,
        "feature_names": feature_names,
        "target_names": entry.target_names or target_names,
        "source": entry.source,
        "licence": entry.licence,
        "citation": entry.citation,
        "description": entry.description,
    }


# What the papers say of a table that was not to be had.
_UNSEEN = {
    "hand_posture": {
        "rows": 78095,
        "features": 33,
        "classes": 5,
        "class_counts": None,
        "sha256": None,
    }
}


def build(folder: Path) -> dict[str, dict]:
    """Measure every data set, from the files in ``folder`` and the generators."""
    described = {}
    for name, entry in catalogue.entries().items():
        if name in _UNSEEN:
            described[name] = describe(entry, _UNSEEN[name], None, None)
        else:
            table = entry.make() if entry.make else entry.read(folder / entry.file)
            described[name] = describe(
                entry, measure(table), table.feature_names, table.target_names
            )
    return described


def pack_splits(folder: Path) -> dict[str, np.ndarray]:
    """The parts of the large tables' rows (0 train, 1 test, 2 validation), four to a byte."""
    packed = {}
    with np.load(folder / "cg_splits" / "splits.npz", allow_pickle=False) as stored:
        for name, entry in catalogue.entries().items():
            if entry.splits == "published rows":
                parts = stored[name]
                fill = -parts.shape[1] % 4
                quads = np.pad(parts, ((0, 0), (0, fill))).reshape(len(parts), -1, 4)
                packed[name] = (quads << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(
                    axis=2, dtype=np.uint8
                )
    return packed


def main() -> None:
    """Write the manifest and the row numbers of the published splits."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("set ODTLIB_DATA to the folder that holds the data files")
    path = data_path("manifest.json")
    document = {
        "written_by": "python -m odtbook.write_manifest",
        "sha256": "of the canonical table; see data/README.md and odtlib.datasets.tables.digest",
        "data_sets": build(folder),
    }
    path.write_text(
        json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    data_path(SPLITS).parent.mkdir(exist_ok=True)
    np.savez_compressed(data_path(SPLITS), **pack_splits(folder))
    print(f"{len(document['data_sets'])} data sets described in {path.name}")


if __name__ == "__main__":
    main()
