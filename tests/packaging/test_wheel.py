"""What the build hook puts into a wheel."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

from odtbook.datasets import available, catalogue

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hooks(monkeypatch):
    """What hatch_build.py defines, without the package that builds wheels."""
    for kind, base in (("hatchling.builders.hooks.plugin.interface", "BuildHookInterface"),
                       ("hatchling.metadata.plugin.interface", "MetadataHookInterface")):
        parts = kind.split(".")
        for i in range(len(parts)):
            name = ".".join(parts[:i + 1])
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        setattr(sys.modules[kind], base, object)
    return runpy.run_path(str(ROOT / "hatch_build.py"))


@pytest.fixture
def included(hooks):
    """A function of the version: the files that the hook adds, each with its place."""
    hook = hooks["BookHook"]()
    hook.root = str(ROOT)

    def files(version):
        build_data = {"force_include": {}}
        hook.initialize(version, build_data)
        return build_data["force_include"]

    return files


def test_a_wheel_has_the_small_tables_and_the_credits(included):
    files = included("standard")
    assert all(place in (f"odtbook/_book/{name}", f"odtbook/_{name}")
               for name, place in files.items())
    for name in ("chapters", "data/results", "data/published"):
        assert files[name] == f"odtbook/_book/{name}"
    for name in ("data/manifest.json", "data/sets/SHA256SUMS", "data/sets/LICENSES.md",
                 "data/sets/cg_splits/splits.npz"):
        assert files[name] == f"odtbook/_{name}"
    entries = catalogue.entries()
    wanted = {entries[name].file for name in (*available("small"), *available("uci"))}
    assert {f"data/sets/{file}" for file in wanted - {None}} <= set(files)
    sets = [ROOT / name for name in files if name.startswith("data/sets/")]
    assert "data/sets/cg_splits/default_credit.csv.gz" not in files
    assert sum(path.stat().st_size for path in sets) < 4e6


def test_an_editable_install_has_no_second_copy(included):
    assert included("editable") == {}


def test_the_addresses_come_from_the_one_setting(hooks, tmp_path):
    hook = hooks["AddressHook"]()
    hook.root = str(tmp_path)
    config = (ROOT / "_config.yml").read_text(encoding="utf-8")
    for url in ("", "https://example.org/owner/name"):
        (tmp_path / "_config.yml").write_text(
            re.sub(r'(?m)^  url: ".*"$', f'  url: "{url}"', config), encoding="utf-8")
        metadata = {}
        hook.update(metadata)
        assert set(metadata["urls"].values()) <= {
            url, f"{url}/issues", f"{url}/blob/main/CHANGELOG.md"}
        assert bool(metadata["urls"]) == bool(url)
