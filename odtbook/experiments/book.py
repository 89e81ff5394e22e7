"""Find the book: its chapters, experiment templates, grids and records."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

from odtbook.tables.words import suggestion

PACKAGE = Path(__file__).resolve().parents[1]


def book_root() -> Path:
    """Return the folder that holds ``chapters/`` and ``data/``.

    Returns
    -------
    pathlib.Path
        The checkout when odtbook is imported from one, else the copy inside the installed package.
    """
    checkout = PACKAGE.parent
    if (checkout / "chapters" / "experiments").is_dir():
        return checkout
    return PACKAGE / "_book"


def is_checkout():
    """Return whether the book is a checkout, where records may be written."""
    return book_root() == PACKAGE.parent


@dataclass(frozen=True)
class Place:
    """Where the files of one experiment live."""

    grid: Path
    results: Path
    published: Path
    runs: Path

    @property
    def name(self):
        """The experiment's name: the stem of its grid file."""
        return self.grid.stem

    @property
    def of_book(self):
        """Whether the experiment is the book's, and not the reader's own."""
        return self.grid.parent == folder()

    @property
    def records(self):
        """The CSV to read: the reader's own, else the one published with the package."""
        return self.results if self.results.exists() else self.published


def locate(experiment):
    """Return the :class:`Place` of an experiment."""
    path = Path(experiment)
    for grid in (path, path / f"{path.name}.toml"):
        if grid.suffix == ".toml" and _is_file(grid):
            grid = grid.resolve()
            if grid.parent != folder():
                results = grid.with_suffix(".csv")
                return Place(grid, results, results, grid.parent / ".runs" / grid.stem)
            experiment = grid.stem
    grid = folder() / f"{experiment}.toml"
    if path.suffix == ".csv":
        raise ValueError(f"{path} is a table and no experiment; name an experiment to run on it: "
                         f"`odt run murtree --set dataset={path}`.")
    if not _is_file(grid):
        raise ValueError(f"there is no experiment {str(experiment)!r}"
                         f"{suggestion(str(experiment), names())}; `odt report` lists those of "
                         "the book, and the path of a grid file (.toml) works too.")
    published = book_root() / "data" / "results" / f"{grid.stem}.csv"
    if is_checkout():
        return Place(grid, published, published, book_root() / ".runs" / grid.stem)
    own = Path("odt-results").resolve()
    return Place(grid, own / f"{grid.stem}.csv", published, own / ".runs" / grid.stem)


def changed_place(place, changes):
    """Return where the reader's files of an experiment live, with changes such as "max_depth=3".

    Records go to ``odt-results`` in the working folder, or beside a grid file that is not the
    book's; the names of the files hold the changes: ``mine-dataset-my-max_depth-2-3.csv``.  The
    records of the book are not touched.
    """
    values = values_of(sorted(set(changes)))
    folder = Path("odt-results").resolve() if place.of_book else place.grid.parent
    results = folder / f"{place.name}{'-' * bool(values)}{file_name(values)}.csv"
    return replace(place, results=results, published=results,
                   runs=results.parent / ".runs" / results.stem)


def values_of(changes):
    """Return the texts that changes such as "max_depth=3" give, a list for each parameter."""
    values = {}
    for change in changes:
        name, _, value = change.partition("=")
        values.setdefault(name, []).append(value)
    return values


def file_name(values):
    """Return a name without suffix for files, from lists of values by the names of parameters.

    A file goes by its stem. Where that or a sign that names do not hold leaves something out, the
    name ends with eight digits that tell it from others.
    """
    words, exact = [], True
    for name, texts in values.items():
        words.append(name)
        for text in texts:
            word = re.sub(r"[^A-Za-z0-9._]+", "_", text.removesuffix(".csv"))
            exact = exact and word + ".csv" * text.endswith(".csv") == text
            words.append(word)
    found = "-".join(words)
    if exact and len(found) <= 80:
        return found
    return f"{found[:80]}-{hashlib.sha1(repr(values).encode()).hexdigest()[:8]}"


def _is_file(path):
    """Return whether there is such a file; none has a name that the system cannot hold."""
    try:
        return path.is_file()
    except OSError:
        return False


def folder():
    """Return the folder of templates and grid files."""
    return book_root() / "chapters" / "experiments"


def names():
    """Return the names of the book's experiments, sorted."""
    return sorted(path.stem for path in folder().glob("*.toml"))


def find_notebook(name, beside=None):
    """Return the path of a template or chapter.

    Parameters
    ----------
    name : str or pathlib.Path
        A path; or the name of a template (``murtree``); or a chapter by its full name
        (``05_murtree``) or number (``5``).
    beside : pathlib.Path, optional
        Folder to look in first.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ValueError
        If no notebook has this name.
    """
    chapters = book_root() / "chapters"
    stem = str(name).removesuffix(".ipynb")
    for place in (beside, Path("."), folder(), chapters, chapters / "appendices"):
        if place is not None and _is_file(place / f"{stem}.ipynb"):
            return (place / f"{stem}.ipynb").resolve()
    if stem.isdigit():
        for path in chapters.glob(f"{int(stem):02d}_*.ipynb"):
            return path
    known = {path.stem for place in (folder(), chapters) for path in place.glob("*.ipynb")}
    raise ValueError(f"there is no template or chapter {str(name)!r}{suggestion(stem, known)}; "
                     f"use one of {', '.join(sorted(known))}, or the path of a notebook.")


def need_name(what, name, known):
    """Raise ValueError, which lists all, unless a name is one of those known."""
    if name not in known:
        raise ValueError(f"there is no {what} {str(name)!r}{suggestion(name, known)}; use one of "
                         f"{', '.join(known)}.")
