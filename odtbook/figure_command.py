"""``odt figure``: draw one figure of the book, by the cells of its page that it needs."""

from __future__ import annotations

import base64
import csv
import json
import os
import sys
from pathlib import Path

from odtbook.experiments.book import book_root, file_name, values_of
from odtbook.figure_code import figures, find
from odtbook.files import hand_over, to_write
from odtbook.tables.words import suggestion
from odtlib.requirements import needs

FORMATS = {".png": "image/png", ".svg": "image/svg+xml", ".pdf": "application/pdf"}


def draw(figure, changes=(), *, rerun=False, jobs=1, ending=".png", say=print):
    """Draw a figure, in a kernel of its own.

    Parameters
    ----------
    figure : Figure
    changes : iterable of str, default=()
        ``"max_depth=3"``: a value of its cells, or else of the experiments whose records it is
        drawn from; then it is drawn from the records that have this value.
    rerun : bool, default=False
        Make these records anew first, with the changes, in ``odt-results``.
    jobs : int, default=1
        Runs at a time.
    ending : {".png", ".svg", ".pdf"}, default=".png"
        Of the file that is to hold it.
    say : callable, optional
        Prints a line for the user.

    Returns
    -------
    bytes
        The content of that file.

    Raises
    ------
    ValueError
        If a change is none of the figure, or its cells fail with the changes; it says what can be
        set.
    """
    from odtbook.experiments.forking import with_record
    from odtbook.experiments.notebooks import close_kernel, execute_notebook
    from odtbook.experiments.templates import code_cell
    values, of_records = _sorted_changes(figure, changes, rerun)
    if rerun:
        _make_anew(figure, changes, jobs, say)
    notebook = figure.notebook()
    notebook["cells"].insert(0, code_cell("records", (
        "from odtbook.experiments.results import instead\n"
        f"instead({figure.experiments if rerun or of_records else []}, {of_records}, "
        f"anew={rerun})\n%config InlineBackend.figure_formats = [{ending[1:]!r}]")))
    with_record(notebook)
    close_kernel()      # what a kernel has read it may keep
    answer = execute_notebook(notebook, values)
    close_kernel()
    if answer["error"]:
        words = _words(changes, rerun)
        raise ValueError(
            f"with {words} the code of figure {figure.number} does not find all that it compares "
            f"({answer['error']}); several values need one --set each; {can_be_set(figure)}"
            if words else answer["error"])
    for cell in json.loads(answer["notebook"])["cells"]:
        for output in cell.get("outputs", ()) if cell["id"] == figure.cell else ():
            if content := output.get("data", {}).get(FORMATS[ending]):
                text = "".join(content).encode()
                return text if ending == ".svg" else base64.b64decode(text)
    raise RuntimeError(f"the cell {figure.cell} of {figure.page.name} drew nothing.")


def _words(changes, rerun):
    return " and ".join([*changes, *["records made anew"] * rerun])


def recorded(figure):
    """Return the values in the records behind a figure, as texts, of each parameter that varies."""
    from odtbook.experiments.grid import Experiment
    found = {}
    for experiment in map(Experiment, figure.experiments):
        for record in experiment.records().values():
            for name, value in record["parameters"].items():
                if value is not None:
                    whole = isinstance(value, float) and value.is_integer()
                    found.setdefault(name, set()).add(f"{value:.0f}" if whole else str(value))
    return {name: sorted(values, key=lambda text: (len(text) * text[:1].isdigit(), text))
            for name, values in found.items()}


def can_be_set(figure):
    """Return the sentence that lists what ``--set`` can change in a figure."""
    own = ", ".join(f"{name}={value}" for name, value in figure.parameters.items())
    records = "; ".join(f"{name}={'|'.join(values)}" for name, values in recorded(figure).items()
                        if len(values) > 1)
    return (f"figure {figure.number} can be drawn with other values in its code ({own or 'none'}) "
            f"and from a part of its records ({records or 'none'}).")


def _sorted_changes(figure, changes, rerun):
    """Return the changed values of the code by name, and the changes of the records."""
    from odtbook.experiments.grid import parse_changes
    from odtbook.experiments.templates import Template
    own = Template(f"figure {figure.number}", notebook=figure.notebook())
    records, values, of_records = recorded(figure), [], []
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or name not in {*figure.parameters, *records}:
            raise ValueError(f"--set {change} changes nothing"
                             f"{suggestion(name, {*figure.parameters, *records})}; "
                             f"{can_be_set(figure)}")
        (values if name in figure.parameters else of_records).append(change)
        if change in of_records and not rerun and value.lower() not in map(str.lower,
                                                                           records[name]):
            raise ValueError(f"no record has {change}, and --rerun makes such records; "
                             f"{can_be_set(figure)}")
    values = parse_changes(values, own)
    own.complete(values)
    return values, of_records


def _make_anew(figure, changes, jobs, say):
    """Make the records of each experiment of a figure anew, with the changes that it knows."""
    from odtbook.experiments import Experiment, run_experiment
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
    for name, those in own.items():
        run_experiment(name, jobs=jobs, changes=those, resume=True, say=say)


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
                        help="change a value in the figure's code, or draw it from the records "
                        "with this value of a parameter; may be given several times; `--set list` "
                        "lists what can be set")
    parser.add_argument("--rerun", action="store_true",
                        help="make the records anew first, with the values of --set; says "
                        "beforehand how long that takes")
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="runs at a time under --rerun, -1 for one per core (default: 1)")
    parser.add_argument("--out", metavar="FILE", help="where to write it, as .png, .svg or .pdf "
                        "(default: figure-NUMBER.png, with what was set)")


def run(options):
    """Draw one figure, or list all."""
    if options.figure is None:
        if options.changes or options.rerun or options.out:
            raise ValueError("say which figure to draw; `odt figure` lists all.")
        taken = seconds()
        print(f"{'number':8}{'name':26}{'time':>7}  {'page':34}drawn from")
        for figure in figures():
            print(described(figure, taken))
        print("\nPictures to play with are made by their pages, and are not in this list.")
        return 0
    needs("papermill", "experiments", "odt figure")
    figure, changes = find(options.figure), options.changes
    if changes == ["list"]:
        print(can_be_set(figure))
        return 0
    ending = file_name(values_of(changes) | ({"anew": []} if options.rerun else {}))
    out = Path(options.out or f"figure-{figure.number}{'-' * bool(ending)}{ending}.png")
    if out.suffix.lower() not in FORMATS:
        raise ValueError(f"--out {out}: end the name with {', '.join(FORMATS)}.")
    to_write(out)
    if taken := seconds().get(figure.name):
        from odtbook.experiments.runner import KERNEL_SECONDS
        print(f"figure {figure.number}: {figure.page.stem}, cell {figure.cell}; about "
              f"{round(taken + KERNEL_SECONDS)} s", file=sys.stderr)
    content = draw(figure, changes, rerun=options.rerun, jobs=options.jobs,
                   ending=out.suffix.lower())
    hand_over(out, content)
    caption = " ".join(figure.caption.split())
    if ending:
        caption = (f"figure {figure.number} with {_words(changes, options.rerun)}. Its caption in "
                   f"the book, without that: {caption}")
    print(f"{os.path.relpath(out)}: {caption}")
    return 0
