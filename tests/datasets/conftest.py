"""Shared fixtures: the folder of data files where there is one, and a cache of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_files() -> Path:
    """The folder named by ODTLIB_DATA when the tests were started."""
    folder = os.environ.get("ODTLIB_DATA")
    if not folder:
        pytest.skip("ODTLIB_DATA is not set: nothing to compare with")
    return Path(folder)


@pytest.fixture(scope="session")
def file_facts(data_files) -> dict[str, dict]:
    """What the manifest that comes with the data files says, by file (and member)."""
    path = data_files / "MANIFEST.json"
    if not path.is_file():
        pytest.skip("the folder of ODTLIB_DATA has no MANIFEST.json")
    facts = {}
    for record in json.loads(path.read_text(encoding="utf-8"))["files"]:
        facts[record["file"]] = record
        for member, inner in record.get("members", {}).items():
            facts[record["file"], member] = inner
    return facts


@pytest.fixture
def nothing_at_hand(monkeypatch, tmp_path) -> Path:
    """No data folder and an empty cache, whose path is the value."""
    monkeypatch.delenv("ODTLIB_DATA", raising=False)
    monkeypatch.setenv("ODTLIB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
