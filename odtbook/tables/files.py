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
from odtbook.tables.words import be, count, listed
from odtlib.requirements import needs

MOST_BYTES = 2**28        # of an unpacked file
PACKED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open,
          b"PK\x03\x04": zipfile.ZipFile}
MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xef\xbb\xbf": "utf-8-sig",
         b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}      # of the order of bytes
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars",
              ":": "colons", "^": "carets", " ": "blanks"}
SAID = re.compile(r"sep=(.)", re.I)     # Excel's first line, which names the separator
OTHER_FORMATS = re.compile(r'(\[?\s*\{\s*"|<!doctype|<html|<\?xml|%PDF)', re.I)
ATTRIBUTE = re.compile(r"""^\s*@attribute\s+('(?:[^'\\]|\\.)*'|"[^"]*"|\S+)""", re.I | re.M)
ORANGE = re.compile(r"|[cdst]|continuous|discrete|string|time|\S+( \S+)+", re.I)
FLAGS = re.compile(r"|c|m|i|class|meta|ignore|\S+=\S+", re.I)
RULE = re.compile(r"[-=:+]{2,}")
YEAR = re.compile(r"(19|20)\d\d")        # the name of a column of numbers, too


def read_file(path, target, report):
    """Return the cells of a file; the target helps to find the row of names."""
    if not path.exists():
        raise FileNotFoundError(2, "there is no such file", str(path))
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give a file.")
    if (read := READERS.get(path.suffix.lower())) is not None:
        return as_frame(read(path), report)
    text = _sheet(path, report) if path.suffix.lower() in SHEETS else \
        _decoded(_unpacked(path, report), report)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    report.leave_out(text.count("\0"), "zero byte", "of the file")
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
    opener = next((opener for mark, opener in PACKED.items() if data.startswith(mark)), None)
    if opener is None:
        return data
    try:
        file = opener(io.BytesIO(data))
        if opener is zipfile.ZipFile:
            names = [name for name in file.namelist()
                     if not name.endswith("/") and not name.startswith("__MACOSX/")]
            if len(names) != 1:
                raise ValueError(f"{path.name} is an archive of {len(names)} files; give one "
                                 "table.")
            report.say(f"The table is {names[0]!r} of the archive.")
            file = file.open(names[0])
        data = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, RuntimeError, NotImplementedError, zlib.error, lzma.LZMAError,
            zipfile.BadZipFile):
        raise ValueError(f"{path.name} cannot be unpacked; unpack it, and give the table "
                         "in it.") from None
    if len(data) > MOST_BYTES:
        raise ValueError(f"{path.name} holds more than {MOST_BYTES >> 20} MB; unpack it, and give "
                         "a part of the table in it.")
    return data


def _decoded(data, report):
    """Return the text of a file, a sign in place of what is none; report what is not plain UTF-8.
    """
    name, said = _encoding(data)
    text = data.decode(name, errors="replace")
    if said:
        report.say(said)
    if lost := text.count("\ufffd"):
        report.say(f"{count(lost, 'letter')} could not be read and {be(lost)} shown as '\ufffd'.")
    return text


def _encoding(data):
    """Return the encoding of a file, and a sentence on it if it is not plain UTF-8."""
    for mark, name in MARKS.items():
        if data.startswith(mark):
            return name, ("The file begins with a byte order mark and is read as "
                          f"{name.removesuffix('-sig').upper()}.")
    for name, nulls in (("utf-16-le", data[1:2000:2]), ("utf-16-be", data[:2000:2])):
        if 2 * nulls.count(0) > len(nulls):     # every other byte of Latin letters
            return name, "The file has no byte order mark and is read as UTF-16."
    try:
        data.decode("utf-8")
        return "utf-8", ""
    except UnicodeDecodeError:
        from charset_normalizer import from_bytes
    found = from_bytes(data[:200_000], cp_isolation=[
        "cp1252", "cp1250", "cp1251", "cp1253", "shift_jis", "gb18030", "big5", "euc_kr"]).best()
    name = "cp1252" if found is None else found.encoding
    return name, f"The file is not UTF-8; its letters are read as {name}, which is a guess."


