"""Read the papers' tables, as they were printed, from ``data/published``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .book import book_root, need_name

if TYPE_CHECKING:
    from pandas import DataFrame


def published(name: str) -> DataFrame:
    """Return a table of a paper.

    Parameters
    ----------
    name : str
        File name without its ending, ``"demirovic2022_table5"``: the key of the paper in the
        bibliography and the number of the table.

    Returns
    -------
    pandas.DataFrame
        Rows and columns as labelled in the paper, first column as index.  A dash, the papers' sign
        for "no result within the time limit", is infinite; a cell that our text of the paper does
        not show is NaN.

    Raises
    ------
    ValueError
        If there is no such table.
    """
    import pandas as pd
    folder = book_root() / "data" / "published"
    known = sorted(path.stem for path in folder.glob("*.csv"))
    need_name("published table", name, known)
    table = pd.read_csv(folder / f"{name}.csv", dtype=str, index_col=0)
    for column in table:
        numbers = pd.to_numeric(table[column].replace("—", "inf"), errors="coerce")
        if numbers.notna().sum() == table[column].notna().sum():
            table[column] = numbers
    return table
