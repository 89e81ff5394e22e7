"""Judge claims: three kinds of evidence, four answers, one test for each kind of statement.

Nothing here knows a paper.  A *claim* is what a table or figure is for.  It rests on *parts*:
single questions, each with an answer that a test gives.  Cells are coloured by their difference
(:func:`color_cells`) and never counted into an answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

ANSWERS = ("confirmed", "contradicted", "undecided", "not run")     # to a statement
WHOLE = ("confirmed", "in part", *ANSWERS[1:])                       # to a claim
KINDS = ("exact", "statistical", "timing")
LEVEL = 0.05        # of every test, one-sided: intervals are of 90 %
FEWEST = 3          # lines of an interval
POWER = 0.5         # least chance of a confirmation if the paper is right
HALF = 0.5          # share of its lines on which a contradiction must rest
CONSISTENT = 0.8    # share of the lines that "consistently" needs
TIMED = 1.29        # by which two timings of one setting differ in one paper (erratum 33)
ITSELF = "the paper contradicts itself"


@dataclass(frozen=True)
class Part:
    """One question that a claim rests on.

    Parameters
    ----------
    says : str
        What is asked.
    kind : {"exact", "statistical", "timing"}
    answer : str
        One of :data:`ANSWERS`; empty for a remark without one.
    published, ours : str
        Both sides, with units.
    interval : str
        The interval or the proof that the answer rests on.
    note : str
        What would decide, what is left out, why it differs.
    counts : bool
        False for what is said beside the claim: shown, and without influence on its answer.
    label : str
        :data:`ITSELF`, or nothing.
    test : object, optional
        What gave the answer; its ``chance`` says how often it would be given.
    """

    says: str
    kind: str
    answer: str
    published: str = ""
    ours: str = ""
    interval: str = ""
    note: str = ""
    counts: bool = True
    label: str = ""
    test: object = None

    def beside(self, note=""):
        """Return the part as a remark beside the claim."""
        return replace(self, counts=False, note=note or self.note)

    def noted(self, note):
        """Return the part with a further note."""
        return replace(self, note="; ".join(filter(None, [self.note, note])))

    def guarded(self, covered=1.0, *, short=False, substitute="", behind=False):
        """Return the part, undecided where its contradiction rests on too little.

        ``covered`` is the share of the paper's lines with a counterpart of ours, ``short`` says
        that our limit is below the paper's, ``substitute`` names what stands in for the paper's
        program.  None of these refutes a paper.  With ``behind``, where a weaker program helps the
        statement (it is that of the method said to be behind, or to be ahead by little), nothing
        is confirmed either.
        """
        weak = [text for text, holds in (
            (f"{covered:.0%} of the paper's lines have a counterpart", covered < HALF),
            ("our limit is shorter than the paper's", short),
            (f"by a substitute{' where a weaker program helps' * behind}: {substitute}",
             substitute),
        ) if holds]
        if not weak or self.answer == "not run":
            return self
        answer = "undecided" if self.answer == "contradicted" or covered < HALF or behind \
            else self.answer
        return replace(self, answer=answer).noted("; ".join(weak))


def not_run(says, kind, note):
    """Return a part without any record; the note says what it would take."""
    return Part(says, kind, "not run", note=note)


def combine(parts):
    """Return the answer to a statement from its parts that count.

    One contradicted part contradicts it; all must be confirmed to confirm it.
    """
    answers = [part.answer for part in parts if part.counts]
    if "contradicted" in answers:
        return "contradicted"
    for answer in ("confirmed", "not run"):
        if answers and set(answers) == {answer}:
            return answer
    return "undecided" if answers else \
        ITSELF if any(part.label == ITSELF for part in parts) else "not run"


def whole(answers):
    """Return the answer to a claim from those to its statements: "in part" if they differ."""
    answers = {answer for answer in answers if answer != ITSELF} or {"undecided"}
    return ("contradicted" if "contradicted" in answers else answers.pop() if len(answers) == 1
            else "in part" if "confirmed" in answers else "undecided")


# ------------------------------------------------------------------ exact


def exact(says, published, ours, *, digits=0.0, errata=None):
    """Judge numbers that must agree to the digits printed.

    ``errata`` maps the place of a number that the paper itself has wrong to the reason; places
    without a number of either side are left out.  All compared numbers must agree, errata apart.
    """
    published, ours = (np.asarray(side, float) for side in (published, ours))
    known = np.isfinite(published) & np.isfinite(ours)
    off = known & (np.abs(published - ours) > np.asarray(digits) + 1e-9)
    excused = [place for place in (errata or {}) if off[place]]
    wrong = int(off.sum()) - len(excused)
    answer = "not run" if not known.any() else "contradicted" if wrong else "confirmed"
    printed = int((~np.isnan(published)).sum())
    part = Part(says, "exact", answer, f"{printed} numbers",
                f"{int((known & ~off).sum())} of {int(known.sum())} equal",
                "digit by digit", "; ".join(errata[place] for place in excused))
    return part.guarded(known.sum() / printed)


def bounded(says, published, optimum, *, digits=0.05):
    """Judge accuracies of a method by proved optima: none may be above, equality proves it best."""
    published, optimum = (np.asarray(side, float) for side in (published, optimum))
    known = np.isfinite(published) & np.isfinite(optimum)
    above = published[known] > optimum[known] + digits + 1e-9
    equal = np.abs(published[known] - optimum[known]) <= digits + 1e-9
    if not known.any():
        return not_run(says, "exact", "no optimum is proved")
    part = Part(says, "exact", "contradicted" if above.any() else "confirmed",
                f"{len(published)} accuracies", f"{int(known.sum())} optima",
                f"{int(above.sum())} above the proved optimum, {int(equal.sum())} equal to it")
    return part.guarded(known.mean())


def itself(says, published, ours):
    """Return a remark on a statement that the paper's own numbers contradict."""
    return Part(says, "exact", "", published, ours, counts=False, label=ITSELF)


