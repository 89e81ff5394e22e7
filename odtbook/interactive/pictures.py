"""Draw the pictures and hand them to their scripts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_consistent_length

from odtlib.plotting import COLORS, alt_text, leaf_positions
from odtlib.tree import DecisionTree, midpoint

MAX_ROWS = 2000
BOX_WIDTH, BOX_HEIGHT, LINE, INSET = (80, 124), 58, 66, 7
GAP, LETTER = 36, 6.5  # between columns; room for one letter


@dataclass(frozen=True)
class Picture:
    """A picture to play with, shown by a notebook.

    Parameters
    ----------
    html : str
        The picture, with its style and its script.
    alt : str
        What it shows, for readers who cannot see it.
    """

    html: str
    alt: str

    def _repr_html_(self):
        return self.html

    def __repr__(self):
        return self.alt


@cache
def _resource(name):
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _picture(script, svg, controls, data, alt, frame="odt-scroll"):
    """Join a drawing, its controls and its script; the same picture always gets the same name.

    A frame ``odt-scroll`` scrolls what is wider than the page; ``odt-fit`` shrinks it, but for
    its text.
    """
    # without "<" no text can end the script or keep the parser from its end
    data = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    name = "odt-" + hashlib.sha256((script + svg + data).encode()).hexdigest()[:12]
    html = (f'<div class="odt-picture" id="{name}"><style>{_resource("style.css")}</style>'
            f'<div class="{frame}">{svg}</div>{controls}</div><script>(() => {{'
            f'const box = document.getElementById("{name}"); box.classList.add("odt-live");'
            f'{_resource("fit.js") if frame == "odt-fit" else ""}'
            f'({_resource(script).strip().removesuffix(";")})(box, {data});}})();</script>')
    return Picture(html, alt)


def _svg(width, height, alt, parts, margin=4):
    wide, high = width + 2 * margin, height + 2 * margin
    return (f'<svg role="img" aria-label="{escape(alt)}" width="{wide}" height="{high}" '
            f'style="--odt-width:{wide}px" viewBox="{-margin} {-margin} {wide} {high}">'
            f'{"".join(parts)}</svg>')


def _legend(marks):
    """Return a list of marks, SVG of at most 16 by 16 pixels, and what each means."""
    return '<ul class="odt-legend">' + "".join(
        f'<li><svg width="16" height="16" aria-hidden="true">{mark}</svg> {escape(words)}</li>'
        for mark, words in marks) + "</ul>"


def _shorten(text, letters):
    return text if len(text) <= letters else text[:letters - 1] + "…"


def explore_tree(tree: DecisionTree, X: ArrayLike, y: ArrayLike, *,
                 feature_names: Sequence[str] | None = None,
                 class_names: Sequence[str] | None = None) -> Picture:
    """Draw a classification tree in which rows can be followed and thresholds can be moved.

    Every node shows how many rows of each class reach it.  When a threshold moves, all counts,
    labels and the number of errors follow; a leaf predicts the class of most of its rows.

    Parameters
    ----------
    tree : DecisionTree
        The tree to begin with; its own leaf labels are replaced by those of the rows.
    X : array-like of shape (n_rows, n_features)
        Rows to follow and count, at most 2,000, with all features that the tree knows.
    y : array-like of shape (n_rows,)
        Their classes.
    feature_names : sequence of str, optional
        Names of the features (default: those of the tree).
    class_names : sequence of str, optional
        Names of the classes in sorted order (default: the classes themselves).

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        If the tree predicts numbers or is a single leaf, if there are too many rows, or if shapes
        do not agree.
    """
    if not isinstance(tree, DecisionTree) or tree.kind != "classification":
        raise ValueError("explore_tree draws classification trees (DecisionTree); "
                         "hand over the tree_ of a fitted classifier.")
    if tree.n_splits == 0:
        raise ValueError("the tree is a single leaf, it has no tests to explore.")
    X = check_array(X, dtype=np.float64)
    check_consistent_length(X, y)
    if len(X) > MAX_ROWS:
        raise ValueError(f"explore_tree carries every row into the page and takes at most "
                         f"{MAX_ROWS} of them, not {len(X)}; hand over a sample.")
    if X.shape[1] != tree.n_features:
        raise ValueError(f"X has {X.shape[1]} features, the tree was made for "
                         f"{tree.n_features}.")
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    class_names = [str(c) for c in (classes if class_names is None else class_names)]
    if len(class_names) != len(classes):
        raise ValueError(f"class_names has {len(class_names)} entries for {len(classes)} classes "
                         "in y; name each class that occurs, in sorted order.")
    if feature_names is not None:
        tree = tree.replace(feature_names=list(map(str, feature_names)))
    tree = tree.with_counts(X, codes, len(classes)).replace(classes=np.array(class_names))
    used = sorted(set(tree.feature[tree.feature >= 0].tolist()))
    cuts = {}
    for j in used:
        values = np.unique(X[:, j])
        between = [midpoint(a, b) for a, b in zip(values, values[1:])]
        cuts[j] = np.unique([*between, *tree.threshold[tree.feature == j]]).tolist()
    names = {j: tree.feature_name(j) for j in used}
    alt = alt_text(tree) + " A row can be followed down the tree, and thresholds can be moved."
    width = _box_width(tree, names, class_names)
    drawing = _draw_nodes(tree, names, class_names, width)
    data = {"feature": tree.feature.tolist(), "left": tree.left.tolist(),
            "right": tree.right.tolist(),
            "asks": [bool(j >= 0 and tree.is_condition(k)) for k, j in enumerate(tree.feature)],
            "classes": class_names, "names": names,
            "threshold": [None if leaf else float(t) for leaf, t in
                          zip(tree.feature < 0, tree.threshold)],
            "columns": {j: X[:, j].tolist() for j in used}, "cuts": cuts,
            "y": codes.tolist(), "width": width - 2 * INSET}
    splits = np.flatnonzero(tree.feature >= 0)
    # the first test that can move is chosen at the start
    live = next((j for j in splits if len(cuts[tree.feature[j]]) > 1), splits[0])
    tests = "".join(f'<option value="{j}"{" selected" if j == live else ""}>'
                    f'{escape(names[tree.feature[j]])}, node {k}</option>'
                    for k, j in enumerate(splits, 1))
    move = ('<div class="odt-controls"><label>Test <select data-test>' + tests + "</select></label>"
            "<label>Its threshold <input data-cut type=range min=0 value=0></label>"
            "<button type=button>As found</button></div><output data-said></output>")
    controls = ('<div class="odt-controls"><label>Follow row <input data-row type=range min=0 '
                f'max={len(X) - 1} value=0></label></div><output data-where></output>' + move)
    return _picture("tree.js", _svg(*drawing[:2], alt, drawing[2]), controls, data, alt)


def _box_width(tree, names, class_names):
    """Return the width of all boxes: narrow ones keep a tree of depth two on a phone."""
    counts = " | ".join(f"{count:g}" for count in tree.value[0])
    longest = max(map(len, [*names.values(), *class_names, counts, "≤ 0.1234"]))
    return int(np.clip(LETTER * longest + 2 * INSET, *BOX_WIDTH))


def _draw_nodes(tree, names, class_names, box_width):
    """Return width, height and SVG parts of a tree that grows from left to right."""
    place, depth = leaf_positions(tree), tree.node_depth
    x, y = (box_width + GAP) * depth, LINE * (place - 0.5)
    parts = []
    for j in range(tree.n_nodes):
        if tree.left[j] >= 0:
            sides = tree.left[j], tree.right[j]
            yes, no = sides[::-1] if tree.is_condition(j) else sides
            for child, says, aside in ((yes, "yes", -5), (no, "no", 14)):
                middle = y[child] + BOX_HEIGHT / 2
                parts.append(
                    f'<path class="odt-line odt-faint" data-edge="{child}" '
                    f'd="M{x[j] + box_width},{y[j] + BOX_HEIGHT / 2:g} '
                    f'L{x[child]},{middle:g}"/><text x="{x[child] - 5}" '
                    f'y="{middle + aside:g}" text-anchor="end">{says}</text>')
    for j in range(tree.n_nodes):
        total, at, bars = tree.value[j].sum(), 0.0, []
        for c, count in enumerate(tree.value[j]):
            width = (box_width - 2 * INSET) * count / total if total else 0
            bars.append(f'<rect data-part="bar{c}" x="{at:.1f}" y="45" height="7" '
                        f'width="{width:.1f}" fill="{COLORS[c % len(COLORS)]}"/>')
            at += width
        leaf = tree.left[j] < 0
        head = "predict" if leaf else _shorten(names[tree.feature[j]], 17)
        title = class_names[tree.label[j]] if leaf else \
            "is 1?" if tree.is_condition(j) else f"≤ {tree.threshold[j]:.4g}"
        counts = " | ".join(f"{count:g}" for count in tree.value[j])
        parts.append(
            f'<g data-node="{j}" class="{"" if leaf else "odt-node"}" '
            f'transform="translate({x[j]},{y[j]:g})"><rect data-part="box" class="odt-box" '
            f'width="{box_width}" height="{BOX_HEIGHT}" rx="{14 if leaf else 3}"/>'
            f'<g transform="translate({INSET},0)">{"".join(bars)}<text y="14">'
            f'{escape(head)}</text>'
            f'<text data-part="title" y="27">{escape(title)}</text>'
            f'<text data-part="counts" y="40">{counts}</text></g></g>')
    return int(x.max() + box_width), int(y.max() + BOX_HEIGHT), parts


def draw_search_tree(nodes: Sequence[dict[str, Any]], *, box: tuple[float, float] = (104, 50),
                     row: float = 104, top: float = 0) -> list[tuple[int, int | None, str]]:
    """Return the parts of a search tree for :func:`step_through`.

    Parameters
    ----------
    nodes : sequence of dict
        One per node, a parent before its children: ``parent`` (its position in the sequence, None
        for the root), ``branch`` (the text on the line from the parent), ``at`` (horizontal centre
        in pixels), ``lines`` (the texts in the box), ``opened`` (the step at which the node
        appears) and, for a node that was closed, ``closed`` (the step) and ``mark`` (the text
        below the box from then on).
    box : tuple of (width, height), default=(104, 50)
        Size of a box in pixels.
    row : float, default=104
        Distance between the levels in pixels.
    top : float, default=0
        Upper edge of the root in pixels.

    Returns
    -------
    list of (first, last, svg)
        At the step at which a node appears its frame is thick; until then a faint outline keeps
        its place.
    """
    parts, level = [], []
    for node in nodes:
        above = node.get("parent")
        level.append(0 if above is None else level[above] + 1)
        x, y = node["at"] - box[0] / 2, top + row * level[-1]
        svg = ""
        if above is not None:
            start, end = nodes[above]["at"], node["at"]
            side = "end" if end < start else "start"
            aside = -6 if end < start else 6
            svg = (f'<path class="odt-line odt-faint" d="M{start:g},{y - row + box[1]:g} '
                   f'L{end:g},{y:g}"/><text x="{(start + end) / 2 + aside:g}" '
                   f'y="{y - (row - box[1]) * 0.42:g}" text-anchor="{side}">'
                   f'{escape(node["branch"])}</text>')
        svg += (f'<rect class="odt-box" x="{x:g}" y="{y:g}" width="{box[0]:g}" '
                f'height="{box[1]:g}" rx="4"/>')
        for k, line in enumerate(node["lines"]):
            shift = box[1] / 2 + 5 + 19 * (k - (len(node["lines"]) - 1) / 2)
            svg += (f'<text x="{node["at"]:g}" y="{y + shift:g}" text-anchor="middle">'
                    f'{escape(line)}</text>')
        if node["opened"] > 0:
            parts.append((0, node["opened"] - 1,
                          f'<rect class="odt-line odt-faint" stroke-dasharray="3 5" x="{x:g}" '
                          f'y="{y:g}" width="{box[0]:g}" height="{box[1]:g}" rx="4"/>'))
        parts.append((node["opened"], None, svg))
        parts.append((node["opened"], node["opened"],
                      f'<rect class="odt-line" stroke-width="4" x="{x:g}" y="{y:g}" '
                      f'width="{box[0]:g}" height="{box[1]:g}" rx="4"/>'))
        if "closed" in node:
            parts.append((node["closed"], None,
                          f'<text x="{node["at"]:g}" y="{y + box[1] + 16:g}" '
                          f'text-anchor="middle">{escape(node["mark"])}</text>'))
    return parts


def step_through(parts: Sequence[tuple[int, int | None, str]], captions: Sequence[str], *,
                 size: tuple[float, float], alt: str,
                 legend: Sequence[tuple[str, str]] = ()) -> Picture:
    """Show a drawing whose parts appear and disappear, step by step.

    Parameters
    ----------
    parts : sequence of (first, last, svg)
        SVG elements, each with the first and the last step at which it is visible; with a ``last``
        of None it stays to the end.
    captions : sequence of str
        What happens at each step, at least two.
    size : tuple of (width, height)
        Size of the drawing in pixels, at most: on a narrower page it shrinks, but not its text.
    alt : str
        What the whole drawing shows.
    legend : sequence of (svg, str), default=()
        Marks of at most 16 by 16 pixels, with their upper left corner at (0, 0), and what each
        means.

    Returns
    -------
    Picture
        In print, and without its script, the drawing stands at its last step.

    Raises
    ------
    ValueError
        If there are fewer than two captions.
    """
    end = len(captions) - 1
    if end < 1:
        raise ValueError("step_through needs a caption for each of at least two steps.")
    drawn = []
    for first, last, svg in parts:
        last = end if last is None else last
        hidden = "" if first <= end <= last else ' style="display:none"'
        drawn.append(f'<g data-from="{first}" data-to="{last}"{hidden}>{svg}</g>')
    controls = ('<div class="odt-controls"><button type=button>Back</button>'
                "<button type=button>Next</button>"
                "<button type=button>Play</button>"
                f"<label>Step <input type=range min=0 max={end} value={end}></label></div>"
                f'<output aria-live="polite">{escape(captions[-1])}</output>')
    controls = (_legend(legend) if legend else "") + controls
    return _picture("steps.js", _svg(*size, alt, drawn), controls, list(captions), alt,
                    "odt-fit")
