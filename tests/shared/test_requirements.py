import sys

import pytest

from odtlib.requirements import DISTRIBUTION, needs


def test_needs_returns_the_module():
    assert needs("json.decoder", "solvers", "This test").JSONDecoder


def test_needs_names_what_to_install():
    with pytest.raises(ModuleNotFoundError) as caught:
        needs("no_such_package.part", "solvers", "OCTClassifier")
    assert str(caught.value) == ("OCTClassifier needs no_such_package, which is not installed; "
                                 f'pip install "{DISTRIBUTION}[solvers]" brings it.')
    assert caught.value.name == "no_such_package"


def test_needs_leaves_a_broken_package_its_own_message(tmp_path, monkeypatch):
    (tmp_path / "installed_but_broken.py").write_text("import no_such_requirement")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "installed_but_broken", raising=False)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_requirement'"):
        needs("installed_but_broken", "solvers", "OCTClassifier")
