"""The versions that the project names in several files are the same ones."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def plain(name):
    return re.sub("[-_.]+", "-", name).lower()


PINS = {plain(name): version
        for name, version in re.findall(r"^([\w.-]+)==(\S+)$", read("constraints.txt"), re.M)}
# An entry of the lock: its version, the systems that want it, the hashes of its files.
LOCK = {plain(name): (version, condition, hashes.count("--hash=sha256:"))
        for name, version, condition, hashes in re.findall(
            r"^([\w.-]+)==(\S+)(?: ; (.+?))? \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
            read("requirements-lock.txt"), re.M)}


def test_the_lock_with_hashes_has_the_versions_of_constraints():
    assert len(PINS) > 100
    assert {name: LOCK.get(name, (None,))[0] for name in PINS} == PINS
    # What is more is for other systems and interpreters; pip does not freeze the last two.
    assert all(LOCK[name][1] for name in LOCK.keys() - PINS.keys() - {"setuptools", "wheel"})


def test_the_lock_has_a_hash_for_every_entry_and_names_no_index():
    text = read("requirements-lock.txt")
    assert len(LOCK) == len(re.findall(r"^[^#\s]", text, re.M))
    assert all(hashes for _, _, hashes in LOCK.values())
    assert not re.search(r"://|--(?:extra-)?index|--find-links| @ ", text)


def test_the_lock_has_what_make_installs():
    project = tomllib.loads(read("pyproject.toml"))["project"]
    extras = re.search(r"^EXTRAS := (.*)$", read("Makefile"), re.M)[1].split(",")
    wanted = [*project["dependencies"],
              *(line for extra in extras for line in project["optional-dependencies"][extra])]
    names = {plain(re.match(r"[\w.-]+", line)[0]) for line in wanted} - {project["name"]}
    assert names <= LOCK.keys()


@pytest.mark.parametrize("hook", yaml.safe_load(read(".pre-commit-config.yaml"))["repos"],
                         ids=lambda hook: hook["repo"].rpartition("/")[2])
def test_a_hook_has_the_version_of_constraints(hook):
    name = hook["repo"].rpartition("/")[2].removesuffix("-pre-commit")
    assert hook["rev"].removeprefix("v") == PINS[name]
