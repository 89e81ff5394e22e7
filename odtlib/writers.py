"""Write a tree as a program that needs no package: Python, JavaScript, SQL.

All ask the same questions (:class:`odtlib.columns.Question`) in the same order: a leaf on the
yes-side of a question comes before those on its no-side, which need not ask it again.  Names,
labels and categories reach a program as literals only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf
from typing import NamedTuple

from odtlib import text as _text

DEEPEST = 40        # indentations in a function; what lies deeper is a function of its own


class Language(NamedTuple):
    """How a language writes literals, questions and steps; ``@WORD@`` is filled in."""

    literal: Callable
    name: Callable
    missing: str            # the value is missing
    at_most: str            # a number is at most another; no where it is missing
    at_most_or_missing: str
    among: str              # a category is one of some; no where it is missing
    among_or_missing: str
    either: str             # between questions, one of which is a yes
    indent: str = ""
    test: str = ""          # what follows is for a yes
    end: str = ""           # of what is for a yes
    leaf: str = ""
    call: str = ""          # of the function for a node far down
    function: str = ""      # its head
    refuse: str = ""        # what becomes of a row without a value that the tree needs
    column: str = ""        # a column, and what it holds
    classes: str = ""
    answer: str = ""        # of a leaf: prediction and shares
    program: str = ""
    shares: str = ""        # more of the program, for classes


PYTHON = Language(
    _text.python, _text.python, "_word(row[@NAME@]) is None", "_number(row[@NAME@]) <= @VALUE@",
    "not _number(row[@NAME@]) > @VALUE@", "_word(row[@NAME@]) in [@VALUE@]",
    "_word(row[@NAME@]) in [None, @VALUE@]", " or ", "    ", "if @TEST@:", "", "return @NODE@",
    "return _leaf_@NODE@(row)", "\n\ndef _leaf_@NODE@(row):",
    'raise ValueError("a value is missing that the tree needs")', "@NAME@: @WORDS@",
    "CLASSES = @VALUE@\n", "(@VALUE@, @SHARES@)", '''\
"""A decision tree, written by odtlib; it needs no package.