def remark(says, published, ours, note=""):
    """Return numbers to be shown beside a claim, without an answer."""
    return Part(says, "exact", "", published, ours, note=note, counts=False)


def proved(says, holds, published, ours, proof):
    """Judge a fact that a count or a proof settles."""
    return Part(says, "exact", "confirmed" if holds else "contradicted", published, ours, proof)


# ------------------------------------------------------------------ statistical


def moments(values):
    """Return the mean of some values, its standard error and the degrees of freedom."""
    values = np.asarray(values, float)
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)), len(values) - 1


def _reach(df, level=LEVEL):
    """Return how many standard errors an interval of Student's t reaches to either side."""
    from scipy.stats import t
    return t.ppf(1 - level, df)


@dataclass(frozen=True)
class Effect:
    """A published mean and ours, with what chance does to both.

    ``drawn`` is the standard deviation of a published mean over the draws (seeds, splits) that the
    paper could have made, ``error`` that of ours, ``df`` the degrees of freedom behind both.
    """

    name: str
    published: float
    ours: float
    drawn: float
    error: float
    df: float

    @classmethod
    def of(cls, name, published, values):
        """Return the effect of our mean over some values beside a number that is no draw."""
        mean, error, df = moments(values)
        return cls(name, published, mean, 0.0, error, df)

    @property
    def difference(self):
        """Published minus ours."""
        return self.published - self.ours

    @property
    def spread(self):
        """Standard deviation of the difference when both sides measure the same."""
        return math.hypot(self.drawn, self.error)


