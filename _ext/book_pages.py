"""What the book needs of Sphinx beyond its configuration file."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import re
import shutil
import tomllib
from functools import cache
from html import escape
from pathlib import Path

import figure_sources
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.statemachine import StringList
from pybtex.plugin import register_plugin
from pybtex.richtext import Text
from pybtex.style.formatting.alpha import Style as AlphaStyle
from pybtex.style.labels.alpha import LabelStyle as AlphaLabels
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective
from sphinx_external_toc.collectors import TocTreeCollectorWithStyles

import odtlib

number_by_position = TocTreeCollectorWithStyles.assign_section_numbers
figures_by_position = TocTreeCollectorWithStyles.assign_figure_numbers
BINDER = "https://mybinder.org"
COLAB = "https://colab.research.google.com"
ROLES = {"eq": "eq", "ex": "ref", "fig": "numref", "alg": "prf:ref", "th": "prf:ref",
         "thm": "prf:ref"}
TERM_LINK = re.compile(r"\[([^][]+)\]\([\w./]*glossary\.md#term-([\w-]+)\)")
LABEL_LINK = re.compile(rf"\[(({'|'.join(ROLES)})-[\w-]+)\]\([\w./]+#\1\)")


def set_repository_buttons(app, config):
    """Show the launch, edit and issue buttons once ``repository: url`` is set in _config.yml."""
    options = config.html_theme_options
    if options.get("repository_url"):
        options.update(
            use_repository_button=True,
            use_edit_page_button=True,
            use_issues_button=True,
            launch_buttons={
                "binderhub_url": BINDER,
                "colab_url": COLAB,
                "notebook_interface": "jupyterlab",
            },
        )
    else:
        options.pop("repository_url", None)
        options.pop("launch_buttons", None)


def drop_thebe(app, config):
    """Leave out the script of sphinx-thebe: it needs the network, and is declared twice a page."""
    for listeners in app.events.listeners.values():
        # By its name: plain Sphinx does not install the package.
        listeners[:] = [at for at in listeners
                        if getattr(at.handler, "__name__", "") != "init_thebe_core"]


def number_chapters(collector, env):
    """Number a chapter as its file is numbered, and no other page.

    So 05 is chapter 5 also while others are missing, and no page below it is called 5.17. What is
    numbered on a page of a numbered part counts with the chapter on or before that page.
    """
    changed = number_by_position(collector, env)
    collector.chapters, last = {}, None
    for page in _in_order(env, env.config.root_doc):
        numbers = env.toc_secnumbers.get(page, {})
        own = re.match(r"chapters/(\d+)_", page)
        if any(numbers.values()):
            last = collector.chapters[page] = int(own[1]) if own else last
        for anchor, number in numbers.items():
            numbers[anchor] = (last, *number[1:]) if number and own else None
        for entry in (env.titles[page], *env.tocs[page].findall(nodes.reference)):
            if not own:
                entry.attributes.pop("secnumber", None)
            elif entry.get("secnumber"):
                entry["secnumber"] = [last, *entry["secnumber"][1:]]
    return changed


def _in_order(env, page):
    """The pages of the menu, each before those below it."""
    yield page
    for below in env.toctree_includes.get(page, ()):
        yield from _in_order(env, below)


def number_figures(collector, env):
    """Number figures, formulas and exercises by chapters, in the order of the menu."""
    shown = env.toc_secnumbers
    env.toc_secnumbers = {page: {"": (chapter,)} for page, chapter in collector.chapters.items()
                          if chapter}
    try:
        return figures_by_position(collector, env)
    finally:
        env.toc_secnumbers = shown


def copy_mathjax(app, exception):
    """Copy the part of the packaged MathJax that pages load, so that formulas need no network."""
    if exception is None and app.builder.format == "html":
        # The package's name is no Python name; it is a folder of files with a Sphinx hook.
        spec = importlib.util.find_spec("sphinx-mathjax-offline")
        source = Path(spec.origin).parent / "static" / "mathjax"
        target = Path(app.outdir) / "_static" / "mathjax"
        fonts = "output/chtml/fonts"
        shutil.copytree(source / fonts, target / fonts, dirs_exist_ok=True)
        (target / "ui").mkdir(exist_ok=True)
        for file in ("tex-mml-chtml.js", "ui/lazy.js"):
            shutil.copy2(source / file, target / file)


def outline(node):
    """Return the paragraphs below a node as HTML, nested in the sections that anchors name."""
    if isinstance(node, nodes.section):
        inner = "".join(map(outline, node.children))
        for name in node["ids"]:
            inner = f'<div id="{escape(name)}">{inner}</div>'
        return inner
    if isinstance(node, nodes.paragraph | nodes.title | nodes.caption):
        return f"<p>{escape(node.astext())}</p>\n"
    if isinstance(node, nodes.literal_block | nodes.math_block | nodes.raw | nodes.comment):
        return ""
    return "".join(map(outline, node.children))


def write_search_texts(app, exception):
    """Write the text of all pages, from which the search takes its excerpts without a network."""
    if exception is None and app.builder.format == "html":
        texts = {page: outline(app.env.get_doctree(page)) for page in sorted(app.env.found_docs)}
        (Path(app.outdir) / "_static" / "search_texts.js").write_text(
            f"const SEARCH_TEXTS = {json.dumps(texts, ensure_ascii=False)};\n", encoding="utf-8")


def load_search_texts(app, page, template, context, doctree):
    """Load these texts in the page of search results only."""
    if page == "search":
        app.add_js_file("search_texts.js")
        app.add_js_file("search.js")


class AuthorYearLabels(AlphaLabels):
    """Label a work in the bibliography as the text cites it: by its authors and its year."""

    def format_label(self, entry):
        names = [str(Text(*person.rich_last_names))
                 for person in entry.persons["author"]]
        if len(names) > 2:
            names = [f"{names[0]} et al."]
        return f"{' and '.join(names)} {entry.fields['year']}"


class AuthorYearStyle(AlphaStyle):
    default_label_style = AuthorYearLabels


# The modules of the reference, each a page of its own, in the order of their table.
# Where a module has no __all__, its own classes and functions, or those that are named here.
REFERENCE = {
    "odtlib.estimator": ["TreeClassifier"],
    "odtlib.tree": [], "odtlib.report": [],
    "odtlib.certificate": ["OptimalityCertificate"],
    "odtlib.heuristics": [], "odtlib.column_generation": [], "odtlib.murtree": [],
    "odtlib.continuous": [], "odtlib.constrained": [], "odtlib.constrained.sets": [],
    "odtlib.objectives": [], "odtlib.policy": [], "odtlib.binarize": [], "odtlib.plotting": [],
    "odtbook.formulations": [], "odtbook.published": [],
    "odtbook.check_certificate": ["check", "NotProved"],
    "odtbook.referee": [],
    "odtbook.datasets": [], "odtbook.tables": [], "odtbook.experiments": [], "odtbook.verdicts": [],
    "odtbook.statistics": [], "odtbook.figures": [], "odtbook.interactive": [],
    "odtbook.exercises": [],
}
PAGES = "chapters/appendices/api"
# What every estimator has, on one page instead of on all.
SHARED = ("fit, predict, predict_proba, predict_log_proba, apply, decision_path, get_depth, "
          "get_n_leaves, feature_importances_, n_classes_, plot, to_sklearn, verify")


def write_reference(app, config):
    """Write one page per module of the reference, which the menu does not hold."""
    folder = Path(app.srcdir) / PAGES
    if not folder.with_suffix(".md").exists():      # another book
        return
    folder.mkdir(exist_ok=True)
    texts = {f"{module}.md": reference_page(module) for module in REFERENCE}
    for stale in {path.name for path in folder.iterdir()} - set(texts):
        (folder / stale).unlink()
    for name, text in texts.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    config.exclude_patterns[:] = [pattern for pattern in config.exclude_patterns
                                  if not pattern.startswith(f"{PAGES}/")]


def reference_page(module):
    """Return the page of a module: what it is for, and what its public names do."""
    lines = []
    public = public_objects(module)
    above = {item for _, item in public}
    for path, item in public:
        if inspect.isclass(item) and issubclass(item, Exception):
            lines += [f".. autoexception:: {path}", ""]
        elif inspect.isclass(item):
            names = SHARED if module == "odtlib.estimator" else members(item, above)
            lines += [f".. autoclass:: {path}", f"   :members: {names}",
                      *["   :show-inheritance:"] * bool(above & set(item.__bases__)), ""]
        elif inspect.isroutine(item):
            lines += [f".. autofunction:: {path}", ""]
        else:
            lines += [f".. autodata:: {path}", "   :no-value:", ""]
    return "\n".join(["---", "orphan: true", "---", f"# `{module}`", "", summary(module), "",
                      "All modules: [Reference](../api).", "",
                      "```{eval-rst}", *lines, "```", ""])


def summary(module):
    """Return the first sentence of a module's docstring."""
    text = inspect.getdoc(importlib.import_module(module)) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`")


class ModuleTable(SphinxDirective):
    """List the modules of the reference, with links to their pages and public names.

    The directive writes reStructuredText, as :class:`TemplateTable` does.
    """

    def run(self):
        lines = [".. list-table::", "   :header-rows: 1", "   :widths: 26 37 37", "",
                 "   * - module", "     - what for",
                 "     - names"]
        for module in REFERENCE:
            names = ", ".join(f":py:obj:`~{path}`" for path, _ in public_objects(module))
            lines += [f"   * - :doc:`{module} </{PAGES}/{module}>`",
                      f"     - {summary(module).replace('`', '``')}", f"     - {names}"]
        container = nodes.Element()
        self.state.nested_parse(StringList(lines, str(Path(self.env.srcdir) / f"{PAGES}.md")),
                                self.content_offset, container)
        return container.children


