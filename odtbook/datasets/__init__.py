"""Load the data sets of the papers, checked against a manifest, and the papers' splits.

``load("monk1_full")`` returns a :class:`Dataset`; ``available()`` lists the names; ``splits(name)``
gives five (train, test, validation) index arrays. Most sets come with the project; the others are
read from the folder named by the environment variable ``ODTLIB_DATA``, else from the user's cache,
else fetched.
"""

from odtbook.datasets.loading import available, load, splits
from odtbook.datasets.tables import DataError, Dataset

__all__ = ["DataError", "Dataset", "available", "load", "splits"]
