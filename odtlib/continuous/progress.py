"""The progress bar of both estimators."""

from __future__ import annotations

from contextlib import contextmanager


@contextmanager
def progress(verbose, total, unit, scale):
    """Yield what shows incumbent, bound and how much of ``total`` is closed, if verbose.

    ``scale``: one unit of the search, in which incumbent and bound are, in units of the objective.
    """
    if not verbose:
        yield lambda *state: None
        return
    from tqdm.auto import tqdm
    with tqdm(total=total, unit=unit, disable=None) as bar:
        def show(objective, bound, done):
            bar.set_postfix_str(f"objective {objective * scale:g}, bound {bound * scale:g}",
                                refresh=False)
            bar.update(done - bar.n)
        yield show
