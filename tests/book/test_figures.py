"""Figures of the book: partitions are true, and colours can be read on light and dark pages."""

import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.patches import Rectangle

from odtbook import figures
from odtlib import plotting
from odtlib.tree import DecisionTree
from tests.pictures import close_figures as close_figures
from tests.pictures import grown

# ------------------------------------------------------------------ partitions


@pytest.mark.parametrize("seed", range(20))
def test_rectangles_tile_the_plane_and_predict_like_the_tree(seed):
    rng = np.random.default_rng(seed)
    nested = grown(rng, 4, 2, 3)
    tree = DecisionTree.from_nested(nested, 3, n_features=2)
    limits = -1.5, 2.0, -2.0, 1.0
    found = list(figures._rectangles(tree, (0, 1), limits))
    area = sum((right - left) * (top - bottom) for _, left, right, bottom, top in found)
    assert area == pytest.approx(3.5 * 3.0)
    for leaf, left, right, bottom, top in found:
        assert tree.apply([[right, top]])[0] == leaf  # the upper right corner belongs to it
        inside = [[left + 1e-9 * (right - left), bottom + 1e-9 * (top - bottom)],
                  [(left + right) / 2, (bottom + top) / 2]]
        assert set(tree.apply(inside)) == {leaf}


def test_partition_shows_the_rows():
    rng = np.random.default_rng(0)
    X = rng.random((50, 4))
    y = np.where(X[:, 3] > 0.5, "up", "down")
    tree = DecisionTree.from_nested((3, 0.5, 0, (1, 0.3, 1, 0)), 2, n_features=4,
                                    classes=["down", "up"])
    ax = figures.partition(tree, X, y, features=(3, 1))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x3", "x1")
    shown = [c for c in ax.collections if isinstance(c, PathCollection)]
    assert [len(c.get_offsets()) for c in shown] == [(y == "down").sum(), (y == "up").sum()]
    assert np.array_equal(shown[1].get_offsets(), X[y == "up"][:, [3, 1]])
    assert len({c.get_paths()[0].vertices.shape for c in shown}) == 2  # two marker shapes
    assert len([p for p in ax.patches if isinstance(p, Rectangle)]) == 3
    assert "cut into 3 rectangles by a tree. 50 rows are shown as points." in ax.alt
    with pytest.raises(ValueError, match="also splits on x3"):
        figures.partition(tree, X, y, features=(0, 1))
    with pytest.raises(ValueError, match="label 'c', which the tree does not know"):
        figures.partition(tree, X, ["c"] * len(X), features=(3, 1))


def test_partition_without_rows_and_of_values():
    tree = DecisionTree.from_nested((0, 2.0, [1.0], (1, 5.0, [2.0], [9.0])), kind="regression")
    ax = figures.partition(tree)
    assert ax.get_xlim()[0] < 2.0 < ax.get_xlim()[1] and ax.get_ylim()[0] < 5.0 < ax.get_ylim()[1]
    assert len(ax.figure.axes) == 2  # with a colour bar
    given = figures.partition(tree, limits=(0, 3, 0, 6))
    assert given.get_xlim() == (0, 3) and given.get_ylim() == (0, 6)


# ------------------------------------------------------------------ colours and settings


def luminance(color):
    c = np.array(matplotlib.colors.to_rgb(color))
    return float(np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
                 @ [0.2126, 0.7152, 0.0722])


def contrast(a, b):
    """Contrast ratio of WCAG 2.1."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast():
    pages = "#FFFFFF", "#121212"
    for page in pages:
        assert contrast(plotting.INK, page) > 4.28
        assert all(contrast(color, page) > 3 for color in plotting.COLORS[:4])
    # The claim beside INK: no grey reaches 4.5 on both pages, and this one comes closest.
    greys = [f"#{v:02X}{v:02X}{v:02X}" for v in range(256)]
    worst = [min(contrast(grey, page) for page in pages) for grey in greys]
    assert max(worst) < 4.5 and greys[int(np.argmax(worst))] == plotting.INK
    faces = [plotting._tint(color, 0.25) for color in plotting.COLORS] + [plotting.BOX_FACE]
    assert all(contrast(plotting.BOX_INK, face) > 10 for face in faces)
    for value in np.linspace(0, 1, 50):
        face = plotting._tint(matplotlib.colormaps["cividis"](value)[:3], plotting.REGION)
        assert contrast(plotting.BOX_INK, face) > 5
    for theme, page in (("light", "#FFFFFF"), ("dark", "#121212")):
        settings = plotting.settings(*figures.THEMES[theme])
        assert settings["figure.facecolor"] == page
        assert contrast(settings["text.color"], page) > 10


def test_the_pages_of_the_book_bring_the_grey_text_to_4_5():
    css = (Path(__file__).parents[2] / "_static" / "book.css").read_text(encoding="utf-8")
    rules = re.findall(r"^(.*img[^{]*)\{[^}]*brightness\(([\d.]+)\)", css, re.MULTILINE)
    assert {"dark" in rule for rule, _ in rules} == {True, False}
    for rule, factor in rules:
        shown = float(factor) * np.array(matplotlib.colors.to_rgb(plotting.INK))
        assert contrast(shown, "#121212" if "dark" in rule else "#FFFFFF") > 4.5


def test_style_is_used_and_undone():
    tree = DecisionTree.from_nested((0, 0.5, 0, 1))
    ax = plotting.draw_tree(tree)
    assert ax.figure.get_facecolor()[3] == 0  # transparent
    assert {t.get_color() for t in ax.texts if t.get_text() in ("yes", "no")} == {plotting.INK}
    with figures.style("dark"):
        ax = figures.partition(tree.replace(n_features=2))
    assert matplotlib.colors.to_hex(ax.figure.get_facecolor()) == "#121212"
    assert ax.xaxis.label.get_color() == figures.THEMES["dark"][1]
    with pytest.raises(ValueError, match="use 'both', 'light' or 'dark'"):
        figures.style("sepia")