def members(item, documented):
    """Return the public names of a class, with those that it has from its parents in odtlib.

    Left out is what has its own place: parents among ``documented``, and ``odtlib.estimator``.
    """
    parents = [parent for parent in item.__mro__ if parent is item or (
        parent.__module__.startswith("odtlib.") and parent.__module__ != "odtlib.estimator"
        and parent not in documented)]
    names = dict.fromkeys(name for parent in reversed(parents) for name, value
                          in vars(parent).items() if not name.startswith("_")
                          and (callable(value) or isinstance(value, property | classmethod)))
    return ", ".join(names)


def skip_routing_methods(app, what, name, item, skip, options):
    """Leave out ``set_fit_request`` and the like, which scikit-learn adds to every estimator."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


class TemplateTable(SphinxDirective):
    """List the templates of the experiments: what each does, and its files to download.

    The directive writes reStructuredText: in a Markdown page it stands inside ``eval-rst``.
    """

    def run(self):
        lines = [".. list-table::", "   :header-rows: 1", "", "   * - template",
                 "     - what one run does", "     - grids"]
        grids = {path.stem: tomllib.loads(path.read_text(encoding="utf-8"))["template"]
                 for path in figure_sources.EXPERIMENTS.glob("*.toml")}
        for path in sorted(figure_sources.EXPERIMENTS.glob("*.ipynb")):
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            title = re.search(r"^# (.+)", "".join(cells[0]["source"]), re.MULTILINE)[1]
            own = sorted(grid for grid, template in grids.items() if template == path.stem)
            lines += [f"   * - :download:`{path.stem} <{path.name}>`",
                      f"     - {title.removesuffix(': one run')}",
                      "     - " + ", ".join(f":download:`{g} <{g}.toml>`" for g in own)]
        container = nodes.Element()
        source = str(figure_sources.EXPERIMENTS / "running.md")
        self.state.nested_parse(StringList(lines, source), self.content_offset, container)
        for link in container.findall(addnodes.download_reference):
            if link["reftarget"].endswith(".ipynb"):
                link.parent["ids"] = [template_label(link.astext())]
        return container.children


def template_label(name):
    """Return the anchor of a template's row in the table of :class:`TemplateTable`."""
    return f"template-{name}".replace("_", "-")


