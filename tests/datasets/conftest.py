"""Shared fixtures: the shipped files, the sets that are not shipped, and places without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from odtbook.datasets import loading, manifest


@pytest.fixture(scope="session")
def shipped_files() -> Path:
    """The folder of the shipped files."""
    return Path(manifest.data_path(manifest.CHECKSUMS)).parent


@pytest.fixture
def only_shipped(monkeypatch, tmp_path) -> Path:
    """No data folder and an empty cache, whose path is the value."""
    monkeypatch.delenv("ODTLIB_DATA", raising=False)
    monkeypatch.setenv("ODTLIB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def nothing_at_hand(only_shipped, monkeypatch, tmp_path) -> Path:
    """As ``only_shipped``, in an installation without any of the shipped files."""
    monkeypatch.setattr(loading, "shipped_file", lambda entry: tmp_path / "none" / entry.file)
    return only_shipped
