"""Pictures of trees and of anytime curves, with matplotlib alone.

Every function draws on the axes that it is given, or on a new figure, returns the axes, and leaves
a description of what it drew in ``ax.alt`` (see :func:`alt_text`). New figures have a transparent
background and grey text, so that they can be read on a light and on a dark page. Importing this
module changes no matplotlib setting.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from odtlib.requirements import needs

mpl = needs("matplotlib", "plot", "Drawing")

from matplotlib import pyplot as plt
from matplotlib.colors import to_hex, to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle
from matplotlib.textpath import text_to_path

from odtlib.text import html, threshold_text, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from odtlib.report import SolveReport
    from odtlib.tree import DecisionTree

__all__ = ["COLORS", "alt_text", "anytime", "draw_tree"]

# The palette of Okabe and Ito (2008), told apart with every common form of colour blindness. The
# first four have a contrast above 3 on white and on the dark page, so lines take them first.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#999999")
DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))

# Text and lines outside boxes. No colour has a contrast of 4.5 on both white and #121212 (their
# own contrast is 18.7, and 4.5 squared is 20.3); this grey has 4.3 on either, the best there is.
# The book's pages shift it past 4.5 with a filter (_static/book.css).
INK = "#797979"
# Text inside boxes, which are light on every page: contrast above 6.
BOX_INK, BOX_FACE = "#1A1A1A", "#F4F4F4"


# ------------------------------------------------------------------ figures


def settings(face: str = "none", ink: str = INK) -> dict[str, Any]:
    """Return matplotlib settings for a background and a colour of text; both pages by default."""
    return {
        "figure.facecolor": face, "axes.facecolor": "none", "savefig.facecolor": "auto",
        "text.color": ink, "axes.labelcolor": ink, "axes.titlecolor": ink, "axes.edgecolor": ink,
        "xtick.color": ink, "ytick.color": ink, "legend.labelcolor": ink,
        "legend.frameon": False, "grid.color": ink, "grid.alpha": 0.3,
        "axes.spines.top": False, "axes.spines.right": False,
        "axes.prop_cycle": mpl.cycler(color=COLORS[:4] * 2, linestyle=DASHES[:1] * 4
                                      + DASHES[1:2] * 4),
    }


def new_axes(figsize, whole=False):
    """Return axes on a new figure, styled unless the caller has chosen a style already."""
    default = mpl.rcParams["text.color"] == mpl.rcParamsDefault["text.color"]
    with mpl.rc_context(settings()) if default else nullcontext():
        if whole:
            return plt.figure(figsize=figsize).add_axes((0, 0, 1, 1))
        return plt.figure(figsize=figsize, layout="constrained").add_subplot()


def ink_of(ax):
    """Return the text colour that belongs to the style in which the axes were made."""
    return ax.xaxis.label.get_color()


def color_of(k):
    return COLORS[k % len(COLORS)]


def _tint(color, share):
    """Mix a colour with white; ``share`` is the part of the colour."""
    return to_hex(share * np.array(to_rgb(color)) + (1 - share))


def alt_text(drawn: Axes | DecisionTree) -> str:
    """Return a description of a picture, or of a tree, for readers who cannot see it.

    Parameters
    ----------
    drawn : matplotlib.axes.Axes or DecisionTree
        Axes that a function of this module has drawn on, or a tree.

    Returns
    -------
    str
        Plain sentences made from the drawn data.
    """
    if hasattr(drawn, "to_nested"):
        return tree_alt(drawn, words_of(drawn))
    if not hasattr(drawn, "alt"):
        raise ValueError("These axes were not drawn by odtlib.plotting; describe them by hand.")
    return drawn.alt


def as_svg(ax: Axes) -> str:
    """Return a picture of this module as an element of a page, with its description; close it."""
    file = io.StringIO()
    ax.figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    plt.close(ax.figure)
    drawn = file.getvalue()
    return drawn[drawn.index("<svg"):].replace(
        "<svg", f'<svg role="img" aria-label="{html(alt_text(ax))}"', 1)


def _number(value, digits=4):
    return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"


def listing(parts):
    parts = [str(item) for item in parts]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def counted(number, one, many):
    return f"{number} {one if number == 1 else many}"


# ------------------------------------------------------------------ what a tree says


@dataclass(frozen=True)
class _Words:
    """The texts of a tree."""

    tests: dict  # feature node -> (name, condition), as two texts
    branches: dict  # feature node -> what leads left, what leads right, as texts
    conditions: dict  # feature node -> the same as full conditions
    leaves: dict  # leaf -> (prediction, how many rows), as two texts
    classes: list  # empty for regression


def words_of(tree, X=None, feature_names=None, class_names=None):
    named = tree if feature_names is None else tree.replace(feature_names=feature_names)
    names = [visible(named.feature_name(j)) for j in range(tree.n_features)]
    classes = [] if tree.classes is None else list(tree.classes)
    classes = [visible(c) for c in (classes if class_names is None else class_names)]
    tests, branches, conditions = {}, {}, {}
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        j, threshold = int(tree.feature[node]), float(tree.threshold[node])
        if named.is_condition(node):
            name = names[j].replace("<=", "≤")
            tests[node], branches[node] = (f"{name}?", ""), ("no", "yes")
            conditions[node] = f"not {name}", name
            continue
        if np.isinf(threshold):
            conditions[node] = tuple(named.split_text(node, side) for side in ("left", "right"))
            tests[node] = conditions[node][0].removesuffix(" is not missing"), "is not missing"
            branches[node] = "yes", "no"
            continue
        values = tree.threshold[tree.feature == j] if X is None else X[:, j]
        low = values[values < threshold if X is None else values <= threshold]
        text = threshold_text(threshold, low.max(initial=-np.inf),
                              values[values > threshold].min(initial=np.inf))
        sides = ["", ""]
        if tree.missing_left is not None and tree.missing_left[node] >= 0:
            sides[1 - tree.missing_left[node]] = " or missing"
        tests[node], branches[node] = (names[j], f"≤ {text}{sides[0]}"), ("yes", "no")
        conditions[node] = (f"{names[j]} ≤ {text}{sides[0]}", f"{names[j]} > {text}{sides[1]}")

    rows = _rows(tree, X)
    leaves = {}
    for leaf in np.flatnonzero(tree.feature < 0).tolist():
        if tree.kind == "regression":
            shown = [_number(v) for v in tree.value[leaf]]
            text = ", ".join(shown if len(shown) <= 6 else [*shown[:5], "…"])
            count = "" if rows is None else f"n = {rows[leaf]}"
        else:
            text = classes[tree.label[leaf]]
            right = tree.value[leaf, tree.label[leaf]]
            count = "" if rows is None else f"{_number(right)} of {_number(rows[leaf])}"
        leaves[leaf] = text, count
    return _Words(tests, branches, conditions, leaves, classes)


def _rows(tree, X):
    """Return the rows (or their weight) at every node, None where the tree does not know."""
    leaf = tree.feature < 0
    if tree.kind == "regression":
        return None if X is None else np.bincount(tree.apply(X), minlength=tree.n_nodes)
    total = tree.value.sum(axis=1)
    # Trees written by hand have one unit in the predicted class of every leaf, and no rows.
    by_hand = np.all(total[leaf] == 1) and np.all(tree.value[leaf].max(axis=1) == 1)
    return None if by_hand else total


def tree_alt(tree, words):
    text = (f"Decision tree of depth {tree.depth} with {counted(tree.n_splits, 'split', 'splits')} "
            f"and {counted(tree.n_leaves, 'leaf', 'leaves')}.")
    if tree.n_splits == 0:
        return f"{text} It always predicts {words.leaves[0][0]}."
    if tree.n_leaves <= 8:
        for leaf, path in _paths(tree, words):
            value, count = words.leaves[leaf]
            text += f" If {' and '.join(path)}: {value}{f' ({count})' if count else ''}."
        return text
    text += f" The root asks whether {' '.join(words.tests[0]).strip().rstrip('?')}."
    used = sorted({words.tests[node][0].rstrip("?") for node in words.tests})
    text += f" It splits on {listing(used)}."
    if words.classes:
        predictions = [words.leaves[leaf][0] for leaf in words.leaves]
        parts = [f"{counted(predictions.count(c), 'leaf predicts', 'leaves predict')} {c}"
                 for c in words.classes if c in predictions]
        text += f" {listing(parts)}."
    else:
        values = tree.value[tree.feature < 0]
        text += f" Its predictions lie between {_number(values.min())} and " \
                f"{_number(values.max())}."
    return text


def _paths(tree, words):
    """Yield every leaf, from left to right, with the conditions that lead to it."""
    stack = [(0, ())]
    while stack:
        node, path = stack.pop()
        if tree.feature[node] < 0:
            yield node, path
        else:
            left, right = words.conditions[node]
            stack += [(tree.right[node], (*path, right)), (tree.left[node], (*path, left))]


# ------------------------------------------------------------------ trees

REGION = 0.42  # opacity of a leaf's colour: in a partition, or mixed with white
FONT_SIZES = np.arange(10.0, 4.4, -0.5)  # points, tried from the largest
WORD_SIZE = 7.0  # from this size on, breaking a word is better than a smaller font
LEGEND_SIZE, LEGEND_ROW = 9.0, 0.22
LINE, PAD, BAR = 1.25, 0.05, 0.06  # line height (of the font size), padding and bar (inches)
GAP = 0.36  # between the levels of a tree that grows to the right (inches)


def draw_tree(tree: DecisionTree, ax: Axes | None = None, *, X: ArrayLike | None = None,
              orientation: str = "auto", font_size: float | None = None, legend: bool = True,
              feature_names: Sequence[str] | None = None,
              class_names: Sequence[str] | None = None) -> Axes:
    """Draw a tree: tests in grey boxes, leaves in the colour of their class.

    Rows that pass the test of a box follow its branch "yes". A leaf shows its prediction, how
    many of its training rows have that class, and a bar with the share of every class.

    Parameters
    ----------
    tree : DecisionTree
        Any tree; up to 32 leaves stay readable.
    ax : matplotlib.axes.Axes, default=None
        Where to draw. Text is sized for the axes as they are now. By default a new figure, as
        large as the tree needs.
    X : array-like of shape (n_rows, n_features), default=None
        Rows in the features of the tree. Thresholds are then written with as few digits as
        separate the rows, and a regression tree shows how many rows reach each leaf.
    orientation : {"auto", "down", "right"}, default="auto"
        Where the tree grows. ``"right"`` gives each leaf a line of its own and suits large trees;
        ``"auto"`` takes it above eight leaves.
    font_size : float, default=None
        Size in points; by default the largest that fits, from 10 down to 4.5.
    legend : bool, default=True
        Whether to name the colours of the classes below the tree (at most eight classes).
    feature_names, class_names : sequence of str, default=None
        Names to show instead of those in the tree.

    Returns
    -------
    matplotlib.axes.Axes
        With ``ax.alt``.
    """
    if orientation not in ("auto", "down", "right"):
        raise ValueError(f"orientation is {orientation!r}; use 'auto', 'down' or 'right'.")
    words = words_of(tree, None if X is None else np.asarray(X, np.float64), feature_names,
                     class_names)
    down = orientation == "down" or (orientation == "auto" and tree.n_leaves <= 8)
    levels = tree.depth + 1
    new = ax is None
    if new:
        size = (max(2.0, 1.05 * tree.n_leaves), 0.95 * levels) if down \
            else (1.55 * levels, max(1.0, 0.36 * tree.n_leaves))
        names = words.classes if legend else []
        ax = new_axes((size[0], size[1] + _legend_rows(names, size[0]) * LEGEND_ROW), whole=True)
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    rows = _legend_rows(words.classes, box.width) if legend else 0
    width, height = box.width, box.height - rows * LEGEND_ROW
    ax.set(xlim=(0, width), ylim=(-rows * LEGEND_ROW, height), aspect="auto")
    ax.set_axis_off()

    depth = tree.node_depth
    named = tree if feature_names is None else tree.replace(feature_names=feature_names)
    position = leaf_positions(named) * (width if down else height) / tree.n_leaves
    along = (height if down else width) / levels  # inches of a level
    room = _rooms(depth, position, width if down else height)
    for size in FONT_SIZES if font_size is None else [font_size]:
        boxes = []
        for node in range(tree.n_nodes):
            if down:
                space = room[node] - 0.06, along - 0.24
            else:  # a new figure is made as wide as its leaves
                wide = 1.8 if new and tree.feature[node] < 0 else along - GAP
                space = wide, room[node] - 0.04
            boxes.append(_box(tree, words, node, size, space, down))
        if all(fits for *_, fits in boxes):
            break

    if down:
        centre = np.column_stack([position, height - (depth + 0.5) * along])
    else:  # every level starts behind the widest box of the one before
        widest = [max(boxes[node][1] for node in np.flatnonzero(depth == d)) for d in range(levels)]
        start = 0.03 + np.concatenate([[0.0], np.cumsum(widest)[:-1]]) + GAP * np.arange(levels)
        if new:
            width = start[-1] + widest[-1] + 0.03
            ax.figure.set_figwidth(width)
            ax.set_xlim(0, width)
        centre = np.column_stack([start[depth] + [w / 2 for _, w, *_ in boxes], height - position])
    _draw_branches(ax, tree, words, boxes, centre, down, along, size)
    for node in range(tree.n_nodes):
        _draw_box(ax, tree, node, boxes[node], centre[node], size)
    if rows:
        legend = ax.legend(
            handles=[Patch(color=color_of(k), label=str(k)) for k in range(len(words.classes))],
            loc="lower center", ncol=-(-len(words.classes) // rows), frameon=False,
            labelcolor=ink_of(ax), fontsize=LEGEND_SIZE, borderaxespad=0.2, borderpad=0.2,
            handlelength=1.0, handleheight=0.8, handletextpad=0.5, columnspacing=1.0)
        for text, name in zip(legend.get_texts(), words.classes):   # whatever sign it begins with
            text.set(text=name, parse_math=False)
    ax.alt = tree_alt(tree, words)
    return ax


def _legend_rows(names, width):
    """Return how many rows a legend of these classes takes; none for one or too many classes."""
    if not 2 <= len(names) <= len(COLORS):
        return 0
    widest = max(_width(name) for name in names) * LEGEND_SIZE + 0.42  # with patch and spacing
    return -(-len(names) // max(1, int(width / widest)))


def leaf_positions(tree):
    """Return the position of every node: leaves 0.5, 1.5, ...; a parent amid its children.

    The branch "yes" comes first, which of a 0/1 column is the right one.
    """
    position, leaves = np.zeros(tree.n_nodes), 0
    stack = [(0, False)]
    while stack:
        node, seen = stack.pop()
        left, right = tree.left[node], tree.right[node]
        if left < 0:
            position[node] = leaves + 0.5
            leaves += 1
        elif seen:
            position[node] = (position[left] + position[right]) / 2
        else:
            last, first = (left, right) if tree.is_condition(node) else (right, left)
            stack += [(node, True), (last, False), (first, False)]
    return position


def _rooms(depth, position, end):
    """Return the width that each node can take without touching a neighbour of its level."""
    room = np.minimum(position, end - position) * 2
    for level in range(depth.max() + 1):
        nodes = np.flatnonzero(depth == level)
        nodes = nodes[np.argsort(position[nodes])]
        gaps = np.diff(position[nodes])
        room[nodes[:-1]] = np.minimum(room[nodes[:-1]], gaps)
        room[nodes[1:]] = np.minimum(room[nodes[1:]], gaps)
    return room


@lru_cache(maxsize=4096)
def _width(text):
    """Return the width of a text in inches at one point, in the default font.

    Small letters are drawn on whole pixels, which makes a line up to 6 % wider.
    """
    properties = FontProperties(family=mpl.rcParams["font.family"], size=10)
    return 1.06 * text_to_path.get_text_width_height_descent(text, properties, False)[0] / 720


def _wrap(text, size, width):
    """Break a text into lines of at most ``width`` inches; say whether no word was broken.

    Lines break at spaces, then behind ``_`` and ``/``, and inside words at last.
    """
    lines, whole = [""], True
    for word in re.findall(r"[^\s_/]*(?:[_/]+|\s+|$)", text):
        if not lines[-1] or _width((lines[-1] + word).rstrip()) * size <= width:
            lines[-1] += word
        else:
            lines.append(word)
        while len(lines[-1].rstrip()) > 1 and _width(lines[-1].rstrip()) * size > width:
            keep = len(lines[-1].rstrip()) - 1
            while keep > 1 and _width(lines[-1][:keep]) * size > width:
                keep -= 1
            lines[-1:] = [lines[-1][:keep], lines[-1][keep:]]
            whole = False
    return [line.strip() for line in lines if line.strip()], whole


def _box(tree, words, node, size, space, down):
    """Return the lines, the width and height (inches) of a node's box, and whether it fits."""
    leaf = tree.feature[node] < 0
    inner = space[0] - 2 * PAD
    parts = [text for text in (words.leaves if leaf else words.tests)[node] if text]
    if not down and _width("  ".join(parts)) * size <= inner:
        parts = [("  " if leaf else " ").join(parts)]
    wrapped = [_wrap(text, size, inner) for text in parts]
    lines = [line for text_lines, _ in wrapped for line in text_lines]
    bar = BAR + 0.03 if leaf and words.classes else 0.0
    max_lines = int((space[1] - 2 * PAD - bar) / (LINE * size / 72))
    fits = len(lines) <= max_lines and (size <= WORD_SIZE or all(whole for _, whole in wrapped))
    if len(lines) > max_lines and size == FONT_SIZES[-1]:  # cut the name, keep the condition
        kept = lines[: max(1, max_lines - len(parts) + 1)]
        lines = [*kept[:-1], f"{kept[-1][:-1]}…", *lines[len(lines) - len(parts) + 1 :]]
    width = max(map(_width, lines), default=0.0) * size + 2 * PAD
    height = len(lines) * LINE * size / 72 + 2 * PAD + bar
    return lines, max(width, 0.35 if bar else 0.0), height, fits


