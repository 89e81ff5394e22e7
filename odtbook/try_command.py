"""The command ``odt try``: a table goes in, a notebook and a page with its tree come out."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from odtbook.files import to_write, write_whole
from odtbook.tables import BEGUN, is_file, printable, source_of
from odtbook.tables import FILES as TABLES
from odtlib.requirements import needs

TEMPLATE = Path(__file__).with_name("try_page.html.j2")
FILES = re.compile(r"<!-- odt try (\{.*\}) -->")      # what an earlier run wrote, by its endings
ENDINGS = (".ipynb", ".py", ".json", ".js", ".sql", ".dot", ".skops", ".onnx", "-card.txt")
REFUSALS = ("ValueError", "FileNotFoundError", "OSError", "ModuleNotFoundError")
PRINTED = ("read", "sentences", "worth", "how", "pays", "take")     # on the terminal, too


def add_parser(commands):
    """Add the command to the parser of ``odt``."""
    parser = commands.add_parser(
        "try", help="the optimal tree of a table of your own, on one page",
        description="Read a table, find its optimal tree, and write one page that opens without a "
        "network, with the notebook that made it, to change and run again: what was read, the "
        "tree, what is proved, what it is worth on new rows beside CART, linear models, a forest "
        "and boosting, how stable it is, and whom it gets wrong. The tree is written beside it in "
        "forms that other programs read. The first run on a computer compiles for a minute.")
    parser.set_defaults(command=_try)
    add = parser.add_argument
    add("file", metavar="FILE", help="CSV, TSV, Excel, Parquet, Feather, Stata, ARFF, JSON lines: "
        "one row per case; - reads text from the standard input")
    add("--target", metavar="COLUMN", help="what to predict (default: the last)")
    add("--task", choices=["classification", "regression"],
        help="what the target is (default: decided from its values)")
    add("--drop", metavar="COLUMN", action="append", default=[],
        help="leave a column out; may be given several times")
    add("--groups", metavar="COLUMN", help="rows of one value belong together: they are never both "
        "learned from and tested on")
    add("--cost", metavar="CLASS=COST", action="append", default=[],
        help="what a mistake on a row of this class costs, yes=5 (others: 1)")
    add("--class-weight", metavar="CLASS=WEIGHT", action="append", default=[],
        help="weight of a class, yes=5 (others: 1); or balanced")
    add("--metric", choices=["accuracy", "balanced accuracy", "cost"],
        help="what counts (default: balanced accuracy where a class has less than 20 %% of the "
        "rows)")
    add("--depth", type=int, metavar="D", help="depth of the tree (default: up to 4, chosen)")
    add("--leaves", type=int, metavar="L", help="most leaves of the tree")
    add("--seed", type=int, default=0, metavar="S", help="of all random choices (default: 0)")
    add("--time", type=float, default=60.0, metavar="SECONDS",
        help="about how long it may take (default: 60)")
    add("--output", metavar="PAGE.html",
        help="where to write (default: FILE-tree.html in this folder)")


def _by_class(option, pairs):
    """Return {class: number} from texts such as yes=5; a class may hold an equals sign."""
    if option == "--class-weight" and pairs == ["balanced"]:
        return "balanced"
    found = {}
    for pair in pairs:
        label, _, number = pair.rpartition("=")
        if label in found:
            raise ValueError(f"{option} gives {label} twice; give it once.")
        try:
            found[label] = float(number)
        except ValueError:
            label = ""
        if not label:
            raise ValueError(f"{option} {pair} is not CLASS=NUMBER, such as yes=5.")
    return found


def _try(options):
    begun = time.time()
    for package in ("pandas", "matplotlib", "papermill", "nbconvert"):
        if find_spec(package) is None:      # the notebook's process alone loads what computes
            needs(package, "tables", "odt try")

    def say(line):
        print(printable(f"odt try: {time.time() - begun:5.1f} s  {line}"), file=sys.stderr,
              flush=True)

    with source_of(options.file) as source:
        if is_file(source) and not source.exists():
            raise FileNotFoundError(2, "there is no such file", str(source))
        stem = "table" if options.file == "-" else TABLES.sub("", Path(options.file).name)
        page = Path(options.output or f"{stem}-tree.html")
        if page.suffix != ".html":
            raise ValueError(f"--output {page} is no page; give a name that ends in .html.")
        to_write(page)
        parameters = {
            "dataset": str(source), "target": options.target, "task": options.task,
            "drop": options.drop, "groups": options.groups,
            "cost": _by_class("--cost", options.cost),
            "class_weight": _by_class("--class-weight", options.class_weight) or None,
            "metric": options.metric, "max_depth": options.depth,
            "max_leaf_nodes": options.leaves, "seed": options.seed, "time": options.time,
            "output": str(page.with_suffix(""))}
        _keep_others(page, source, say)
        say(f"running the notebook on {options.file}")
        os.environ[BEGUN] = str(begun)
        try:
            with TemporaryDirectory() as folder:
                notebook, unusable = _executed({**parameters, "output": str(
                    Path(folder) / page.stem)})
                files = {path.name.removeprefix(page.stem): path.read_bytes()
                         for path in Path(folder).iterdir()}
        finally:
            del os.environ[BEGUN]
    from papermill.parameterize import parameterize_notebook
    of = f"{options.target}: the" if options.target else "The"
    _write(page, parameterize_notebook(notebook, parameters), files,
           f"{of} optimal tree of {Path(options.file).name}", unusable)
    for cell in notebook.cells:
        if cell.get("id") in PRINTED:
            for output in cell.outputs:
                print(printable(output.get("data", {}).get("text/plain", "")))
    print(printable(f"{page}: open it in a browser; {page.stem}.ipynb has what made it"))
    return 0


def _keep_others(page, source, say):
    """Refuse to replace what an earlier page did not bring along, or what changed since."""
    earlier = FILES.search(page.read_text("utf-8", "replace")) if page.is_file() else None
    marks = json.loads(earlier[1]) if earlier else {}
    if earlier:
        say(f"{page} of an earlier run will be replaced, and what stands beside it")
    for end in (page.suffix, *ENDINGS):
        path = Path(f"{page.with_suffix('')}{end}")
        if not path.exists():
            continue
        ours = earlier if path == page else path.is_file() and \
            marks.get(end) == _mark(path.read_bytes())
        if path.resolve() == Path(source).resolve() or not ours:
            raise ValueError(f"{path} exists, and is not as an earlier odt try wrote it; move it, "
                             "or give another --output.")


def _breaking(table):
    """Return a table of HTML whose long words can be broken, so that its numbers stay in sight."""
    return re.sub(r"(?<=<t[hd]>)[^<]+", lambda cell: re.sub(
        r"[^\s&;]{15,}", lambda word: re.sub(".{7}", r"\g<0><wbr>", word[0]), cell[0]), table)


def _mark(content):
    return hashlib.sha256(content).hexdigest()


def _executed(parameters):
    """Return the notebook with its outputs, and why no tree can be learned, or nothing.

    Where none can be, it is the first part of the notebook.
    """
    import nbformat

    from odtbook.experiments.book import folder
    from odtbook.experiments.notebooks import close_kernel, execute_notebook
    template = nbformat.read(folder() / "own_data.ipynb", as_version=4)
    try:
        answer = execute_notebook(template, parameters)
    finally:
        close_kernel()
    notebook = nbformat.reads(answer["notebook"], as_version=4)
    kind, _, error = (answer["error"] or "").partition(": ")
    if kind == "Unusable":
        first = [cell.id for cell in template.cells[:4]]
        notebook.cells = [cell for cell in notebook.cells if cell.id in first
                          or "injected-parameters" in cell.metadata.get("tags", ())]
    elif kind:
        raise ValueError(re.sub(r"^\[Errno \d+\] ", "", error) if kind in REFUSALS else
                         answer["error"])
    for cell in notebook.cells:     # notices of compiling, and the empty parameters of the template
        cell.get("outputs", [])[:] = [output for output in cell.get("outputs", ())
                                      if output.output_type != "stream"]
    return notebook, error


def _write(page, notebook, files, title, lead):
    """Write the page and what stands beside it in place of what an earlier run wrote.

    The page names the others by their marks, and comes first: ended midway, this leaves nothing
    that the next run does not know as its own.
    """
    import nbformat
    from nbconvert import HTMLExporter
    files[".ipynb"] = nbformat.writes(notebook).encode()
    text, _ = HTMLExporter(raw_template=TEMPLATE.read_text("utf-8")).from_notebook_node(
        notebook, {"odt": {
            "title": printable(title), "lead": printable(lead),
            "files": json.dumps({end: _mark(content) for end, content in files.items()}),
            "width": lambda svg: float(re.search(r'width="([\d.]+)pt"', svg)[1]),
            "breaking": _breaking}})
    for end in ENDINGS:
        Path(f"{page.with_suffix('')}{end}").unlink(missing_ok=True)
    for end, content in {page.suffix: text, **files}.items():
        write_whole(Path(f"{page.with_suffix('')}{end}"), content)
