"""What the code of a notebook depends on: the statements behind a cell, and their records.

A cell's program is the part of its notebook that its values are made by. ``odt figure`` draws a
figure by running the program of its cell; the book names the experiments that the program reads.
"""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache

from odtbook.experiments.book import PACKAGE, folder

LOADS = frozenset({"load_records", "execute"})   # their first argument names an experiment
ITEM = re.compile(r"[a-z]+\d{4} [TF]\d+\w*")     # a published table or figure: "firat2020 T7"
# Functions that only show something, and methods that change their object.
SHOWING = frozenset({"print", "display", "check", "glue"})
CHANGING = frozenset({"fit", "pop", "append", "extend", "add", "update", "insert", "remove",
                      "setdefault", "sort"})
SETTINGS = re.compile(r"\.(rc\w*|use|set_option)\b")
SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@cache
def templates():
    """Return the template of every experiment."""
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8"))["template"]
            for path in folder().glob("*.toml")}


def code_of(notebook):
    """Return the code of the cells of a notebook, in order; "" for a cell of text."""
    return ["".join(cell["source"]) if cell["cell_type"] == "code" else ""
            for cell in notebook["cells"]]


def parsed(source):
    """Return the statements of a cell, whose magics are left out."""
    return ast.parse("\n".join("" if line[:1] in ("%", "!") else line
                               for line in source.splitlines())).body


class Program:
    """The statements of a notebook, and what each reads and writes.

    Parameters
    ----------
    sources : list of str
        From :func:`code_of`.
    """

    def __init__(self, sources):
        self.statements = [(at, statement) for at, source in enumerate(sources)
                           for statement in parsed(source)]
        # What a function reads counts wherever its name is read; a generator of random numbers
        # changes with every use, and so may an object of a class of the notebook.
        self.free, self.generators, self.modules = {}, set(), set()
        classes = {statement.name for _, statement in self.statements
                   if isinstance(statement, ast.ClassDef)}
        for _, statement in self.statements:
            for part in ast.walk(statement):
                if isinstance(part, ast.FunctionDef | ast.ClassDef):
                    self.free.setdefault(part.name, set()).update(_read(part))
                elif isinstance(part, ast.Import | ast.ImportFrom):
                    self.modules |= _stored(part)
            if isinstance(statement, ast.Assign) and (
                    "default_rng" in ast.dump(statement.value)
                    or isinstance(statement.value, ast.Call)
                    and _root(statement.value) in classes):
                self.generators |= _stored(statement)

    def behind(self, cell):
        """Return pairs (number of the cell, statement): a cell's own and those it depends on."""
        found, needed = [], set()
        for at, statement in reversed(self.statements):
            if at > cell:
                continue
            read, bound = _flow([statement])
            written = (_stored(statement) | self.generators & read
                       | _changed(statement, self.modules))
            if at == cell or written & needed:
                found.append((at, statement))
                needed = needed - bound | self.with_functions(read)
        return found[::-1]

    def with_functions(self, read):
        """Return names, with those that the functions among them read."""
        names, waiting = set(), list(read)
        while waiting:
            name = waiting.pop()
            if name not in names:
                names.add(name)
                waiting += self.free.get(name, ())
        return names

    def sources(self, cell):
        """Return the experiments and published items that the values of a cell were made from."""
        return sources_of([statement for _, statement in self.behind(cell)])


def sources_of(statements):
    """Return the experiments and published items that statements name, in their order."""
    functions, loads, found = {}, set(LOADS), set()
    for statement in statements:
        if isinstance(statement, ast.ImportFrom) and statement.module == "odtbook.studies":
            for alias in statement.names:
                functions |= study_functions(alias.name)
        if isinstance(statement, ast.FunctionDef) and any(
                getattr(call.func, "attr", "") in LOADS and not _texts(call.args[0])
                for call in ast.walk(statement) if isinstance(call, ast.Call) and call.args):
            loads.add(statement.name)
        found |= _named(statement, functions, loads)
    return found


