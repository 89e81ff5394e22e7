"""How compiled kernels are kept on disk: under a digest of all the text that they come from.

For itself numba looks at the file of a kernel alone.  A kernel also holds functions, constants and
compiler options of other modules, those that its module imports, and those that they import.

What cannot be kept or read ends no fit: kernels are compiled in memory then, and it is said once.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import io
import pickle
import re
import sys
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

import numba
from numba.core import caching
from numba.core.compiler import CompileResult

_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(\S+)[ \t]+)?import[ \t]*"
                     r"(\([^)]*\)|(?:\\\n|[^\n;])*)", re.MULTILINE)
_RUN_AT_ONCE = re.compile(r"(?:if|elif|else|try|except|finally|with)\b(?!.*TYPE_CHECKING)")
_first = {}       # module: the digest of its file when this process looked at it first


def stamp(module: str) -> str | None:
    """Return a digest of the files of a module and of all that it imports from our packages.

    What a function imports when it is called is none of it: whether that is loaded yet differs from
    process to process, and each would take away the code that another has kept.

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
               for whence, names in (found.groups("") for found in _IMPORT.finditer(text)
                                     if _is_run_at_once(text, found.start()))]
    return hashlib.sha256(content).hexdigest(), imports


def _is_run_at_once(text, start):
    """Tell whether an import statement runs with its module: outside functions and classes."""
    if not text[start].isspace():
        return True
    outer = next((line for line in reversed(text[:start].splitlines())
                  if line and not line[0].isspace()), "")
    return _RUN_AT_ONCE.match(outer) is not None


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


@cache
def say(sentence: str) -> None:
    """Print a sentence, once a process, where there is somebody to read it: it ends no fit."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):      # full, or closed
            print(f"odtlib: {sentence}", file=sys.stderr, flush=True)


class KernelCache(caching.FunctionCache):
    """The compiled code of one kernel: in numba's folder, or else read from beside the sources.

    ``cache_path`` is None where numba finds no folder that it may write to.
    """

    def __init__(self, function, source):
        self._py_func, self._cache_path = function, None
        with contextlib.suppress(RuntimeError):
            super().__init__(function)
        # those of an installation's owner, beside which others may not write
        beside = str(Path(inspect.getfile(function)).with_name("__pycache__"))
        folders = [beside] if not numba.config.CACHE_DIR else []
        self._files = [KernelFile(function, folder, source)
                       for folder in dict.fromkeys([self.cache_path or beside, *folders])]
        self._cache_file = self._files[0]

    def holds_code(self) -> bool:
        """Return whether there is code compiled from the source as it stands."""
        return any(file._load_index() for file in self._files)

    def _load_overload(self, signature, target):
        key = self._index_key(signature, target.codegen())
        found = (file.load(key) for file in self._files)
        code = next((code for code in found if code is not None), None)
        return None if code is None else CompileResult._rebuild(target, *code)

    def save_overload(self, signature, code):
        try:
            if self.cache_path:
                super().save_overload(signature, code)
        except OSError as error:        # a full disk, a quota, a folder closed since
            say(f"compiled code cannot be kept in {self.cache_path} ({error.strerror}), and later "
                "runs will compile again; NUMBA_CACHE_DIR names another folder.")


class KernelFile(caching.IndexDataCacheFile):
    """The files of one kernel: named after its source, in place of those of earlier source.

    Each ends with a digest of its name and content.  A file that is not as it was written counts
    as none.
    """

    def __init__(self, function, folder, source):
        module = function.__module__.rpartition(".")[2]
        self._kernel = re.sub("[<>]", "", f"{module}.{function.__qualname__}")
        self._ending = ".py{}{}".format(*sys.version_info[:2]) + getattr(sys, "abiflags", "")
        super().__init__(folder, f"{self._kernel}-{source[:16]}{self._ending}", source)

    def load(self, key):
        return self._unless_damaged(super().load, key)

    def _load_index(self):
        return self._unless_damaged(self._read_index) or {}

    def _read_index(self):
        if Path(self._index_path).exists():
            _content(self._index_path)
        return super()._load_index()

    def _load_data(self, name):
        return pickle.loads(_content(self._data_path(name)))

    def _unless_damaged(self, read, *arguments):
        """Return what ``read`` does; if it fails, say so and begin the files anew."""
        try:
            return read(*arguments)
        except Exception as error:      # pickled text that is damaged may raise anything
            say(f"compiled code in {self._cache_path} cannot be read ("
                f"{' '.join(str(error).split())[:100]}), and is compiled again.")
            with contextlib.suppress(OSError):
                self.flush()
            return None

    @contextlib.contextmanager
    def _open_for_write(self, path):
        content = io.BytesIO()
        with super()._open_for_write(path) as file:
            yield content
            file.write(content.getvalue() + _digest(path, content.getvalue()))

    def _save_index(self, overloads):
        super()._save_index(overloads)
        for file in Path(self._cache_path).glob(f"{self._kernel}-*{self._ending}.*"):
            if not file.name.startswith(self._index_name.removesuffix("nbi")):
                with contextlib.suppress(OSError):  # another process was quicker, or reads it
                    file.unlink()


def _digest(path, content):
    return hashlib.sha256(Path(path).name.encode() + content).digest()


def _content(path):
    """Return what was written to a file; refuse a file that is damaged, or another's."""
    if Path(path).is_fifo():                # to open it would wait for ever
        raise ValueError(f"{Path(path).name} is a named pipe")
    content = Path(path).read_bytes()
    if _digest(path, content[:-32]) != content[-32:]:
        raise ValueError(f"{Path(path).name} is damaged")
    return content[:-32]
