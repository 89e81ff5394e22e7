"""What commands write: never what they read, nothing without a word, and never a half."""

import os
import sys

import numpy as np
import pytest

from odtbook.cli import main
from odtbook.files import hand_over, to_write
from odtlib import CARTClassifier, DecisionTree


@pytest.fixture
def tree_and_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.array([(a, b, a ^ b) for a in (0, 1) for b in (0, 1)]).repeat(3, axis=0)
    (tmp_path / "d.csv").write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    best = DecisionTree.from_nested((0, 0.5, (1, 0.5, 0, 1), (1, 0.5, 1, 0)))
    (tmp_path / "best.json").write_text(best.to_json())
    worst = CARTClassifier(0).fit(rows[:, :2], rows[:, 2]).tree_
    (tmp_path / "worst.json").write_text(worst.to_json())
    return tmp_path


@pytest.mark.parametrize("tree", ["best.json", "worst.json"])
def test_the_referee_never_writes_over_what_it_reads(tree_and_table, tree, capsys):
    """``--save d.csv`` replaced the table by the certificate: of issue 55."""
    before = {path: path.read_bytes() for path in tree_and_table.iterdir()}
    os.link("d.csv", "same.csv")
    os.symlink(tree, "link.json")
    call = ["referee", tree, "d.csv", "--depth", "2", "--save"]
    for name in ("d.csv", tree, "./d.csv", "same.csv", "link.json", str(tree_and_table)):
        assert main([*call, name]) == 2
        assert capsys.readouterr().err.strip().endswith(
            "is a folder; name a file." if name == str(tree_and_table) else
            "is what the command reads; name another file to write.")
    assert main([*call, "no/where.npz"]) == 2
    assert "there is no folder no" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in before} == before


def test_what_the_referee_replaces_it_says(tree_and_table, capsys):
    call = ["referee", "best.json", "d.csv", "--save", "out"]
    main(call[:3])          # compiles, and says so
    capsys.readouterr()
    for content, said in ((None, ""), (None, ""), ("mine", "odt: out was there, and is replaced")):
        if content:
            (tree_and_table / "out").write_text(content)
        assert main(call) == 0
        assert capsys.readouterr().err.strip() == said
        assert (tree_and_table / "out").read_bytes()[:2] == b"PK"


def test_an_examination_that_was_edited_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["exam", "--seed", "3"]) == 0
    for name in ("exam-3.md", "solutions-3.md"):
        text = (tmp_path / name).read_text("utf-8")
        (tmp_path / name).write_text(text + "my question\n", "utf-8")
        (tmp_path / "exam-4.md").unlink(missing_ok=True)
        assert main(["exam", "--seed", "3"]) == 2
        assert f"{name} exists, and is not as" in capsys.readouterr().err
        assert (tmp_path / name).read_text("utf-8").endswith("my question\n")
        (tmp_path / name).write_text(text, "utf-8")


def test_a_picture_that_is_replaced_is_said(tmp_path, monkeypatch, capsys):
    from odtbook import compare_command, figure_command
    monkeypatch.chdir(tmp_path)
    for module in (figure_command, compare_command):
        assert module.hand_over is hand_over
    monkeypatch.setattr(figure_command, "draw", lambda *_, **__: b"picture")
    for old in (None, b"picture", b"mine"):
        if old:
            (tmp_path / "figure-2.1.png").write_bytes(old)
        assert main(["figure", "2.1"]) == 0
        assert ("was there, and is replaced" in capsys.readouterr().err) == (old == b"mine")
        assert (tmp_path / "figure-2.1.png").read_bytes() == b"picture"


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
def test_links_stay_links_and_pipes_are_written_to(tmp_path, capsys):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    hand_over(to_write(tmp_path / "link"), "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"
    hand_over(to_write("/dev/null"), b"nothing")
    assert not os.path.isfile("/dev/null")
    (tmp_path / "n\x1b[31m").write_text("old")
    hand_over(tmp_path / "n\x1b[31m", "new")
    assert "\x1b" not in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(
        tree_and_table, monkeypatch, capsys):
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: (
        path != tree_and_table.resolve() and access(path, mode)))
    for command in (["try", "d.csv"], ["referee", "best.json", "d.csv", "--save", "a.npz"],
                    ["figure", "2.1"]):
        assert main(command) == 2
        said = capsys.readouterr()
        assert "nothing can be written in" in said.err and not said.out
