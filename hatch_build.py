"""Put the book's chapters, templates and data into a wheel, as ``odtlib/_book``.

The runner, ``odt new`` and the data sets look there when there is no checkout. An editable install
has the checkout, and gets no second copy that would go stale.
"""

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BookHook(BuildHookInterface):
    def initialize(self, version, build_data):
        if version != "editable":
            for folder in ("chapters", "data"):
                build_data["force_include"][folder] = f"odtlib/_book/{folder}"
