"""Drawings of ideas: what they claim is true of what they draw, and nothing covers anything."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.patches import Circle, Rectangle
from pictures import close_figures as close_figures

from odtbook import drawings
from odtlib.constrained import sets

TARGETS = np.array([[8, 0], [7, 0], [0, 6], [0, 5], [6, 0]], float)


def students():
    return drawings.projected_means(TARGETS, (2, 3), sets.AtMostKNonzero(1, 0, 10))


DRAWINGS = {name: getattr(drawings, name) for name in drawings.__all__} | {
    "projected_means": students}


@pytest.mark.parametrize("name", DRAWINGS)
def test_words_neither_cover_each_other_nor_leave_the_figure(name):
    figure = DRAWINGS[name]()
    figure.canvas.draw()
    boxes = {text: text.get_window_extent()
             for ax in figure.axes for text in (*ax.texts, ax.title) if text.get_text()}
    assert boxes
    whole = figure.bbox.padded(1)
    for text, box in boxes.items():
        assert whole.contains(box.x0, box.y0) and whole.contains(box.x1, box.y1), text
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        assert not a.overlaps(b), (one, other)


@pytest.mark.parametrize("name", DRAWINGS)
def test_words_are_legible_on_a_phone(name):
    figure = DRAWINGS[name]()
    assert figure.get_figwidth() <= 5.2
    assert min(text.get_fontsize() for ax in figure.axes for text in ax.texts) >= 9


def test_a_point_lies_in_three_regions_and_each_row_in_two():
    ax = drawings.point_between().axes[0]
    regions = [patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_fill()]

    def inside(line):
        x, y = np.ravel(line.get_data())
        return sum(r.get_x() < x < r.get_x() + r.get_width()
                   and r.get_y() < y < r.get_y() + r.get_height() for r in regions)

    counts = {mark: [inside(line) for line in ax.lines if line.get_marker() == mark]
              for mark in "o*"}
    assert counts == {"o": [2, 2, 2], "*": [3]}


def test_dots_of_the_two_sets_are_those_that_the_bound_counts():
    ax = drawings.overlap(score=7, left=3, shared=5, came=4).axes[0]
    first, second = [patch for patch in ax.patches
                     if isinstance(patch, Circle) and patch.get_fill()]
    dots = np.array([np.ravel(line.get_data()) for line in ax.lines])
    within = [np.linalg.norm(dots - circle.center, axis=1) < circle.radius
              for circle in (first, second)]
    assert [(a & ~b).sum() for a, b in (within, within[::-1])] == [3, 4]
    assert (within[0] & within[1]).sum() == 5
    assert any("7 − 3 = 4 errors" in text.get_text() for text in ax.texts)


def test_shares_agree_by_node_and_in_no_cell():
    figure = drawings.linked_shares()
    value = {"0": 0, "½": 0.5, "1": 1}
    cells, sums = [], []
    for ax in figure.axes:
        numbers = [(text.get_position(), value[text.get_text()]) for text in ax.texts
                   if text.get_text() in value]
        cells.append([v for (x, y), v in numbers if 0 < x < 2 and 0 < y < 2])
        sums.append([v for (x, y), v in numbers if not (0 < x < 2 and 0 < y < 2)])
        assert sum(cells[-1]) == 1
    assert sums[0] == sums[1]
    assert not np.isclose(*cells).any()


def test_titles_say_what_the_projections_add():
    figure = students()
    for ax, cut in zip(figure.axes, (2, 3), strict=True):
        added = 0
        for rows in (TARGETS[:cut], TARGETS[cut:]):       # keep the course with the larger mean
            added += len(rows) * rows.mean(axis=0).min() ** 2
        assert ax.get_title() == f"threshold {cut}.5: adds {added:.1f}"


def test_a_bit_forbids_the_side_on_which_the_row_would_be_wrong():
    for value in (3.2, 3.8):
        for ax, ends in zip(drawings.bit_of_a_threshold(value).axes, ((1, 4), (3, 6)),
                            strict=True):
            shade, = ax.patches
            assert (shade.get_x(), shade.get_x() + shade.get_width()) == ends
            assert ends[0] < value < ends[1]
            thick = {line.get_xdata()[0] for line in ax.lines if line.get_linewidth() == 4}
            # to the right of all thresholds that are left: not left; to the left of all: not right
            wrong = "right" if value < min(thick) else "left"
            assert any(f"must not go {wrong}" in text.get_text() for text in ax.texts)


def test_a_column_shows_its_splits_and_leaves():
    for h, ax in enumerate(drawings.subtree_columns(4).axes):
        marks = [line.get_marker() for line in ax.lines if line.get_markersize() == 9]
        splits, leaves = marks.count("o"), marks.count("s")
        assert (splits, leaves) == (4 - h + 2**h - 1, 2**h)     # as the page counts its columns
        assert any(text.get_text().startswith(f"{splits} splits,\n{leaves} lea")
                   for text in ax.texts)
