"""What every notebook promises: in the book, with parameters, stripped, described."""

import re
import sys

import nbformat
import pytest
import yaml
from pages import ROOT, cells_of, prose

from odtbook.datasets import available

CHAPTERS = sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))
TEMPLATES = sorted((ROOT / "chapters" / "experiments").glob("*.ipynb"))
NOTEBOOKS = [ROOT / "intro.ipynb", *sorted(
    path for path in (ROOT / "chapters").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts
)]
KEPT = {"keep_output", "nbval-check-output"}
# A cell that draws: it calls one of our pictures, or matplotlib.
DRAWS = re.compile(
    r"\b(plt|ax|axes|figure)\.\w+\(|\.plot\(|\b(plotting|figures)\.(?!style\b|COLORS\b)\w+\(|\bdraw_tree\("
)
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)


def pages_of_the_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(page["file"] for part in toc["parts"] for chapter in part["chapters"]
                           for page in (chapter, *chapter.get("sections", ())))]


def tags(cell):
    return set(cell.metadata.get("tags", []))


def alt_text(cell):
    return cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")


def labels(path):
    """Return what the references of a page can name: targets, formulas, figures, directives."""
    text = prose(path)
    return {*re.findall(r"^\(([^)\n]+)\)=$", text, re.MULTILINE),
            *re.findall(r"\$\$ *\(([\w-]+)\)", text),
            *re.findall(r"^ *:(?:name|label): ([\w-]+)$", text, re.MULTILINE),
            *(cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
              for cell in cells_of(path))}


def says_nothing(alt):
    """Whether an alternative text is missing, a file name or a hash, or too short to describe."""
    return len(alt.strip()) < 20 or bool(re.search(r"\.(png|svg|jpe?g)$|^\S*[0-9a-f]{16}", alt))


def test_the_contents_name_each_notebook_once():
    pages = pages_of_the_contents()
    assert len(pages) == len(set(pages))
    missing = {p.relative_to(ROOT).with_suffix("").as_posix()
               for p in set(NOTEBOOKS) - set(TEMPLATES)} - set(pages)
    assert not missing, f"add to _toc.yml: {sorted(missing)}"


def test_the_menu_is_short_and_holds_no_template():
    pages = pages_of_the_contents()
    assert len(pages) <= 41
    assert [page for page in pages if "/experiments/" in page] == ["chapters/experiments/running"]


def test_the_contents_name_only_files_that_exist():
    for page in pages_of_the_contents():
        assert any((ROOT / page).with_suffix(end).exists() for end in (".md", ".ipynb")), page


@pytest.mark.parametrize("path", CHAPTERS + TEMPLATES, ids=lambda p: p.stem)
def test_has_one_cell_of_parameters(path):
    cells = [cell for cell in cells_of(path, "code") if "parameters" in tags(cell)]
    assert len(cells) == 1, "papermill wants exactly one cell tagged 'parameters'"
    if path in CHAPTERS:
        assert re.search(r"^quick = True\b", cells[0].source, re.MULTILINE)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.stem)
def test_a_template_starts_from_a_data_set_that_needs_no_file(path):
    cells = [cell for cell in cells_of(path, "code") if "parameters" in tags(cell)]
    named = re.search(r'^dataset = "([^"]+)"', cells[0].source, re.MULTILINE)
    assert named is None or named[1] in available("generated")


@each_notebook
def test_is_stored_without_outputs(path):
    for number, cell in enumerate(cells_of(path, "code")):
        where = f"code cell {number}: {cell.source[:60]!r}"
        if "nbval-check-output" in tags(cell):
            assert "keep_output" in tags(cell), f"nbstripout would empty {where}"
            assert cell.outputs, f"a claim without stored output in {where}"
        if not tags(cell) & KEPT:
            assert not cell.outputs, f"run nbstripout: {where}"
            assert cell.execution_count is None, f"run nbstripout: {where}"


@each_notebook
def test_cells_that_draw_carry_alt_text(path):
    silent = [
        cell.source[:80]
        for cell in cells_of(path, "code")
        if DRAWS.search(cell.source)
        and "glue(" not in cell.source
        and not tags(cell) & {"remove-output", "remove-cell"}
        and says_nothing(alt_text(cell))
    ]
    assert not silent, 'give the cells metadata {"mystnb": {"image": {"alt": "..."}}}'


@each_notebook
def test_directives_with_images_carry_alt_text(path):
    text = prose(path)
    for opening in re.finditer(r"[`:]{3,}\{(glue:)?(figure|image)\}.*\n((?::.*\n)*)", text):
        alt = re.search(r":alt:\s*(.*)", opening.group(3))
        assert alt, opening.group(0)
        assert not says_nothing(alt.group(1)), opening.group(0)
    assert not re.search(r"!\[.{0,19}\]\(", text), "an image needs a description"


@each_notebook
def test_kernel_is_the_one_that_every_environment_has(path):
    assert nbformat.read(path, as_version=4).metadata.kernelspec.name == "python3"


@each_notebook
def test_no_option_is_set_for_the_notebooks_that_follow_in_the_kernel(path):
    text = "\n".join(cell.source for cell in cells_of(path, "code"))
    found = re.search(
        r"set_option|pd\.options|set_printoptions|set_config|rcParams|style\.use", text)
    assert not found, "use a context, such as pd.option_context, figures.style or np.printoptions"


@each_notebook
def test_cell_ids_are_readable(path):
    ids = [cell.id for cell in cells_of(path)]
    assert len(ids) == len(set(ids))
    for cell_id in ids:
        assert not re.fullmatch(r"[0-9a-f]{8}|[0-9a-f-]{36}", cell_id), f"random id {cell_id}"


@each_notebook
def test_no_line_of_prose_is_read_as_a_comment(path):
    # MyST drops a line that begins with a per cent sign.
    for cell in cells_of(path, "markdown"):
        text = re.sub(r"(?ms)^```.*?^```", "", cell.source)
        assert not re.search(r"^ *%", text, re.MULTILINE), f"a line of {cell.id} begins with %"


@each_notebook
def test_other_pages_are_linked_so_that_jupyterlab_opens_them(path):
    # JupyterLab knows the labels of the notebook at hand alone, and opens files by their names.
    text = prose(path)
    assert not re.search(r"\{(doc|term)\}`", text), "link to the file"
    known = labels(path)
    named = re.findall(r"\{(?:eq|ref|numref|prf:ref)\}`(?:[^`<]+<)?([^`>]+)>?`", text)
    assert known.issuperset(named), f"write [label](file#label), of {set(named) - known}"
    for file, label in re.findall(r"\[\w+-[\w-]+\]\(([\w./]+)#(\w+-[\w-]+)\)", text):
        assert label in labels(path.parent / file), f"{label} is not in {file}"
    for target in re.findall(r"\]\(([\w./-]+)(?:#[^)]*)?\)", text):
        assert target in known or (path.parent / target).is_file(), target


def test_chapters_set_themselves_up_on_colab_once_there_is_an_address():
    sys.path.insert(0, str(ROOT / "scripts"))
    import colab_cells

    for _, path in colab_cells.pages():
        cells = [cell for cell in cells_of(path, "code") if cell.id == colab_cells.CELL_ID]
        sources = [cell.source for cell in cells]
        expected = colab_cells.source()
        assert sources == ([] if expected is None else [expected]), "run scripts/colab_cells.py"
        assert all("remove-cell" in tags(cell) for cell in cells)