def _draw_branches(ax, tree, words, boxes, centre, down, along, size):
    ink = ink_of(ax)
    for node in words.tests:
        x, y = centre[node]
        _, w, h, _ = boxes[node]
        for child, text in zip((tree.left[node], tree.right[node]), words.branches[node],
                               strict=True):
            cx, cy = centre[child]
            _, cw, ch, _ = boxes[child]
            if down:
                turn = y - (h / 2 + max(h, along) / 2) / 2
                path = [(x, y - h / 2), (x, turn), (cx, turn), (cx, cy + ch / 2)]
                side = -1 if cx < x else 1
                label = (cx - side * 0.04, (turn + cy + ch / 2) / 2)
                align = dict(ha="left" if side < 0 else "right", va="center")
            else:
                turn = max(cx - cw / 2 - GAP + 0.1, x + w / 2)
                path = [(x + w / 2, y), (turn, y), (turn, cy), (cx - cw / 2, cy)]
                label = ((turn + cx - cw / 2) / 2, cy + (0.01 if cy > y else -0.01))
                align = dict(ha="center", va="bottom" if cy > y else "top")
            ax.add_line(Line2D(*zip(*path, strict=True), color=ink, linewidth=0.9, zorder=1))
            ax.text(*label, text, color=ink, fontsize=max(0.8 * size, 4), zorder=2,
                    parse_math=False, **align)


