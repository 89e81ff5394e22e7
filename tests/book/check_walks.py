"""Three readers' ways through the built book, in a browser: what each came for, and its clicks."""

import os
import resource
import subprocess
import sys

import numpy as np
import pytest
from book.check_pages import DESKTOP, HTML, PAGES, PHONE
from browser import chromium
from matplotlib.pyplot import imread

pytestmark = pytest.mark.skipif(not PAGES, reason="there is no built book: run make book first")
ANSWER = {"ch1-count": "232"}


@pytest.fixture
def landing():
    """The landing page on a desktop, opened from the disk."""
    with chromium() as browser:
        page = browser.new_page(viewport=DESKTOP)
        page.troubles = []
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.goto((HTML / "intro.html").as_uri(), wait_until="load")
        yield page
        assert not page.troubles


def test_a_student_has_a_right_answer_after_two_clicks(landing):
    landing.click("main .sd-card:has-text('You study') a:has-text('trees and CART')")
    form = landing.locator("form.odt-answer").first
    form.locator("input").click()
    landing.keyboard.type(ANSWER[form.get_attribute("data-exercise")])
    landing.keyboard.press("Enter")
    assert form.locator("output").inner_text().startswith("Right")


def test_a_person_with_data_has_the_whole_rule_on_one_screen_after_one_click(landing):
    link = landing.locator("a[href^='#which-method']:visible").first
    assert link.bounding_box()["y"] < DESKTOP["height"]      # without scrolling
    link.click()
    landing.wait_for_timeout(300)
    section = landing.locator("section:has(> h2:has-text('Which method, when?'))")
    heading, table = (section.locator(what).first.bounding_box() for what in ("h2", "table"))
    assert heading["y"] >= 0
    assert table["y"] + table["height"] <= DESKTOP["height"], "the rule is longer than a screen"


def test_on_a_phone_every_column_of_the_rule_is_on_the_screen(landing):
    landing.set_viewport_size(PHONE)
    section = landing.locator("section:has(> h2:has-text('Which method, when?'))")
    section.locator("summary").first.click()
    for table in section.locator("table").all():
        box = table.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]


def test_a_researcher_has_a_figure_of_the_book_by_one_command_within_a_minute(landing, tmp_path):
    landing.goto((HTML / "chapters/05_murtree.html").as_uri(), wait_until="load")
    shown = landing.locator("div.cell:has(#fig-ch5-switches)")
    shown.locator("details.odt-source summary").click()
    command = shown.locator("details.odt-source pre").inner_text().splitlines()[0]
    words = command.partition("#")[0].split()
    assert words[:2] == ["odt", "figure"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([sys.executable, "-m", "odtbook", *words[1:]], cwd=tmp_path, check=True,
                   capture_output=True, env=os.environ)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 60
    (drawn,) = tmp_path.glob("*.png")
    source = shown.locator("figure img").get_attribute("src")
    page = imread((HTML / "chapters" / source).resolve())
    assert np.array_equal(imread(drawn), page), "not the picture of the page"
