"""Launch buttons and the first cell on Colab, with an address in ``_config.yml`` and without."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

from odtbook.figure_code import pages

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "https://github.com/owner/name"


def configured(address):
    """Return the settings of the book with this address."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    config["repository"]["url"] = address
    config["execute"]["execute_notebooks"] = "off"
    # the folds and answers belong to the book's own pages
    config["sphinx"]["local_extensions"] = {"book_pages": str(ROOT / "_ext")}
    return config


@pytest.mark.parametrize("address", [ADDRESS, ""])
def test_the_buttons_lead_to_the_page_at_the_address_that_is_set(address, tmp_path):
    pytest.importorskip("jupyter_book")
    (tmp_path / "_config.yml").write_text(yaml.safe_dump(configured(address)), encoding="utf-8")
    (tmp_path / "references.bib").write_text("")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: intro\n", encoding="utf-8")
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A page\n\nText.")],
                                    metadata={"kernelspec": {"name": "python3",
                                                             "display_name": "Python 3"}})
    nbformat.write(page, tmp_path / "intro.ipynb")
    book = Path(sys.executable).with_name("jupyter-book")
    subprocess.run([book, "build", tmp_path, "--builder", "html"], check=True,
                   capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    html = (tmp_path / "_build/html/intro.html").read_text(encoding="utf-8")
    links = ["https://mybinder.org/v2/gh/owner/name/main?urlpath=lab/tree/intro.ipynb",
             "https://colab.research.google.com/github/owner/name/blob/main/intro.ipynb",
             f"{ADDRESS}/issues/new", f"{ADDRESS}/edit/main/intro.ipynb"]
    assert [link in html for link in links] == [bool(address)] * len(links)
    assert ("mybinder" in html) == bool(address)


def test_every_notebook_with_a_button_gets_one_cell_that_installs_on_colab(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import colab_cells
    found = []
    for _, page in pages():
        found.append(tmp_path / f"{len(found)}.ipynb")
        found[-1].write_bytes(page.read_bytes())
    assert ROOT / "intro.ipynb" in {page for _, page in pages()}
    (tmp_path / "_config.yml").write_text(yaml.safe_dump(configured(ADDRESS)), encoding="utf-8")
    monkeypatch.setattr(colab_cells, "ROOT", tmp_path)
    monkeypatch.setattr(colab_cells, "pages", lambda: [(None, path) for path in found])
    monkeypatch.setattr(sys, "argv", ["colab_cells.py"])
    colab_cells.main()
    once = [path.read_bytes() for path in found]
    colab_cells.main()
    assert [path.read_bytes() for path in found] == once
    for path in found:
        cells = [cell for cell in nbformat.read(path, as_version=4).cells
                 if cell.id == colab_cells.CELL_ID]
        assert len(cells) == 1 and f"git+{ADDRESS}@main" in cells[0].source
        compile(cells[0].source.replace("%pip", "pass  #"), "cell", "exec")
