"""Step explorers of the ideas in the chapters, each made from what an algorithm recorded."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from odtlib.plotting import COLORS
from odtlib.tree import DecisionTree

from .pictures import Picture, draw_search_tree, step_through

BLUE, ORANGE = COLORS[:2]
NEW = f'<rect x="2" y="2" width="12" height="12" fill="none" stroke="{ORANGE}" stroke-width="3"/>'


def _square(color, opacity=1.0):
    return f'<rect x="1" y="1" width="14" height="14" fill="{color}" fill-opacity="{opacity}"/>'


def _ring(x, y, radius):
    return (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="none" stroke="currentColor" '
            'stroke-width="2"/>')


def _text(x, y, words, anchor="middle"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(str(words))}</text>'


def _number(value, sign=""):
    """Write a number in three digits; what rounding has left of zero is 0, without a sign."""
    return "0" if abs(value) < 1e-9 else f"{value:{sign}.3g}"


def step_partitions(trees: Sequence[DecisionTree], captions: Sequence[str], X: ArrayLike,
                    y: ArrayLike, *, feature_names: Sequence[str] | None = None,
                    class_names: Sequence[str] | None = None, size: int = 320) -> Picture:
    """Step through trees over two features, each drawn as its division of the plane.

    Parameters
    ----------
    trees : sequence of DecisionTree
        One per step, over the two columns of ``X``.
    captions : sequence of str
        What happens at each step.
    X : array-like of shape (n_rows, 2)
        The rows, drawn as points.
    y : array-like of shape (n_rows,)
        Their classes, 0, 1, ...
    feature_names : sequence of str, optional
        Names of the two features (default: those of the first tree).
    class_names : sequence of str, optional
        Names of the classes (default: ``class 0``, ...).
    size : int, default=320
        Width and height of the plane in pixels.

    Returns
    -------
    Picture
        A region has the colour of the class that it predicts; the rows in a region of another
        class have a ring.

    Raises
    ------
    ValueError
        If there is not one caption per tree, or a tree is not one over two features.
    """
    X, y = np.asarray(X, float), np.asarray(y, int)
    if len(trees) != len(captions):
        raise ValueError(f"there are {len(trees)} trees and {len(captions)} captions; give one "
                         "caption per tree.")
    if any(not isinstance(tree, DecisionTree) or tree.n_features != 2 for tree in trees):
        raise ValueError("step_partitions draws trees (DecisionTree) over two features.")
    names = feature_names or [trees[0].feature_name(j) for j in (0, 1)]
    classes = class_names or [f"class {c}" for c in range(y.max() + 1)]
    low, high = X.min(axis=0), X.max(axis=0)
    low, high = low - 0.08 * (high - low), high + 0.08 * (high - low)

    def screen(point):
        share = (np.asarray(point) - low) / (high - low)
        return size * share[0], size * (1 - share[1])

    parts = []
    for step, tree in enumerate(trees):
        tree = tree.with_counts(X, y, len(classes))
        svg, boxes = "", [(0, low, high)]
        while boxes:
            node, a, b = boxes.pop()
            j = tree.feature[node]
            if j >= 0:
                at = float(tree.threshold[node])
                cut_b, cut_a = b.copy(), a.copy()
                cut_b[j] = cut_a[j] = at
                boxes += [(tree.left[node], a, cut_b), (tree.right[node], cut_a, b)]
                continue
            (left, bottom), (right, top) = screen(a), screen(b)
            color = COLORS[int(np.argmax(tree.value[node]))]
            svg += (f'<rect class="odt-line" x="{left:.1f}" y="{top:.1f}" '
                    f'width="{right - left:.1f}" height="{bottom - top:.1f}" '
                    f'style="fill:{color};fill-opacity:0.25"/>')
        for r in np.flatnonzero(tree.predict(X) != y):
            svg += _ring(*screen(X[r]), 10)
        parts.append((step, step, svg))
    dots = "".join(
        f'<circle cx="{screen(x)[0]:.1f}" cy="{screen(x)[1]:.1f}" r="5" fill="{COLORS[c]}"/>'
        for x, c in zip(X, y))
    frame = _text(size, size + 18, f"{names[0]} →", "end") + _text(0, -8, f"↑ {names[1]}", "start")
    legend = [(_square(COLORS[c]), name) for c, name in enumerate(classes)]
    legend.append((_ring(8, 8, 6), "an error"))
    return step_through(
        [(0, None, f'<g transform="translate(0 20)">{svg}</g>') if last is None else
         (first, last, f'<g transform="translate(0 20)">{svg}</g>')
         for first, last, svg in [*parts, (0, None, dots + frame)]],
        captions, size=(size, size + 42), legend=legend,
        alt=f"{len(trees)} trees, one per step, drawn as divisions of the plane of {names[0]} and "
            f"{names[1]} in which {len(X)} rows lie as points.")


def step_search(nodes: Sequence[dict[str, Any]], captions: Sequence[str], *, alt: str,
                box: tuple[float, float] = (104, 50), between: int = 16) -> Picture:
    """Step through a search tree, such as that of branch and bound, which is laid out here.

    Parameters
    ----------
    nodes : sequence of dict
        As for :func:`~odtbook.interactive.draw_search_tree`, without ``at``: ``parent``,
        ``branch``, ``lines``, ``opened`` and, for a closed node, ``closed`` and ``mark``.
    captions : sequence of str
        What happens at each step.
    alt : str
        What the whole tree shows.
    box : tuple of (width, height), default=(104, 50)
        Size of a box in pixels.
    between : int, default=16
        Least distance between two boxes of a level in pixels.

    Returns
    -------
    Picture
    """
    children = [[] for _ in nodes]
    for k, node in enumerate(nodes):
        if node.get("parent") is not None:
            children[node["parent"]].append(k)
    centre, depth, free = [0.0] * len(nodes), [0] * len(nodes), box[0] / 2

    def place(k):
        nonlocal free
        for child in children[k]:
            depth[child] = depth[k] + 1
            place(child)
        if children[k]:
            centre[k] = float(np.mean([centre[child] for child in children[k]]))
        else:
            centre[k] = free
            free += box[0] + between

    place(0)
    row = box[1] + 54
    parts = draw_search_tree([{**node, "at": at} for node, at in zip(nodes, centre)],
                             box=box, row=row, top=4)
    thick = '<rect x="2" y="2" width="12" height="12" class="odt-line" stroke-width="3"/>'
    return step_through(parts, captions, alt=alt, legend=[(thick, "solved at this step")],
                        size=(int(free - between - box[0] / 2), max(depth) * row + box[1] + 30))


def step_columns(rows: Sequence[str], columns: Sequence[tuple[str, Sequence[float]]],
                 steps: Sequence[dict[str, Any]], captions: Sequence[str], *,
                 alt: str | None = None) -> Picture:
    """Step through column generation: the matrix of the master, its duals and the new column.

    Parameters
    ----------
    rows : sequence of str
        Names of the constraints of the master, from top to bottom.
    columns : sequence of (str, sequence of float)
        Name and coefficients of every column, in the order in which they enter.
    steps : sequence of dict
        One per step: ``known`` (how many columns the master has), ``duals`` (one per row, or
        None before the master is solved), ``values`` (one per known column, or None), and
        ``reduced`` (None, or the reduced cost of the next column, which then enters).
    captions : sequence of str
        What happens at each step.
    alt : str, optional
        What the whole drawing shows (default: the size of the matrix).

    Returns
    -------
    Picture
        A column is dark when its value is positive, and framed when it enters.
    """
    # The duals stand beside the names, next to the first columns.
    wide, high, beside, top = 34, 26, 12 + 7 * max(map(len, rows)), 44
    left = beside + 48
    right = left + wide * len(columns)
    parts = [(0, None, "".join(_text(0, top + high * (k + 0.65), name, "start")
                               for k, name in enumerate(rows))
              + _text(beside, top - 8, "dual", "start") + _text(0, 14, "value", "start")
              + _text(0, top - 8, "column", "start"))]
    foot = top + high * len(rows)
    for step, state in enumerate(steps):
        svg = ""
        entering = state.get("reduced") is not None
        for k, (name, coefficients) in enumerate(columns[:state["known"] + entering]):
            x = left + wide * k
            value = state["values"][k] if state.get("values") is not None and (
                k < state["known"]) else None
            strong = value is not None and value > 1e-9
            svg += _text(x + wide / 2, top - 8, name)
            if value is not None:
                svg += _text(x + wide / 2, 14, _number(value))
            for i, coefficient in enumerate(coefficients):
                if coefficient:
                    svg += (f'<rect x="{x + 3}" y="{top + high * i + 3}" width="{wide - 6}" '
                            f'height="{high - 6}" fill="{BLUE}" '
                            f'fill-opacity="{0.8 if strong else 0.3}"/>')
            if k == state["known"]:
                svg += (f'<rect x="{x + 1}" y="{top + 1}" width="{wide - 2}" '
                        f'height="{foot - top - 2}" fill="none" stroke="{ORANGE}" '
                        'stroke-width="3"/>'
                        + _text(x + wide / 2, foot + 18, _number(state["reduced"], "+")))
        if entering:
            svg += _text(0, foot + 18, "reduced cost", "start")
        if state.get("duals") is not None:
            svg += "".join(_text(beside, top + high * (i + 0.65), _number(dual), "start")
                           for i, dual in enumerate(state["duals"]))
        parts.append((step, step, svg))
    alt = alt or (f"The matrix of a master problem with {len(rows)} constraints, to which "
                  f"{len(columns)} columns are added, with dual values and reduced costs.")
    return step_through(parts, captions, size=(right + 4, foot + 26), alt=alt, legend=[
        (_square(BLUE, 0.3), "in the master"), (_square(BLUE, 0.8), "used by the optimum"),
        (NEW, "enters now")])


def step_curves(x: Sequence[Any], series: ArrayLike, captions: Sequence[str], *,
                names: Sequence[str], xlabel: str, ylabel: str, limits: tuple[float, float],
                alt: str) -> Picture:
    """Step through curves over the same values of x, for instance with growing noise.

    Parameters
    ----------
    x : sequence, of length n
        Labels of the axis, drawn at equal distances.
    series : array-like of shape (n_steps, n_lines, n)
        The heights of the curves at every step.
    captions : sequence of str
        What each step shows.
    names : sequence of str
        One per curve, written at its right end; a name that ends with ``*`` gets a dashed curve,
        and curves ``k`` and ``k + 1`` have the same colour when ``k`` is even.
    xlabel, ylabel : str
        What the axes show.
    limits : tuple of (lowest, highest)
        Range of the vertical axis.
    alt : str
        What the whole drawing shows.

    Returns
    -------
    Picture
    """
    series = np.asarray(series, float)
    low, high = limits
    width, height, left, top = 250, 220, 34, 24

    def screen(k, value):
        return (left + width * (k + 0.5) / len(x),
                top + height * (1 - (value - low) / (high - low)))

    axes = (f'<path class="odt-line odt-faint" d="M{left},{top} V{top + height} h{width}"/>'
            + _text(0, 12, f"↑ {ylabel}", "start")
            + _text(left + width, top + height + 38, f"{xlabel} →", "end"))
    for k, label in enumerate(x):
        axes += _text(screen(k, low)[0], top + height + 18, label)
    for value in np.linspace(low, high, 6):
        axes += _text(left - 6, screen(0, value)[1] + 4, f"{value:g}", "end")
    parts = [(0, None, axes)]
    for step, lines in enumerate(series):
        svg, ends = "", [screen(len(x) - 1, line[-1])[1] for line in lines]
        order = np.argsort(ends)
        for before, k in zip(order, order[1:]):     # names keep apart
            ends[k] = max(ends[k], ends[before] + 15)
        for k, (name, line) in enumerate(zip(names, lines)):
            color, at = COLORS[k // 2], [screen(i, value) for i, value in enumerate(line)]
            dash = ' stroke-dasharray="6 4"' if name.endswith("*") else ""
            corners = " ".join(f"{u:.1f},{v:.1f}" for u, v in at)
            svg += (f'<polyline points="{corners}" fill="none" stroke="{color}" '
                    f'stroke-width="2.5"{dash}/>'
                    + "".join(f'<circle cx="{u:.1f}" cy="{v:.1f}" r="4" fill="{color}"/>'
                              for u, v in at)
                    + _text(left + width - 14, ends[k] + 4, name.rstrip("*"), "start"))
        parts.append((step, step, svg))
    return step_through(parts, captions, size=(left + width + 118, top + height + 44), alt=alt)
