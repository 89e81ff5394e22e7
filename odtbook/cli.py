"""The ``odt`` command: data, experiments, records and forks of the book."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import os
import sys

import threadpoolctl

from odtbook import (
    compare_command,
    compile_command,
    data_command,
    exam_command,
    figure_command,
    referee_command,
    try_command,
)
from odtbook.tables import printable
from odtbook.tables.words import suggestion
from odtlib import __version__
from odtlib.requirements import needs

STAND_IN = "stand-in"
SIGNS = {"✓": "+", "✗": "x", "½": "1/2", "≠": "!=", "≤": "<=", "≥": ">=", "–": "-", "·": ".",
         "“": '"', "”": '"', "’": "'"}      # other signs that an output lacks become a "?"
KEPT = "; finished runs are kept, --resume does the rest"      # by `odt run`


def main(arguments=None):
    """Run the ``odt`` command.

    Parameters
    ----------
    arguments : list of str, optional
        Command line without the program's name (default: ``sys.argv``).

    Returns
    -------
    int
        Exit status: 0 done, 1 some runs or checks failed, 2 refused before anything started,
        130 interrupted.
    """
    if "OMP_NUM_THREADS" not in os.environ:     # one command does not take all cores
        os.environ["OMP_NUM_THREADS"] = "1"     # of what is loaded later, and of other processes
        threadpoolctl.threadpool_limits(1)
    _let_output_pass()
    options = None
    try:
        options = _options(arguments)
        status = options.command(options)
    except (SystemExit, GeneratorExit):     # of --help, and of words that are not understood
        if unwritten := _written():
            return unwritten
        raise
    except BaseException as error:
        if isinstance(error, OSError) and error.filename is None and (     # perhaps of the output
                unwritten := _written("\n" * isinstance(error, BrokenPipeError))):
            return unwritten
        status, sentence = _refusal(error, KEPT if hasattr(options, "resume") else "")
        for name, option in getattr(options, "words", {}).items():      # of the library
            sentence = sentence.replace(name, option)
        _complain(sentence)
    return status or _written()


def _let_output_pass():
    """Write signs that the output lacks by others, and let a closed one take what it is given."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:      # else the next file that is opened would take its place
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))
    if hasattr(sys.stdout, "reconfigure"):
        codecs.register_error(STAND_IN, lambda error: ("".join(
            SIGNS.get(sign, "?") for sign in error.object[error.start:error.end]), error.end))
        sys.stdout.reconfigure(errors=STAND_IN)
    if not isinstance(sys.stderr, _Notices):
        sys.stderr = _Notices(sys.stderr)


class _Notices:
    """Standard error that loses what cannot be written: no notice ends a command."""

    def __init__(self, stream):
        self._stream = stream

    def write(self, text):
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self):
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name):
        return getattr(self._stream, name)


def _written(further=""):
    """Write what is left of the output; return 0, or the exit status if that cannot be done.

    A reader that has gone away hears nothing: `odt report | head` has its status from the system.
    """
    try:
        print(end=further, flush=True)
        return 0
    except OSError as error:
        # Python would try again as it ends, and complain in its own words.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141
        _complain(f"the output cannot be written: {error.strerror}")
        return 2


def _complain(sentence):
    with contextlib.suppress(OSError):
        print(printable(f"odt: {' '.join(sentence.split())}"), file=sys.stderr, flush=True)


def _refusal(error, kept):
    """Return the exit status and the sentence with which a command ends by an exception."""
    if isinstance(error, KeyboardInterrupt):
        return 130, f"interrupted{kept}"
    if isinstance(error, MemoryError):
        return 2, f"the memory of this machine does not suffice{kept}"
    if isinstance(error, OSError) and error.strerror:
        return 2, f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ValueError | RuntimeError | OSError | ModuleNotFoundError) \
            and not isinstance(error, RecursionError | NotImplementedError) and str(error):
        return 2, str(error)
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code
    return 2, (f"{type(error).__name__}{': ' if str(error) else ''}{str(error)[:300]} (in "
               f"{code.co_name}, {code.co_filename}, line {last.tb_lineno}); this is a fault of "
               f"odt, please report it{kept}")


def _options(arguments):
    for word in sys.argv[1:] if arguments is None else arguments:
        if word.encode(errors="ignore").decode() != word:       # no notebook can hold it
            raise ValueError(f"{ascii(word)} is no text in UTF-8; rename the file or folder.")
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        command = parser.commands.get(options.chosen, parser)
        command.error(f"unrecognized arguments: {' '.join(unknown)}"
                      + suggestion(unknown[0].partition("=")[0], command._option_string_actions))
    return options