A row is a dict of the columns below; None and NaN are missing values.
"""

COLUMNS = {
@COLUMNS@}
@CLASSES@
# What the rows of each leaf get@WHAT@.
LEAVES = [
@LEAVES@]


def _word(value):
    missing = value is None or type(value).__name__ == "NAType" or value != value
    return None if missing else value


def _number(value):
    return float("nan") if _word(value) is None else float(value)


def leaf(row):
    """Return the position in LEAVES of a row."""
@BODY@

def predict(row):
    """Return the prediction for a row."""
    return LEAVES[leaf(row)]@FIRST@
''', '''

def predict_proba(row):
    """Return a dict with the share of each class among the training rows of the leaf."""
    return dict(zip(CLASSES, LEAVES[leaf(row)][1]))
''')

JAVASCRIPT = Language(
    _text.javascript, _text.json, "word(row[@NAME@]) === null", "number(row[@NAME@]) <= @VALUE@",
    "!(number(row[@NAME@]) > @VALUE@)", "[@VALUE@].includes(word(row[@NAME@]))",
    "[null, @VALUE@].includes(word(row[@NAME@]))", " || ", "  ", "if (@TEST@) {", "}",
    "return @NODE@;", "return leaf@NODE@(row);", "}\n\nfunction leaf@NODE@(row) {",
    'throw new Error("a value is missing that the tree needs");', "[@NAME@, @WORDS@]",
    "const CLASSES = @VALUE@;\n", "[@VALUE@, @SHARES@]", '''\
"use strict";
// A decision tree, written by odtlib; it needs no package.
// A row is an object of the columns below; null, undefined and NaN are missing values.

const COLUMNS = [
@COLUMNS@];
@CLASSES@
// What the rows of each leaf get@WHAT@.
const LEAVES = [
@LEAVES@];

function word(value) {
  return value === undefined || Number.isNaN(value) ? null : value;
}

function number(value) {
  if (word(value) === null) return NaN;
  const read = String(value).trim() === "" ? NaN : Number(value);
  if (Number.isNaN(read)) throw new TypeError("no number: " + value);
  return read;
}

// The position in LEAVES of a row.
function leaf(row) {
@BODY@}

// The prediction for a row.
function predict(row) {
  return LEAVES[leaf(row)]@FIRST@;
}

const tree = { COLUMNS, leaf, predict };
if (typeof module !== "undefined") module.exports = tree;
''', '''
// The share of each class, in the order of CLASSES, among the training rows of the leaf.
function predictProba(row) {
  return LEAVES[leaf(row)][1];
}

Object.assign(tree, { CLASSES, predictProba });
''')

SQL = Language(
    _text.sql, _text.sql_name, "@NAME@ IS NULL", "@NAME@ <= @VALUE@",
    "(@NAME@ <= @VALUE@ OR @NAME@ IS NULL)", "@NAME@ IN (@VALUE@)",
    "(@NAME@ IN (@VALUE@) OR @NAME@ IS NULL)", " OR ")


def program(tree, language, units=None):
    """Return a tree as a program; ``units`` says more of some columns, by their names."""
    questions, keys, labels = _asked_and_said(tree)
    literal, tab = language.literal, language.indent
    body, leaves = [], []
    if (lost := _lost(questions, keys, language)) is not None:
        body += [tab + filled(language.test, TEST=lost), 2 * tab + language.refuse,
                 tab + language.end]
    for begin, steps in _functions(questions):
        if begin:
            body.append(filled(language.function, NODE=str(begin)))
        for level, kind, node in steps:
            parts = {"NODE": str(node)}
            if kind == "test":
                parts["TEST"] = _asked(questions[node], keys, language)
            elif kind == "leaf":
                parts["NODE"] = str(len(leaves))
                leaves.append(node)
            body.append(tab * (level + 1) + filled(getattr(language, kind), **parts))
    if labels is None:
        values = [row if len(row) > 1 else row[0] for row in tree.value.tolist()]
        answers = [literal(values[node]) for node in leaves]
    else:
        shares = tree._probabilities().tolist()
        answers = [filled(language.answer, VALUE=literal(labels[tree.label[node]]),
                          SHARES=literal(shares[node])) for node in leaves]
    columns = [filled(language.column, NAME=literal(key), WORDS=literal(words))
               for key, words in _described(tree, keys, units or {})]
    return filled(
        language.program + ("" if labels is None else language.shares),
        COLUMNS="".join(f"{tab}{line},\n" for line in columns),
        CLASSES="" if labels is None else filled(language.classes, VALUE=literal(labels)),
        WHAT="" if labels is None else ": the prediction, and the share of each class",
        LEAVES="".join(f"{tab}{answer},\n" for answer in answers),
        BODY="".join(f"{line}\n" for line in body if line.strip()),
        FIRST="" if labels is None else "[0]")


def sql(tree, output=None):
    """Return a tree as a CASE of SQL, whose values are those of ``output``."""
    questions, keys, labels = _asked_and_said(tree)
    if labels is None:
        number = 0 if output is None else output
        if isinstance(number, bool) or number not in range(tree.value.shape[1]):
            raise ValueError(f"output is {output!r}; give the number of a target, from 0 to "
                             f"{tree.value.shape[1] - 1}.")
        answers = tree.value[:, number].tolist()
    elif output is None:
        answers = [labels[label] for label in tree.label]
    else:
        if output not in tree.classes.tolist():
            raise ValueError(f"output is {output!r}; give the class whose share is wanted.")
        answers = tree._probabilities()[:, tree.classes.tolist().index(output)].tolist()
    lines = ["CASE"]
    if (lost := _lost(questions, keys, SQL)) is not None:
        lines.append(f"  WHEN {lost} THEN NULL")
    stack = [(0, ())]
    while stack:
        node, tests = stack.pop()
        if node in questions:
            asked = _asked(questions[node], keys, SQL)
            stack += [(questions[node].no, tests), (questions[node].yes, (*tests, asked))]
        else:
            condition = f"WHEN {' AND '.join(tests)} THEN" if tests else "ELSE"
            lines.append(f"  {condition} {_text.sql(answers[node])}")
    if len(lines) == 2:
        return lines[1].removeprefix("  ELSE ")
    return "\n".join([*lines, "END"])


def _asked_and_said(tree):
    """Return questions, columns and labels; ValueError where one of them cannot be written."""
    tree._refuse_lines("a program")
    if tree.columns is not None:
        tree.columns.to_plain()
    return tree.questions(), tree._table_columns(), tree._written_labels()


def filled(template, **parts):
    """Return a template with its parts, which are not looked through for others."""
    return re.sub("@([A-Z]+)@", lambda match: parts[match[1]], template)


def _asked(question, keys, language):
    name = language.name(keys[question.column])
    if question.members is None:
        if question.high == -inf:
            return filled(language.missing, NAME=name)
        form = language.at_most_or_missing if question.gap else language.at_most
        return filled(form, NAME=name, VALUE=language.literal(question.high))
    form = language.among_or_missing if question.gap else language.among
    return filled(form, NAME=name, VALUE=", ".join(map(language.literal, question.members)))


def _lost(questions, keys, language):
    """Return the question whether a value is missing that the tree refuses to miss, or None."""
    needed = sorted({question.column for question in questions.values() if question.gap is None})
    return language.either.join(filled(language.missing, NAME=language.name(keys[column]))
                                for column in needed) or None


def _functions(questions):
    """Yield the first node of each function, and its steps: level, kind and node of each."""
    begins = [0]
    for begin in begins:
        steps, stack = [], [(0, "test", begin)]
        while stack:
            level, kind, node = stack.pop()
            if kind == "test" and node not in questions:
                kind = "leaf"
            elif kind == "test" and level == DEEPEST:
                kind = "call"
                begins.append(node)
            elif kind == "test":
                stack += [(level, "test", questions[node].no), (level, "end", node),
                          (level + 1, "test", questions[node].yes)]
            steps.append((level, kind, node))
        yield begin, steps


def _described(tree, keys, units):
    """Yield the columns of the table, and what each holds."""
    for column, key in enumerate(keys):
        known = tree.columns.categories.get(column) if tree.columns is not None else None
        words = "a number" if known is None else \
            f"a category: {', '.join(map(str, known))}; others count as none of them"
        yield key, f"{words}: {units[key]}" if key in units else words