@dataclass(frozen=True)
class Equivalence:
    """Test that published means are ours, within a margin that is said in advance.

    Confirmed: the 90 % interval of every difference lies within the margin (two one-sided tests at
    5 %).  Contradicted: one difference is beyond the margin at 5 % divided by their number.
    """

    effects: tuple
    margin: float

    def answers(self, difference, spread):
        """Return the answer for each row of differences and standard deviations."""
        df = self._recorded[2]
        inside = np.abs(difference) + _reach(df) * spread <= self.margin
        outside = np.abs(difference) - _reach(df, LEVEL / len(df)) * spread > self.margin
        return np.where(outside.any(axis=-1), "contradicted",
                        np.where(inside.all(axis=-1), "confirmed", "undecided"))

    @property
    def answer(self):
        """The answer to the recorded numbers."""
        return str(self.answers(*self._recorded[:2]))

    @property
    def _recorded(self):
        """Differences, standard deviations and degrees of freedom, a column per effect."""
        return np.array([(one.difference, one.spread, one.df) for one in self.effects]).T

    def intervals(self):
        """Return the 90 % intervals of the differences, one row per effect."""
        difference, spread, df = self._recorded
        width = _reach(df) * spread
        return np.column_stack([difference - width, difference + width])

    def needed(self):
        """Return how many times as many draws would decide, where the noise is what hinders."""
        low, high = self.intervals().T
        middle, width = np.abs(low + high) / 2, (high - low) / 2
        left = np.abs(self.margin - middle)
        return float(np.max(np.where(left > 0, (width / np.maximum(left, 1e-9)) ** 2, math.inf)))

    def chance(self, right=True, draws=1000, answer="confirmed"):
        """Return the chance of an answer, were both sides alike or off by twice the margin.

        Off is the noisiest effect; both sides are drawn anew.
        """
        random = np.random.default_rng(0)
        _, spread, df = self._recorded
        true = np.zeros(len(spread))
        true[np.argmax(spread)] = 0 if right else 2 * self.margin
        difference = true + spread * random.standard_normal((draws, len(spread)))
        return float(np.mean(self.answers(difference, spread * np.sqrt(
            random.chisquare(df, (draws, len(spread))) / df)) == answer))


@dataclass(frozen=True)
class Gain:
    """Test that one is ahead of the other: the 90 % interval of the mean gain excludes ``bar``."""

    gains: tuple
    bar: float = 0.0
    more: bool = True       # whether the paper says that the mean is above the bar

    def interval(self):
        """Return the 90 % interval of the mean."""
        mean, error, df = moments(self.gains)
        return mean - _reach(df) * error, mean + _reach(df) * error

    @property
    def answer(self):
        """The answer to the recorded numbers."""
        low, high = self.interval()
        if low > self.bar or high < self.bar:
            return "confirmed" if (low > self.bar) == self.more else "contradicted"
        return "undecided"

    def needed(self):
        """Return how many times as many lines would decide at the mean and spread recorded."""
        low, high = self.interval()
        return ((high - low) / 2 / max(abs((low + high) / 2 - self.bar), 1e-9)) ** 2

    def chance(self, right=True):
        """Return the chance of "confirmed", were these lines the truth, or just the bar."""
        from scipy.stats import nct
        mean, error, df = moments(self.gains)
        lead = (mean - self.bar) * (1 if self.more else -1) * right
        return float(lead > 0) if error == 0 else float(
            nct.sf(_reach(df), df, lead / error))


@dataclass(frozen=True)
class Share:
    """Test on how many lines something holds: the 90 % interval of the share excludes the bar.

    ``bar`` is one share, which it must be above ("most"), or a pair, between which it must lie
    ("about half").
    """

    held: int
    lines: int
    bar: float | tuple = 0.5

    def interval(self, held=None):
        """Return the interval of Clopper and Pearson."""
        from scipy.stats import beta
        held = np.asarray(self.held if held is None else held)
        low = np.where(held > 0, beta.ppf(LEVEL, held, self.lines - held + 1), 0.0)
        high = np.where(held < self.lines,
                        beta.ppf(1 - LEVEL, held + 1, self.lines - held), 1.0)
        return low, high

    @property
    def bars(self):
        """Lower and upper limit of the share."""
        return self.bar if isinstance(self.bar, tuple) else (self.bar, 1.0)

    def _confirms(self, held):
        (low, high), (least, most) = self.interval(held), self.bars
        return (low >= least) & (high <= most)

    @property
    def answer(self):
        """The answer to the recorded numbers."""
        (low, high), (least, most) = self.interval(), self.bars
        return "confirmed" if self._confirms(self.held) else \
            "contradicted" if high < least or low > most else "undecided"

    def needed(self):
        """Return how many times as many lines would decide at the share recorded."""
        low, high = self.interval()
        left = min(abs(self.held / self.lines - bar) for bar in self.bars if 0 < bar < 1)
        return float(((high - low) / 2 / max(left, 1e-9)) ** 2)

    def chance(self, right=True):
        """Return the chance of "confirmed", were these lines the truth, or just the bar."""
        from scipy.stats import binom
        held = np.arange(self.lines + 1)
        true = self.held / self.lines if right else self.bars[0]
        return float(binom.pmf(held, self.lines, true)[self._confirms(held)].sum())


