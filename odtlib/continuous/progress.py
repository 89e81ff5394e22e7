"""The progress bar of both estimators."""

from __future__ import annotations


class Progress:
    """Show how much of ``total`` is closed, with incumbent and bound; silent unless verbose.

    ``scale``: one unit of the search in units of the objective.
    """

    def __init__(self, verbose, total, unit, scale):
        self.bar = None
        self.scale = scale
        if verbose:
            from tqdm.auto import tqdm
            self.bar = tqdm(total=total, unit=unit, disable=None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.bar is not None:
            self.bar.close()

    def show(self, objective, bound, done):
        """Show how far the search is; objective and bound in units of the search."""
        if self.bar is not None:
            self.bar.set_postfix_str(f"objective {objective * self.scale:g}, "
                                     f"bound {bound * self.scale:g}", refresh=False)
            self.bar.update(done - self.bar.n)
