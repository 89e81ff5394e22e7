"""Put the data sets into a wheel as ``odtbook/_data``, and the book as ``odtbook/_book``.

The data sets, the runner and ``odt new`` look there when there is no checkout. An editable install
has the checkout, and gets no second copy that would go stale. Of the data sets a wheel has the
files up to ``LARGEST`` bytes: two thirds of their bytes are in the eight files above it, which
``odt data fetch`` gets.

The package's addresses come from ``repository: url`` in _config.yml; while it is empty the package
names none.
"""

import re
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

LARGEST = 350_000


class BookHook(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "editable":
            return
        included = build_data["force_include"]
        for folder in ("chapters", "data/published", "data/results"):
            included[folder] = f"odtbook/_book/{folder}"
        for file in ("_toc.yml", "intro.ipynb", "data/figures.csv", "data/speed.csv",
                     "data/speed_ways.csv"):
            included[file] = f"odtbook/_book/{file}"
        data = Path(self.root, "data")
        for path in [data / "catalogue.toml", data / "manifest.json", *(data / "sets").rglob("*")]:
            if path.is_file() and path.stat().st_size <= LARGEST:
                name = path.relative_to(data).as_posix()
                included[f"data/{name}"] = f"odtbook/_data/{name}"


class AddressHook(MetadataHookInterface):
    def update(self, metadata):
        config = Path(self.root, "_config.yml").read_text(encoding="utf-8")
        address = re.search(r'^repository:\n +url: "?([^"\n]*)"?$', config, re.MULTILINE)[1]
        metadata["urls"] = {} if not address else {
            "Homepage": address,
            "Repository": address,
            "Issues": f"{address}/issues",
            "Changelog": f"{address}/blob/main/CHANGELOG.md",
        }