def _layout(lines, report):
    """Return the options of the csv reader, and how many lines precede the names."""
    said = SAID.fullmatch(lines[0].strip("\ufeff \n"))
    if said:
        report.say(f"The first line says that the separator is {said[1]!r}.")
    sample = lines[:200]
    options = [{}]
    if any('\\"' in line for line in sample):
        options.append({"doublequote": False, "escapechar": "\\"})
    found = []
    for separator in said[1] if said else SEPARATORS:
        if separator == " " and found:
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
                found.append((times / len(counts), width, dialect, counts))
    if not found:
        return {"delimiter": said[1] if said else ","}, int(bool(said))
    # The separator that divides most lines alike; of equal ones the one with more fields.
    _, width, dialect, counts = max(found, key=lambda one: one[:2])
    separator = dialect["delimiter"]
    if separator != "," and not said:
        report.say(f"The fields are separated by {SEPARATORS[separator]}.")
    if "escapechar" in dialect:
        report.say("Quotes inside fields are written with a backslash.")
    first = max(counts.index(width), int(bool(said)))
    if first > bool(said):
        report.say(f"The first {'line' if first == 1 else count(first, 'line')} of the file, "
                   f"above the table, {be(first)} skipped: {listed(lines[:first], 2)}.")
    names = lines[first].split(separator)
    if len(names) > 1 and all(re.fullmatch(r"'.*'", name.strip()) for name in names):
        report.say("The fields are in single quotes.")
        dialect["quotechar"] = "'"
    return dialect, first


def _text_frame(text, dialect, first, target, report):
    """Return the cells as text; NaN where a line has too few fields."""
    if dialect["delimiter"] == " ":
        text = "\n".join(map(str.strip, text.split("\n")))
    rows = _mended(_rows(text, dialect)[first:], text, dialect, first, report)
    above = _lines_above(rows, target)
    report.leave_out(above, "line", "above the row of names", ": " + listed(
        [" ".join(" ".join(row).split()) for row in rows[:above]], 2))
    names, *rows = rows[above:]
    if len(rows) > 2 and all(ORANGE.fullmatch(short(cell.strip())) for cell in rows[0]) and all(
            FLAGS.fullmatch(cell.strip()) for cell in rows[1]):
        report.say("The second and third line say of which kind the columns are, as Orange writes "
                   "them, and are left out.")
        rows = rows[2:]
    numbers, without = [bool(PLAIN.fullmatch(name.strip())) for name in names], ""
    if rows and all(numbers):
        without = "holds numbers only"
    elif len(rows) >= FEW_ROWS and any(numbers) and all(
            number or DATE.match(name.strip()) or name in {row[j] for row in rows if len(row) > j}
            for j, (name, number) in enumerate(zip(names, numbers))):
        without = "holds values such as those below it"
    if without:
        report.say(f"The first line {without}, so it is read as a row, and the columns are "
                   "called column1, column2, ….")
        names, rows = [f"column{j + 1}" for j in range(len(names))], [names, *rows]
    width = len(names)
    while width > 1 and not names[width - 1].strip() and not any(
            "".join(row[width - 1:]).strip() for row in rows):
        width -= 1      # a separator at the end of every line
    report.leave_out(len(names) - width, "column", "without name and values at the end")
    kept = {i: row[:width] if len(row) <= len(names) else row for i, row in enumerate(rows)}
    names = names[:width]
    for thing, which, is_so in (
            ("line", "with the names once more", lambda row: row == names),
            ("line", "with dashes alone", lambda row: any(row) and all(
                RULE.fullmatch(cell.strip()) for cell in row if cell)),
            ("row", f"with more or fewer than {width} fields", lambda row: len(row) != width)):
        out = [i for i, row in kept.items() if is_so(row)]
        report.leave_out(len(out), thing, which, f": row{'s' * (len(out) > 1)} "
                         + ", ".join(map(str, out[:5])) + ", …" * (len(out) > 5)
                         + " (the first is row 0)")
        for i in out:
            del kept[i]
    return pd.DataFrame(list(kept.values()), columns=_names(names, report),
                        index=np.array([*kept], int), dtype=object)


