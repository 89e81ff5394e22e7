"""Files that a command hands over: as a whole, never in place of what it reads, and said."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from odtlib.text import visible


def to_write(path: str | Path, *inputs: str | Path) -> Path:
    """Return where a command will write; ValueError for a file that it reads, or cannot write.

    It is called before the work, which may take minutes.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file.")
    if any(path.exists() and Path(given).exists() and path.samefile(given) for given in inputs):
        raise ValueError(f"{path} is what the command reads; name another file to write.")
    written = path if path.exists() and not path.is_file() else path.resolve().parent
    if not os.access(written, os.W_OK):
        raise ValueError(f"{path}: nothing can be written in {written}; name a file in another "
                         "folder.")
    return path


def hand_over(path: Path, content: str | bytes) -> None:
    """Write a file, and say so where it replaces another one."""
    if path.exists() and not path.is_file():        # a device or a pipe is not replaced
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return
    path = path.resolve()                           # nor is a link
    if path.exists():
        content = content.encode() if isinstance(content, str) else content
        if path.read_bytes() == content:
            return
        print(visible(f"odt: {path.name} was there, and is replaced"), file=sys.stderr, flush=True)
    write_whole(path, content)


def write_whole(path: Path, text: str | bytes) -> None:
    """Write a file under another name and rename it, so that it is there as a whole or not."""
    beside = path.with_name(f".{path.name}.part")
    try:
        beside.write_bytes(text.encode() if isinstance(text, str) else text)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise OSError(error.errno, f"cannot be written ({error.strerror})", str(path)) from None
