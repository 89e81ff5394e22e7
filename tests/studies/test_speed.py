"""The record of times beside other packages, and its summary."""

import numpy as np
import pandas as pd

from odtbook.experiments.book import book_root
from odtbook.studies import speed


def test_the_record_says_what_ran_where():
    table = speed.comparisons()
    assert (table[["ours", "theirs", "rows", "columns"]] > 0).all(axis=None)
    assert table["commit"].str.fullmatch("[0-9a-f]{40}").all()
    assert not table.duplicated(["question", "depth", "dataset", "peer"]).any()
    assert table["peer"].str.fullmatch(r"\S+ [\d.]+").all()
    assert (table["ratio"].isna() == table["stopped"].notna()).all()


def test_means_leave_out_what_was_stopped(monkeypatch, tmp_path):
    raw = pd.read_csv(book_root() / "data" / "speed.csv").head(4).assign(
        question="errors", depth=3, peer="other 1.0", ours=[1.0, 1, 1, 1], theirs=[0.01, 4, 16, 99],
        stopped=[None, None, None, "other"])
    (tmp_path / "data").mkdir()
    raw.to_csv(tmp_path / "data" / "speed.csv", index=False)
    monkeypatch.setattr(speed, "book_root", lambda: tmp_path)
    line = speed.summary(speed.comparisons()).loc[("errors", 3, "other 1.0")]
    assert line["problems"] == 3 and line["long"] == 2
    np.testing.assert_allclose(line["mean, long"], 8)
    np.testing.assert_allclose(line[["smallest", "smallest, long"]].astype(float), [0.01, 4])
