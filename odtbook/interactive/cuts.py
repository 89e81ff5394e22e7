"""Drag the first cut of a tree of depth two: what CART sees, and what the best tree makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from odtlib import CARTClassifier
from odtlib.tree import midpoint

from .pictures import Picture, _legend, _picture, _svg
from .steps import BLUE, ORANGE, _square, _text

WIDTH, PLANE, GAP, CURVE = 340, 200, 34, 84     # of the plane and of the curve below it


def drag_first_cut(X: ArrayLike, y: ArrayLike, feature_names: Sequence[str],
                   class_names: Sequence[str]) -> Picture:
    """Draw rows of two classes, whose first cut the reader drags and whose second cuts are best.

    Parameters
    ----------
    X : array-like of shape (n_rows, 2)
        The rows, drawn as points.
    y : array-like of shape (n_rows,)
        Their classes, 0 or 1.
    feature_names : sequence of str
        Names of the two features.
    class_names : sequence of str
        Names of the two classes.

    Returns
    -------
    Picture
        Above, the plane in the colours that the best tree of depth two with this first cut
        predicts; below, the errors of that tree for every first cut, and the Gini impurity by
        which CART chooses.  The picture begins with CART's choice.
    """
    X, y = np.asarray(X, float), np.asarray(y, int)
    cuts = [cuts_of(X, y, j) for j in (0, 1)]
    greedy = CARTClassifier(2, random_state=0).fit(X, y)
    j = int(greedy.tree_.feature[0])
    start = [j, int(np.argmin([abs(cut["t"] - greedy.tree_.threshold[0]) for cut in cuts[j]]))]
    best = min(((cut["errors"], f, k) for f in (0, 1) for k, cut in enumerate(cuts[f])))
    low, high = X.min(axis=0), X.max(axis=0)
    share = (X - low) / (high - low)
    most = max(cut["errors"] for f in (0, 1) for cut in cuts[f])
    drawn = _frame(most)
    for f in (0, 1):
        for cut in cuts[f]:
            cut["at"] = (cut["t"] - low[f]) / (high[f] - low[f])
        drawn += (f'<g data-axis="{f}"{"" if f == j else " style=display:none"}>'
                  + _points(share[:, [f, 1 - f]], y) + _curves(cuts[f], most)
                  + _text(WIDTH, PLANE + 18, f"{feature_names[f]} →", "end")
                  + _text(0, -8, f"↑ {feature_names[1 - f]}", "start") + "</g>")
    first = cuts[j][start[1]]
    drawn += (f'<path data-part="cut" class="odt-line" stroke-width="3" '
              f'd="M{WIDTH * first["at"]:.1f},-4 V{PLANE + GAP + CURVE}"/>')
    drawn = f'<g data-part="regions">{_regions(first["leaves"])}</g>{drawn}'
    alt = (f"{len(y)} rows of two classes over {feature_names[0]} and {feature_names[1]}. The "
           "first cut can be dragged. From CART's first cut the best tree of depth two makes "
           f"{first['errors']} errors, from the best first cut {best[0]}.")
    options = "".join(f'<option value="{f}"{" selected" if f == j else ""}>{escape(name)}</option>'
                      for f, name in enumerate(feature_names))
    controls = (
        _legend(zip((_square(BLUE), _square(ORANGE)), class_names, strict=True))
        + '<div class="odt-controls"><label>First cut on <select>' + options
        + f"</select></label><label>at <input type=range min=0 max={len(cuts[j]) - 1} "
          f"value={start[1]}></label><button type=button>CART's cut</button>"
          "<button type=button>Best cut</button></div><output aria-live=polite></output>")
    data = {"cuts": cuts, "names": list(feature_names), "cart": start, "best": list(best[1:]),
            "rows": len(y), "greedy": int((greedy.predict(X) != y).sum()),
            "size": [WIDTH, PLANE], "foot": PLANE + GAP + CURVE, "colors": [BLUE, ORANGE]}
    drawn = f'<g transform="translate(0 20)">{drawn}</g>'
    svg = _svg(WIDTH, PLANE + GAP + CURVE + 40, alt, [drawn])
    return _picture("cut.js", svg, controls, data, alt, frame="odt-fit")


def cuts_of(X, y, j):
    """Return every first cut on a feature: threshold, impurity, errors and leaves of its best tree.

    A leaf is (left, bottom, right, top, class), in shares of the plane whose horizontal axis is
    the feature.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    values = np.unique(X[:, j])
    found = []
    for t in map(midpoint, values[:-1], values[1:]):
        left, errors, leaves, impurity = X[:, j] <= t, 0, [], 0.0
        for side, span in ((left, (low[j], t)), (~left, (t, high[j]))):
            wrong, feature, at, below, above = best_stump(X[side], y[side])
            p = y[side].mean()
            impurity += side.mean() * 2 * p * (1 - p)
            errors += wrong
            box = {j: span, 1 - j: (low[1 - j], high[1 - j])}
            parts = [(box, below)]
            if feature is not None:
                parts = [({**box, feature: (box[feature][0], at)}, below),
                         ({**box, feature: (at, box[feature][1])}, above)]
            for part, label in parts:
                corners = [(part[f][end] - low[f]) / (high[f] - low[f])
                           for end in (0, 1) for f in (j, 1 - j)]
                leaves.append([*(round(float(at), 4) for at in corners), int(label)])
        found.append({"t": t, "gini": round(impurity, 5), "errors": int(errors), "leaves": leaves})
    return found


