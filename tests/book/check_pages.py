"""The built book: read as files, and opened in headless Chromium as a reader without network would.

`make check-book` names this file to pytest, which does not find it by itself: `make test` opens no
page.  Everything here is skipped where there is no built book; the browser's part also where there
is no Chromium.
"""

import os
import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import chromium
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[2]

# Another build of the same pages, such as `make book-sphinx`, is named by ODT_HTML.
HTML = ROOT / os.environ.get("ODT_HTML", "_build/html")
FILES = sorted(
    page for page in HTML.rglob("*.html")
    if page.name != "index.html" and "_static" not in page.parts
)
DECKS = [page for page in FILES if page.stem.endswith("-slides")]
PAGES = [page for page in FILES if page not in DECKS]
# The listings of the library's source are made by Sphinx alone.
WRITTEN = [page for page in PAGES if "_modules" not in page.parts]


def name_of(page):
    return page.relative_to(HTML).with_suffix("").as_posix()


MAX_PAGE_BYTES = 1_500_000
AXE = {
    "resultTypes": ["violations"],
    "preload": False,  # axe would fetch the style sheets, which a page from the disk may not
    # docutils marks up citations by an older standard; pandas leaves a table's corner empty
    "rules": {
        rule: {"enabled": False}
        for rule in ("aria-allowed-role", "aria-deprecated-role", "aria-required-children",
                     "empty-table-header")
    },
}
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}

pytestmark = pytest.mark.skipif(not PAGES, reason="there is no built book: run make book first")
each_page = pytest.mark.parametrize("page_file", PAGES, ids=name_of)
each_file = pytest.mark.parametrize("page_file", FILES, ids=name_of)


