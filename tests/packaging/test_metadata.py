"""What the package says of itself, in one way everywhere."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import tomllib
import warnings
from pathlib import Path

import pytest
import yaml

import odtlib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_oldest_versions_are_the_lower_bounds():
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["plot"], *extras["tables"], *extras["solvers"]]
    wanted = [line for line in wanted if not line.startswith(PROJECT["name"])]
    bounds = {re.split("[<>=]", line)[0]: re.search(r">=([\d.]+)", line)[1] for line in wanted}
    text = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8")
    oldest = dict(line.split("==") for line in text.splitlines() if not line.startswith("#"))
    assert oldest.keys() == bounds.keys()
    for name, bound in bounds.items():
        assert f"{oldest[name]}.".startswith(f"{bound}."), name


def test_the_distribution_is_called_by_its_name_everywhere():
    from odtlib.requirements import DISTRIBUTION

    assert PROJECT["name"] == DISTRIBUTION
    pattern = re.compile(r"pip install\W*(--?\w+ )*\W*odtlib")
    for folder in ("odtlib", "odtbook", "chapters", "scripts", "."):
        files = [path for path in (ROOT / folder).rglob("*")
                 if path.suffix in (".py", ".md", ".ipynb")] if folder != "." else ROOT.glob("*.md")
        for path in files:
            assert not pattern.search(path.read_text(encoding="utf-8")), path


def test_the_citation_has_the_version_and_the_address():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert citation["version"] == odtlib.__version__
    assert citation.get("repository-code", "") == config["repository"]["url"]


def test_the_newest_release_of_the_changelog_is_this_version_of_the_day_of_the_citation():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    unreleased, newest = re.findall("^## (.*)$", text, re.MULTILINE)[1:3]
    assert unreleased == "Unreleased"
    assert newest == f"{odtlib.__version__} - {citation['date-released']}"


@pytest.mark.skipif(shutil.which("awk") is None, reason="needs awk")
def test_the_notes_of_a_release_are_its_entry_alone(tmp_path):
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    command = re.search("run: (awk .*) > notes.md", workflow)[1]
    (tmp_path / "CHANGELOG.md").write_text(
        "## Unreleased\n\nnew\n\n## 1.0.0 - 2027-01-01\n\n### Added\n\n- a\n\n"
        "## 1.0.0rc1 - 2026-01-01\n\nold\n", encoding="utf-8")
    notes = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True,
                           env={**os.environ, "GITHUB_REF_NAME": "v1.0.0"}).stdout
    assert notes.split() == ["###", "Added", "-", "a"]


def test_the_citation_names_the_five_papers_as_the_bibliography_does():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    bibliography = re.sub(r"[{}\\]", "", (ROOT / "references.bib").read_text(encoding="utf-8"))
    assert len(citation["references"]) == 5
    for paper in citation["references"]:
        assert f"title = {paper['title']},\n" in bibliography
        assert f"year = {paper['year']}" in bibliography


def test_both_packages_are_marked_as_typed():
    assert all((ROOT / name / "py.typed").exists() for name in ("odtlib", "odtbook"))
    assert "Typing :: Typed" in PROJECT["classifiers"]


def test_type_checkers_see_every_public_name_where_it_is_defined():
    text = (ROOT / "odtlib" / "__init__.pyi").read_text(encoding="utf-8")
    seen = {node.names[i].asname: node.module for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.ImportFrom) for i in range(len(node.names))}
    assert seen == odtlib._HOME


def test_each_folder_of_tests_is_run_somewhere_at_night():
    text = (ROOT / "scripts" / "test_environments.py").read_text(encoding="utf-8")
    scope = {"__file__": str(ROOT / "scripts" / "test_environments.py"), "__name__": "script"}
    exec(compile(text, "test_environments.py", "exec"), scope)
    folders = {f"tests/{path.parent.name}" for path in (ROOT / "tests").glob("*/test_*.py")}
    assert folders == {*scope["EVERY"], "tests/interoperation"}
    assert set(scope["TESTS"]) < folders
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", "")
    alone = re.search(r"^LIBRARY_TESTS := (.*)$", makefile, re.MULTILINE)[1].split()
    assert {f"tests/{name}" for name in alone} < folders


def test_workflows_name_each_action_by_its_commit_and_in_one_version():
    workflows = ROOT / ".github" / "workflows"
    uses = [line.partition("uses:")[2].strip() for path in workflows.iterdir()
            for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert uses
    for line in uses:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line), line
    assert len(set(uses)) == len({line.partition("@")[0] for line in uses})


@pytest.mark.parametrize("module", ["odtlib.tree", "odtbook.cli", "tests.shared.test_tree",
                                    "numpy", "scipy.optimize", "sklearn.tree", "pandas", "numba",
                                    "joblib"])
@pytest.mark.parametrize("kind", [DeprecationWarning, FutureWarning])
def test_a_warning_of_what_a_later_release_refuses_is_an_error(module, kind):
    with pytest.raises(kind, match="soon gone"):
        warnings.warn_explicit("soon gone", kind, "file.py", 1, module=module)