def link_templates(app, doctree):
    """Let links to a template, which JupyterLab opens, lead to its row in the table of the book."""
    templates = {path.stem for path in figure_sources.EXPERIMENTS.glob("*.ipynb")}
    for node in list(doctree.findall(addnodes.pending_xref)):
        found = re.search(r"experiments/(\w+)(\.ipynb)?$", node["reftarget"])
        if node["reftype"] == "myst" and found and found[1] in templates:
            page = app.builder.get_relative_uri(app.env.docname, "chapters/experiments/running")
            node.replace_self(nodes.reference("", "", *node.children, internal=True,
                                              refuri=f"{page}#{template_label(found[1])}"))


def public_objects(module):
    """Return pairs (dotted name, object) of what a module offers.

    What ``odtlib`` itself offers has that shorter name.
    """
    home = importlib.import_module(module)
    own = [name for name, item in vars(home).items()
           if not name.startswith("_") and getattr(item, "__module__", "") == module]
    short = [name for name in odtlib.__all__ if odtlib._HOME.get(name) == module]
    offered = REFERENCE[module] or getattr(home, "__all__", None) or short or own
    return [(f"{'odtlib' if name in short else module}.{name}", getattr(home, name))
            for name in [*short, *(name for name in offered if name not in short)]
            if not inspect.ismodule(getattr(home, name))]