def _draw_box(ax, tree, node, box, centre, size):
    lines, width, height, _ = box
    leaf = tree.feature[node] < 0
    face, edge = BOX_FACE, INK
    if leaf and tree.kind == "classification":
        edge = color_of(tree.label[node])
        face = _tint(edge, 0.25)
    elif leaf and (color := leaf_color(tree, node)) != to_rgb(BOX_FACE):
        edge, face = color, _tint(color, REGION)
    x, y = centre[0] - width / 2, centre[1] - height / 2
    ax.add_patch(FancyBboxPatch(
        (x, y), width, height, boxstyle=f"round,pad=0,rounding_size={min(0.04, height / 3)}",
        facecolor=face, edgecolor=edge, linewidth=1.4 if leaf else 0.9, zorder=3))
    bar = BAR + 0.03 if leaf and tree.kind == "classification" else 0.0
    ax.text(centre[0], centre[1] + bar / 2, "\n".join(lines), color=BOX_INK, fontsize=size,
            zorder=5, ha="center", va="center", linespacing=LINE * 0.83, parse_math=False)
    if bar:
        share = tree.value[node]
        if not share.any():  # a leaf without rows
            share = np.arange(len(share)) == tree.label[node]
        share, start = share / share.sum(), x + PAD
        for k in np.flatnonzero(share):
            bar_width = share[k] * (width - 2 * PAD)
            ax.add_patch(Rectangle((start, y + PAD), bar_width, BAR, color=color_of(k), linewidth=0,
                                   zorder=4))
            start += bar_width


