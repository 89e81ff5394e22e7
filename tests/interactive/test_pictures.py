"""Pictures to play with, used as a reader would: by keyboard, pointer and touch, in a browser."""

import numpy as np
import pytest
from browser import phone

from odtbook.interactive import (
    draw_search_tree,
    explore_tree,
    step_columns,
    step_curves,
    step_partitions,
    step_search,
    step_through,
)
from odtlib import CARTClassifier
from odtlib.tree import DecisionTree, midpoint

SQUARE = '<rect width="9" height="9"/>'


def wrong_rows(tree, X, y):
    """Errors of a tree whose leaves predict the class of most rows that reach them."""
    leaves = tree.apply(X)
    return sum(min((y[leaves == leaf] != c).sum() for c in range(y.max() + 1))
               for leaf in set(leaves))


@pytest.fixture(scope="module")
def page():
    with phone() as page:
        yield page


def show(page, *pictures):
    page.troubles.clear()
    page.set_content("".join(picture.html for picture in pictures))
    assert not page.troubles


@pytest.fixture(scope="module")
def example():
    rng = np.random.RandomState(0)
    X = np.round(rng.rand(80, 3), 2)
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.3)).astype(int) + (X[:, 2] > 0.8)
    model = CARTClassifier(3, random_state=0).fit(X, y)
    return model.tree_, X, y


def set_range(page, selector, value):
    page.eval_on_selector(
        selector, "(e, v) => { e.value = v; e.dispatchEvent(new Event('input')); }", str(value))


def tab_to(page, control):
    for _ in range(6):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.hasAttribute('{control}')"):
            return
    raise AssertionError(f"{control} is not reached by the Tab key")


def test_every_row_takes_the_path_that_the_tree_says(page, example):
    tree, X, y = example
    show(page, explore_tree(tree, X, y))
    for row in range(len(X)):
        set_range(page, "[data-row]", row)
        lit = page.eval_on_selector_all(
            ".odt-box.odt-on", "found => found.map(e => +e.parentNode.dataset.node)")
        assert set(lit) == set(np.flatnonzero(tree.decision_path(X[[row]]).toarray()[0]))
        right = tree.predict_codes(X[[row]])[0] == y[row]
        assert ("is right" in page.inner_text("[data-where]")) == right


def test_moving_thresholds_recounts_as_the_library_does(page, example):
    tree, X, y = example
    show(page, explore_tree(tree, X, y))
    rng = np.random.RandomState(1)
    threshold = tree.threshold.copy()
    for _ in range(40):
        node = int(rng.choice(np.flatnonzero(tree.feature >= 0)))
        page.select_option("[data-test]", str(node))
        most = int(page.get_attribute("[data-cut]", "max"))
        at = rng.randint(most + 1)
        set_range(page, "[data-cut]", at)
        values = np.unique(X[:, tree.feature[node]])
        cuts = np.unique(np.append([midpoint(a, b) for a, b in zip(values, values[1:])],
                                   tree.threshold[tree.feature == tree.feature[node]]))
        threshold[node] = cuts[at]
        moved = DecisionTree(tree.feature, threshold, tree.left, tree.right, tree.value,
                             n_features=3).with_counts(X, y, 3)
        counts = page.eval_on_selector_all("[data-part=counts]", "all => all.map(e => e.innerHTML)")
        assert counts == [" | ".join(f"{v:g}" for v in at) for at in moved.value]
        assert page.inner_text("[data-said]").startswith(f"{wrong_rows(moved, X, y)} of 80")
    page.click("button")
    assert page.inner_text("[data-said]") == f"{wrong_rows(tree, X, y)} of 80 rows are wrong."


def test_the_tree_works_by_keyboard(page, example):
    tree, X, y = example
    show(page, explore_tree(tree, X, y))
    before = page.inner_text("[data-where]")
    tab_to(page, "data-row")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("[data-where]") != before
    before = page.inner_text("[data-said]")
    tab_to(page, "data-cut")
    page.keyboard.press("Home")
    assert page.inner_text("[data-said]") != before


def test_a_tapped_node_is_the_one_whose_threshold_moves(page, example):
    tree, X, y = example
    show(page, explore_tree(tree, X, y))
    page.tap(f'[data-node="{tree.left[0]}"]')
    assert page.input_value("[data-test]") == str(tree.left[0])


