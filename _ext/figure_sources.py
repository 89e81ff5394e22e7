"""Say under each figure, and each table made from records, how a reader makes it again.

Nothing is written by hand: which records a cell depends on is read off the code of its notebook.
"""

from __future__ import annotations

import ast
import json
import posixpath
import re
import tomllib
from functools import cache
from html import escape
from pathlib import Path

from docutils import nodes

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENTS = ROOT / "chapters" / "experiments"
LOADS = frozenset({"load_records", "execute"})   # their first argument names an experiment
ITEM = re.compile(r"[a-z]+\d{4} [TF]\d+\w*")     # a published table or figure: "firat2020 T7"


@cache
def templates():
    """Return the template of every experiment."""
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8"))["template"]
            for path in EXPERIMENTS.glob("*.toml")}


def texts_in(node):
    return {part.value for part in ast.walk(node)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def own_sources(statement, functions, loads=LOADS):
    """Return the experiments and published items that the calls of a statement name."""
    found, texts = set(), texts_in(statement)
    for call in ast.walk(statement):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        found |= functions.get(name, set())
        if name == "yardstick":                         # the optima over all thresholds
            found.add("continuous")
        if name in loads and call.args:
            named = texts_in(call.args[0]) or texts
            found |= named & set(templates())
        if name in ("side_by_side", "cells_of"):
            found |= {text for text in texts if ITEM.fullmatch(text)}
    return found


def study_functions(module):
    """Return the sources of the functions of a module of ``odtbook.studies``."""
    file = ROOT / "odtbook" / "studies" / f"{module}.py"
    functions = {}
    if file.exists():
        for statement in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.FunctionDef):
                functions[statement.name] = own_sources(statement, functions)
    return functions


