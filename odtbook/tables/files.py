"""From a file, or a frame of any kind, to a frame of cells as they were written."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections import Counter

import numpy as np
import pandas as pd

from odtbook.tables.columns import DATE, FEW_ROWS, PLAIN, short
from odtbook.tables.words import count, listed
from odtlib.requirements import needs

MOST_BYTES = 2**28        # of an unpacked file
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars",
              ":": "colons", "^": "carets", " ": "blanks"}
SAID = re.compile(r"sep=(.)", re.I)     # Excel's first line, which names the separator
OTHER_FORMATS = re.compile(r'(\[?\s*\{\s*"|<!doctype|<html|<\?xml|%PDF)', re.I)
ATTRIBUTE = re.compile(r"""^\s*@attribute\s+('(?:[^'\\]|\\.)*'|"[^"]*"|\S+)""", re.I | re.M)
ORANGE = re.compile(r"|[cdst]|continuous|discrete|string|time|\S+( \S+)+", re.I)
FLAGS = re.compile(r"|c|m|i|class|meta|ignore|\S+=\S+", re.I)
RULE = re.compile(r"[-=:+]{2,}")


def read_file(path, target, report):
    if not path.exists():
        raise FileNotFoundError(2, "there is no such file", str(path))
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give a file.")
    if (read := READERS.get(path.suffix.lower())) is not None:
        return as_frame(read(path), report)
    text = _sheet(path, report) if path.suffix.lower() in SHEETS else \
        _decoded(_unpacked(path, report), report)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        report.say(f"The file holds {count(text.count(chr(0)), 'zero byte')}, which "
                   f"{'is' if text.count(chr(0)) == 1 else 'are'} left out.")
        text = text.replace("\0", "")
    odd = sum(text.count(chr(code)) for code in range(32) if code not in (9, 10, 12, 26))
    if odd > 0.01 * len(text) + 1 or OTHER_FORMATS.match(text.lstrip()[:200]):
        raise ValueError(f"{path.name} is no table of text with a line per case; save the table as "
                         "CSV and give that file.")
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise ValueError(f"{path.name} is empty; give a table with a row of names and a row per "
                         "case.")
    longest = csv.field_size_limit(2**31 - 1)
    try:
        dialect, first = _layout(lines, report)
        return _text_frame(text, dialect, first, target, report)
    except csv.Error as error:
        raise ValueError(f"{path.name} is no table of text ({error}).") from None
    finally:
        csv.field_size_limit(longest)


def _by_reader(name, extra, **options):
    """Return a reader of pandas that says in a sentence what it cannot read."""
    def read(path):
        needs(extra, "tables", f"{path.suffix} files") if extra else None
        try:
            return getattr(pd, name)(path, **options)
        except Exception as error:      # whatever a broken file leads to
            raise ValueError(f"{path.name} is not a whole file of its kind ({error}).") from None
    return read


def _arff(path):
    """Return the cells of an ARFF file as text; scipy's reader knows no quotes and no text."""
    head, *data = re.split(r"(?im)^\s*@data\b.*\n?", path.read_text("utf-8", "replace"), maxsplit=1)
    names = [name.strip("'\"").replace("\\", "") for name in ATTRIBUTE.findall(head)]
    lines = [line for line in "".join(data).splitlines() if line.strip() and line.strip()[0] != "%"]
    quote = '"' if "'" not in "".join(lines) else "'"
    rows = list(csv.reader(lines, quotechar=quote, escapechar="\\", skipinitialspace=True))
    wrong = next((k for k, row in enumerate(rows, 1) if len(row) != len(names)), None)
    if not names or not data or wrong:
        raise ValueError(f"{path.name} is no ARFF file that can be read (" + (
            f"row {wrong} of its data has {len(rows[wrong - 1])} cells for {len(names)} attributes"
            if names and wrong else "it has no attributes, or no data") + "); save it as CSV.")
    return pd.DataFrame(rows, columns=names)


READERS = {
    **dict.fromkeys((".parquet", ".pq"), _by_reader("read_parquet", "pyarrow")),
    ".feather": _by_reader("read_feather", "pyarrow"),
    ".dta": _by_reader("read_stata", None, order_categoricals=False),
    **dict.fromkeys((".jsonl", ".ndjson"), _by_reader("read_json", None, lines=True)),
    ".json": _by_reader("read_json", None),
    ".arff": _arff}
