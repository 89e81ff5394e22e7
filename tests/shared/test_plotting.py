"""Pictures: what is drawn is true, does not overlap, and can be read on light and dark pages."""

import subprocess
import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import FancyBboxPatch, Rectangle

from odtlib import plotting
from odtlib.report import SolveReport
from odtlib.tree import DecisionTree
from tests.pictures import close_figures as close_figures
from tests.pictures import grown

NAMES = ["x", "median income of the household", "a_very_long_name_without_any_space_in_it",
         "Antidisestablishmentarianism2", "petal width (cm)", "$cost$"]


def random_tree(seed, depth, n_classes=3, full=False):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(300, 6)), rng.integers(0, n_classes, 300)
    tree = DecisionTree.from_nested(grown(rng, depth, 6, n_classes, full), n_classes,
                                    n_features=6, feature_names=NAMES,
                                    classes=["ham", "spam", "something else"][:n_classes])
    return tree.with_counts(X, y, n_classes), X, y


def boxes_and_texts(ax):
    """Pixel extents of the node boxes, and those of the texts inside boxes, in node order."""
    ax.figure.canvas.draw()
    boxes = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
    texts = [t for t in ax.texts if t.get_text() not in ("yes", "no")]
    assert len(boxes) == len(texts)
    return [b.get_window_extent() for b in boxes], [t.get_window_extent() for t in texts], texts


# ------------------------------------------------------------------ trees


@pytest.mark.parametrize("orientation", ["auto", "down", "right"])
@pytest.mark.parametrize("seed, depth", [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)])
def test_boxes_hold_their_text_and_do_not_overlap(seed, depth, orientation):
    tree, _, _ = random_tree(seed, depth, full=depth == 5)
    ax = plotting.draw_tree(tree, orientation=orientation)
    boxes, texts, _ = boxes_and_texts(ax)
    assert len(boxes) == tree.n_nodes
    page = ax.figure.bbox
    for box, text in zip(boxes, texts, strict=True):
        assert box.x0 <= text.x0 and text.x1 <= box.x1
        assert box.y0 - 1 <= text.y0 and text.y1 <= box.y1 + 1  # a pixel for the descenders
        assert page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 <= box.y1 <= page.y1
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert a.x1 < b.x0 or b.x1 < a.x0 or a.y1 < b.y0 or b.y1 < a.y0
    assert sum(t.get_text() in ("yes", "no") for t in ax.texts) == 2 * tree.n_splits
    assert len(ax.lines) == 2 * tree.n_splits
    for line in ax.lines:                            # branches run beside the boxes
        corners = ax.transData.transform(line.get_xydata())
        for (x0, y0), (x1, y1) in zip(corners, corners[1:], strict=False):
            for box in boxes:
                assert (max(x0, x1) < box.x0 + 1 or min(x0, x1) > box.x1 - 1 or
                        max(y0, y1) < box.y0 + 1 or min(y0, y1) > box.y1 - 1)


def test_depth_five_stays_readable():
    ax = plotting.draw_tree(random_tree(0, 5, full=True)[0])
    _, _, texts = boxes_and_texts(ax)
    assert min(t.get_fontsize() for t in texts) >= 7
    assert max(ax.figure.get_size_inches()) < 13


def test_what_the_boxes_say():
    X = np.array([[1.0], [2.0], [4.0], [5.0]])
    tree = DecisionTree.from_nested((0, 2.7182818, 0, 1), feature_names=["length"],
                                    classes=["short", "long"])
    _, _, texts = boxes_and_texts(plotting.draw_tree(tree))
    assert [t.get_text() for t in texts] == ["length\n≤ 2.718", "short", "long"]
    ax = plotting.draw_tree(tree.with_counts(X, [0, 0, 1, 0], relabel=False), X=X,
                            feature_names=["size"], class_names=["S", "L"])
    _, _, texts = boxes_and_texts(ax)
    assert [t.get_text() for t in texts] == ["size\n≤ 2.718", "S\n2 of 2", "L\n1 of 2"]
    left, right = (next(t for t in ax.texts if t.get_text() == word) for word in ("yes", "no"))
    assert left.get_position()[0] < right.get_position()[0]  # x <= t goes left, and is "yes"
    # The bar of the second leaf: half a row of each class, in the colours of the classes.
    bars = [p for p in ax.patches if type(p) is Rectangle]
    assert [matplotlib.colors.to_hex(p.get_facecolor()).upper() for p in bars] == [
        plotting.COLORS[0], plotting.COLORS[0], plotting.COLORS[1]]
    assert bars[1].get_width() == pytest.approx(bars[2].get_width())
    assert ax.alt == ("Decision tree of depth 1 with 1 split and 2 leaves. "
                      "If size ≤ 2.718: S (2 of 2). If size > 2.718: L (1 of 2).")


@pytest.mark.parametrize("seed", range(10))
def test_written_thresholds_separate_the_rows(seed):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.normal(size=(40, 1)) * rng.choice([1e-9, 1.0, 1e9]) + 7, axis=0)
    k = int(rng.integers(0, 39))
    tree = DecisionTree.from_nested((0, float(X[k, 0] / 2 + X[k + 1, 0] / 2), 0, 1))
    _, _, texts = boxes_and_texts(plotting.draw_tree(tree, X=X))
    written = float(texts[0].get_text().split("≤")[1])
    assert X[k, 0] <= written < X[k + 1, 0]


