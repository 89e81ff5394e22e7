"""What the cells of a column are: numbers, categories, dates, or gaps."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
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
SIGNS = re.compile(r"^([+-]?)[€$£¥]\s*|\s*[€$£¥%]$")
ACCOUNTED = re.compile(r"\((?=.*\d)([^()]+)\)|((?=.*\d).*[^\s-])-")   # (5) and 5-, for -5
FRANCS = re.compile(r"(?<=\d)[.,][-–]+$")
UNIT = re.compile(
    r"([A-Z]{3}\s|[€$£¥]\s?)?([-+]?[\d.,' ]*\d)(\s?[^\W\d_]{1,7}\d?|\s?°[CF]?|\s?[€$£¥%])?")
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
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d\d[-.]\d\d[-.]\d\d|"
    r"\d{1,2}/\d{1,2}/\d\d|\d{1,2}[-/. ]+[A-Za-z]{3,9}[-/., ]+(\d{4}|\d\d)|"
    r"([A-Za-z]{3,9},? )?[A-Za-z]{3,9}\.? \d{1,2},? \d{4})(?=$|[T ,])")
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
        elif value is not None and (value != value or value in (np.inf, -np.inf)):
            if value == value:
                marks["infinity"] += 1
            value = None
        cells[i] = value
    return cells, marks


def _number(column):
    """Return a column that pandas already holds as numbers, as float64; None for others."""
    is_a = pd.api.types
    if isinstance(column.dtype, pd.CategoricalDtype) or is_a.is_complex_dtype(column) or not (
            is_a.is_numeric_dtype(column) or is_a.is_bool_dtype(column)):
        return None
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def has_decimal_commas(frame):
    """Tell whether a column of text holds numbers whose commas cannot divide thousands."""
    for name in frame.columns:
        texts = [short(text.strip()) for text in frame[name].head(500) if isinstance(text, str)]
        texts = [SIGNS.sub(r"\1", text) for text in texts if text and text.lower() not in GAPS]
        numbers = [text for text in texts if COMMA_NUMBER.fullmatch(text)]
        if len(numbers) > 0.9 * len(texts) and any(
                "," in text and not GROUPED[","].fullmatch(text) for text in numbers):
            return True
    return False


def _plain_numbers(column):
    """Return a column of plain numbers and empty cells as numbers, else None; quickly.

    Beside it stands what is to be said of it.
    """
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
    """Return text cells as numbers (NaN where a cell is none), and how the marks were read.

    ``commas_everywhere`` says that another column has decimal commas without doubt.
    """
    bare, units = _without_signs([short(text).translate(MARKS) for text in texts])
    guess, how = False, {}       # in the order in which they are found, each once
    both = [text for text in bare if "," in text and "." in text]
    commas = [text for text in bare if "," in text]
    if both:
        ends = Counter("," if text.rfind(",") > text.rfind(".") else "." for text in both)
        decimal = ends.most_common(1)[0][0]
    elif commas_everywhere:
        points = [text for text in bare if "." in text]
        decimal = "," if commas or points and all(
            GROUPED["."].fullmatch(text) for text in points) else "."
    elif commas:
        thousands = all(GROUPED[","].fullmatch(text) for text in commas) and not any(
            text.startswith("0") for text in commas)
        decimal = "." if thousands else ","
        guess = thousands and not any(text.count(",") > 1 for text in commas)
    else:
        decimal = "."
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
    return numbers, how


def _without_signs(texts):
    """Return numbers without the sign of a currency or unit, and what was left out."""
    bare, said = texts, []
    negative = [bool(ACCOUNTED.fullmatch(text)) for text in texts]
    if any(negative) and not all(negative):
        bare = [ACCOUNTED.sub(r"-\1\2", text) if minus else text
                for text, minus in zip(texts, negative)]
        said.append("(1) or 1- as -1")
    if any(FRANCS.search(text) for text in bare):
        bare = [FRANCS.sub("", text) for text in bare]
        said.append("'.-' for no cents")
    signs = [{at[0].strip("+- ") for at in SIGNS.finditer(text)} for text in bare]
    if len(found := set().union(*signs)) == 1:
        bare = [SIGNS.sub(r"\1", text) for text in bare]
        said.append(f"the unit {found.pop()!r} left out"
                    + (", which not all cells have" if not all(signs) else ""))
    units = _units(bare)
    if len(units) == 1 and (unit := units.pop()):
        bare = [at[2] if (at := UNIT.fullmatch(text)) else text for text in bare]
        said.append(f"the unit {unit!r} left out")
    return bare, said


def _units(texts):
    """Return the units of cells that are a number and a unit each; none where they are not."""
    found = [at for text in texts if (at := UNIT.fullmatch(text)) and not PLAIN.fullmatch(text)]
    if len(found) <= 0.9 * len(texts):
        return set()
    return {" ".join(filter(None, (at[1] and at[1].strip(), at[3] and at[3].strip())))
            for at in found}


def _dates(texts):
    """Return text cells as dates, NaT where one is none, and the order of day, month and year.

    None where most of them do not look like dates.
    """
    texts = [short(text) for text in texts]
    if 2 * sum(bool(DATE.match(text)) for text in texts) <= len(texts):
        return None
    texts = pd.Series(texts, dtype=object)
    looks = texts.str.match(DATE)
    year_first = texts.str.match(r"\d{4}[-/.]")
    pairs = texts[~year_first].str.extract(r"^(\d{1,2})[-/.](\d{1,2})[-/.]").dropna().astype(int)
    most = [0, 0] if pairs.empty else pairs.max().tolist()
    day_first = not (most[1] > 12 >= most[0])
    orders = ["year-month-day"] if year_first.any() else []
    if len(pairs):
        guess = max(most) <= 12
        orders.append(("day first" if day_first else "month first")
                      + (", which is a guess: month first is as possible" if guess else ""))
    if texts.str.contains(r":\d\d(?:\.\d+)?\s?[+-]\d\d:?\d\d$").any():
        orders.append("times in UTC")
    found = pd.Series(pd.NaT, index=texts.index, dtype="datetime64[us, UTC]")
    for part, first in ((looks & year_first, False), (looks & ~year_first, day_first)):
        if part.any():
            found[part] = pd.to_datetime(texts[part], errors="coerce", utc=True, format="mixed",
                                         dayfirst=first)
    return found, " and ".join(orders) or "with months by name"


def _gaps(values, marks=()):
    """Return a sentence on the gaps of a column, or none."""
    gaps, known = np.count_nonzero(isna(values)), [mark for mark in marks if mark]
    how = f", some written {listed(known)}" if known else ""
    return [f"has {count(gaps, 'gap')} in {count(len(values), 'row')}{how}."] if gaps else []


@dataclass
class _Read:
    """A column as it was understood: kind, values, and sentences about it."""

    kind: str                   # "number", "category", "date", "empty"
    values: np.ndarray
    says: list
    whole: bool = False         # a number that is whole everywhere
    origin: Any = None


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
        return _as_date(column, "")
    numbers = _number(column)
    says = [TRUTH] * pd.api.types.is_bool_dtype(column.dtype)
    if numbers is None and not commas and not VERSION.search(str(column.name)):
        numbers, says = _plain_numbers(column)
    if numbers is not None and _are_compact_dates(numbers):
        return _compact_dates(numbers)
    if numbers is not None and not _too_large(numbers, column.to_numpy()):
        infinite = np.isinf(numbers)
        return _as_number(np.where(infinite, np.nan, numbers), says,
                          ["infinity"] * bool(infinite.any()))
    cells, marks = cells_of(column)
    present = np.array([cell is not None for cell in cells], bool)
    if not present.any():
        return _Read("empty", cells, [])
    held = cells[present]
    kinds = {type(value) for value in held}
    if all(hasattr(value, "year") for value in held):
        return _as_date(pd.Series([pd.Timestamp(v) if v is not None else pd.NaT for v in cells]),
                        "")

    def spread(values):
        """Return the numbers of the cells that hold something, and NaN for the others."""
        numbers = np.full(len(cells), np.nan)
        numbers[present] = values
        return numbers

    if all(isinstance(value, timedelta) for value in held):
        return _as_number(spread(held / timedelta(days=1)), ["holds spans of time, read as days."],
                          marks)
    if kinds == {bool}:
        return _as_number(spread(held), [TRUTH], marks)
    texts, spellings = _one_spelling([str(value) for value in held])
    each, different = pd.factorize(np.array(texts, object))
    numbers, how = _parsed(different, commas)
    is_number = ~np.isnan(numbers)[each]
    share = np.mean(is_number)
    wrong = sorted(different[np.isnan(numbers)])
    reason = _no_quantity(column.name, different, texts, numbers, spellings)
    if reason is None and (share > 0.9 or share > 0.5 and len(wrong) <= 3 and
                           len(different) > 10 + len(wrong)):
        says = [f"is read as numbers with {' and '.join(how)}."] if how else []
        if wrong:
            says.append(f"holds numbers, and {count(int((~is_number).sum()), 'cell')} "
                        f"with {listed(wrong)}, read as gaps.")
        zeros = sum(bool(LEADING_ZERO.fullmatch(text)) for text in texts)
        if zeros:
            says.append(f"holds {count(zeros, 'number')} written with a 0 in front, which is left "
                        "out.")
        return _as_number(spread(numbers[each]), says, marks)
    timed = _times([short(text) for text in different]) if reason is None else None
    if timed is not None:
        return _as_number(spread(np.array(timed[0])[each]), [timed[1]], marks)
    found = _dates(different) if reason is None else None
    if found is not None:
        parsed = found[0].iloc[each]
        wrong = sorted(different[found[0].isna()])
        missed = int(parsed.isna().sum())
        if missed < len(texts) * (0.2 if len(wrong) <= 3 else 0.05):
            dates = pd.Series(pd.NaT, index=range(len(cells)), dtype="datetime64[us, UTC]")
            dates[np.flatnonzero(present)] = parsed.to_numpy()
            says = [f"holds dates, and {count(missed, 'cell')} with {listed(wrong)}, read as "
                    "gaps."] if wrong else []
            return _as_date(dates, f" ({found[1]})", says)
    words = np.empty(len(cells), object)
    words[present] = texts
    says = _why_words(column, texts, different, is_number, reason)
    if spellings:
        says.append(f"has values that differ by capital letters alone ({listed(spellings)}), "
                    "read as one each, as it is written most often.")
    return _Read("category", words, says + _gaps(words, marks))


def _why_words(column, texts, different, is_number, reason):
    """Return sentences on cells that are read as words and might have been meant as numbers."""
    says = [] if reason is None else [reason]
    if column.dtype.kind == "O" and not {*map(type, column)}.isdisjoint(NESTED):
        says.append("holds lists or records, read as words; give each part a column of its own.")
    units = _units([short(text) for text in different])
    if len(units - {""}) > 1 and len(units) <= 5:
        says.append(f"holds numbers with different signs or words ({listed(sorted(units))}), so "
                    "they are read as words; if these are units, write all in one.")
    elif sum(n for text, n in Counter(texts).items() if PAIR.fullmatch(short(text))) > \
            0.9 * len(texts):
        says.append(f"holds two numbers in a cell, such as {texts[0]!r}, so they are read as "
                    "words; if they are quantities, give each a column of its own.")
    elif reason is None and np.mean(is_number) > 0.2:
        wrong = sorted({text for text, good in zip(texts, is_number) if not good})
        says.append(f"holds numbers in {int(is_number.sum()):,} of {count(len(texts), 'cell')} "
                    f"and words in the others ({listed(wrong)}), so all are read as words.")
    return says


def _no_quantity(name, different, texts, numbers, spellings):
    """Return why cells that look like numbers are words, or None."""
    if VERSION.search(str(name)) and not np.isnan(numbers).all():
        return "is of versions by its name, so they are read as words."
    zeros = sum(n for text, n in Counter(texts).items() if LEADING_ZERO.fullmatch(text))
    alike = zeros >= len(texts) / 10 or len(set(map(len, different))) == 1
    if zeros and alike and np.isfinite(numbers).mean() > 0.9:
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


def _are_compact_dates(numbers):
    """Tell whether all numbers are dates such as 20240131."""
    known = numbers[~np.isnan(numbers)]
    if not len(known) or not (1.9e7 < known.min() <= known.max() < 2.1e7):
        return False
    return all(COMPACT.fullmatch(f"{value:.10g}") for value in np.unique(known))


def _compact_dates(numbers):
    """Return dates that are written as one number."""
    dates = pd.to_datetime(pd.Series([None if value != value else f"{value:.0f}"
                                      for value in numbers], dtype=object),
                           format="%Y%m%d", errors="coerce")
    bad = int((dates.isna() & ~np.isnan(numbers)).sum())
    says = [f"holds {count(bad, 'cell')} that {be(bad)} no day of the calendar, read as "
            "gaps."] * bool(bad)
    return _as_date(dates, " written as one number (year, month, day)", says)


def _times(texts):
    """Return times of day or spans of time as numbers, and a sentence; None where one is none."""
    if all(SPAN.fullmatch(text) for text in texts):
        from pandas import to_timedelta
        try:
            spans = to_timedelta(np.array([re.sub(r"(?i)\bhrs?\b", "h", text) if text[0] != "P"
                                           else text for text in texts], object))
        except ValueError:
            return None
        return spans.total_seconds() / 86_400, "holds spans of time, read as days."
    found = [MINUTES.fullmatch(text) for text in texts]
    if all(found):
        return [int(at[1]) + float(at[2]) / 60 for at in found], \
            "holds minutes and seconds and is read as minutes."
    found = [TIME.fullmatch(text) for text in texts]
    if not all(found):
        return None
    hours = [int(at[1]) % 12 + 12 * (at[4] in "pP") if at[4] else int(at[1]) for at in found]
    return [hour + int(at[2]) / 60 + float((at[3] or ":0")[1:]) / 3600
            for hour, at in zip(hours, found)], (
        "holds times of day and is read as hours." if max(hours) < 24 else
        "holds spans of time, hours first, and is read as hours.")


def _one_spelling(texts):
    """Write words that differ by capital letters alone as most often; also those that did."""
    counts, best = Counter(texts), {}
    for text in sorted(counts):
        key = text.casefold()
        if len(text) > 1 and counts[text] > counts.get(best.get(key), 0):
            best[key] = text
    others = [text for text in sorted(counts) if best.get(text.casefold(), text) != text]
    # Keys and genes (AA, Aa, aa) have letters that count.
    if not others or len(counts) > len(texts) / 2 or max(map(len, counts)) < 3:
        return texts, []
    return [best.get(text.casefold(), text) for text in texts], others


def _as_number(numbers, says, marks=()):
    numbers = np.asarray(numbers, np.float64)
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        return _Read("empty", numbers, says)
    says = says + _gaps(numbers, marks)
    for value in SENTINELS:
        rest = present[present != value]
        times = len(present) - len(rest)
        if times and len(rest) and not rest.min() - np.ptp(rest) <= value <= \
                rest.max() + np.ptp(rest):
            says.append(f"holds {value} {count(times, 'time')}, far from its other values; it is "
                        "read as a number; if it stands for a gap, empty these cells.")
    return _Read("number", numbers, says, bool(np.all(present == np.floor(present))))


def _as_date(dates, words, says=()):
    dates = pd.to_datetime(dates).reset_index(drop=True)
    if dates.dt.tz is not None:
        words = words or f" (times of {dates.dt.tz})"
        dates = dates.dt.tz_localize(None)      # the time on the clock of that place
    first = dates.min()
    first = first if first is pd.NaT else first.normalize()
    days = (dates - first).dt.total_seconds().to_numpy() / 86_400
    if np.isnan(days).all():
        return _Read("empty", days, [])
    says = [f"holds dates{words} and is read as days since {first:%Y-%m-%d}.", *says]
    open_ended = int((dates.dt.year == 9999).sum())
    if open_ended:
        says.append(f"holds the year 9999 in {count(open_ended, 'row')}; it is read as a date; if "
                    "it stands for none, empty these cells.")
    return _Read("date", days, says + _gaps(days), origin=first)