def test_strange_names_are_drawn_as_they_are(page):
    tree = DecisionTree.from_nested((0, 1.5, 0, 1), n_classes=2)
    show(page, explore_tree(tree, [[1.0], [2.0]], ["</script>", "<b>"], feature_names=["a & b"]))
    assert "0 of 2 rows are wrong" in page.inner_text(".odt-picture")
    titles = page.eval_on_selector_all("[data-part=title]", "all => all.map(e => e.textContent)")
    assert titles == ["≤ 1.5", "</script>", "<b>"]
    assert "a &amp; b" in page.inner_html("svg")


def test_no_name_can_end_the_page(page):
    name = "<!--<script>"
    tree = DecisionTree.from_nested((0, 1.5, 0, 1), n_classes=2)
    picture = explore_tree(tree, [[1.0], [2.0]], [name, "b"], feature_names=[name])
    page.troubles.clear()
    page.set_content(f'{picture.html}<p id="after">the page goes on</p>')
    assert not page.troubles
    assert page.inner_text("#after") == "the page goes on"
    assert page.eval_on_selector_all("[data-part=title]", "all => all.map(e => e.textContent)"
                                     )[1] == name


def test_data_in_a_script_hold_no_angle_bracket():
    tree = DecisionTree.from_nested((0, 1.5, 0, 1), n_classes=2)
    script = explore_tree(tree, [[1.0], [2.0]], ["<!--<script>", "</script>"]).html
    data = script.split("<script>", 1)[1]
    assert "\\u003c!--\\u003cscript>" in data
    assert "<!--" not in data


def test_two_pictures_on_a_page_keep_apart(page, example):
    tree, X, y = example
    show(page, explore_tree(tree, X, y), step_through(
        [(0, 0, SQUARE), (1, None, SQUARE)], ["one", "two"], size=(9, 9), alt="two squares"))
    assert page.inner_text("output[aria-live]") == "one"
    set_range(page, "[data-row]", 3)
    assert page.inner_text("output[aria-live]") == "one"


def test_steps_come_and_go(page):
    parts = [(0, None, SQUARE), (1, 1, SQUARE), (2, None, SQUARE)]
    show(page, step_through(parts, ["a", "b", "c"], size=(9, 9), alt="three squares"))
    seen = []
    for _ in range(3):
        shown = page.eval_on_selector_all(
            "[data-from]", "all => all.map(e => e.style.display !== 'none')")
        seen.append((page.inner_text("output"), shown))
        if len(seen) < 3:
            page.click("text=Next")
    assert seen == [("a", [True, False, False]), ("b", [True, True, False]),
                    ("c", [True, False, True])]
    assert page.is_disabled("text=Next")
    page.click("text=Back")
    assert page.inner_text("output") == "b"


def test_the_steps_play_by_themselves_until_the_reader_takes_over(page):
    show(page, step_through([(0, None, SQUARE)], ["a", *"b" * 238, "c"], size=(9, 9), alt="square"))
    page.click("text=Play")
    page.wait_for_function("document.querySelector('input').value >= 2", timeout=10_000)
    page.click("text=Pause")
    at = page.input_value("input")
    page.evaluate("new Promise(done => setTimeout(done, 600))")
    assert page.input_value("input") == at
    set_range(page, "input", 238)
    page.click("text=Play")
    page.wait_for_function("document.querySelector('output').textContent === 'c'", timeout=10_000)
    assert page.is_visible("text=Play")


def test_a_search_tree_grows_and_closes(page):
    parts = draw_search_tree([
        {"at": 100, "lines": ["(3, 1.5)", "21"], "opened": 0},
        {"parent": 0, "branch": "x ≤ 1", "at": 50, "lines": ["20"], "opened": 1, "closed": 2,
         "mark": "closed"}])
    show(page, step_through(parts, ["a", "b", "c"], size=(200, 200), alt="a search tree"))
    seen = []
    for step in range(3):
        set_range(page, "input", step)
        seen.append(page.eval_on_selector_all(
            "svg text", "all => all.filter(e => e.getClientRects().length).map(e => e.innerHTML)"))
    assert seen == [["(3, 1.5)", "21"], ["(3, 1.5)", "21", "x ≤ 1", "20"],
                    ["(3, 1.5)", "21", "x ≤ 1", "20", "closed"]]