def inner_names(node):
    """Return the names that exist only inside functions and comprehensions of a statement."""
    names = set()
    for part in ast.walk(node):
        if isinstance(part, ast.arguments):
            names |= {a.arg for a in (*part.posonlyargs, *part.args, *part.kwonlyargs)}
        elif isinstance(part, ast.comprehension):
            names |= {n.id for n in ast.walk(part.target) if isinstance(n, ast.Name)}
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        names |= {n.id for n in ast.walk(node)
                  if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names


def changed_name(statement):
    """Return the name of an object that a call or an assignment to a part of it changes."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        part = statement.value.func
        if isinstance(part, ast.Name):
            return None                                 # a function, such as print
    elif isinstance(statement, ast.Assign | ast.AugAssign):
        part = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    else:
        return None
    while isinstance(part, ast.Attribute | ast.Subscript | ast.Call):
        part = part.func if isinstance(part, ast.Call) else part.value
    return part.id if isinstance(part, ast.Name) else None


class Flow:
    """What the names of a notebook depend on, statement after statement."""

    def __init__(self):
        self.known, self.functions, self.loads = {}, {}, set(LOADS)

    def read(self, node):
        """Return what an expression or statement depends on."""
        inner = inner_names(node)
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)
                 and isinstance(n.ctx, ast.Load)} - inner
        return own_sources(node, self.functions, self.loads).union(
            *(self.known.get(name, ()) for name in names))

    def run(self, statements, above=frozenset()):
        """Follow statements; return what they depend on, with what the loop around them does."""
        total = set()
        for statement in statements:
            if isinstance(statement, ast.ImportFrom) and statement.module == "odtbook.studies":
                for alias in statement.names:
                    self.functions |= study_functions(alias.name)
            blocks = [getattr(statement, name) for name in ("body", "orelse", "finalbody")
                      if isinstance(getattr(statement, name, None), list)]
            if isinstance(statement, ast.For | ast.While | ast.If | ast.With | ast.Try):
                heads = [statement.iter] if isinstance(statement, ast.For) else [
                    item.context_expr for item in getattr(statement, "items", ())] or [
                    getattr(statement, "test", ast.Constant(None))]
                found = set(above).union(*map(self.read, heads))
                if isinstance(statement, ast.For):
                    self.write(statement.target, found)
                for block in (*blocks, *(h.body for h in getattr(statement, "handlers", ()))):
                    found |= self.run(block, found)
            else:
                found = self.read(statement) | set(above)
                if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                    self.known[statement.name] = found
                    if any(getattr(call.func, "attr", "") in LOADS
                           and not texts_in(call.args[0]) for call in ast.walk(statement)
                           if isinstance(call, ast.Call) and call.args):
                        self.loads.add(statement.name)
                else:
                    self.write(statement, found)
                name = changed_name(statement)
                if name in self.known:
                    self.known[name] = self.known[name] | found
            total |= found
        return total

    def write(self, node, found):
        inner = inner_names(node)
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) \
                    and part.id not in inner:
                self.known[part.id] = set(found)


def sources_of_cells(sources):
    """Return what each cell of a notebook depends on.

    Parameters
    ----------
    sources : list of str
        The code of the cells, in order; "" for a cell of text.

    Returns
    -------
    list of set of str
        Names of experiments, and items of the papers such as ``"firat2020 T7"``, that the values
        in a cell were made from, by way of any names.
    """
    flow = Flow()
    return [flow.run(ast.parse("\n".join(
        line for line in source.splitlines() if line[:1] not in "%!")).body)
        for source in sources]


def shows(container):
    """Return "figure" or "table" for what the output of a cell holds, else None."""
    for output in container.findall(nodes.container):
        if output.get("nb_element") != "cell_code_output":
            continue
        if any(output.findall(nodes.image)):
            return "figure"
        for raw in output.findall(nodes.raw):
            if "<table" in raw.astext():
                return "table"
    return None


def fold(kind, page, cell, found, quick):
    """Return the fold, as HTML, that says how a figure or table is made."""
    name = posixpath.basename(page)
    above = "../" * page.count("/")
    anew, about = [], []
    for experiment in sorted(found & set(templates())):
        row = f"running.html#template-{templates()[experiment]}".replace("_", "-")
        table = posixpath.relpath("chapters/experiments", posixpath.dirname(page))
        about.append(f'<a href="{table}/{row}">'
                     f"{escape(experiment)}</a>")
        anew.append(f"odt run {experiment}")
    lines = [f'odt report --claim "{item}"' for item in sorted(found - set(templates()))]
    if quick:
        lines += [f"odt new mine --from {name}", "odt run mine"]
    records = (f", from the records of the experiment{'s' * (len(about) > 1)} {', '.join(about)}"
               if about else "")
    commands = f"<pre>{escape(chr(10).join(lines))}</pre>" if lines else ""
    if anew:
        commands += ("<p>The records are in the repository. These commands make them anew, and say "
                     f"beforehand how long that takes:</p><pre>{escape(chr(10).join(anew))}</pre>")
    return (f'<details class="odt-source"><summary>How this {kind} is made</summary>'
            f'<p>By the cell <code>{escape(cell)}</code> of <a href="{above}_sources/{page}.ipynb">'
            f"{escape(name)}.ipynb</a>{records}.</p>{commands}</details>")


def add_folds(app, doctree):
    """Put a fold below each figure, and below each table that depends on records."""
    page = app.env.docname
    file = ROOT / f"{page}.ipynb"
    if not file.exists():
        return
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) if cell["cell_type"] == "code" else "" for cell in cells]
    found = sources_of_cells(code)
    quick = any("parameters" in cell["metadata"].get("tags", ()) and "quick =" in source
                for cell, source in zip(cells, code))
    for container in doctree.findall(nodes.container):
        if container.get("nb_element") == "cell_code":
            at, kind = container["cell_index"], shows(container)
            if kind == "figure" or kind and found[at]:
                container += nodes.raw("", fold(kind, page, cells[at]["id"], found[at], quick),
                                       format="html")


def setup(app):
    app.connect("doctree-read", add_folds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
