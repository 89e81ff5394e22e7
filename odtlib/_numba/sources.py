"""Under which name compiled kernels are kept on disk: a digest of all the text that they come from.

For itself numba looks at the file of a kernel alone.  A kernel also holds functions, constants and
compiler options of other modules, those that its module imports, and those that they import.
"""

from __future__ import annotations

import hashlib
import re
import sys
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from numba.core.caching import IndexDataCacheFile

_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(\S+)[ \t]+)?import[ \t]*"
                     r"(\([^)]*\)|(?:\\\n|[^\n;])*)", re.MULTILINE)
_first = {}       # module: the digest of its file when this process looked at it first


def stamp(module: str) -> str | None:
    """Return a digest of the files of a module and of all that it imports from our packages.

    None if one of them changed since this process read it: what is compiled from the old text that
    is in memory must not be kept under the name of the new one.
    """
    packages = {name.partition(".")[0] for name in (module, __name__)}
    digests, waiting = {}, [module]
    while waiting:
        name = waiting.pop()
        file = getattr(sys.modules.get(name), "__file__", None)
        if name in digests or name.partition(".")[0] not in packages or not file:
            continue
        try:
            change = Path(file).stat()
            digests[name], imports = _look(file, change.st_mtime_ns, change.st_size)
        except OSError:
            return None
        if _first.setdefault(name, digests[name]) != digests[name]:
            return None
        waiting += _modules(imports, sys.modules[name].__package__)
    if module not in digests:
        return None
    return hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()


@cache
def _look(file, *change):
    """Return the digest of a file, and its imports: whence (or ""), and the names."""
    content = Path(file).read_bytes()
    text = re.sub("#.*", "", content.decode(errors="replace"))
    imports = [(whence, [part.split()[0] for part in re.sub(r"[()\\]", "", names).split(",")
                         if part.strip()])
               for whence, names in _IMPORT.findall(text)]
    return hashlib.sha256(content).hexdigest(), imports


def _modules(imports, package):
    """Yield the names of modules that import statements of a package read."""
    for whence, names in imports:
        if not whence:
            yield from names
            continue
        try:
            whence = resolve_name(whence, package)
        except ImportError:              # prose that looks like an import
            continue
        parts = [f"{whence}.{name}" for name in names]
        yield from parts
        if not all(part in sys.modules for part in parts):
            yield whence


class KernelFile(IndexDataCacheFile):
    """The files of one kernel: named after its source, in place of those of earlier source."""

    def __init__(self, function, folder, source):
        module = function.__module__.rpartition(".")[2]
        self._kernel = re.sub("[<>]", "", f"{module}.{function.__qualname__}")
        self._ending = ".py{}{}".format(*sys.version_info[:2]) + getattr(sys, "abiflags", "")
        super().__init__(folder, f"{self._kernel}-{source[:16]}{self._ending}", source)

    def _save_index(self, overloads):
        super()._save_index(overloads)
        for file in Path(self._cache_path).glob(f"{self._kernel}-*{self._ending}.*"):
            if not file.name.startswith(self._index_name.removesuffix("nbi")):
                try:
                    file.unlink()
                except OSError:          # another process was quicker, or reads it
                    pass
