"""What the build hook puts into a wheel."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

from odtlib.datasets import available, catalogue

ROOT = Path(__file__).parents[2]


@pytest.fixture
def included(monkeypatch):
    """A function of the version: the files that the hook adds, each with its place."""
    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    for name in ("hatchling", "builders", "hooks", "plugin"):
        path = interface.__name__[: interface.__name__.index(name) + len(name)]
        monkeypatch.setitem(sys.modules, path, ModuleType(path))
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["BookHook"]()
    hook.root = str(ROOT)

    def files(version):
        build_data = {"force_include": {}}
        hook.initialize(version, build_data)
        return build_data["force_include"]

    return files


def test_a_wheel_has_the_small_tables_and_the_credits(included):
    files = included("standard")
    assert all(place in (f"odtbook/_book/{name}", f"odtlib/_{name}")
               for name, place in files.items())
    for name in ("chapters", "data/results", "data/published"):
        assert files[name] == f"odtbook/_book/{name}"
    for name in ("data/manifest.json", "data/sets/SHA256SUMS", "data/sets/LICENSES.md",
                 "data/sets/cg_splits/splits.npz"):
        assert files[name] == f"odtlib/_{name}"
    entries = catalogue.entries()
    wanted = {entries[name].file for name in (*available("small"), *available("uci"))}
    assert {f"data/sets/{file}" for file in wanted - {None}} <= set(files)
    sets = [ROOT / name for name in files if name.startswith("data/sets/")]
    assert "data/sets/cg_splits/default_credit.csv.gz" not in files
    assert sum(path.stat().st_size for path in sets) < 4e6


def test_an_editable_install_has_no_second_copy(included):
    assert included("editable") == {}