def _parser():
    parser = argparse.ArgumentParser(
        prog="odt", description="Data sets, experiments and records of the book, and forks of its "
        "templates. `odt COMMAND --help` explains a command.")
    parser.add_argument("--version", action="version", version=f"odtlib {__version__}")
    parser.set_defaults(command=lambda options: parser.print_help() or 0)
    commands = parser.add_subparsers(metavar="COMMAND", dest="chosen")

    run = commands.add_parser(
        "run", help="run the grid of an experiment and write its records", description="Run the "
        "grid of an experiment, write its records to odt-results, and say whether the numbers are "
        "those of the book: `odt run murtree --quick`. On a table of "
        "your own, whose last column has the labels: `odt run murtree --set dataset=my.csv`.")
    run.set_defaults(command=_run)
    run.add_argument("experiment", nargs="?", metavar="EXPERIMENT",
                     help="a name that `odt report` lists, a grid file, or a folder of `odt new`")
    run.add_argument("--all", action="store_true", help="run every experiment of the book")
    run.add_argument("--quick", action="store_true",
                     help="run the small grid, which [quick] of the grid file states")
    run.add_argument("--jobs", type=int, default=1, metavar="N",
                     help="runs at a time, -1 for one per core (default: 1)")
    run.add_argument("--dask", metavar="ADDRESS",
                     help="send the runs to the workers of this Dask scheduler")
    run.add_argument("--resume", action="store_true", help="do what an earlier run left open")
    run.add_argument("--retry-failed", action="store_true",
                     help="as --resume, and do failed runs again")
    run.add_argument("--only", action="append", default=[], metavar="KEY=VALUE",
                     help="run this part of the grid only (max_depth=3); may be given several "
                          "times")
    run.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="changes",
                     help="give a parameter another value than the grid does; may be given "
                          "several times, and the records go to a file of their own")
    run.add_argument("--record", action="store_true",
                     help="write the records of the book itself, in data/results")

    judging = "say which claims of the papers our records confirm; list the experiments"
    report = commands.add_parser("report", help=judging, description=f"{judging.capitalize()}.")
    report.set_defaults(command=_report)
    report.add_argument("--paper", action="append", metavar="KEY",
                        help="only this paper, by its key in the bibliography (firat2020)")
    instead = report.add_mutually_exclusive_group()
    instead.add_argument("--claim", metavar="NAME",
                         help='everything behind one claim, by its name (C4) or its table or '
                         'figure ("firat2020 T7")')
    instead.add_argument("--experiments", action="store_true",
                         help="list the experiments and their records only")

    new = commands.add_parser(
        "new", help="fork a chapter or template into your own experiment", description="Copy a "
        "chapter or template into a new folder, with a grid file and a test: `odt new mine --from "
        "murtree`, then `odt run mine --quick`.")
    new.set_defaults(command=_new)
    new.add_argument("name", metavar="NAME", help="of the new folder and its files")
    new.add_argument("--from", dest="source", required=True, metavar="CHAPTER",
                     help="a template (murtree), a chapter (05_murtree or 5), a figure "
                     "(figure:5.4), or a notebook")

    for command in (compare_command, figure_command, referee_command, try_command, data_command,
                    exam_command, compile_command):
        command.add_parser(commands)
    parser.commands = commands.choices
    return parser


def _run(options):
    from odtbook.experiments import run_experiment
    from odtbook.experiments.book import names
    if options.all == bool(options.experiment):
        raise ValueError(f"--all runs every experiment; leave out {options.experiment}, or --all."
                         if options.all else
                         "say which experiment to run, or --all; `odt report --experiments` lists "
                         "them.")
    if options.all and options.changes:
        raise ValueError("--set changes the parameters of one experiment; name it instead of "
                         "--all.")
    if options.jobs == 0 or options.jobs < -1:
        raise ValueError(f"--jobs {options.jobs} is not a number of runs at a time; use 1 or "
                         "more, or -1 for one per core.")
    failed = 0
    for experiment in names() if options.all else [options.experiment]:
        records = run_experiment(experiment, quick=options.quick, jobs=options.jobs,
                                 dask=options.dask, resume=options.resume,
                                 retry_failed=options.retry_failed, only=options.only,
                                 changes=options.changes, record=options.record)
        failed += sum(record["status"] == "failed" for record in records)
    return 1 if failed else 0


def _report(options):
    needs("pandas", "experiments", "odt report")
    from odtbook.experiments.overview import overview
    from odtbook.verdicts import judge
    if options.experiments and options.paper:
        raise ValueError("--experiments lists the experiments of all papers; leave --paper out.")
    if options.claim:
        print(judge(options.paper, only=options.claim).describe(options.claim))
        return 0
    experiments, refusals = overview()
    for sentence in refusals:
        print(f"odt: {sentence}", file=sys.stderr)
    if not options.experiments:
        print(f"{judge(options.paper).text()}\n")
    print(experiments)
    return 0


def _new(options):
    from odtbook.experiments import new
    folder = new(options.name, options.source)
    print(f"{folder}: a notebook, its grid file and a test; `odt run {folder} --quick` runs it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