def best_stump(X, y):
    """Return the fewest errors of one more cut: (errors, feature, threshold, two classes)."""
    ones, n = y.sum(), len(y)
    best = (min(ones, n - ones), None, None, int(2 * ones > n), None)
    for f in range(X.shape[1]):
        order = np.argsort(X[:, f], kind="stable")
        x, below = X[order, f], y[order].cumsum()[:-1]
        size = np.arange(1, n)
        wrong = (np.minimum(below, size - below)
                 + np.minimum(ones - below, n - size - (ones - below)))
        wrong = np.where(x[:-1] < x[1:], wrong, n)
        if n > 1 and wrong.min() < best[0]:
            k = int(wrong.argmin())
            best = (wrong[k], f, midpoint(x[k], x[k + 1]), int(2 * below[k] > size[k]),
                    int(2 * (ones - below[k]) > n - size[k]))
    return best


def _frame(most):
    """Return the frames of the plane and of the curve, with what the curve shows."""
    top = PLANE + GAP
    return (f'<rect class="odt-line odt-faint" width="{WIDTH}" height="{PLANE}"/>'
            f'<path class="odt-line odt-faint" d="M0,{top} V{top + CURVE} H{WIDTH}"/>'
            + _text(0, top - 4, f"↑ errors, 0 to {most}", "start")
            + _text(WIDTH, top + CURVE + 16, "dashed: Gini, CART's measure, 0 to 0.5", "end"))


def _points(share, y):
    return "".join(
        f'<circle cx="{WIDTH * u:.1f}" cy="{PLANE * (1 - v):.1f}" r="3.5" stroke="currentColor" '
        f'stroke-width="0.6" fill="{(BLUE, ORANGE)[c]}"/>' for (u, v), c in zip(share, y))


def _curves(cuts, most):
    top = PLANE + GAP

    def line(heights, style):
        corners = " ".join(f"{WIDTH * cut['at']:.1f},{top + CURVE * (1 - h):.1f}"
                           for cut, h in zip(cuts, heights))
        return f'<polyline points="{corners}" class="odt-line" {style}/>'

    return (line([cut["errors"] / most for cut in cuts], 'stroke-width="2"')
            + line([2 * cut["gini"] for cut in cuts],      # of two classes it is 0.5 at most
                   'stroke-dasharray="4 4" opacity="0.7"'))


def _regions(leaves):
    return "".join(
        f'<rect x="{WIDTH * a:.1f}" y="{PLANE * (1 - d):.1f}" width="{WIDTH * (b - a):.1f}" '
        f'height="{PLANE * (d - c):.1f}" fill="{(BLUE, ORANGE)[label]}" fill-opacity="0.22"/>'
        for a, c, b, d, label in leaves)