def _tested(says, kind, test, published, ours, interval, what, note=""):
    """Return the part that a test answers; undecided, it says how much more would decide."""
    part = Part(says, kind, test.answer, published, ours, interval, note, test=test)
    if part.answer != "undecided":
        return part
    times = test.needed()
    times = float(f"{max(times, 1.1):.2g}")
    return part.noted(f"about {times:,g} times as many {what} would decide"
                      if times < 1000 else "more of the same would not decide")


def equivalent(says, effects, margin, unit="points", kind="statistical", note=""):
    """Judge published means by ours and a margin."""
    effects = tuple(effects)
    if not effects:
        return not_run(says, kind, note or "no record of the published method")
    test = Equivalence(effects, margin)
    low, high = test.intervals().T
    worst = effects[int(np.argmax(np.maximum(-low, high)))]
    part = _tested(says, kind, test, _several(effects, worst, "published"),
                   _several(effects, worst, "ours"),
                   f"paper minus ours {low.min():+.2f} to {high.max():+.2f} {unit} (90 %, margin "
                   f"{margin:.2g})", "draws", note)
    if part.answer != "confirmed" or test.chance() >= POWER:
        return part
    return replace(part, answer="undecided").noted(
        f"were the paper right, only {test.chance():.0%} of such tests would confirm it: more "
        "draws would decide")


def ahead(says, gains, *, bar=0.0, more=True, unit="points", published="", kind="statistical",
          show=float, of=0):
    """Judge that the mean of some gains, a line each, is above a bar, or below it.

    ``show`` turns a mean into the unit that is shown; ``of`` is the number of the paper's lines.
    """
    gains = np.asarray(gains, float)
    gains = gains[np.isfinite(gains)]
    if len(gains) < FEWEST:
        return _too_few(says, kind, len(gains), "data sets with both sides", ", ".join(
            f"{show(gain):.3g}" for gain in gains) + f" {unit}", published)
    test = Gain(tuple(gains), bar, more)
    low, high = (show(end) for end in test.interval())
    return _tested(says, kind, test, published, f"{show(gains.mean()):.3g} {unit}".strip(),
                   f"{low:.3g} to {high:.3g} {unit} over {len(gains)} (90 %)", "lines"
                   ).guarded(len(gains) / (of or len(gains)))


def mostly(says, holds, *, bar=0.5, text="data sets", published="", kind="statistical"):
    """Judge that something holds on more than a share of the lines, or on a share in between."""
    holds = np.asarray(holds, bool)
    if len(holds) < FEWEST:
        return _too_few(says, kind, len(holds), text, f"{holds.sum()} of {len(holds)}", published)
    test = Share(int(holds.sum()), len(holds), bar)
    low, high = test.interval()
    return _tested(says, kind, test, published, f"{test.held} of {test.lines} {text}",
                   f"share {low:.2f} to {high:.2f} (90 %)", text)


def always(says, slow, quick, *, published="always", noise=TIMED):
    """Judge that one way is faster on every line: one line beyond the noise of a time refutes."""
    slow, quick = np.asarray(slow, float), np.asarray(quick, float)
    known = np.isfinite(slow) | np.isfinite(quick)
    ratio = slow[known] / quick[known]
    if len(ratio) < FEWEST:
        return _too_few(says, "timing", len(ratio), "data sets with both sides", "", published)
    answer = "confirmed" if (ratio > 1).all() else \
        "contradicted" if (ratio < 1 / noise).any() else "undecided"
    return Part(says, "timing", answer, published,
                f"{int((ratio > 1).sum())} of {len(ratio)} data sets",
                f"ratios from {ratio.min():.2f} to {ratio.max():.2f}; two timings of one setting "
                f"in a paper differ by up to {noise:.2f}")


def over(says, effects, bar):
    """Judge that our mean is above a bar, with the noise of its seeds."""
    for one in effects:
        half = _reach(one.df) * one.error
        answer = ("confirmed" if one.ours - half > bar else
                  "contradicted" if one.ours + half < bar else "undecided")
        return Part(says, "statistical", answer, f"{one.published:.1f} %", f"{one.ours:.1f} %",
                    f"{one.ours - half:.2f} to {one.ours + half:.2f} % (90 %, over seeds)")
    return not_run(says, "statistical", "no record of the published method")