def leaf_color(tree, leaf):
    """Return the colour of a leaf: its class, or its value between the extremes of the tree."""
    if tree.kind == "classification":
        return to_rgb(color_of(tree.label[leaf]))
    values = tree.value[tree.feature < 0]
    if values.shape[1] > 1 or np.ptp(values) == 0:
        return to_rgb(BOX_FACE)
    return mpl.colormaps["cividis"]((tree.value[leaf, 0] - values.min()) / np.ptp(values))[:3]


# ------------------------------------------------------------------ anytime curves


def anytime(reports: SolveReport | Sequence[SolveReport] | dict[str, SolveReport],
            ax: Axes | None = None) -> Axes:
    """Draw incumbent (full line) and lower bound (broken line) over time, as steps.

    Time is on a logarithmic axis where the runs, or their first events, differ more than a
    hundredfold.

    Parameters
    ----------
    reports : SolveReport, list of SolveReport, or dict of str to SolveReport
        The runs; the keys of a dict are their labels.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        With ``ax.alt``. A dot ends the curve of a run that proved its tree optimal, a cross that
        of any other.
    """
    if isinstance(reports, list | tuple):
        reports = {f"run {k}": report for k, report in enumerate(reports, 1)}
    elif not isinstance(reports, dict):
        reports = {"": reports}
    if not reports:
        raise ValueError("no report is given; give at least one.")
    ax = new_axes((5.2, 3.6)) if ax is None else ax
    traces = [report.trace for report in reports.values()]
    ends = [trace["seconds"].max() for trace in traces]
    starts = [t for trace in traces for t in trace["seconds"] if t > 0]
    log_time = bool(starts) and max(ends) > 100 * min(starts)
    handles, alts = [], []
    for k, ((label, report), trace, end) in enumerate(zip(reports.items(), traces, ends)):
        color = color_of(k)
        for column, dash in (("incumbent", DASHES[0]), ("bound", DASHES[1])):
            finite = trace[np.isfinite(trace[column].astype(float))]
            if len(finite):
                seconds = finite["seconds"]
                ax.plot(np.maximum(seconds, min(starts)) if log_time else seconds,
                        finite[column], drawstyle="steps-post", color=color, linestyle=dash,
                        linewidth=1.6)
        optimal = report.status == "optimal"
        if np.isfinite(report.objective):
            ax.plot(end, report.objective, marker="o" if optimal else "x", color=color,
                    markersize=6, clip_on=False, linestyle="none", markeredgewidth=1.6)
        if label:
            handles.append(Line2D([], [], color=color, marker="o" if optimal else "x", label=label))
        alts.append(f"{label or 'The run'} ends after {_number(end, 3)} seconds with objective "
                    f"{_number(report.objective, 6)}, "
                    + ("proved optimal." if optimal else
                       f"lower bound {_number(report.lower_bound, 6)} and status "
                       f"{report.status.replace('_', ' ')}."))
    handles += [Line2D([], [], color=ink_of(ax), linestyle=dash, label=text)
                for dash, text in ((DASHES[0], "incumbent"), (DASHES[1], "lower bound"))]
    if log_time:
        ax.set_xscale("log")
    ax.set(xlabel="seconds", ylabel="objective")
    ax.legend(handles=handles, frameon=False, labelcolor=ink_of(ax))
    ax.alt = ("Objective over time" + (" (logarithmic)" if log_time else "") + ": incumbent and "
              f"lower bound as steps. {' '.join(alts)}")
    return ax
