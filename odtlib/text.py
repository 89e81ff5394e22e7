"""How numbers, names and labels are written: one function for each language that reads them."""

from __future__ import annotations

import html as _html
import json as _json


def number_text(number):
    """Write a number in the shortest form that reads back as the same."""
    return repr(float(number)).removesuffix(".0")


def short_text(number, digits=6):
    """Write a number rounded to so many digits, or to a whole one where it has more before 1e16."""
    text = f"{number:.{digits}g}"
    return f"{number:.0f}" if "e+" in text and abs(number) < 1e16 else text


def threshold_text(threshold, low, high):
    """Write a threshold with as many digits as separate its two neighbours well."""
    for digits in range(4, 18):
        text = short_text(threshold, digits)
        error = abs(float(text) - threshold)
        if low <= float(text) < high and (error <= 0.05 * high - 0.05 * low or error == 0):
            break
    return text


def visible(text):
    """Write a text so that it stays on its line: what does not print becomes an escape.

    Line ends, NUL, escape sequences of a terminal and marks that turn the direction of writing are
    among these.
    """
    text = str(text)
    return text if text.isprintable() else "".join(
        sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def html(text):
    """Write a text for a page."""
    return _html.escape(visible(text))


def html_lines(text):
    """Write lines of text for a page."""
    return "\n".join(map(html, text.split("\n")))


def dot(text):
    """Write a text as a label of Graphviz, which reads backslashes and HTML's entities in it."""
    for sign, instead in (("\\", "\\\\"), ('"', '\\"'), ("&", "&amp;")):
        text = text.replace(sign, instead)
    return f'"{text}"'


def json(value):
    """Write a value as JSON that may stand in a script of a page."""
    text = _json.dumps(value, allow_nan=False)
    return text.replace("</", "<\\/").replace("<!", "\\u003c!")


def javascript(value):
    """Write a value for a program of JavaScript; ValueError for whole numbers that it rounds."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, int) and abs(one) > 2 ** 53:
            raise ValueError(f"JavaScript rounds the number {one}; make such labels and "
                             "categories text.")
    return json(value)


def python(value):
    """Write text, numbers, truth values and lists of them as Python reads them, in ASCII."""
    return ascii(value)


def sql(value):
    """Write text, a number or a truth value as a literal of SQL."""
    if isinstance(value, bool):
        return str(value).upper()
    if not isinstance(value, str):
        return repr(value)
    parts = [f"'{part}'" for part in value.replace("'", "''").split("\0")]
    return parts[0] if len(parts) == 1 else f"({' || CHAR(0) || '.join(parts)})"


def sql_name(name):
    """Write the name of a column of SQL, or its number; ValueError where SQL has no form for it."""
    name = f"x{name}" if isinstance(name, int) else name
    if "\0" in name:
        raise ValueError(f"SQL has no form for the column name {name!r}; rename the column.")
    return '"' + name.replace('"', '""') + '"'
