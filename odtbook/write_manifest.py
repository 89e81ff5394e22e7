"""Write ``data/manifest.json`` and ``data/sets/SHA256SUMS``.

``python -m odtbook.write_manifest`` measures every data set, from the generators, from the
files in ``data/sets`` and from those in the folder named by ``ODTLIB_DATA``; where a file is not
there it keeps what the manifest says. Run it after a change of the catalogue or of a file and look
at the difference before you commit it: a changed checksum means changed data.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from odtbook.datasets import catalogue
from odtbook.datasets.loading import find_file
from odtbook.datasets.manifest import CHECKSUMS, data_path, facts, measure


def build() -> dict[str, dict]:
    """Measure every data set whose file is there; of the others keep what the manifest says."""
    described = {}
    for name, entry in catalogue.entries().items():
        found = None if entry.make else find_file(entry)
        if entry.make or found:
            table = entry.make() if entry.make else found[2](found[1])
            known = measure(table) | {
                "feature_names": table.feature_names, "target_names": table.target_names
            }
        elif name in facts():
            known = facts()[name]
        else:
            raise SystemExit(
                f"{name} is new and its file {entry.file} is not there; set ODTLIB_DATA to the "
                "folder that holds it"
            )
        described[name] = known | {"target_names": entry.target_names or known["target_names"]}
    return described


def checksums() -> str:
    """One line per shipped file, as ``sha256sum`` writes it and ``sha256sum -c`` reads it."""
    folder = Path(data_path(CHECKSUMS)).parent
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in sorted(folder.glob("*/*"))
    )


def main() -> None:
    """Write the manifest and the checksums of the shipped files."""
    path = data_path("manifest.json")
    document = {
        "written_by": "python -m odtbook.write_manifest",
        "sha256": "of the canonical table; see data/README.md and odtbook.datasets.tables.digest",
        "data_sets": build(),
    }
    path.write_text(
        json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    data_path(CHECKSUMS).write_text(checksums(), encoding="utf-8")
    print(f"{len(document['data_sets'])} data sets described in {path.name}")


if __name__ == "__main__":
    main()
