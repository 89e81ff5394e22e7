"""Note which files of the project a kernel reads, and what they hold.

IPython runs this file when a kernel starts.  The file that ``ODT_TRACE`` names gets a line for each
file or folder, after each cell, so that a kernel that is killed has told what it read by then.
Kernels that this one starts write to the same file.
"""

import hashlib
import os
import sys


def digest(place):
    """Return a hash of a file; of a folder, of the names in it."""
    if os.path.isdir(place):
        content = "\n".join(sorted(name for name in os.listdir(place) if name[0] != ".")).encode()
    elif os.path.isfile(place):
        with open(place, "rb") as file:
            content = file.read()
    else:
        return "-"
    return hashlib.sha256(content).hexdigest()


def is_as_read(trace, root):
    """Return whether everything that a trace names is still as it was."""
    if not os.path.exists(trace):
        return False
    with open(trace, encoding="utf-8") as file:
        lines = [line.rstrip("\n").partition(" ") for line in file]
    return bool(lines) and all(digest(os.path.join(root, name)) == hashed
                               for hashed, _, name in lines)


def begin(trace, ipython):
    """Note from now on, and write after each cell.

    The folders of modules do not count: to import one lists all.
    """
    root = os.getcwd()
    while not os.path.exists(os.path.join(root, "_toc.yml")) and root != os.path.dirname(root):
        root = os.path.dirname(root)
    os.makedirs(os.path.dirname(trace), exist_ok=True)
    seen, written = {os.path.join(root, "constraints.txt")}, set()

    def note(event, arguments):
        if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str):
            seen.add(os.path.abspath(arguments[0]))

    def write(*_):
        modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        names = {os.path.relpath(path, root) for path in [*seen, *filter(None, modules)]
                 if path.startswith(root + os.sep)
                 and path != os.getcwd() and not os.path.exists(os.path.join(path, "__init__.py"))}
        names -= written
        written.update(names)
        with open(trace, "a", encoding="utf-8") as file:
            file.writelines(f"{digest(os.path.join(root, name))} {name}\n" for name in sorted(names)
                            if not any(part.startswith((".", "__pycache__", "_build"))
                                       for part in name.split(os.sep)))

    sys.addaudithook(note)
    ipython.events.register("post_run_cell", write)


if "ODT_TRACE" in os.environ and "get_ipython" in globals():
    import trace_kernel  # as a module, whose names `%reset` leaves alone

    trace_kernel.begin(os.environ["ODT_TRACE"], globals()["get_ipython"]())