def _rows(text, dialect, **options):
    """Return the cells of each line that is not empty."""
    return [row for row in csv.reader(io.StringIO(text), **dialect, **options)
            if row and (len(row) > 1 or row[0].strip())]


def _lines_above(rows, target):
    """Return how many lines stand above the names.

    Titles have one cell at most, as Excel writes them, where the names fill theirs; and of two
    lines of names the target is in one.
    """
    words = [[" ".join(cell.split()) for cell in row] for row in rows[:12]]
    titles = next((i for i, row in enumerate(words) if sum(map(bool, row)) > 1), 0)
    if titles and len(words[titles]) > 2 and all(words[titles]) and not any(
            map(PLAIN.fullmatch, words[titles])):
        return titles
    if target is None or target in words[0]:
        return 0
    found = [i for i, row in enumerate(words) if target in row]
    return found[0] if len(found) == 1 and found[0] <= 5 and not any(
        PLAIN.fullmatch(word) and not YEAR.fullmatch(word) for word in words[found[0]]) else 0


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
        rows = _rows(text, dialect, quoting=csv.QUOTE_NONE)[first:]
    longer = [len(row) == width + 1 and not row[-1].strip() for row in rows]
    if any(longer) and rows[0][-1].strip():
        report.say(f"{count(sum(longer), 'row')} with a separator behind the last field: it is "
                   "left out.")
        rows = [row[:-1] if long else row for row, long in zip(rows, longer)]
    return rows


def _quotes_match(text, dialect):
    """Tell whether each quote that opens a field is closed before the next separator."""
    try:
        _rows(text, dialect, strict=True)
    except csv.Error:
        return False
    return True


def _names(names, report):
    """Return the names of the columns as text without blanks around, each once."""
    clean, seen = {}, Counter()
    every = {" ".join(str(given).split()) for given in names}
    for j, given in enumerate(names, 1):
        name = new = " ".join(str(given).strip("\ufeff").split()) or f"column{j}"
        while new in clean or new != name and new in every:
            seen[name] += 1
            new = f"{name}.{seen[name] + 1}"
        if new != name:
            report.say(f"is the name of more than one column; this one is called {new!r}.", name)
        elif not str(given).strip():
            report.say(f"Column {j} has no name and is called {new!r}.")
        clean[new] = str(given).strip("\ufeff")
    blanks = [new for new, given in clean.items() if given.strip() and given != given.strip()]
    if blanks:
        report.say(f"{listed(blanks)} {be(len(blanks))} written with blanks around in the table.")
    return list(clean)


def as_frame(frame, report):
    """Return a frame of pandas, of whatever kind its columns are."""
    if isinstance(frame, pd.DataFrame):
        frame = frame.copy(deep=False)
    elif hasattr(frame, "get_columns"):         # of polars
        frame = pd.DataFrame({column.name: column.to_list() for column in frame.get_columns()})
    elif hasattr(frame, "to_pandas") and hasattr(frame, "schema"):      # of Arrow
        frame = frame.to_pandas()
    else:
        raise ValueError(f"a {type(frame).__name__} is no table; give the path of a file, a pandas "
                         "or polars data frame, or a table of Arrow.")
    plain_index = isinstance(frame.index, pd.RangeIndex) or (
        frame.index.name is None and frame.index.dtype.kind in "iu")
    if not plain_index:
        report.say("The index of the frame is no feature and is left out.")
    frame.columns = _names([" ".join(map(str, name)) if isinstance(name, tuple) else name
                            for name in frame.columns], report)
    return frame.reset_index(drop=True)