def test_columns_named_by_conditions_become_questions():
    tree = DecisionTree.from_nested((0, 0.5, 0, 1), feature_names=["-0.7 < dose <= 0.6981"])
    ax = plotting.draw_tree(tree)
    question = "-0.7 < dose ≤ 0.6981"
    root = next(t.get_text() for t in ax.texts if "dose" in t.get_text())
    assert root.replace("\n", " ") == f"{question}?"
    place = {t.get_text(): t.get_position()[0] for t in ax.texts}
    assert place["yes"] < place["no"]  # as in every picture, though the ones of the column go right
    assert f"If not {question}: 0. If {question}: 1." in ax.alt


def test_regression_trees():
    tree = DecisionTree.from_nested((0, 0.5, [1.5], (0, 1.5, [-2.0], [30.25])), kind="regression")
    ax = plotting.draw_tree(tree, X=[[0.0], [1.0], [1.2], [2.0]])
    _, _, texts = boxes_and_texts(ax)
    assert [t.get_text() for t in texts][1::2] == ["1.5\nn = 1", "-2\nn = 2"]
    assert ax.get_legend() is None
    assert "If x0 > 0.5 and x0 > 1.5: 30.25 (n = 1)." in ax.alt
    both = DecisionTree.from_nested((0, 0.5, [1.0, 2.0], [3.0, 4.0]), kind="regression")
    assert "If x0 ≤ 0.5: 1, 2." in plotting.draw_tree(both).alt
    five = DecisionTree.from_nested((0, 0.5, [0, 0, 27, 28, 0.0], [1, 2, 3, 4, 5.0]),
                                    kind="regression")
    _, _, texts = boxes_and_texts(plotting.draw_tree(five))
    assert [t.get_text().replace("\n", " ") for t in texts][1:] == ["0, 0, 27, 28, 0",
                                                                    "1, 2, 3, 4, 5"]
    many = random_tree(1, 5, full=True)[0]
    many = many.replace(kind="regression", value=many.value[:, 0], label=None, classes=None)
    assert "Its predictions lie between" in plotting.alt_text(many)


def test_alt_text_of_a_large_tree_counts_its_leaves():
    tree, _, _ = random_tree(3, 5, full=True)
    alt = plotting.alt_text(tree)
    assert alt == plotting.draw_tree(tree).alt
    assert alt.startswith("Decision tree of depth 5 with 31 splits and 32 leaves. The root asks")
    leaf = tree.feature < 0
    for k, name in enumerate(tree.classes):
        count = int(np.sum(tree.label[leaf] == k))
        noun = "leaf predicts" if count == 1 else "leaves predict"
        assert f"{count} {noun} {name}" in alt
    with pytest.raises(ValueError, match="not drawn by odtlib"):
        plotting.alt_text(plt.figure().add_subplot())


def test_drawing_on_given_axes_and_through_the_tree():
    tree, _, _ = random_tree(2, 3, full=True)
    figure, axes = plt.subplots(1, 2, figsize=(12, 4))
    assert tree.plot(ax=axes[0]) is axes[0]
    assert tree.plot(ax=axes[1], orientation="right", legend=False) is axes[1]
    assert axes[0].get_legend() is not None and axes[1].get_legend() is None
    # Default matplotlib axes keep black text; nothing grey is forced on them.
    assert {t.get_color() for t in axes[0].texts if t.get_text() == "yes"} == {"black"}


def test_draw_tree_refuses():
    tree = DecisionTree.from_nested((0, 0.5, 0, 1), classes=["a", "b"])
    with pytest.raises(ValueError, match="use 'auto', 'down' or 'right'"):
        plotting.draw_tree(tree, orientation="up")


# ------------------------------------------------------------------ anytime curves


def report(status="optimal", first=0.5):
    events = [(0.0, np.inf, 0.0, "start"), (first, 9.0, 1.0, "first"), (2.0, 7.0, 7.0, "done")]
    return SolveReport(status, 7, 7 if status == "optimal" else 3, 2.5, trace=events, proof="all")


def test_anytime_draws_the_trace():
    ax = report().plot()
    incumbent, bound = ax.lines[0], ax.lines[1]
    assert incumbent.get_xdata().tolist() == [0.5, 2.0, 2.5]
    assert incumbent.get_ydata().tolist() == [9.0, 7.0, 7.0]
    assert bound.get_xdata().tolist() == [0.0, 0.5, 2.0, 2.5]
    assert bound.get_ydata().tolist() == [0.0, 1.0, 7.0, 7.0]
    assert {line.get_drawstyle() for line in (incumbent, bound)} == {"steps-post"}
    assert "ends after 2.5 seconds with objective 7, proved optimal." in ax.alt


def test_anytime_compares_runs():
    runs = {"fast": report(first=0.01), "slow": report("time_limit")}
    ax = plotting.anytime(runs)
    assert ax.get_xscale() == "log"
    assert ax.lines[1].get_xdata().min() == 0.01  # an event at zero is not lost on this axis
    texts = [t.get_text() for t in ax.get_legend().get_texts()]
    assert texts == ["fast", "slow", "incumbent", "lower bound"]
    assert "slow ends after 2.5 seconds with objective 7, lower bound 3 and status time limit." \
        in ax.alt
    ax = plotting.anytime([report(), report()])
    assert ax.get_xscale() == "linear"
    assert [t.get_text() for t in ax.get_legend().get_texts()][:2] == ["run 1", "run 2"]
    with pytest.raises(ValueError, match="no report is given"):
        plotting.anytime([])


# ------------------------------------------------------------------ settings


def test_import_is_lazy_and_changes_no_setting():
    code = ("import sys, odtlib; assert 'matplotlib' not in sys.modules\n"
            "import matplotlib; before = dict(matplotlib.rcParams)\n"
            "import odtlib.plotting; assert dict(matplotlib.rcParams) == before\n"
            "assert 'sklearn' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)
