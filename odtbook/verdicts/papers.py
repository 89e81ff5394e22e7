"""The five papers by their keys, in the order of the report."""

from . import birbil2024, demirovic2022, firat2020, patel2023, verwer2019

PAPERS = {module.paper.key: module.paper
          for module in (firat2020, patel2023, birbil2024, demirovic2022, verwer2019)}


def name_of(key):
    """Return the name of a paper as the report prints it."""
    return PAPERS[key].data["name"]
