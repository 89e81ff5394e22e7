"""Put the book's chapters, templates and data into a wheel, as ``odtlib/_book``.

The runner, ``odt new`` and the data sets look there when there is no checkout. An editable install
has the checkout, and gets no second copy that would go stale. Of the data sets a wheel has the
files up to ``LARGEST`` bytes: two thirds of their bytes are in the eight files above it, which
``odt data fetch`` gets.
"""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LARGEST = 350_000


class BookHook(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "editable":
            return
        included = build_data["force_include"]
        included["chapters"] = "odtlib/_book/chapters"
        for path in Path(self.root, "data").rglob("*"):
            name = path.relative_to(self.root).as_posix()
            if path.is_file() and not (
                name.startswith("data/sets/") and path.stat().st_size > LARGEST
            ):
                included[name] = f"odtlib/_book/{name}"
