"""``odt figure``: draw one figure of the book, by the program of its cell."""

from __future__ import annotations

import ast
import contextlib
import csv
import json
import linecache
import os
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from odtbook.dependence import ITEM, Program, code_of
from odtbook.experiments.book import book_root, suggestion
from odtlib.requirements import needs

FORMATS = (".png", ".svg", ".pdf")
PLAIN = (bool, int, float, str)


@dataclass(frozen=True)
class Figure:
    """A figure of the book: the cell of a notebook that draws it.

    ``number`` is that of the built book, as in "Fig. 5.4", or "Fig. 3" outside its chapters.
    """

    name: str
    number: str
    page: Path
    cell: str
    caption: str

    @cached_property
    def code(self):
        """The cells of its notebook."""
        return code_of(json.loads(self.page.read_text(encoding="utf-8")))

    @cached_property
    def at(self):
        """The number of its cell."""
        cells = json.loads(self.page.read_text(encoding="utf-8"))["cells"]
        return [cell.get("id") for cell in cells].index(self.cell)

    @cached_property
    def program(self):
        """Pairs (number of the cell, statement): what draws it."""
        return Program(self.code).behind(self.at)

    @cached_property
    def sources(self):
        """The experiments and published tables that it is drawn from."""
        return Program(self.code).sources(self.at)

    @property
    def experiments(self):
        """The experiments whose records it is drawn from, sorted."""
        return sorted(name for name in self.sources if not ITEM.fullmatch(name))

    @cached_property
    def parameters(self):
        """The plain values that its program gives a name once, by that name."""
        found, seen = {}, []
        for _, statement in self.program:
            seen += [part.id for part in ast.walk(statement)
                     if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
            name = assigned(statement)
            if name:
                with contextlib.suppress(ValueError):
                    value = ast.literal_eval(statement.value)
                    if isinstance(value, PLAIN):
                        found[name] = value
        return {name: value for name, value in found.items() if seen.count(name) == 1}


def assigned(statement):
    """Return the one name that a statement assigns to, or None."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 \
            and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None


def figures():
    """Return the figures of the book, in its order.

    The order is that of the menu, ``_toc.yml``. A figure has the number of its chapter's file and
    its place in the chapter and the pages below it; outside chapters, its place alone.
    """
    found, counts = [], {}
    for page in pages():
        chapter = page[0]
        for cell in json.loads(page[1].read_text(encoding="utf-8"))["cells"]:
            figure = cell["metadata"].get("mystnb", {}).get("figure")
            if figure:
                counts[chapter] = counts.get(chapter, 0) + 1
                number = f"{chapter}.{counts[chapter]}" if chapter else f"{counts[chapter]}"
                found.append(Figure(figure["name"], number, page[1], cell["id"],
                                    figure["caption"]))
    return found


def pages():
    """Return pairs (number of the chapter or None, notebook) in the order of the menu."""
    root, found, chapter = book_root(), [], None
    for line in (root / "_toc.yml").read_text(encoding="utf-8").splitlines():
        match = re.match(r"(root: | +- file: )(\S+)", line)
        if match:
            own = re.match(r"chapters/(\d+)_", match[2])
            below = match[1].startswith(" " * 10)
            chapter = int(own[1]) if own else chapter if below else None
            file = root / f"{match[2]}.ipynb"
            if file.is_file():
                found.append((chapter, file))
    return found


def find(wanted):
    """Return the figure with a number ("5.4") or name ("fig-ch5-switches", or "ch5-switches")."""
    known = {key: figure for figure in figures()
             for key in (figure.number, figure.name, figure.name.removeprefix("fig-"))}
    figure = known.get(re.sub(r"(?i)^fig(ure)?[. ]+", "", wanted))
    if figure is None:
        raise ValueError(f"the book has no figure {wanted!r}{suggestion(wanted, known)}; "
                         "`odt figure` lists all.")
    return figure


def draw(figure, changes=(), *, rerun=False, jobs=1, say=print):
    """Draw a figure.

    Parameters
    ----------
    figure : Figure
    changes : iterable of str, default=()
        ``"max_depth=3"``: a value of its program, or else of the experiments whose records it is
        drawn from; then it is drawn from the records that have this value.
    rerun : bool, default=False
        Make these records anew first, with the changes, in ``odt-results``.
    jobs : int, default=1
        Runs at a time.
    say : callable, optional
        Prints a line for the user.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib
    matplotlib.use("agg")
    from matplotlib import _pylab_helpers
    from matplotlib import pyplot as plt

    from odtbook.experiments.results import instead
    values, of_records = _sorted_changes(figure, changes)
    with instead(_narrowed(figure, of_records) if not rerun
                 else _made_anew(figure, changes, jobs, say)), plt.ion():
        # Interactive as in a notebook, where each change of a figure lays it out again.
        names = {"__name__": "__main__", "display": lambda *_: None}
        own = False
        for at, statement in figure.program:
            if at == figure.at and not own:
                plt.close("all")        # what the cells above have drawn
                own = True
            if (name := assigned(statement)) in values:
                names[name] = values[name]
            else:
                _run(figure, at, statement, names)
        # A notebook draws once after a cell, before it makes the image; a layout moves with each.
        _pylab_helpers.Gcf.draw_all()
    drawn = plt.get_fignums()
    if not drawn:
        raise RuntimeError(f"the cell {figure.cell} of {figure.page.name} drew nothing.")
    return plt.figure(drawn[0])


def _run(figure, at, statement, names):
    """Run a statement of a notebook as its kernel does."""
    file = f"{figure.page.name}, cell {at + 1}"
    linecache.cache[file] = (0, None, figure.code[at].splitlines(True), file)
    exec(compile(ast.Module([statement], []), file, "exec"), names)


def _sorted_changes(figure, changes):
    """Return the changed values of the program by name, and the changes of the records."""
    from odtbook.experiments import Experiment
    from odtbook.experiments.grid import literal
    recorded = {name for experiment in figure.experiments
                for name in Experiment(experiment).template.defaults}
    values, of_records = {}, []
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals or name not in {*figure.parameters, *recorded}:
            own = ", ".join(f"{n} = {v!r}" for n, v in figure.parameters.items()) or "none"
            raise ValueError(
                f"--set {change} changes nothing in figure {figure.number}"
                f"{suggestion(name, {*figure.parameters, *recorded})}; its own parameters: {own}; "
                f"those of its records: {', '.join(sorted(recorded)) or 'none'}.")
        if name in figure.parameters:
            default, value = figure.parameters[name], literal(text)
            if isinstance(default, str):
                value = text
            elif isinstance(default, float) and type(value) is int:
                value = float(value)
            if type(value) is not type(default):
                raise ValueError(f"--set {change}: {name} is {type(default).__name__} in figure "
                                 f"{figure.number}, like {default!r}.")
            values[name] = value
        else:
            of_records.append(change)
    return values, of_records


def _narrowed(figure, changes):
    """Return what replaces the records of each experiment: those that have the changed values."""
    from odtbook.experiments import load_records
    from odtbook.experiments.grid import text_of
    wanted = {}
    for change in changes:
        name, _, value = change.partition("=")
        wanted.setdefault(name, set()).add(value)
    tables = {}
    for experiment in figure.experiments if wanted else ():
        try:
            table = load_records(experiment)
        except ValueError:      # none yet: the page shows what there is
            continue
        for name, values in wanted.items():
            if name in table:
                table = table[[bool(text_of(value) & values) for value in table[name]]]
        tables[experiment] = table
    if wanted and not any(len(table) for table in tables.values()):
        raise ValueError(f"no record behind figure {figure.number} has {' and '.join(changes)}; "
                         "--rerun makes such records.")
    return tables


def _made_anew(figure, changes, jobs, say):
    """Return records made anew in place of those of each experiment of a figure."""
    from odtbook.experiments import Experiment, load_records, run_experiment
    from odtbook.experiments.runner import cost
    if not figure.experiments:
        raise ValueError(f"figure {figure.number} is drawn from no experiment's records"
                         + (f", but from {', '.join(sorted(figure.sources))}, which `odt report "
                            "--claim` explains" if figure.sources else
                            ": it is computed whenever it is drawn") + "; leave out --rerun.")
    own = {name: [change for change in changes
                  if change.partition("=")[0] in Experiment(name).template.defaults]
           for name in figure.experiments}
    say(f"figure {figure.number}: {cost(own, jobs)}")
    tables = {}
    for name, those in own.items():
        run_experiment(name, jobs=jobs, changes=those, apart=True, resume=True, say=say)
        tables[name] = load_records(Experiment(name, those, apart=True), changed=True)
    return tables


def save(drawn, file):
    """Write a figure as the notebooks show it."""
    drawn.savefig(file, dpi=drawn.dpi, bbox_inches="tight", facecolor=drawn.get_facecolor(),
                  edgecolor=drawn.get_edgecolor())


def seconds():
    """Return how many seconds each figure takes, by its name, as measured once."""
    with (book_root() / "data" / "figures.csv").open(encoding="utf-8") as file:
        return {row["figure"]: float(row["seconds"]) for row in csv.DictReader(file)}


def described(figure, taken):
    """Return the line of the list about a figure."""
    what = ("records: " + ", ".join(sorted(figure.sources)) if figure.sources
            else "computed as it is drawn")
    time = f"{taken[figure.name]:5.0f} s" if figure.name in taken else " " * 7
    return (f"{figure.number:8}{figure.name:26}{time}  {figure.page.stem:34}{what}")


def add_parser(commands):
    """Add ``odt figure`` to the command line."""
    parser = commands.add_parser(
        "figure", help="draw a figure of the book, from its records; list the figures",
        description="Draw a figure of the book: `odt figure 5.4` runs the code of the page that "
        "the figure is made by, and no more. Without a number it lists the figures, what they are "
        "drawn from, and the seconds that this takes. Pictures to play with exist on their pages "
        "only.")
    parser.set_defaults(command=run)
    parser.add_argument("figure", nargs="?", metavar="NUMBER",
                        help="as in the book (5.4), or the name of the figure")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes",
                        help="change a parameter of the figure's code, or show the records with "
                        "this value of a parameter (dataset=iris_uci); may be given several times")
    parser.add_argument("--rerun", action="store_true",
                        help="make the records anew first, with the values of --set; says "
                        "beforehand how long that takes")
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="runs at a time under --rerun, -1 for one per core (default: 1)")
    parser.add_argument("--out", metavar="FILE", help="where to write it, as .png, .svg or .pdf "
                        "(default: figure-NUMBER.png)")