@cache
def soup_of(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@each_file
def test_images_have_real_alt_text(page_file):
    for image in soup_of(page_file).select("main img"):
        alt, file = image.get("alt", "").strip(), unquote(image.get("src", "")).split("/")[-1]
        assert len(alt) >= 20, image
        assert alt not in (file, file.rsplit(".", 1)[0]), image
        assert not re.search(r"^\S*[0-9a-f]{16}|\.(png|svg)$", alt), image


@each_file
def test_page_needs_no_network_and_is_light(page_file):
    soup = soup_of(page_file)
    weight = page_file.stat().st_size
    for tag in soup.select("script[src], img[src], link[href], iframe[src], source[src]"):
        if tag.name == "link" and not {"stylesheet", "icon", "preload"} & set(tag.get("rel", [])):
            continue
        address = tag.get("src") or tag.get("href")
        assert not address.startswith(("http:", "https:", "//")), tag
        if tag.name == "img" and not address.startswith("data:"):
            weight += (page_file.parent / unquote(address)).stat().st_size
    assert weight < MAX_PAGE_BYTES


@each_file
def test_links_and_anchors_resolve(page_file):
    soup = soup_of(page_file)
    for link in soup.select("a[href]"):
        parts = urlsplit(link["href"])
        if parts.scheme or parts.netloc or link["href"] == "#":
            continue
        target = (page_file.parent / unquote(parts.path)).resolve() if parts.path else page_file
        assert target.exists(), link
        if parts.fragment and target.suffix == ".html":
            anchors = soup if target == page_file else soup_of(target)
            assert anchors.find(id=unquote(parts.fragment)), link


@each_file
def test_formulas_and_references_were_resolved(page_file):
    text = soup_of(page_file).select_one("main").get_text()
    assert not re.search(r"\{(eq|ref|numref|cite|prf:ref|term)[:\w]*\}`", text)


class Reader:
    """A reader without network: one tab of a browser, and what went wrong in it."""

    def __init__(self, page):
        self.page, self.troubles = page, []
        page.on("pageerror", lambda error: self.troubles.append(f"script error: {error}"))
        page.on("console", self.heard)
        page.on("request", self.requested)

    def heard(self, message):
        if message.type == "error":
            self.troubles.append(f"console: {message.text}")

    def requested(self, request):
        if request.url.startswith(("http:", "https:", "ws")):
            self.troubles.append(f"network: {request.url}")

    def open(self, page_file, query="", size=PHONE):
        self.troubles.clear()
        self.page.set_viewport_size(size)       # before, as a page resized later takes its time
        self.page.goto(page_file.as_uri() + query, wait_until="load")
        self.page.evaluate("window.MathJax?.startup?.promise")
        self.nodes = self.page.evaluate("document.getElementsByTagName('*').length")
        self.page.evaluate("window.MathJax?.startup?.document?.lazyTypesetAll?.()")  # as scrolling

    def excess_width(self):
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def violations(self, axe, theme, **options):
        self.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        self.page.evaluate("new Promise(done => setTimeout(done, 100))")  # resized, repainted
        found = axe.run(self.page, context={"include": ["main"]}, options=AXE | options)
        return [
            f"{theme} {rule['id']}: {node['html'][:150]} {node.get('failureSummary', '')[:200]}"
            for rule in found.response["violations"]
            for node in rule["nodes"][:3]
        ]


@pytest.fixture(scope="module")
def reader():
    with chromium() as browser:
        context = browser.new_context(color_scheme="dark", reduced_motion="reduce")
        yield Reader(context.new_page())


@each_page
def test_loads_from_the_disk_and_fits_a_phone(reader, page_file):
    reader.open(page_file)
    assert not reader.troubles
    assert reader.excess_width() <= 0, "pixels wider than a phone"
    assert reader.page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize("page_file", WRITTEN, ids=name_of)
def test_is_accessible_in_light_and_dark(reader, page_file):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    reader.open(page_file)
    violations = reader.violations(axe, "dark")
    reader.page.set_viewport_size(DESKTOP)
    violations += reader.violations(axe, "light", runOnly=["color-contrast"])
    assert not violations, "\n".join(violations)


def test_the_page_that_is_printed_holds_all_pages_and_their_links():
    sys.path.insert(0, str(ROOT / "scripts"))
    import print_book

    whole = BeautifulSoup(print_book.joined(), "html.parser")
    ids = {element["id"] for element in whole.find_all(id=True)}
    assert {print_book.anchor(page) for page in print_book.pages()} <= ids
    links = [link["href"] for link in whole.select("a[href^='#']") if link["href"] != "#"]
    assert links
    assert not {unquote(link[1:]) for link in links} - ids


# Lessons that keep the limits; add a lesson here when it is finished.
LESSONS = ["quick_start", "primer_linear_programs", "primer_dynamic_programming",
           "formulations", "01_trees_and_cart", "02_binary_linear_programs",
           "03_column_generation", "04_revisiting_column_generation", "05_murtree",
           "murtree_practice", "murtree_objectives", "own_objective",
           "06_output_constrained_trees", "07_head_to_head", "08_continuous_features",
           "09_all_good_trees", "10_data_as_they_come", "11_deep_trees", "12_proofs",
           "who_is_right", "does_it_pay"]
# Other pages whose tables and printed lines must fit.
FITTING = [*LESSONS, "teaching", "case_study",
           *sorted(page.stem for page in (HTML / "chapters").glob("*_replication.html"))]
MAX_SCREENS, MAX_TABLES, MAX_NODES = 22, 3, 9_000
# Pages beside the lessons of the papers: one sitting.
SHORT_PAGES = {"09_all_good_trees", "10_data_as_they_come", "11_deep_trees", "12_proofs",
               "who_is_right", "does_it_pay"}
MAX_SHORT_SCREENS = 15
# Its evidence is tables.
WITH_TABLES = {"murtree_practice"}
# Visible elements of the text that scroll sideways; a rounding of one pixel is none.
SCROLLING = """selector => [...document.querySelectorAll(`.bd-article ${selector}`)]
    .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1)
    .map(e => e.innerText.slice(0, 60))"""


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_short(reader, name):
    reader.open(HTML / "chapters" / f"{name}.html", size=DESKTOP)
    height = reader.page.evaluate(
        "document.querySelector('.bd-article').getBoundingClientRect().height")
    screens = MAX_SHORT_SCREENS if name in SHORT_PAGES else MAX_SCREENS
    assert height <= screens * DESKTOP["height"]
    tables = reader.page.evaluate("""[...document.querySelectorAll('.bd-article table')]
        .filter(table => table.checkVisibility()).length""")
    assert tables <= MAX_TABLES or name in WITH_TABLES
    assert reader.nodes <= MAX_NODES        # before anybody scrolls; a slow page has 25,000


@pytest.mark.parametrize("name", FITTING)
def test_tables_and_printed_lines_fit_a_desktop_and_code_fits_a_phone(reader, name):
    reader.open(HTML / "chapters" / f"{name}.html")
    assert not reader.page.evaluate(SCROLLING, "div.cell_input pre")
    reader.open(HTML / "chapters" / f"{name}.html", size=DESKTOP)
    assert not reader.page.evaluate(SCROLLING, ":is(pre, .output)")
    assert not reader.page.evaluate(SCROLLING, ".pst-scrollable-table-container")


# What a slide shows, and whether any of it leaves the slide; a rounding of one pixel is none.
SLIDES = """() => [...document.querySelectorAll('.slides > section')].map((slide, at) => {
    Reveal.slide(at);
    const parts = [...slide.children].filter((part) => !part.matches('h1, h2, aside'));
    return { title: slide.querySelector('h1, h2').innerText, parts: parts.length,
             high: slide.scrollHeight, wide: slide.scrollWidth,
             wider: parts.filter((part) => part.scrollWidth > part.clientWidth + 1).length };
})"""


@pytest.mark.parametrize("deck", DECKS, ids=name_of)
def test_every_slide_has_something_and_holds_it(reader, deck):
    reader.open(deck, size=DESKTOP)
    reader.page.wait_for_selector("html[data-deck=ready]")
    slides = reader.page.evaluate(SLIDES)
    assert 10 <= len(slides) <= 60
    for slide in slides:
        assert slide["title"] and slide["parts"], slide
        assert slide["high"] <= 700 and slide["wide"] <= 1121 and not slide["wider"], slide
    assert not reader.page.query_selector("mjx-merror")
    assert reader.page.query_selector("aside.notes p")
    reader.page.keyboard.press("ArrowRight")
    assert not reader.troubles


def test_the_lessons_of_the_ten_weeks_have_decks_and_a_button_for_them():
    plan = soup_of(HTML / "chapters" / "teaching.html").select_one("table")
    pages = {link["href"] for link in plan.select("a[href]")}
    lessons = {page for page in pages if "replication" not in page}
    assert len(lessons) > 10
    for page in lessons:
        soup = soup_of(HTML / "chapters" / page)
        (button,) = soup.select("a.btn-slides-button")
        assert (HTML / "chapters" / button["href"]) in DECKS


def test_search_finds_a_term_from_the_disk(reader):
    reader.open(HTML / "search.html", "?q=incumbent")
    reader.page.wait_for_selector("#search-results li a")
    links = reader.page.eval_on_selector_all(
        "#search-results li a", "found => found.map(a => a.href)"
    )
    assert any("glossary" in link for link in links)
    reader.page.wait_for_selector("#search-results li p.context")
    excerpts = reader.page.eval_on_selector_all(
        "#search-results li p.context", "found => found.map(p => p.textContent)"
    )
    assert any("incumbent" in excerpt.lower() for excerpt in excerpts)
    assert not reader.troubles
