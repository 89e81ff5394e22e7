"""``odt figure``: draw one figure of the book, by the program of its cell."""

from __future__ import annotations

import ast
import csv
import linecache
import os
import sys
from pathlib import Path

from odtbook.experiments.book import book_root, suggestion
from odtbook.figure_code import assigned, figures, find
from odtlib.requirements import needs

FORMATS = (".png", ".svg", ".pdf")


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