def run(options):
    """Draw one figure, or list all."""
    needs("matplotlib", "plot", "odt figure")
    if options.figure is None:
        if options.changes or options.rerun or options.out:
            raise ValueError("say which figure to draw; `odt figure` lists all.")
        taken = seconds()
        print(f"{'number':8}{'name':26}{'time':>7}  {'page':34}drawn from")
        for figure in figures():
            print(described(figure, taken))
        print("\nPictures to play with are made by their pages, and are not in this list.")
        return 0
    needs("pandas", "plot", "odt figure")
    figure = find(options.figure)
    out = Path(options.out or f"figure-{figure.number}.png")
    if out.suffix.lower() not in FORMATS:
        raise ValueError(f"--out {out}: end the name with {', '.join(FORMATS)}.")
    if not out.parent.is_dir():
        raise ValueError(f"--out {out}: there is no folder {out.parent}.")
    taken = seconds().get(figure.name)
    if taken:
        print(f"figure {figure.number}: {figure.page.stem}, cell {figure.cell}; about "
              f"{max(1, round(taken))} s", file=sys.stderr)
    try:
        drawn = draw(figure, options.changes, rerun=options.rerun, jobs=options.jobs)
    except (ValueError, RuntimeError, KeyError, IndexError, TypeError, ZeroDivisionError) as error:
        if not options.changes or str(error).startswith(("--set", "no record")):
            raise
        raise ValueError(f"figure {figure.number} cannot be drawn with "
                         f"{' and '.join(options.changes)}: {type(error).__name__}: {error}"
                         ) from error
    save(drawn, out)
    print(f"{os.path.relpath(out)}: {' '.join(figure.caption.split())}")
    return 0
