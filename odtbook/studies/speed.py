"""Our times beside those of others, from the records that ``benchmarks`` writes into ``data``."""

from __future__ import annotations

import numpy as np
import pandas as pd

from odtbook.experiments.book import book_root


def comparisons(file="speed.csv", peer=""):
    """Return a row for each problem, with CPU seconds and how often ours goes into theirs.

    ``file`` in ``data`` may be "speed_ways.csv", where "theirs" is another way of our own; the
    name of each ``peer`` begins as given, with one of several in a tuple.
    ``ratio`` is missing where one of the two was stopped, or a proof of theirs was wrong
    (``stopped`` says which).  ``.attrs["provenance"]`` says when and where the runs were made.
    """
    table = pd.read_csv(book_root() / "data" / file)
    table = table[table["peer"].str.startswith(peer)].reset_index(drop=True)
    table["ratio"] = (table["theirs"] / table["ours"]).where(table["stopped"].isna())
    days, commits = sorted(set(table["date"])), sorted({c[:7] for c in table["commit"]})
    table.attrs["provenance"] = (
        f"{len(table)} problems, {', '.join(sorted(set(table['peer'])))}, "
        f"{' to '.join(dict.fromkeys((days[0], days[-1])))}, "
        f"odtlib ({', '.join(commits)}) on {', '.join(sorted(set(table['processor'])))}.")
    return table


def summary(table, long=0.1):
    """Return mean (geometric) and smallest ratio of each comparison, and of ``long`` problems."""
    def middle(ratios):
        return np.exp(np.log(ratios).mean())

    lines = []
    keys = ["question", "depth", "peer"]
    for key, part in table.groupby(keys):
        proved = part.dropna(subset=["ratio"])
        large = proved.loc[proved["theirs"] >= long, "ratio"]
        lines.append({**dict(zip(keys, key, strict=True)), "problems": len(proved),
                      "mean": middle(proved["ratio"]), "smallest": proved["ratio"].min(),
                      "long": len(large), "mean, long": middle(large),
                      "smallest, long": large.min()})
    return pd.DataFrame(lines).set_index(keys)