def test_the_threshold_that_is_chosen_first_can_move(page):
    tree = DecisionTree.from_nested((0, 0.5, 0, (1, 2.5, 0, 1)), n_classes=2)
    show(page, explore_tree(tree, [[0, 1], [1, 2], [1, 3], [1, 4]], [0, 0, 1, 1]))
    assert page.input_value("[data-test]") == "2"
    assert page.is_enabled("[data-cut]")
    page.select_option("[data-test]", "0")
    assert page.is_disabled("[data-cut]")


@pytest.fixture
def narrow(page):
    page.set_viewport_size({"width": 300, "height": 700})
    yield page
    page.set_viewport_size({"width": 390, "height": 844})


def test_a_drawing_shrinks_to_a_narrow_page_and_its_text_does_not(narrow):
    label = '<text x="2" y="30" font-size="11">label</text>'
    show(narrow, step_through([(0, None, SQUARE + label)], ["one", "two"], size=(800, 400),
                              alt="a square"))
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 300
    for drawing in narrow.locator("svg").all():
        frame = drawing.bounding_box()
        assert frame["x"] >= 0 and frame["x"] + frame["width"] <= 300
        shown = drawing.evaluate("e => e.getScreenCTM().a * "
                                 "parseFloat(getComputedStyle(e.querySelector('text')).fontSize)")
        assert shown == pytest.approx(12, rel=0.02)


def test_without_its_script_a_drawing_stands_and_shows_no_dead_controls(page):
    picture = step_through([(0, 0, SQUARE), (1, None, SQUARE)], ["one", "two"], size=(9, 9),
                           alt="two squares")
    page.set_content(picture.html.split("<script>")[0])
    assert not page.is_visible("input")
    assert page.eval_on_selector_all(
        "[data-from]", "all => all.map(e => e.style.display)") == ["none", ""]


def test_the_same_picture_is_the_same_text(example):
    assert explore_tree(*example).html == explore_tree(*example).html
    assert repr(explore_tree(*example)).startswith("Decision tree of depth 3")