def _too_few(says, kind, count, what, ours="", published=""):
    if not count:
        return not_run(says, kind, f"no {what}")
    return Part(says, kind, "undecided", published, ours,
                note=f"too few for an interval: {count} {what}")


def _several(effects, worst, side):
    """Return the means of one side; of more than three the one that is furthest off."""
    if len(effects) > 3:
        return f"worst of {len(effects)} means ({worst.name}): {getattr(worst, side):.4g}"
    return "; ".join(f"{effect.name} {getattr(effect, side):.4g}" for effect in effects)


# ------------------------------------------------------------------ timing


def scaled(published, ours, sizes=None):
    """Return ours after what separates two programs on two machines, and the factor.

    One factor for each program, the geometric mean of published over ours; with ``sizes`` (array of
    shape (n, n_sizes): rows, columns) a log-linear model in the sizes in its place, since one
    implementation may be slow with many rows and fast with few.
    """
    published, ours = (np.log(np.asarray(side, float)) for side in (published, ours))
    terms = [np.ones(len(ours))]
    if sizes is not None:
        terms += list(np.log(np.asarray(sizes, float)).T)
    terms = np.column_stack(terms)
    fit = np.linalg.lstsq(terms, published - ours, rcond=None)[0]
    return np.exp(ours + terms @ fit), float(np.exp((published - ours).mean()))


def times_agree(says, published, ours, sizes, *, least=2.0, factor=2.0):
    """Judge printed times of one program by ours, after the size model.

    Times below ``least`` seconds are left out: they are printed without digits.  Confirmed when the
    interval of the share of times within the factor lies above one half.
    """
    published, ours = (np.asarray(side, float) for side in (published, ours))
    kept = np.isfinite(published) & np.isfinite(ours) & (published >= least) & (ours > 0)
    if kept.sum() < 8:      # for a fit in two sizes
        return _too_few(says, "timing", int(kept.sum()), "times")
    pair = published[kept], ours[kept]
    model, _ = scaled(*pair, np.asarray(sizes, float)[kept])
    plain, ratio = scaled(*pair)

    def near(times):
        return np.abs(np.log(times / pair[0])) <= math.log(factor) + 1e-12
    part = mostly(says, near(model), text="times", kind="timing",
                  published=f"{int((published >= least).sum())} times")
    # Times that do not follow a model refute no paper: another implementation is no other claim.
    return part.noted(
        f"within a factor of {factor:g} by the size model; {near(plain).mean():.0%} with one "
        f"factor, published over ours {ratio:.2g}").guarded(
            kept.sum() / max(np.isfinite(published).sum(), 1), substitute=(
                "another implementation" if part.answer == "contradicted" else ""))


# ------------------------------------------------------------------ cells


def color_cells(cells, digits):
    """Return cells with ``difference`` and ``color``: how far ours is from the published number.

    "equal" to the digits printed; "near", within two standard deviations of a draw; "far"; or
    "none", without a counterpart.  Times are coloured by their ratio after the size model: equal
    within a factor of 1.25, near within 2.  No answer counts them.
    """
    cells = cells[cells["published"].notna()].copy()
    cells["scaled"] = cells["ours"].astype(float)
    cells["kind"] = np.where(cells["group"] == "seconds", "timing", "statistical")
    times = cells["group"] == "seconds"
    for _, part in cells[times].groupby("program", dropna=False):
        usable = part[np.isfinite(part["published"]) & np.isfinite(part["ours"])
                      & (part["published"] > 0) & (part["ours"] > 0)]
        if len(usable) > 4:
            cells.loc[usable.index, "scaled"] = scaled(
                usable["published"], usable["ours"], usable[["rows", "columns"]].astype(float))[0]
    cells["difference"] = cells["scaled"] - cells["published"]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.exp(np.abs(np.log(cells["scaled"] / cells["published"])))
    off = cells["difference"].abs()
    # two that both found no result within the limit
    alike = np.isinf(cells["published"]) & np.isinf(cells["ours"])
    equal = np.where(times, ratio <= 1.25, off <= digits + 1e-9) | (off <= digits + 1e-9) | alike
    near = np.where(times, ratio <= 2, off <= digits + 2 * cells["noise"].astype(float).fillna(0))
    cells["color"] = np.where(cells["ours"].isna(), "none", np.where(
        equal, "equal", np.where(near, "near", "far")))
    return cells
