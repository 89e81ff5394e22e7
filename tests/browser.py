"""The browser in which tests open pages: one that the machine has, or none."""

import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]


@contextmanager
def chromium():
    """Give a headless Chromium; skip the tests that want one where there is none."""
    if not CHROMIUM:
        pytest.skip("there is no Chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def phone():
    """Open an empty page of a phone; an error in it, or a request that it makes, fails the test."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844}, has_touch=True)
        page.troubles = []
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("request", lambda request: page.troubles.append(request.url))
        yield page
        assert not page.troubles