@pytest.mark.parametrize(("call", "says"), [
    (lambda: explore_tree(DecisionTree.from_nested(0, n_classes=2), [[0]], [0]), "no tests"),
    (lambda: explore_tree("tree", [[0]], [0]), "hand over the tree_"),
    (lambda: explore_tree(DecisionTree.from_nested((0, 0.5, 0, 1), n_classes=2), np.ones((3000, 1)),
                          np.ones(3000)), "a sample"),
    (lambda: explore_tree(DecisionTree.from_nested((1, 0.5, 0, 1), n_classes=2), [[0.0]], [0]),
     "features"),
    (lambda: explore_tree(DecisionTree.from_nested((0, 0.5, 0, 1), n_classes=2), [[0.0], [1.0]],
                          [0, 1], class_names=["a"]), "class_names"),
    (lambda: step_through([], ["one"], size=(1, 1), alt="nothing"), "two steps"),
])
def test_bad_input_gets_a_sentence(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def seen(page, selector):
    """Elements of a picture that the present step shows."""
    return page.evaluate(
        "s => [...document.querySelectorAll(s)].filter("
        "e => e.closest('[data-from]')?.style.display !== 'none').length", selector)


def captions(page):
    """The caption of every step, one after the other by the button Next."""
    read = [page.text_content("output")]
    while page.is_enabled("text=Next"):
        page.click("text=Next")
        read.append(page.text_content("output"))
    return read


def test_a_legend_stands_below_the_drawing(page):
    show(page, step_through([(0, None, SQUARE)], ["a", "b"], size=(20, 20), alt="A square.",
                            legend=[(SQUARE, "a <small> square")]))
    assert page.text_content(".odt-legend li").strip() == "a <small> square"


def test_partitions_ring_the_errors_of_each_tree(page):
    X = np.array([[1, 2], [3, 1], [2, 7], [4, 8], [5, 3], [7, 4], [6, 5], [8, 6]], float)
    y = np.array([0, 0, 1, 1, 1, 1, 0, 0])
    trees = [DecisionTree.from_nested(nested, n_classes=2, n_features=2) for nested in (
        0, (1, 2.5, 0, 1), (0, 4.5, (1, 4.5, 0, 1), (1, 4.5, 1, 0)))]
    show(page, step_partitions(trees, list("abc"), X, y))
    for tree in trees:
        wrong = (tree.with_counts(X, y).predict(X) != y).sum()
        assert seen(page, ".odt-fit circle[r='10']") == wrong
        assert seen(page, ".odt-fit rect") == tree.n_leaves
        if tree is not trees[-1]:
            page.click("text=Next")
    with pytest.raises(ValueError, match="one caption per tree"):
        step_partitions(trees, ["a"], X, y)
    with pytest.raises(ValueError, match="over two features"):
        step_partitions([DecisionTree.from_nested((2, 0.5, 0, 1), n_features=3)], ["a"], X, y)


def test_a_search_tree_is_laid_out_without_overlaps(page):
    nodes = [dict(lines=["root"], opened=0)]
    for k in range(1, 9):
        nodes.append(dict(parent=(k - 1) // 2, branch=f"b{k}", lines=[str(k)], opened=k))
    show(page, step_search(nodes, [f"step {k}" for k in range(9)], alt="A tree."))
    assert captions(page)[-1] == "step 8"
    boxes = page.evaluate("[...document.querySelectorAll('rect.odt-box')].map("
                          "e => [e.x.baseVal.value, e.y.baseVal.value])")
    assert len(boxes) == 9
    for step in range(9):       # every node has its place from the first step on
        set_range(page, "input", step)
        assert seen(page, "rect.odt-box") == step + 1
        assert seen(page, "rect.odt-faint") == 8 - step
    for i, (x, y) in enumerate(boxes):
        assert all(abs(x - u) >= 104 + 16 - 1e-6 for u, v in boxes[:i] if v == y)


def test_a_column_enters_with_its_reduced_cost(page):
    show(page, step_columns(
        ["leaf", "row 1"], [("p1", [1, 0]), ("p2", [1, 1])],
        [dict(known=1, duals=[2, 0.5], values=[1], reduced=1.5),
         dict(known=2, duals=[2, 1], values=[0, 1], reduced=None)], ["enters", "optimal"]))
    assert seen(page, ".odt-fit rect[stroke]") == 1
    assert "+1.5" in page.text_content("svg")
    page.click("text=Next")
    assert seen(page, ".odt-fit rect[stroke]") == 0
    assert seen(page, ".odt-fit rect[fill-opacity='0.8']") == 2


def test_what_rounding_left_of_zero_has_no_sign(page):
    show(page, step_columns(
        ["leaf", "row 1"], [("p1", [1, 0])],
        [dict(known=1, duals=[-0.0, -1e-17], values=[-0.0], reduced=None)] * 2, ["a", "b"]))
    texts = page.eval_on_selector_all("svg text", "all => all.map(e => e.textContent)")
    assert "-0" not in texts and texts.count("0") == 3 * 2


def test_curves_change_with_the_step(page):
    show(page, step_curves([1, 2], [[[50, 60], [60, 70]], [[55, 65], [65, 75]]], ["a", "b"],
                           names=["one*", "two"], xlabel="rows", ylabel="%", limits=(50, 100),
                           alt="Two curves."))
    first = page.get_attribute("[data-from='0'][data-to='0'] polyline", "points")
    assert seen(page, "polyline") == 2 and "stroke-dasharray" in page.content()
    assert captions(page) == ["a", "b"]
    assert page.get_attribute("[data-from='1'] polyline", "points") != first


def test_the_explorer_asks_of_a_column_named_by_a_condition(page):
    tree = DecisionTree.from_nested((0, 0.5, 0, 1), feature_names=["shop = A"], n_classes=2)
    show(page, explore_tree(tree, [[0], [1], [1]], [0, 1, 1]))
    assert page.text_content("[data-node='0'] [data-part=title]") == "is 1?"
    words = page.eval_on_selector_all(
        "svg text", "all => all.filter(t => ['yes', 'no'].includes(t.textContent))"
        ".sort((a, b) => a.getAttribute('y') - b.getAttribute('y')).map(t => t.textContent)")
    assert words == ["yes", "no"]      # as the printed tree has them
    assert page.inner_text("[data-where]") == "Row 1: shop = A: no. Predicted 0, which is right."
