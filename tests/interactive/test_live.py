"""Live pictures, used as readers would: by pointer and keyboard, on a phone, from the disk."""

import json
import sys

import numpy as np
import pytest
from browser import chromium
from pages import ROOT, cells_of

from odtlib import CARTClassifier, ContinuousTreeClassifier, MurTreeClassifier

sys.path.insert(0, str(ROOT / "scripts"))
import still_pictures

NAMES = sorted({found[2] for path in still_pictures.pages()
                for cell in cells_of(path)
                for found in still_pictures.PICTURE.finditer(cell.source)})


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def show(browser, tmp_path):
    """Open a page from the disk with one picture, as the book has it; an error in it fails."""
    opened = []

    def open_page(name):
        style, *scripts = [(ROOT / "_static" / file).read_text(encoding="utf-8")
                           for file in ("live.css", *still_pictures.SCRIPTS)]
        parts = "".join(f"<script>{script}</script>" for script in scripts)
        file = tmp_path / f"{name}.html"
        file.write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style><div class="
                        f'odt-live-picture data-picture="{name}"><p>still</p></div>{parts}',
                        encoding="utf-8")
        page = browser.new_page(viewport={"width": 390, "height": 844}, has_touch=True)
        page.troubles = []
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("request", lambda request: page.troubles.append(request.url)
                if not request.url.startswith(("file:", "blob:")) else None)
        page.goto(file.as_uri())
        opened.append(page)
        return page

    yield open_page
    for page in opened:
        assert not page.troubles
        page.close()


def test_there_are_ten_and_each_lesson_of_the_papers_has_one():
    assert len(NAMES) >= 10
    with_one = {path.name[:2] for path in still_pictures.pages()}
    assert {"01", "02", "03", "04", "05", "06"} <= with_one


@pytest.mark.parametrize("name", NAMES)
def test_it_fits_a_phone_and_every_control_answers_the_keyboard(show, name):
    page = show(name)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert "still" not in page.inner_text(".odt-live-picture")
    controls = page.locator(":is(button, input:not([type=file]), select, [tabindex='0']):visible")
    assert controls.count() >= 3
    for k in range(controls.count()):
        control = controls.nth(k)
        if control.evaluate("e => e.disabled || e.matches('#own-table')"):
            continue
        control.focus()
        assert control.evaluate("e => e === document.activeElement")
        page.keyboard.press("ArrowRight")
        if control.evaluate("e => e.matches('button, [role=button], [type=checkbox]')"):
            page.keyboard.press("Space")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_stills_are_how_the_pictures_begin(browser):
    page = browser.new_page()
    for script in still_pictures.SCRIPTS:
        page.add_script_tag(path=ROOT / "_static" / script)
    for path in still_pictures.pages():
        book = json.loads(path.read_text(encoding="utf-8"))
        assert still_pictures.with_stills(path, page) == book, (
            f"{path.name}: run python scripts/still_pictures.py")


def dots(page):
    labels = page.eval_on_selector_all("svg >> nth=0 >> .odt-movable",
                                       "all => all.map(e => e.getAttribute('aria-label'))")
    numbers = [[int(word) for word in label.replace(",", " ").replace(";", " ").split()
                if word.isdigit()] for label in labels]
    return np.array([row[1:3] for row in numbers], float), np.array([row[3] for row in numbers])


def test_both_trees_follow_the_dots(show):
    page = show("eight-dots")
    rng = np.random.default_rng(0)
    for _ in range(12):
        dot = page.locator("svg").first.locator(".odt-movable").nth(int(rng.integers(8)))
        dot.focus()
        page.keyboard.press(str(rng.choice(["ArrowLeft", "ArrowUp", "ArrowDown", "Enter"])))
        X, y = dots(page)
        said = [int(text.split()[0]) for text in page.locator(".odt-pair p").all_inner_texts()]
        if len(set(y)) == 2:
            assert said[1] == ContinuousTreeClassifier(2).fit(X, y).report_.objective
            possible = {CARTClassifier(2, random_state=seed).fit(X, y).report_.objective
                        for seed in range(8)}
            assert said[0] in possible
    before, _ = dots(page)
    box = page.locator("svg").first.locator(".odt-movable").first.bounding_box()
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.mouse.down()
    page.mouse.move(box["x"] + 70, box["y"] - 20, steps=4)
    page.mouse.up()
    assert (dots(page)[0][0] != before[0]).any()


def test_the_search_finds_the_optimum_of_the_table_with_any_bounds(show):
    page = show("search")
    rng = np.random.default_rng(1)
    for _ in range(10):
        page.locator("table button").nth(int(rng.integers(32))).click()
        page.locator("[type=checkbox]").nth(int(rng.integers(5))).click()
        cells = np.array([int(text) for text in page.locator("table button").all_inner_texts()])
        X, y = cells.reshape(4, 8)[:3].T, cells.reshape(4, 8)[3]
        if len(set(y)) == 2:
            want = MurTreeClassifier(3).fit(X, y).report_.objective
            assert f"The optimum has {want:g} error" in page.inner_text(".odt-live-picture")