SHEETS = (".xlsx", ".xlsm")


def _sheet(path, report):
    """Return the cells of the first sheet of a spreadsheet that has any, as text with commas."""
    sheets = _by_reader("read_excel", "openpyxl", sheet_name=None, header=None, dtype=object)(
        path)
    filled = [name for name, sheet in sheets.items() if sheet.notna().to_numpy().any()]
    if len(filled) > 1:
        report.say(f"The table is the sheet {filled[0]!r}; the others are not read.")
    return sheets[filled[0]].dropna(how="all").to_csv(index=False, header=False) if filled else ""


def _unpacked(path, report):
    """Return the bytes of a file, unpacked if need be, of at most MOST_BYTES."""
    data = path.read_bytes()
    try:
        for mark, module in ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ", lzma)):
            if data.startswith(mark):
                with module.open(path) as file:
                    return _bounded(file, path)
        if not data.startswith(b"PK\x03\x04"):
            return data
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist()
                     if not name.endswith("/") and not name.startswith("__MACOSX/")]
            if len(names) != 1:
                raise ValueError(f"{path.name} is an archive of {len(names)} files; give one "
                                 "table.")
            report.say(f"The table is {names[0]!r} of the archive.")
            with archive.open(names[0]) as file:
                return _bounded(file, path)
    except (OSError, EOFError, RuntimeError, NotImplementedError, zlib.error, lzma.LZMAError,
            zipfile.BadZipFile):
        raise ValueError(f"{path.name} cannot be unpacked; unpack it, and give the table "
                         "in it.") from None


def _bounded(file, path):
    if len(data := file.read(MOST_BYTES + 1)) > MOST_BYTES:
        raise ValueError(f"{path.name} holds more than {MOST_BYTES >> 20} MB; unpack it, and give "
                         "a part of the table in it.")
    return data


