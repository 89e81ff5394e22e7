"""What the built page says of an answer is what ``check`` says, and a quiz asks for a choice."""

import importlib.util
import re

import pytest
from browser import phone
from pages import CHAPTERS, ROOT, cells_of

from odtbook import check
from odtbook.exercises import on_the_page
from tests.exercises.test_exercises import RIGHT, WRONG

spec = importlib.util.spec_from_file_location("answers", ROOT / "_ext" / "answers.py")
answers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(answers)

LABELS = sorted(label for label in RIGHT if on_the_page(label))
QUIZ = """<p id="asked"><strong>Quiz.</strong> Which?</p>
<details class="sd-dropdown quiz-wrong"><summary><span class="sd-summary-text">One</span></summary>
<div class="sd-summary-content"><p>No. Too few.</p></div></details>
<details class="sd-dropdown quiz-right"><summary><span class="sd-summary-text">Two</span></summary>
<div class="sd-summary-content"><p>Yes. Both count.</p></div></details>
<p>And on.</p>"""


@pytest.fixture(scope="module")
def page():
    with phone() as page:
        yield page


def show(page, html):
    files = [(ROOT / "_static" / name).read_text(encoding="utf-8")
             for name in ("book.css", "answers.js")]
    page.set_content(f"<!doctype html><style>{files[0]}</style><article class=bd-article>{html}"
                     f"</article><script>{files[1]}</script>")


def typed(answer):
    return ", ".join(map(repr, answer)) if isinstance(answer, tuple | list) else repr(answer)


def plain(answer):
    parts = answer if isinstance(answer, tuple | list) else [answer]
    return all(isinstance(part, int | float) for part in parts)


def told(page, text):
    page.fill("input", text)
    page.keyboard.press("Enter")
    return page.inner_text("output")


@pytest.mark.parametrize("label", LABELS)
def test_the_page_says_what_check_says(page, label):
    show(page, answers.form(label))
    assert page.inner_text("output") == ""      # no hint before an answer
    tried = [RIGHT[label], *(answer for answer, _ in WRONG[label])]
    right = RIGHT[label] if isinstance(RIGHT[label], tuple | list) else [RIGHT[label]]
    # near the right answer, in another order, and with a number too many or too few
    tried += [[one + off for one in right] for off in (4e-4, -4e-4, 0.002, 0.3, 1, -1)]
    tried += [right[::-1], sorted(right), [*right, 1], right[:-1]]
    for answer in tried:
        if plain(answer) and answer != []:
            verdict = check(label, answer)
            word = "Right" if verdict else "Not yet"
            assert told(page, typed(answer)) == f"{word}: {verdict.message}", answer


@pytest.mark.parametrize("text", ["", "six", "1/0", "1e999", "<b>", "1 +", "--1", "[", "NaN"])
@pytest.mark.parametrize("label", ["lp-search", "lp-corner"])
def test_nonsense_is_asked_for_again(page, label, text):
    show(page, answers.form(label))
    assert told(page, text) == f"Not yet: give {on_the_page(label)['answer']}"


@pytest.mark.parametrize(("label", "text"), [
    ("ch1-pruning", "1/6; 1/6"), ("ch1-pruning", "(1/6, 1/6)"), ("ch3-count", "2160, 10*6^14"),
    ("ch3-count", "2160 7.8e11"), ("ch3-count", "2160, 7.8·10^11"), ("lp-column", "0.25, −0.5"),
    ("lp-column", "[1/4 -1/2]"), ("ch4-share", "0.8, 0.7"), ("ch1-count", "232."),
    ("dp-count", "156,849, 400"), ("dp-count", "156 849; 400"), ("dp-count", "156.849e3 and 400"),
    ("ch1-entropy", "0,311"), ("ch1-entropy", "31.1 %"), ("ch4-share", "70%, 80%"),
    ("ch4-share", "0,7; 0,8"), ("ch4-share", "70 % and 80 %"), ("ch3-count", "2,160, 10 * 6^14"),
    ("ch1-pruning", "0,1667 0,1667"), ("lp-prices", "0, 2,5"), ("lp-prices", "0; 5 / 2"),
    ("ch7-peek", "86 %, 89 %"), ("ch6-cost", "24,2"), ("case-price", "41,2")])
def test_numbers_are_read_as_people_write_them(page, label, text):
    show(page, answers.form(label))
    assert told(page, text).startswith("Right: ")
    assert check(label, text).right         # a text, too, is judged alike


@pytest.mark.parametrize(("label", "text"), [
    ("ch1-pruning", "0.17, 0.17"), ("ch1-entropy", "0.31"), ("ch1-entropy", "0,3")])
def test_a_number_that_is_rounded_too_much_is_not_called_wrong(page, label, text):
    show(page, answers.form(label))
    assert told(page, text) == f"Not yet: {check(label, text).message}"
    assert "rounded too much" in check(label, text).message


@pytest.mark.parametrize("label", LABELS)
def test_a_text_is_judged_on_the_page_as_by_check(page, label):
    show(page, answers.form(label))
    right = RIGHT[label] if isinstance(RIGHT[label], tuple | list) else [RIGHT[label]]
    if not plain(right):
        return
    for text in (", ".join(f"{one:,.3f}" for one in right), " ".join(f"{one:.1f}" for one in right),
                 "; ".join(f"{one:.3f}".replace(".", ",") for one in right),
                 "; ".join(f"{100 * one:g} %" for one in right), f"{right[0]:,}", "1,2,3,4"):
        verdict = check(label, text)
        assert told(page, text) == f"{'Right' if verdict else 'Not yet'}: {verdict.message}", text


def test_a_quiz_asks_for_a_choice_and_says_why_it_is_right_or_wrong(page):
    show(page, QUIZ)
    assert page.locator("[role=status] > div:visible").count() == 0
    page.click("text=Check")
    assert page.locator("[role=status] > div:visible").count() == 0     # nothing is chosen
    page.focus("input")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    assert page.inner_text("[role=status]").strip() == "No. Too few."
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.inner_text("[role=status]").strip() == "Yes. Both count."
    assert page.locator("[role=status] > .odt-right:visible").count() == 1
    assert page.get_attribute("[role=radiogroup]", "aria-labelledby") == "asked"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def texts():
    """The cells of all chapters: file, kind and source."""
    for path in CHAPTERS:
        for cell in cells_of(path):
            yield path.name, cell.cell_type, cell.source


def test_every_quiz_has_one_right_answer_among_two_or_more():
    option = r"```\{dropdown\} [^\n]+\n(:class-container: quiz-\w+\n)?.*?\n```\n*"
    count = 0
    for name, kind, source in texts():
        if kind == "markdown":
            for quiz in re.finditer(f"(?:{option})+", source, re.DOTALL):
                marks = [mark[1] for mark in re.finditer(option, quiz[0], re.DOTALL)]
                assert len(marks) >= 2 and all(marks), (name, quiz[0])
                assert sum("right" in mark for mark in marks) == 1, (name, quiz[0])
                count += 1
    assert count >= 30


def test_no_placeholder_gives_an_answer_away():
    labels = set()
    for _, kind, source in texts():
        found = answers.CHECK.fullmatch(source.strip()) if kind == "code" else None
        if found and found[1] in LABELS:
            placeholder = source.partition("check(")[2].partition(",")[2].partition("#")[0]
            assert set(placeholder) <= set("0, ()\n"), source
            labels.add(found[1])
    assert labels == set(LABELS)
