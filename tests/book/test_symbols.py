"""The table of symbols in the glossary has every symbol of the numbered formulas, and no other."""

import re
from collections import defaultdict

from pages import CHAPTERS, ROOT, prose

TABLE = re.compile(r"\(symbols\)=.*?\n\|[-|]+\|\n(.*?)\n\n", re.DOTALL)
FORMULA = re.compile(r"\$\$((?:(?!\$\$).)+)\$\$\s*\(eq-[\w-]+\)", re.DOTALL)
# Names in words, what sets a formula, and operations that every reader knows, are no symbols.
WORDS = (r"_\{t[er]\}|\\(?:text|operatorname|begin|end)\{[^}]*\}"
         r"|\\(?:left|right|[bB]igg?[lr]?|quad|qquad|sum|prod|min|max|arg|log|exp|frac|tfrac|sqrt"
         r"|underbrace|le|ge|ne|in|notin|cdot|c?dots|infty|cup|bigcup|setminus|bigwedge|wedge|neg"
         r"|Rightarrow|leftarrow|lvert|rvert|mid|emptyset|mathbb)(?![a-zA-Z])")
ACCENT = r"\\(?:bar|hat|overline)\s*(?:\{\s*(\\?[a-zA-Z]+)\s*\}|(\\?[a-zA-Z]+))"
SYMBOL = rf"{ACCENT}|\\mathrm\{{([a-zA-Z]+)\}}|(\\[a-zA-Z]+|CP|DP|[a-zA-Z])"


def symbols(formula):
    """Return the symbols of a formula, indices too; what is barred and what has a hat is one."""
    found = set()
    for match in re.finditer(SYMBOL, re.sub(WORDS, " ", formula)):
        barred, other, name, plain = match.groups()
        letter = (barred or other or name or plain).replace("math", "").removeprefix("\\")
        if barred or other:
            letter = "^" * ("hat" in match[0]) + "-" * ("hat" not in match[0]) + (
                "j" if letter in "ijk" else letter)     # one line for all barred features
        found.add(letter)
    return found


def used():
    """Return the symbols of the numbered formulas: page -> symbols."""
    found = defaultdict(set)
    for path in CHAPTERS:
        for formula in FORMULA.findall(prose(path)):
            found[path.stem] |= symbols(formula)
    return dict(found)


PAGES = {"primer_linear_programs": "LP", "primer_dynamic_programming": "DP",
         "formulations": "4 form", "murtree_objectives": "5 obj", "own_objective": "5 own"}
FOLLOWS = {"binoct": 2, "column_generation": 3, "revisiting": 4, "murtree": 5, "constrained": 6}


def page(stem):
    """Return the name of a page in the table."""
    if stem.endswith("_replication"):
        return f"{FOLLOWS[stem.removesuffix('_replication')]} rep"
    return PAGES[stem] if stem in PAGES else str(int(stem[:2]))


def listed():
    """Return what the table says: symbol -> pages."""
    text = (ROOT / "chapters" / "appendices" / "glossary.md").read_text(encoding="utf-8")
    found = {}
    for line in TABLE.search(text)[1].splitlines():
        symbol, meaning = line.strip("| ").split(" | ")
        (one,) = symbols(symbol.strip("$"))
        assert one not in found, f"{symbol} has two lines"
        assert meaning.endswith(")"), f"{symbol}: the last meaning names no page"
        found[one] = {at for group in re.findall(r"\(([^()]+)\)", meaning)
                      for at in group.split(", ")}
    return found


def test_every_symbol_of_a_numbered_formula_is_in_the_table_with_its_pages():
    wanted = defaultdict(set)
    for stem, found in used().items():
        for symbol in found:
            wanted[symbol].add(page(stem))
    assert listed() == wanted


def test_letters_are_read_off_a_formula():
    assert symbols(r"\overline{CP}(p) = \sum_{r \in R(p)} \beta_r") == {
        "-CP", "p", "r", "R", "beta"}
    assert symbols(r"D_{\bar\jmath}, c_{i\overline{k}}, E_{te}, \hat y \in \mathbb{Y}") == {
        "D", "-j", "c", "i", "E", "^y", "Y"}