def _decoded(data, report):
    """Return the text of a file, and report an encoding that is not plain UTF-8."""
    for mark, name in ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
                       (b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"),
                       (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            report.say(f"The file begins with a byte order mark and is read as "
                       f"{name.removesuffix('-sig').upper()}.")
            return _replaced(data, name, report)
    for name, nulls in (("utf-16-le", data[1:2000:2]), ("utf-16-be", data[:2000:2])):
        if 2 * nulls.count(0) > len(nulls):     # every other byte of Latin letters
            report.say("The file has no byte order mark and is read as UTF-16.")
            return _replaced(data, name, report)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    from charset_normalizer import from_bytes
    found = from_bytes(data[:200_000], cp_isolation=[
        "cp1252", "cp1250", "cp1251", "cp1253", "shift_jis", "gb18030", "big5", "euc_kr"]).best()
    name = "cp1252" if found is None else found.encoding
    report.say(f"The file is not UTF-8; its letters are read as {name}, which is a guess.")
    return _replaced(data, name, report)


def _replaced(data, name, report):
    """Return text, with a sign in place of what is none in the encoding."""
    text = data.decode(name, errors="replace")
    if lost := text.count("\ufffd"):
        report.say(f"{count(lost, 'letter')} could not be read and "
                   f"{'is' if lost == 1 else 'are'} shown as '\ufffd'.")
    return text


def _layout(lines, report):
    """Return the options of the csv reader, and how many lines precede the names."""
    said = SAID.fullmatch(lines[0].strip("\ufeff \n"))
    if said:
        report.say(f"The first line says that the separator is {said[1]!r}.")
    sample = lines[:200]
    options = [{}]
    if any('\\"' in line for line in sample):
        options.append({"doublequote": False, "escapechar": "\\"})
    best = None
    for separator in said[1] if said else SEPARATORS:
        if separator == " " and best is not None:
            break       # between words, too: only where nothing else separates
        for dialect in options:
            dialect = {"delimiter": separator, **dialect}
            if separator == " ":
                dialect["skipinitialspace"] = True
            rows = list(csv.reader(map(str.strip, sample) if separator == " " else sample,
                                   **dialect))
            counts = [len(row) for row in rows]
            full = [row for row in rows if len(row) == max(counts)]
            if len(full) > 1 and not any(row[-1].strip() for row in full):
                # a separator at the end of every line but that of the names
                counts = [count - (count == max(counts)) for count in counts]
            width, times = Counter(counts).most_common(1)[0]
            certain = separator in ":^ "      # these are in times and words, too
            if width > 1 and (not certain or times == len(counts) > 2 or said):
                # The separator that divides most lines alike; of equal ones the one with more
                # fields.
                score = (times / len(counts), width)
                if best is None or score > best[0]:
                    best = score, dialect, counts, width
    if best is None:
        return {"delimiter": said[1] if said else ","}, int(bool(said))
    _, dialect, counts, width = best
    separator = dialect["delimiter"]
    if separator != "," and not said:
        report.say(f"The fields are separated by {SEPARATORS[separator]}.")
    if "escapechar" in dialect:
        report.say("Quotes inside fields are written with a backslash.")
    first = max(counts.index(width), int(bool(said)))
    if first > bool(said):
        report.say(f"The first {count(first, 'line')} of the file, before the row of names, "
                   f"{'is' if first == 1 else 'are'} skipped: {listed(lines[:first], 2)}.")
    names = lines[first].split(separator)
    if len(names) > 1 and all(re.fullmatch(r"'.*'", name.strip()) for name in names):
        report.say("The fields are in single quotes.")
        dialect["quotechar"] = "'"
    return dialect, first


def _text_frame(text, dialect, first, target, report):
    """Return the cells as text; NaN where a line has too few fields."""
    if dialect["delimiter"] == " ":
        text = "\n".join(map(str.strip, text.split("\n")))
    rows = csv.reader(io.StringIO(text), **dialect)
    rows = [row for row in rows if row and (len(row) > 1 or row[0].strip())][first:]
    rows = _mended(rows, text, dialect, first, report)
    above = _lines_above(rows, target)
    if above:
        report.say(f"{count(above, 'line')} above the one that names the target "
                   f"{'is' if above == 1 else 'are'} left out: "
                   f"{listed([' '.join(' '.join(row).split()) for row in rows[:above]], 2)}.")
        rows = rows[above:]
    names = rows[0]
    if len(rows) > 3 and all(ORANGE.fullmatch(short(cell.strip())) for cell in rows[1]) and all(
            FLAGS.fullmatch(cell.strip()) for cell in rows[2]):
        report.say("The second and third line say of which kind the columns are, as Orange writes "
                   "them, and are left out.")
        rows = [names, *rows[3:]]
    if all(PLAIN.fullmatch(name.strip()) for name in names) and len(rows) > 1:
        without = "holds numbers only"
    elif len(rows) > FEW_ROWS and any(PLAIN.fullmatch(name.strip()) for name in names) and all(
            PLAIN.fullmatch(name.strip()) or DATE.match(name.strip()) or
            name in {row[j] for row in rows[1:] if len(row) > j} for j, name in enumerate(names)):
        without = "holds values such as those below it"
    else:
        without = ""
    if without:
        report.say(f"The first line {without}, so it is read as a row, and the columns are "
                   "called column1, column2, ….")
        names = [f"column{j + 1}" for j in range(len(names))]
    else:
        rows = rows[1:]
    width = len(names)
    while width > 1 and not names[width - 1].strip() and not any(
            "".join(row[width - 1:]).strip() for row in rows):
        width -= 1      # a separator at the end of every line
    if width < len(names):
        report.say(f"{count(len(names) - width, 'column')} without name and values at the end "
                   f"{'is' if len(names) - width == 1 else 'are'} left out.")
        rows = [row[:width] if len(row) <= len(names) else row for row in rows]
    again = [i for i, row in enumerate(rows) if row == names]
    ruled = [i for i, row in enumerate(rows)
             if any(row) and all(RULE.fullmatch(cell.strip()) for cell in row if cell)]
    for lines, what in ((again, "the names once more"), (ruled, "dashes alone")):
        if lines:
            report.say(f"{count(len(lines), 'line')} with {what} left out: "
                       f"row {', '.join(map(str, lines[:5]))}{', …' * (len(lines) > 5)}.")
    out = {*again, *ruled}
    kept = [row for i, row in enumerate(rows) if len(row) == width and i not in out]
    ragged = [i for i, row in enumerate(rows) if len(row) != width and i not in out]
    if ragged:
        report.say(f"{count(len(ragged), 'row')} with more or fewer than {width} fields "
                   f"{'is' if len(ragged) == 1 else 'are'} left out: rows "
                   f"{', '.join(str(i) for i in ragged[:5])}{', …' if len(ragged) > 5 else ''} "
                   "(the first is row 0).")
    index = np.setdiff1d(np.arange(len(rows)), [*ragged, *out])
    frame = pd.DataFrame(kept, columns=_names(names[:width], report), index=index, dtype=object)
    return frame


def _lines_above(rows, target):
    """Return how many lines stand above the names: of two lines of them the target is in one."""
    def words(row):
        return [" ".join(cell.split()) for cell in row]
    if target is None or target in words(rows[0]):
        return 0
    found = [i for i, row in enumerate(rows) if target in words(row)]
    return found[0] if len(found) == 1 and found[0] <= 5 and not any(
        map(PLAIN.fullmatch, words(rows[found[0]]))) else 0


def _mended(rows, text, dialect, first, report):
    """Return the rows without a separator behind the last field, and read anew if a quote is open.

    A quote that is never closed swallows the lines below it into one field.
    """
    width = len(rows[0])
    mark = dialect["delimiter"]
    if width > 1 and any(
            sum(line.count(mark) == width - 1 for line in cell.split("\n")[1:-1]) > 1
            for row in rows for cell in row if "\n" in cell) and not _quotes_match(text, dialect):
        report.say("A quote is opened and not closed, so quotes are read as letters.")
        rows = csv.reader(io.StringIO(text), **dialect, quoting=csv.QUOTE_NONE)
        rows = [row for row in rows if row and (len(row) > 1 or row[0].strip())][first:]
    longer = [len(row) == width + 1 and not row[-1].strip() for row in rows]
    if any(longer) and rows[0][-1].strip():
        report.say(f"{count(sum(longer), 'row')} with a separator behind the last field: it is "
                   "left out.")
        rows = [row[:-1] if long else row for row, long in zip(rows, longer)]
    return rows


def _quotes_match(text, dialect):
    """Tell whether each quote that opens a field is closed before the next separator."""
    try:
        for _ in csv.reader(io.StringIO(text), **dialect, strict=True):
            pass
    except csv.Error:
        return False
    return True


def _names(names, report):
    """Return the names of the columns as text without blanks around, each once."""
    clean, seen = [], Counter()
    every = {" ".join(str(given).split()) for given in names}
    for j, given in enumerate(names):
        name = " ".join(str(given).strip("\ufeff").split()) or f"column{j + 1}"
        seen[name] += 1
        new = name
        while seen[name] > 1 and (new in every or new in clean):
            new = f"{name}.{seen[name]}"
            seen[name] += new in every or new in clean
        if seen[name] > 1:
            report.say(f"is the name of more than one column; this one is called {new!r}.", name)
        elif not str(given).strip():
            report.say(f"Column {j + 1} has no name and is called {new!r}.")
        clean.append(new)
    return clean


def as_frame(frame, report):
    """Return a frame of pandas, of whatever kind its columns are."""
    if not isinstance(frame, pd.DataFrame | pd.Series) and hasattr(frame, "to_pandas") and \
            hasattr(frame, "schema") and not hasattr(frame, "get_columns"):
        frame = frame.to_pandas()       # a table of Arrow
    if not isinstance(frame, pd.DataFrame):
        if not hasattr(frame, "get_columns"):
            raise ValueError(f"a {type(frame).__name__} is no table; give the path of a file, a "
                             "pandas or polars data frame, or a table of Arrow.")
        frame = pd.DataFrame({name: column.to_list() for name, column
                              in zip(frame.columns, frame.get_columns())},
                             columns=list(frame.columns))
    frame = frame.copy(deep=False)
    plain_index = isinstance(frame.index, pd.RangeIndex) or (
        frame.index.name is None and frame.index.dtype.kind in "iu")
    if not plain_index:
        report.say("The index of the frame is no feature and is left out.")
    frame.columns = _names([" ".join(map(str, name)) if isinstance(name, tuple) else name
                            for name in frame.columns], report)
    return frame.reset_index(drop=True)
