"""What the cells of a column are: numbers, categories, dates, or gaps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from pandas import isna

from odtbook.tables.words import LONGEST, be, count, listed

#: Cells that stand for no value, beside the empty cell.
GAPS = {"na", "n/a", "#n/a", "#na", "nan", "<na>", "null", "none", "nil", "?", "-", "--", ".", "–",
        "#value!", "#div/0!", "#ref!", "#name?", "#null!", "#num!", "inf", "-inf", "+inf",
        "infinity", "-infinity", "missing"}
FEW_ROWS = 20
SENTINELS = (-9999, -999, -99, 999, 9999, 99999)
SIGNS = "€$£¥%"
ACCOUNTED = re.compile(r"\((?=.*\d)([^()]+)\)|((?=.*\d).*[^\s-])-")   # (5) and 5-, for -5
FRANCS = re.compile(r"(?<=\d)[.,][-–]+$")
UNIT = re.compile(
    r"([-+]?)([A-Z]{3}\s|[€$£¥]\s*)?([-+]?[\d.,' ]*\d)"
    r"(\s?[^\W\d_]{1,7}\d?(?:/[^\W\d_]{1,7}\d?)?|\s?°[CF]?|\s*[€$£¥%])?")
PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.I)
THOUSANDS = {",": "commas", ".": "points", "'": "apostrophes", " ": "blanks"}
GROUPED = {mark: re.compile(rf"[+-]?\d{{1,3}}({re.escape(mark)}\d{{3}})+") for mark in THOUSANDS}
GROUPED[","] = re.compile(r"[+-]?\d{1,3}((,\d{3})+|(,\d{2})+,\d{3})")     # 1,234,567; 12,34,567
MARKS = str.maketrans({**dict.fromkeys("\u00a0\u202f\u2009", " "), "\u2212": "-", "’": "'"})
TIME = re.compile(r"(\d{1,3}):([0-5]\d)(:[0-5]\d(?:\.\d+)?)?(?:\s?([ap])\.?m\.?)?", re.I)
MINUTES = re.compile(r"(\d{1,3}):([0-5]\d\.\d+)")
SPAN = re.compile(r"P(?=.*\d)(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?|"
                  r"(\d+(\.\d+)?\s*(d|days?|h|hrs?|hours?|m|min|mins|minutes?|s|secs?|seconds?)\b\s*)+",
                  re.I)
# Day, month and year: of numbers alone the year has four digits, or all have two, or there are
# slashes, since 1.2.10 is more often a version.
DATE = re.compile(
    r"((?:19|20)\d\d-(?:0[1-9]|1[0-2])(?=$)|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d\d[-.]\d\d[-.]\d\d|"
    r"\d{1,2}/\d{1,2}/\d\d|\d{1,2}[-/. ]+[A-Za-z]{3,9}[-/., ]+(\d{4}|\d\d)|"
    r"([A-Za-z]{3,9},? )?[A-Za-z]{3,9}\.? \d{1,2},? \d{4})(?=$|[T ,])")
DATED = re.compile(r"(^|[^a-z])(date|day|datum)([^a-z]|$)", re.I)
COMPACT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
PAIR = re.compile(r"[-+]?\d+(\.\d+)?\s?[/x×;,–-]\s?[-+]?\d+(\.\d+)?")
VERSION = re.compile(r"(^|[^a-z])(version|release|ver)([^a-z]|$)", re.I)
COMMA_NUMBER = re.compile(r"[+-]?\d+(\.\d{3})*(,\d+)?")
TRUTH = "holds true and false, read as 1 and 0."
LEADING_ZERO = re.compile(r"0\d+")
NOT_PLAIN = re.compile(r"^0\d|_", re.M)      # in one of many lines
POWERS = "powers of ten written by e"
NESTED = (list, dict, set, tuple, np.ndarray)
MOST_EXACT = 2.0**53        # beyond it float64 does not tell whole numbers apart


def short(text):
    """Return a text that may be a number or a date; no longer one is, nor is it looked at."""
    return text if len(text) <= LONGEST else ""


def cells_of(column):
    """Return a column as objects, gaps as None; and the marks that were read as gaps."""
    values = column.astype(object).to_numpy(dtype=object, na_value=None)
    marks = Counter()
    cells = np.empty(len(values), object)
    for i, value in enumerate(values):
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif isinstance(value, NESTED):
            value = str(value.tolist() if isinstance(value, np.ndarray) else value)
        if isinstance(value, str):
            value = value.strip()
            if not value or value.lower() in GAPS:
                marks[value] += 1
                value = None
        elif hasattr(value, "to_timestamp"):
            value = value.to_timestamp()        # of a span, its beginning
        elif value in (np.inf, -np.inf):
            marks["infinity"] += 1
            value = None
        cells[i] = value
    return cells, marks


def has_decimal_commas(frame):
    """Tell whether a column of text holds numbers whose commas cannot divide thousands."""
    for name in frame.columns:
        texts = [short(text.strip()) for text in frame[name].head(500) if isinstance(text, str)]
        texts, _ = _without_signs([text for text in texts if text and text.lower() not in GAPS])
        numbers = [text for text in texts if COMMA_NUMBER.fullmatch(text)]
        if len(numbers) > 0.9 * len(texts) and any(
                "," in text and not GROUPED[","].fullmatch(text) for text in numbers):
            return True
    return False


def _plain_numbers(column, commas):
    """Return a column of numbers, or of texts that are plain ones, as numbers, else None; quickly.

    Beside it stands what is to be said of it.
    """
    is_a = pd.api.types
    if is_a.is_numeric_dtype(column) and not is_a.is_complex_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan), \
            [TRUTH] * is_a.is_bool_dtype(column)
    if commas or VERSION.search(str(column.name)):
        return None, []
    cells = column.to_numpy(dtype=object)
    all_numbers = np.full(len(cells), np.nan)
    try:
        known = (cells != "").astype(bool)
        text = "\n".join(cells[known])
        if NOT_PLAIN.search(text):
            return None, []
        numbers = all_numbers[known] = np.fromiter(map(float, cells[known]), np.float64)
    except (TypeError, ValueError):
        return None, []
    says = [f"is read as numbers with {POWERS}."] if "e" in text.lower() else []
    return (all_numbers, says) if len(numbers) and np.isfinite(numbers).all() else (None, [])


def _parsed(texts, commas_everywhere):
    """Return texts as numbers (NaN where one is none), and a sentence on how marks were read.

    ``commas_everywhere`` says that another column has decimal commas without doubt.
    """
    bare, units = _without_signs(texts)
    commas, points = ([text for text in bare if mark in text] for mark in ",.")
    both = [text for text in commas if "." in text]
    thousands = all(GROUPED[","].fullmatch(text) and text[0] != "0" for text in commas)
    guess = commas and thousands and not (both or commas_everywhere) and not any(
        text.count(",") > 1 for text in commas)
    if both:
        ends = Counter("," if text.rfind(",") > text.rfind(".") else "." for text in both)
        decimal = ends.most_common(1)[0][0]
    elif commas_everywhere:
        decimal = "," if commas or points and all(map(GROUPED["."].fullmatch, points)) else "."
    else:
        decimal = "." if thousands else ","
    how = {}                    # in the order in which they are found, each once
    group = "." if decimal == "," else ","
    if decimal == "," and commas:
        how["decimal commas"] = True
    numbers = np.full(len(bare), np.nan)
    for i, text in enumerate(bare):
        whole, mark, rest = text.partition(decimal)
        for sign in (group, "'", " "):
            if sign in whole and GROUPED[sign].fullmatch(whole):
                whole = whole.replace(sign, "")
                how[f"{THOUSANDS[sign]} between thousands"] = True
        text = whole + ("." + rest if mark else "")
        if PLAIN.fullmatch(text) and np.isfinite(value := float(text)):
            numbers[i] = value
            if decimal == "," and "." in text and not mark:
                how["decimal points"] = True
    if any("e" in text.lower() for text, number in zip(bare, numbers) if number == number):
        how[POWERS] = True
    how = [*how, *units]
    if guess and how:
        how[-1] += " (a guess: decimal commas are as possible)"
    return numbers, [f"is read as numbers with {' and '.join(how)}."] * bool(how)


def _without_signs(texts):
    """Return numbers without the sign of a currency or unit, and what was left out."""
    bare, said = [text.translate(MARKS) for text in texts], []
    negative = [bool(ACCOUNTED.fullmatch(text)) for text in bare]
    if any(negative) and not all(negative):
        bare = [ACCOUNTED.sub(r"-\1\2", text) if minus else text
                for text, minus in zip(bare, negative)]
        said.append("(1) or 1- as -1")
    if any(FRANCS.search(text) for text in bare):
        bare = [FRANCS.sub("", text) for text in bare]
        said.append("'.-' for no cents")
    units = _units(bare)
    named, without = {*units} - {""}, units.count("")
    if len(named) == 1 and (without < 0.1 * len(units) or named <= {*SIGNS}):
        bare = [UNIT.sub(r"\1\3", text) if unit else text for text, unit in zip(bare, units)]
        said.append(f"the unit {named.pop()!r} left out" + ", which not all cells have" * bool(
            without))
    return bare, said


def _units(texts):
    """Return the unit of each text that is a number with one; empty for the others."""
    found = [None if PLAIN.fullmatch(text) else UNIT.fullmatch(text) for text in texts]
    return [" ".join(part.strip() for part in at.group(2, 4) if part) if at else ""
            for at in found]


def _dates(texts):
    """Yield texts as dates, NaT where one is none, if any is one."""
    texts = pd.Series(texts, dtype=object)
    dated = texts[texts.str.match(DATE)]
    years = dated.str.extract(r"^\d\d(\d\d)-(\d\d)$").dropna().astype(int)
    if dated.empty or len(years) and (years[0] + 1 == years[1]).all():      # seasons: 2010-11
        return
    dated = dated.str.replace(          # as Google's forms write it
        r"\s*(?:GMT|UTC)([+-])(\d\d?)$", lambda at: f"{at[1]}{int(at[2]):02}:00", regex=True)
    year_first = dated.str.match(r"\d{4}[-/.]")
    pairs = dated[~year_first].str.extract(r"^(\d{1,2})[-/.](\d{1,2})[-/.]").dropna().astype(int)
    most = [0, 0] if pairs.empty else pairs.max().tolist()
    twelve = dated.str.contains(r"\d\s?[AP]M", case=False).any()      # hours, as in America
    day_first = most[0] > 12 or most[1] <= 12 and not twelve
    orders = ["year-month-day"] if year_first.any() else []
    if len(pairs):
        words = ["day first", "month first"][::1 if day_first else -1]
        orders.append(words[0] + f", which is a guess: {words[1]} is as possible"
                      * (max(most) <= 12))
    if dated.str.contains(r":\d\d(?:\.\d+)?(?:\s[AP]M)?\s?[+-]\d\d:?\d\d$").any():
        orders.append("times in UTC")
    found = pd.Series(pd.NaT, index=texts.index, dtype="datetime64[us, UTC]")
    for part, first in ((dated[year_first], False), (dated[~year_first], day_first)):
        if len(part):
            found[part.index] = pd.to_datetime(part, errors="coerce", utc=True, format="mixed",
                                               dayfirst=first)
    yield f"dates ({' and '.join(orders) or 'with months by name'})", found.to_numpy(
        "datetime64[us]"), []


@dataclass
class _Read:
    """A column as it was understood: kind, values, and sentences about it."""

    kind: str                   # "number", "category", "date", "empty"
    values: np.ndarray
    says: list
    whole: bool = False         # a number that is whole everywhere
    origin: Any = None
    marks: Iterable[str] = ()   # how gaps are written

    @property
    def gaps(self):
        """How many cells hold nothing."""
        return np.count_nonzero(isna(self.values))

    @property
    def written(self):
        """How gaps are written, where that is not by empty cells, for the end of a sentence."""
        known = [mark for mark in self.marks if mark]
        return f", some written {listed(known)}" if known and self.gaps else ""


def understand(column, commas=False):
    """Decide what the cells of one column are."""
    if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered and \
            len(column.cat.categories) > 2:
        said = ", ".join(f"{k}: {name}" for k, name in enumerate(column.cat.categories))
        read = _as_number(column.cat.codes.where(column.notna(), np.nan), [
            f"has categories in an order and is read as their numbers ({said})."])
        read.origin = [str(name) for name in column.cat.categories]
        return read
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _as_date(column)
    numbers, says = _plain_numbers(column, commas)
    if numbers is not None and (dates := _compact_dates(numbers)) is not None:
        return dates
    if numbers is not None and DATED.search(str(column.name)) and not np.isnan(numbers).all() and \
            20_000 < np.nanmin(numbers) <= np.nanmax(numbers) < 60_000:     # 1954 to 2064
        return _as_date(pd.to_datetime(pd.Series(numbers), unit="D", origin="1899-12-30").dt.round(
            "s"), "dates as Excel numbers them")
    if numbers is not None and not _too_large(numbers, column.to_numpy()):
        infinite = np.isinf(numbers)
        return _as_number(np.where(infinite, np.nan, numbers), says,
                          ["infinity"] * bool(infinite.any()))
    cells, marks = cells_of(column)
    present = np.array([cell is not None for cell in cells], bool)
    if not present.any():
        return _Read("empty", cells, [])
    held = cells[present]

    def spread(values):
        """Return values of the cells that hold something, and gaps for the others."""
        return pd.Series(values, np.flatnonzero(present)).reindex(range(len(cells)))

    if all(hasattr(value, "year") for value in held):
        return _as_date(spread([*map(pd.Timestamp, held)]))
    if all(isinstance(value, timedelta) for value in held):
        return _as_number(spread(held / timedelta(days=1)), ["holds spans of time, read as days."],
                          marks)
    if all(type(value) is bool for value in held):
        return _as_number(spread(held), [TRUTH], marks)
    texts, spellings = _one_spelling([str(value) for value in held])
    each, different = pd.factorize(np.array(texts, object))
    often, brief = np.bincount(each), [short(text) for text in different]
    numbers, how = _parsed(brief, commas)
    zeros = often[[bool(LEADING_ZERO.fullmatch(text)) for text in brief]].sum()
    reason = _no_quantity(column.name, different, numbers, zeros / len(texts))
    if zeros:
        how.append(f"holds {count(zeros, 'number')} written with a 0 in front, which is left out.")
    for what, values, says in () if reason else chain(
            [("numbers", numbers, how)], _times(brief), _dates(brief)):
        wrong = sorted(different[isna(values)])
        cells_wrong = often[isna(values)].sum()
        share = 1 - cells_wrong / len(texts)
        fewest = 10 * (what == "numbers")       # fewer beside a word are levels: 0, 1, 2, 3 or more
        if share > 0.9 or share > 0.5 and len(wrong) <= 3 and \
                len(different) > fewest + len(wrong):
            if wrong:
                says.append(f"holds {count(cells_wrong, 'cell')} with {listed(wrong)} beside "
                            f"{what}, read as gaps.")
            found = spread(values[each])
            return _as_date(found, what, says) if found.dtype.kind == "M" else \
                _as_number(found, says, marks)
    says = _why_words(column, different, often, brief, numbers, reason)
    if spellings:
        says.append(f"has values that differ by capital letters alone ({listed(spellings)}), "
                    "read as one each, as it is written most often.")
    cells[present] = texts
    return _Read("category", cells, says, marks=marks)


def _why_words(column, different, often, brief, numbers, reason):
    """Return sentences on cells that are read as words and might have been meant as numbers."""
    says, cells, is_number = [reason] * bool(reason), often.sum(), ~np.isnan(numbers)
    if column.dtype.kind == "O" and not {*map(type, column)}.isdisjoint(NESTED):
        says.append("holds lists or records, read as words; give each part a column of its own.")
    units = _units(brief)
    if 2 <= len({*units} - {""}) <= 5 and units.count("") < 0.1 * len(units):
        says.append("holds numbers with different signs or words "
                    f"({listed(sorted({*units} - {''}))}), so "
                    "they are read as words; if these are units, write all in one.")
    elif often[[bool(PAIR.fullmatch(text)) for text in brief]].sum() > 0.9 * cells:
        says.append(f"holds two numbers in a cell, such as {different[0]!r}, so they are read as "
                    "words; if they are quantities, give each a column of its own.")
    elif reason is None and often[is_number].sum() > 0.2 * cells:
        says.append(f"holds numbers in {often[is_number].sum():,} of {count(cells, 'cell')} "
                    f"and words in the others ({listed(sorted(different[~is_number]))}), so all "
                    "are read as words.")
    return says


def _no_quantity(name, different, numbers, zeros):
    """Return why cells that look like numbers are words, or None; a share begins with zeros."""
    if VERSION.search(str(name)) and not np.isnan(numbers).all():
        return "is of versions by its name, so they are read as words."
    if zeros and (zeros >= 0.1 or len(set(map(len, different))) == 1) and \
            np.isfinite(numbers).mean() > 0.9:
        return "holds digits that begin with 0, so they are read as words."
    if _too_large(numbers, different):
        return ("holds whole numbers that are too large to be told apart as numbers, so they are "
                "read as words.")
    return None


def _too_large(numbers, cells):
    """Tell whether different cells are the same whole number, since it is beyond float64."""
    large = np.abs(numbers) >= MOST_EXACT
    return bool(large.any()) and len(set(np.asarray(cells)[large].tolist())) > \
        len(set(numbers[large].tolist()))


def _compact_dates(numbers):
    """Return numbers that are all written as dates, such as 20240131, as dates, else None."""
    known = numbers[~np.isnan(numbers)]
    if not len(known) or not 1.9e7 < known.min() <= known.max() < 2.1e7:
        return None
    texts = pd.Series(numbers).map("{:.10g}".format, na_action="ignore")
    if not all(map(COMPACT.fullmatch, texts.dropna())):
        return None
    dates = pd.to_datetime(texts, format="%Y%m%d", errors="coerce")
    bad = len(known) - dates.count()
    says = [f"holds {count(bad, 'cell')} that {be(bad)} no day of the calendar, read as "
            "gaps."] * bool(bad)
    return _as_date(dates, "dates written as one number (year, month, day)", says)


def _times(texts):
    """Yield texts as spans of time, minutes, and times of day, NaN where one is none."""
    def days(at):
        return pd.to_timedelta(re.sub(r"(?i)\bhrs?\b", "h", at[0]), errors="coerce") / pd.Timedelta(
            days=1)

    def minutes(at):
        return int(at[1]) + float(at[2]) / 60

    def hours(at):
        hour = int(at[1]) % 12 + 12 * (at[4] in "pP") if at[4] else int(at[1])
        return hour + int(at[2]) / 60 + float((at[3] or ":0")[1:]) / 3600

    for pattern, number, what, unit in (
            (SPAN, days, "spans of time", ", read as days"),
            (MINUTES, minutes, "minutes and seconds", " and is read as minutes"),
            (TIME, hours, "times of day", " and is read as hours")):
        found = [pattern.fullmatch(text) for text in texts]
        values = np.array([number(at) if at else np.nan for at in found])
        if (values >= 24).any() and number is hours:
            what, unit = "spans of time", ", hours first, and is read as hours"
        yield what, values, [f"holds {what}{unit}."]


def _one_spelling(texts):
    """Write words that differ by capital letters alone as most often; also those that did."""
    counts, best = Counter(texts), {}

    def key(text):
        return text.casefold() if len(text) > 1 else text

    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        best.setdefault(key(text), text)
    others = [text for text in sorted(counts) if best[key(text)] != text]
    # Keys and genes (AA, Aa, aa) have letters that count.
    if not others or len(counts) > len(texts) / 2 or max(map(len, counts)) < 3:
        return texts, []
    return [best[key(text)] for text in texts], others


def _as_number(numbers, says, marks=()):
    numbers = np.asarray(numbers, np.float64) + 0.0         # of -0.0
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        return _Read("empty", numbers, says)
    for value in SENTINELS:
        rest = present[present != value]
        times = len(present) - len(rest)
        if not times or not len(rest):
            continue
        far = not rest.min() - np.ptp(rest) <= value <= rest.max() + np.ptp(rest)
        if far or times > 1 and value < 0 <= rest.min():
            what = "far from its other values" if far else "and no other number below 0"
            says = [*says, f"holds {value} {count(times, 'time')}, {what}; it is read as a number; "
                    "if it stands for a gap, empty these cells."]
    return _Read("number", numbers, says, bool(np.all(present == np.floor(present))), marks=marks)


def _as_date(dates, what="dates", says=()):
    dates = pd.to_datetime(dates).reset_index(drop=True)
    if dates.dt.tz is not None:
        what = f"dates (times of {dates.dt.tz})" if what == "dates" else what
        dates = dates.dt.tz_localize(None)      # the time on the clock of that place
    first = dates.min()
    first = first if first is pd.NaT else first.normalize()
    days = (dates - first).dt.total_seconds().to_numpy() / 86_400
    if np.isnan(days).all():
        return _Read("empty", days, [])
    says = [f"holds {what} and is read as days since {first:%Y-%m-%d}.", *says]
    open_ended = int((dates.dt.year == 9999).sum())
    if open_ended:
        says.append(f"holds the year 9999 in {count(open_ended, 'row')}; it is read as a date; if "
                    "it stands for none, empty these cells.")
    return _Read("date", days, says, origin=first)
