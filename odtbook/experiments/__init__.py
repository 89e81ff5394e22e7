"""Experiments: templates, the runner, and the records that the book shows.

An experiment is a grid file (``chapters/experiments/<name>.toml``) that says with which parameters
to run a template (``chapters/experiments/<template>.ipynb``).  ``odt run <name>`` executes the
template once for every combination and writes one record per run to ``data/results/<name>.csv``.

In a template: :func:`run`, :func:`record`, :func:`emit`.  In a chapter: :func:`execute`,
:func:`load_records`, :func:`unrecorded`, :func:`undisturbed`, :func:`provenance`,
:func:`published`, :func:`yardstick`; all papers at once, by the records,
:func:`odtbook.verdicts.judge`.  On the reader's own data: :func:`compare`.
"""

from .book import book_root as book_root
from .comparison import compare
from .forking import new
from .grid import Experiment
from .measure import emit, record, run
from .published import published
from .results import load_records, provenance, undisturbed, unrecorded, yardstick
from .runner import execute, run_experiment

__all__ = ["Experiment", "compare", "emit", "execute", "load_records", "new",
           "provenance", "published", "record", "run", "run_experiment", "undisturbed",
           "unrecorded", "yardstick"]
