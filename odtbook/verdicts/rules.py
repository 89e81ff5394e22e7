"""Say whether our numbers reproduce published ones: the rules, and nothing else.

A table is judged by its cells, a figure by the statements that the text makes of it, a statement by
the numbers in it.  Nothing here knows a paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

VERDICTS = ("reproduced", "within noise", "differs", "not run")
KINDS = ("as published", "exact substitute", "other")
SHARE = 0.9     # of the printed cells that must agree
DRIFT = 2       # units of the last digit by which a text may miss the paper's own rounded tables


@dataclass(frozen=True)
class Tolerance:
    """How far apart two numbers may be, apart from what the recorded seeds allow.

    Parameters
    ----------
    absolute : float, default=0.0
        Agree when they differ by at most this, in the unit of the cells: half a unit of the last
        printed digit.
    factor : float, default=1.0
        Agree, too, when neither is more than this many times the other; for times.
    scaled : bool, default=False
        Divide out one common factor of all cells of the group "seconds" first, the geometric mean
        of published over ours: times of another program on another machine can agree in their
        proportions only.  Counts are not scaled.
    """

    absolute: float = 0.0
    factor: float = 1.0
    scaled: bool = False

    def __str__(self):
        parts = []
        if self.absolute or self.factor == 1:
            parts.append(f"±{self.absolute:g}")
        if self.factor != 1:
            parts.append(f"factor {self.factor:g}")
        return ", ".join(parts) + (", one common factor of all times apart" if self.scaled else "")


@dataclass
class Judgement:
    """A verdict and its counts: cells, statements or numbers that are printed, that have a
    counterpart, that agree, and that agree or lie within the seeds; the factor of the times."""

    verdict: str
    printed: int = 0
    compared: int = 0
    agreeing: int = 0
    near: int = 0
    scale: float = field(default=1.0)


def verdict_of(printed, compared, agreeing, near):
    """Return the verdict on so many cells, statements or numbers.

    "reproduced": nine tenths of all printed ones agree.  "differs": more than a tenth of all
    printed ones contradict the paper, so that the missing ones cannot change it.  "within noise":
    nine tenths of all printed ones lie within the spread of the seeds.  "not run": too many have
    no counterpart for any of this.
    """
    if printed and agreeing >= SHARE * printed - 1e-9:
        return "reproduced"
    if compared - near > (1 - SHARE) * printed + 1e-9:
        return "differs"
    return "within noise" if printed and near >= SHARE * printed - 1e-9 else "not run"


def agree(published, ours, tolerance):
    """Return whether two numbers agree; infinite stands for "no result within the limit"."""
    if math.isnan(published) or math.isnan(ours):
        return False
    if math.isinf(published) or math.isinf(ours):
        return published == ours
    if abs(published - ours) <= tolerance.absolute + 1e-9:
        return True
    if min(published, ours) <= 0:
        return False
    return max(published / ours, ours / published) <= tolerance.factor


def within(published, ours, spread, tolerance):
    """Return whether a number lies where ours does with other seeds, or within their spread of it.
    """
    return agree(published, ours, tolerance) or (
        spread > 0 and abs(published - ours) <= spread + tolerance.absolute + 1e-9)


def judge_cells(cells, tolerance):
    """Judge a table by its cells; returns them with ``scaled``, ``difference`` and ``agrees``.

    ``rule`` is "at least" or "at most" where the published number bounds ours.  Cells without a
    published number are left out.
    """
    cells = cells[cells["published"].notna()].copy()
    cells["scaled"], scale = cells["ours"].astype(float), 1.0
    if tolerance.scaled:
        times = cells["group"] == "seconds"
        ratio = (cells["published"] / cells["ours"])[times].to_numpy(float)
        ratio = ratio[np.isfinite(ratio) & (ratio > 0)]
        scale = float(np.exp(np.log(ratio).mean())) if len(ratio) else 1.0
        cells.loc[times, "scaled"] *= scale
    answers = []
    for cell in cells.to_dict("records"):
        published, ours, rule = cell["published"], cell["scaled"], cell.get("rule")
        if math.isnan(ours):
            answers.append("no counterpart")
        elif rule in ("at least", "at most"):
            answers.append("yes" if (ours >= published if rule == "at least" else
                                     ours <= published) else "no")
        elif agree(published, ours, tolerance):
            answers.append("yes")
        else:
            near = within(published, ours, cell.get("spread", math.nan), tolerance)
            answers.append("within noise" if near else "no")
    cells["difference"] = cells["scaled"] - cells["published"]
    cells["agrees"] = answers
    counts = (len(cells), len(cells) - answers.count("no counterpart"), answers.count("yes"),
              answers.count("yes") + answers.count("within noise"))
    return Judgement(verdict_of(*counts), *counts, scale), cells


def half_unit(number):
    """Return half a unit of the last digit of a printed number: 0.05 for "0.9"."""
    mantissa, _, power = str(number).strip().lower().partition("e")
    return 0.5 * 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))


def judge_statement(values, ours, spreads=None, tables=None):
    """Judge a statement of the text by its numbers, or by whether it holds."""
    if isinstance(ours, bool | np.bool_):
        return Judgement("reproduced" if ours else "differs", 1, 1, int(ours), int(ours))
    if len(ours) != len(values):
        raise ValueError(f"{len(values)} numbers are published and {len(ours)} are ours; give "
                         "one of ours for each.")
    close, near = [], []
    unknown = [math.nan] * len(ours)
    for value, own, spread, by_table in zip(values, ours, spreads or unknown, tables or unknown,
                                            strict=True):
        unit, number = 2 * half_unit(value), float(value)
        # counts do not drift; of what lies between both the nearest
        if unit < 1 and abs(by_table - number) <= DRIFT * unit:
            number = min(max(own, min(number, by_table)), max(number, by_table))
        close.append(agree(number, own, Tolerance(unit / 2)))
        near.append(within(number, own, spread, Tolerance(unit / 2)))
    verdict = "reproduced" if all(close) else "within noise" if all(near) else "differs"
    return Judgement(verdict, len(values), len(values), sum(close), sum(near))


def judge_figure(verdicts):
    """Judge a figure by the verdicts on the statements that the text makes of it."""
    counts = [sum(v in wanted for v in verdicts) for wanted in (
        VERDICTS, VERDICTS[:3], VERDICTS[:1], VERDICTS[:2])]
    return Judgement(verdict_of(*counts), *counts)