def own_table(page, tmp_path, text, name="own.csv"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    page.set_input_files("#own-table", file)
    page.wait_for_selector("#own-table-result[data-done=true]", timeout=120_000)
    return int(page.get_attribute("#own-table-result", "data-errors"))


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_table_of_zeros_and_ones_is_solved_as_it_is(show, tmp_path, mark):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (90, 8))
    y = np.where((X[:, 0] ^ X[:, 1] ^ X[:, 2]) ^ (rng.random(90) < 0.1), "yes", "no")
    lines = [mark.join([*"abcdefgh", "class"]),
             *(mark.join([*map(str, row), label]) for row, label in zip(X, y))]
    page = show("own-table")
    errors = own_table(page, tmp_path, "\r\n".join(lines))
    problem = page.evaluate("([text, seed]) => { const { training, names } = odtOwnTable.prepare("
                            "odtOwnTable.readCsv(text), 8, seed); return [training.columns.map("
                            "(c) => [...c]), training.y, names]; }", ["\n".join(lines), 1])
    assert problem[2] == list("abcdefgh") and len(problem[1]) == 60
    want = MurTreeClassifier(4, 7).fit(np.array(problem[0]).T, problem[1]).report_.objective
    assert errors == want
    said = page.inner_text("#own-table-result")
    assert "Does it pay here?" in said and "taken as they are" in said
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_numbers_words_and_gaps_are_cut_and_the_page_says_roughly(show, tmp_path):
    rng = np.random.default_rng(3)
    lines = ["age,colour,city;old,risk"]
    for k in range(60):
        age, colour = rng.integers(20, 80), rng.choice(["red", "blue", ""])
        lines.append(f'{age},{colour},"{k}, ""x""",{"high" if age > 50 else "low"}')
    page = show("own-table")
    assert own_table(page, tmp_path, "\n".join(lines)) == 0
    said = page.inner_text("#own-table-result")
    assert "roughly" in said and "city;old" in said and "almost every row" in said
    page.select_option("#own-table-result select", label="age")
    page.wait_for_selector("#own-table-result[data-done=true]", timeout=120_000)
    assert "lower and its upper half" in page.inner_text("#own-table-result")


@pytest.mark.parametrize(("text", "says"), [
    ("", "no table"), ("a\n1\n", "no table"), ("a,b\n1,2\n", "one value only"),
    ("a,b\n1,0\n2,1\n", "at least six rows"),
    ("a,b\n" + "".join(f"{k},w{k}\n" for k in range(50)), "takes 20 classes"),
    ("a,b\n" + "1,0\n0,1\n" * 10_001, "MurTreeClassifier(max_depth=4, max_nodes=7)"),
])
def test_what_it_cannot_take_gets_a_sentence(show, tmp_path, text, says):
    page = show("own-table")
    file = tmp_path / "odd.csv"
    file.write_text(text, encoding="utf-8")
    page.set_input_files("#own-table", file)
    page.wait_for_function("says => document.body.innerText.includes(says)", arg=says)
    assert page.get_attribute("#own-table-result", "data-done") != "true"


def test_a_long_search_can_be_stopped_and_says_so(show, tmp_path):
    rng = np.random.default_rng(4)
    rows = np.column_stack([rng.integers(0, 2, (20_000, 80)), rng.integers(0, 20, 20_000)])
    text = "\n".join(",".join(map(str, row)) for row in [[f"c{j}" for j in range(81)], *rows])
    page = show("own-table")
    (tmp_path / "long.csv").write_text(text, encoding="utf-8")
    page.set_input_files("#own-table", tmp_path / "long.csv")
    move = "input => { input.value = 16; input.dispatchEvent(new Event('input')); }"
    page.eval_on_selector("#own-table-result input[type=range]", move)
    # With sixteen leaves, depth 4 lasts many times as long as the rest of this test.
    page.wait_for_function(
        "document.querySelector('#own-table-result output').textContent.startsWith('Depth 4')")
    page.get_by_role("button", name="Stop").click()
    assert "without a proof" in page.inner_text("#own-table-result")
    assert page.get_attribute("#own-table-result", "data-done") == "false"
    page.eval_on_selector("#own-table-result input[type=range]", move)
    page.get_by_role("button", name="Stop").wait_for()
    page.eval_on_selector("#own-table-result", """result => {
        result.querySelector("input[type=range]").dispatchEvent(new Event("input"));
        const stop = button => button.textContent === "Stop";
        [...result.querySelectorAll("button")].find(stop).click();
    }""")
    page.wait_for_timeout(500)                   # a slider starts a search after 150 ms
    assert page.get_by_role("button", name="Stop").is_hidden()


def test_the_certificate_proves_the_optimum_and_a_forged_line_is_named(show):
    page = show("certificate")
    rng = np.random.default_rng(5)
    for _ in range(6):
        page.locator("table").first.locator("button").nth(int(rng.integers(32))).click()
        table = np.array(page.eval_on_selector_all(
            ".odt-scroll >> nth=0 >> tr", "all => all.map(tr => [...tr.querySelectorAll('button')]"
            ".map(b => +b.textContent))")).T
        best = MurTreeClassifier(2).fit(table[:, :3], table[:, 3]).report_.objective
        assert f"fewer than {best:g} error" in page.inner_text("output")
        for line in range(7):
            page.select_option("select", str(line + 1))
            assert page.inner_text("output").startswith(f"Not proved: line {line} says")
        page.select_option("select", "0")