@cache
def entries():
    """Return the entry of the reference for each text that names it: a class, or a whole path."""
    found = {}
    for module in REFERENCE:
        for path, item in public_objects(module):
            found[path] = path
            if inspect.isclass(item):
                found[path.rpartition(".")[2]] = path
    return found


def link_names(app, doctree):
    """Link the first mention of a class or a whole path on a page to its entry in the reference."""
    page = app.env.docname
    if page.startswith(f"{PAGES}/"):
        return
    known = dict(entries())
    for literal in list(doctree.findall(nodes.literal)):
        path = known.get(literal.astext())
        if path is None or any(isinstance(node, nodes.reference | nodes.title
                                          | addnodes.pending_xref) for node in above(literal)):
            continue
        link = addnodes.pending_xref("", refdomain="py", reftype="obj", reftarget=path,
                                     refdoc=page, refexplicit=True, refwarn=False)
        literal.replace_self(link)
        link += literal
        known = {text: other for text, other in known.items() if other != path}


def above(node):
    """Yield the nodes that a node is within, from its parent to the document."""
    while node := node.parent:
        yield node


def name_twice(app, doctree):
    """Let entries of subpackages also be found under ``odtlib``.

    Their pages of source lead back by the first package that documents anything of the file.
    """
    for signature in doctree.findall(addnodes.desc_signature):
        if signature.get("module", "").startswith("odtlib."):
            other = f"odtlib.{signature['fullname']}"
            if other not in signature["ids"]:
                signature["ids"].append(other)


def align_words(app, doctree):
    """Mark the columns of words in data frames, which ``book.css`` sets on the left."""
    for node in doctree.findall(nodes.raw):
        if node.get("format") == "html" and 'class="dataframe' in (html := node.astext()):
            page = BeautifulSoup(html, "html.parser")
            for table in page.find_all("table", "dataframe"):
                mark_words(table)
            node[:] = [nodes.Text(str(page))]


def mark_words(table):
    """Give the class ``word`` to columns, headings included, of which half the cells are words."""
    rows = [row.find_all("td") for row in table.select("tbody tr")]
    kinds = [[is_word(cell) for cell in column] for column in zip(*rows)]
    words = [2 * kind.count(True) >= len(kind) - kind.count(None) > 0 for kind in kinds]
    for row in table.select("thead tr"):    # first the headings of the index
        heads = [head for head in row.find_all("th") for _ in range(int(head.get("colspan", 1)))]
        words = [True] * (len(heads) - len(words)) + words
        rows.append(heads)
    for row in rows:
        for cell, word in zip(reversed(row), reversed(words)):
            if word:
                cell["class"] = "word"


def is_word(cell):
    """Tell whether the first letter or digit in the cell of a table is a letter; None: no value."""
    text = re.sub(r"[\W_]+", "", cell.get_text())
    return None if text in ("", "NaN", "nan", "NaT", "None", "inf") else text[0].isalpha()


def read_links(app, docname, source):
    """Read links to a label or a term of another page as the roles that number or find it.

    JupyterLab and GitHub know no label of another page: there they are links that open the page.
    """
    text = LABEL_LINK.sub(lambda link: f"{{{ROLES[link[2]]}}}`{link[1]}`", source[0])
    source[0] = TERM_LINK.sub(lambda link: f"{{term}}`{link[1]} <{term_of(*link.groups())}>`", text)


def term_of(text, anchor):
    """Return the term of the glossary: the text of the link, or the words of its anchor."""
    same = re.sub(r"\W+", "-", text.lower()) == anchor
    return text if same else anchor.replace("-", " ")


def setup(app):
    app.connect("source-read", read_links)
    register_plugin("pybtex.style.formatting", "authoryear", AuthorYearStyle)
    app.add_directive("module-table", ModuleTable)
    app.connect("config-inited", write_reference, priority=950)
    app.add_directive("template-table", TemplateTable)
    app.connect("config-inited", set_repository_buttons, priority=100)
    TocTreeCollectorWithStyles.assign_section_numbers = number_chapters
    TocTreeCollectorWithStyles.assign_figure_numbers = number_figures
    app.connect("config-inited", drop_thebe)
    app.connect("autodoc-skip-member", skip_routing_methods)
    app.connect("doctree-read", align_words)
    app.connect("doctree-read", link_names)
    app.connect("doctree-read", name_twice)
    app.connect("doctree-read", link_templates)
    app.connect("build-finished", copy_mathjax)
    app.connect("html-page-context", load_search_texts)
    app.connect("build-finished", write_search_texts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
