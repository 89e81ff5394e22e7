"""Say whether our numbers reproduce published ones: the rules, and nothing else.

A table is judged by its cells, a figure by the statements that the text makes of it, a statement by
the numbers in it.  Nothing here knows a paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

VERDICTS = ("reproduced", "within noise", "differs", "not run")
SHARE = 0.9     # of the printed cells that must agree
COVERAGE = 0.5  # of the printed cells that need a counterpart for any verdict but "not run"


@dataclass(frozen=True)
class Tolerance:
    """How far apart two numbers may be.

    Parameters
    ----------
    absolute : float, default=0.0
        Agree when they differ by at most this, in the unit of the cells.
    factor : float, default=1.0
        Agree, too, when neither is more than this many times the other; for times.
    noise : float or None, default=None
        Wider ``absolute`` of the verdict "within noise": what chance may do that the paper does
        not fix, such as unpublished seeds or splits.  Cells that carry a noise of their own (twice
        the standard error of a mean over splits) use that if it is larger.
    scaled : bool, default=False
        Divide out one common factor a group of cells first, the geometric mean of published over
        ours: times of another program on another machine can agree in their proportions only.
    """

    absolute: float = 0.0
    factor: float = 1.0
    noise: float | None = None
    scaled: bool = False

    def __str__(self):
        parts = []
        if self.absolute or self.factor == 1:
            parts.append(f"±{self.absolute:g}")
        if self.factor != 1:
            parts.append(f"factor {self.factor:g}")
        if self.noise is not None:
            parts.append(f"noise ±{self.noise:g}" if self.noise else "noise by splits")
        return ", ".join(parts) + (", one common factor apart" if self.scaled else "")


@dataclass
class Judgement:
    """A verdict with what it rests on.

    Parameters
    ----------
    verdict : str
        One of :data:`VERDICTS`.
    printed : int
        Cells of the table that the text shows, or statements about the figure.
    compared : int
        Those with a counterpart of ours.
    agreeing : int
        Those within the tolerance.
    near : int
        Those within the noise, agreeing ones included.
    scales : dict
        Group -> common factor that was divided out.
    """

    verdict: str
    printed: int = 0
    compared: int = 0
    agreeing: int = 0
    near: int = 0
    scales: dict = field(default_factory=dict)


def agree(published, ours, tolerance):
    """Return whether two numbers agree; infinite stands for "no result within the limit".

    Parameters
    ----------
    published, ours : float
        The numbers; NaN agrees with nothing.
    tolerance : Tolerance
        ``noise`` and ``scaled`` are not looked at.

    Returns
    -------
    bool
    """
    if math.isnan(published) or math.isnan(ours):
        return False
    if math.isinf(published) or math.isinf(ours):
        return published == ours
    if abs(published - ours) <= tolerance.absolute + 1e-9:
        return True
    if min(published, ours) <= 0:
        return False
    return max(published / ours, ours / published) <= tolerance.factor


def judge_cells(cells, tolerance):
    """Judge a table by its cells.

    Parameters
    ----------
    cells : DataFrame
        A row a cell: ``published`` and ``ours`` (NaN: no counterpart); optionally ``noise``,
        ``group`` (of the common factor) and ``rule``, "at least" or "at most" where the published
        number bounds ours.  Cells without a published number are left out.
    tolerance : Tolerance
        Of this table.

    Returns
    -------
    judgement : Judgement
        "reproduced": at least nine tenths of *all* printed cells agree, so that a missing
        counterpart counts against us.  "within noise": at least nine tenths of the cells that have
        a counterpart lie within the noise.  "not run": fewer than half of the printed cells have
        one.  Otherwise "differs".
    cells : DataFrame
        The printed cells with the columns ``difference`` and ``agrees``; ``ours`` as measured.
    """
    cells = cells[cells["published"].notna()].copy()
    scales = {}
    scaled = cells["ours"].astype(float)
    if tolerance.scaled:
        groups = cells["group"] if "group" in cells else cells["ours"] * 0
        for group in groups.unique():
            of = cells[groups == group]
            ratio = (of["published"] / of["ours"]).to_numpy(float)
            ratio = ratio[np.isfinite(ratio) & (ratio > 0)]
            scales[group] = float(np.exp(np.log(ratio).mean())) if len(ratio) else 1.0
            scaled[groups == group] *= scales[group]
    # a cell without noise or rule of its own has that of the table, or none
    noises = cells.get("noise", scaled * 0).fillna(0.0)
    rules = cells.get("rule", scaled * math.nan)
    close, near = [], []
    for published, ours, noise, rule in zip(cells["published"], scaled, noises, rules, strict=True):
        if rule in ("at least", "at most"):
            ok = ours >= published if rule == "at least" else ours <= published
            close.append(bool(ok))
        else:
            close.append(agree(published, ours, tolerance))
        wide = max(tolerance.noise or 0.0, noise)
        near.append(close[-1] or (tolerance.noise is not None
                                  and agree(published, ours, Tolerance(wide))))
    cells["difference"] = cells["ours"] - cells["published"]
    cells["agrees"] = np.where(cells["ours"].isna(), "no counterpart", np.where(
        close, "yes", np.where(near, "within noise", "no"))) if len(cells) else []
    compared = int(cells["ours"].notna().sum())
    found = Judgement("differs", len(cells), compared, sum(close), sum(near), scales)
    if compared < COVERAGE * len(cells) or not compared:
        found.verdict = "not run"
    elif found.agreeing >= SHARE * len(cells):
        found.verdict = "reproduced"
    elif tolerance.noise is not None and found.near >= SHARE * compared:
        found.verdict = "within noise"
    return found, cells


def judge_statement(values, ours, tolerance):
    """Judge a statement of the text by its numbers, or by whether it holds.

    Parameters
    ----------
    values : sequence of float
        Published numbers; empty for a statement without any.
    ours : bool, float or sequence of float
        Whether the statement holds in our records, or our numbers in the same order.
    tolerance : Tolerance
        Of this statement.

    Returns
    -------
    Judgement
        All numbers must agree.
    """
    if isinstance(ours, bool | np.bool_):
        return Judgement("reproduced" if ours else "differs", 1, 1, int(ours), int(ours))
    ours = [float(value) for value in np.atleast_1d(ours)]
    if len(ours) != len(values):
        raise ValueError(f"{len(values)} numbers are published and {len(ours)} are ours; give "
                         "one of ours for each.")
    close = [agree(a, b, tolerance) for a, b in zip(values, ours, strict=True)]
    near = [a or (tolerance.noise is not None and agree(p, o, Tolerance(tolerance.noise)))
            for a, p, o in zip(close, values, ours, strict=True)]
    verdict = ("reproduced" if all(close) else "within noise" if all(near) else "differs")
    return Judgement(verdict, len(values), len(values), sum(close), sum(near))


def judge_figure(verdicts):
    """Judge a figure by the verdicts on the statements that the text makes of it.

    Parameters
    ----------
    verdicts : sequence of str
        One a statement.

    Returns
    -------
    Judgement
        As for cells: nine tenths of all statements must be reproduced, or, for "within noise", of
        those that our records can answer be reproduced or within noise.
    """
    verdicts = list(verdicts)
    answered = [v for v in verdicts if v != "not run"]
    agreeing = verdicts.count("reproduced")
    near = agreeing + verdicts.count("within noise")
    found = Judgement("differs", len(verdicts), len(answered), agreeing, near)
    if len(answered) < COVERAGE * len(verdicts) or not answered:
        found.verdict = "not run"
    elif agreeing >= SHARE * len(verdicts):
        found.verdict = "reproduced"
    elif near >= SHARE * len(answered):
        found.verdict = "within noise"
    return found