@cache
def study_functions(module):
    """Return the sources of the functions of a module of ``odtbook.studies``."""
    file = PACKAGE / "studies" / f"{module}.py"
    functions = {}
    if file.exists():
        for statement in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.FunctionDef):
                functions[statement.name] = _named(statement, functions, LOADS)
    return functions


def _named(statement, functions, loads):
    """Return the sources that the calls of one statement name."""
    found, texts = set(), _texts(statement)
    for call in ast.walk(statement):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        found |= functions.get(name, set())
        if name == "yardstick":                         # the optima over all thresholds
            found.add("continuous")
        if name in loads and call.args:
            found |= (_texts(call.args[0]) or texts) & set(templates())
        if name in ("side_by_side", "cells_of"):
            found |= {text for text in texts if ITEM.fullmatch(text)}
    return found


def _texts(node):
    return {part.value for part in ast.walk(node)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def _own(node):
    """Return the names that exist only inside a function, a comprehension, or parts of them."""
    names, outer = set(), set()
    for part in ast.walk(node):
        if isinstance(part, ast.arguments):
            names |= {a.arg for a in (*part.posonlyargs, *part.args, *part.kwonlyargs,
                                      *filter(None, (part.vararg, part.kwarg)))}
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
        elif isinstance(part, ast.Global):
            outer |= set(part.names)
    return names - outer


def _flow(statements):
    """Return the names that statements read from before them, and those that they surely bind."""
    read, bound = set(), set()
    for statement in statements:
        sure = set()
        if isinstance(statement, ast.With):
            inner, sure = _flow(statement.body)
            own = set().union(*map(_stored, statement.items))
            here = set().union(*map(_read, statement.items)) | inner - own
            sure = sure | own
        elif isinstance(statement, ast.For):
            here = _read(statement.iter) | _flow(statement.orelse)[0] | (
                _flow(statement.body)[0] - _stored(statement.target))
        elif isinstance(statement, ast.If):
            here = _read(statement.test).union(
                *(_flow(part)[0] for part in (statement.body, statement.orelse)))
        else:
            here = _read(statement)
            if isinstance(statement, ast.Assign | ast.AnnAssign | ast.FunctionDef | ast.ClassDef
                          | ast.Import | ast.ImportFrom):
                sure = _stored(statement)
        read |= here - bound
        bound |= sure
    return read, bound


def _read(node):
    """Return the names that a statement reads, without those of its inner scopes."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    names = set().union(*map(_read, ast.iter_child_nodes(node)))
    if isinstance(node, ast.AugAssign):
        names |= _stored(node)
    return names - _own(node) if isinstance(node, SCOPES) else names


def _stored(node):
    """Return the names that a statement binds, without those of its inner scopes."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(node, SCOPES):
        return set()
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    return set().union(*map(_stored, ast.iter_child_nodes(node)))


def _changed(statement, modules):
    """Return the names of objects that a statement changes, or that it hands to a function.

    Of an imported module only the settings can change.
    """
    names = set()
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return names
    for part in ast.walk(statement):
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            root = _root(part.value.func)
            if not isinstance(part.value.func, ast.Name) and root not in modules:
                names.add(root)
            elif SETTINGS.search(ast.unparse(part.value.func)):
                names.add(root)
            elif root not in SHOWING:
                names |= {a.id for a in part.value.args if isinstance(a, ast.Name)}
        elif isinstance(part, ast.Call) and getattr(part.func, "attr", "") in CHANGING:
            names |= {_root(part.func)} - modules
        elif isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store):
            names.add(_root(part))
    return names - {None}


def _root(part):
    """Return the name that an attribute, an item or a call begins with, or None."""
    while isinstance(part, ast.Attribute | ast.Subscript | ast.Call):
        part = part.func if isinstance(part, ast.Call) else part.value
    return part.id if isinstance(part, ast.Name) else None
