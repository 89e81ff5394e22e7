"""Run the chapters and build the book: what ``make book`` does, and ``make book-sphinx``.

jupyter-cache executes notebooks and keeps their outputs.  It knows them by their code alone, so
each kernel notes which files it read (``trace_kernel.py``): when one changes, the notebook is new.
"""

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import trace_kernel
import yaml
from jupyter_book.config import get_final_config
from jupyter_cache import get_cache
from jupyter_cache.executors import basic, utils

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build"
# The extensions that only Jupyter Book needs.
ITS_OWN = {"jupyter_book", "sphinx_comments", "sphinx_jupyterbook_latex", "sphinx_thebe"}


class Worker(basic.ExecutionWorkerLocalMProc):
    """jupyter-cache's own, with kernels that note which files they read."""
    @staticmethod
    def execute(project_nb, data):
        path = Path(project_nb.uri)
        os.environ.update(IPYTHONDIR=str(BUILD / "ipython"), ODT_TRACE=str(trace_of(path)))
        # MyST-NB would end a line after every piece that a cell prints; and a kernel would warn
        # that it does not encrypt its messages, which do not leave this machine.
        return utils.single_nb_execution(
            project_nb.nb, str(path.parent), data.timeout, False, coalesce_streams=True,
            extra_arguments=["--log-level=ERROR"])


def trace_of(path: Path) -> Path:
    """Return the file that says what a notebook read when it was executed."""
    return BUILD / "read" / path.relative_to(ROOT).with_suffix(".txt")


def execute(paths: list[Path]) -> bool:
    """Execute the notebooks whose code, or anything that they read, is not as it was."""
    cache, startup = get_cache(BUILD / ".jupyter_cache"), BUILD / "ipython/profile_default/startup"
    startup.mkdir(parents=True, exist_ok=True)
    shutil.copy(trace_kernel.__file__, startup)
    for path in paths:
        cache.add_nb_to_project(str(path))
        record, trace = cache.get_cached_project_nb(str(path)), trace_of(path)
        if record and trace_kernel.is_as_read(trace, ROOT):
            continue
        if record:
            cache.remove_cache(record.pk)
        trace.unlink(missing_ok=True)
        for built in (BUILD, BUILD / "sphinx"):   # Sphinx reads the same page again
            page = built / ".doctrees" / path.relative_to(ROOT).with_suffix(".doctree")
            page.unlink(missing_ok=True)
    executor = basic.JupyterExecutorLocalMproc(cache, logging.getLogger("book"))
    executor.logger.setLevel(logging.INFO)
    executor._EXECUTION_WORKER = Worker
    cache.truncate_caches = list       # or one process removes what another has just stored
    found = executor.run_and_cache(filter_uris=[*map(str, paths)], timeout=600)
    return not found.excepted and not found.errored


def write_conf(folder: Path) -> None:
    """Write conf.py for plain Sphinx: what Jupyter Book reads from _config.yml, without its own."""
    config, _ = get_final_config(user_yaml=ROOT / "_config.yml", sourcedir=ROOT,
                                 cli_config={"latex_individualpages": False})
    config["extensions"] = [name for name in config["extensions"] if name not in ITS_OWN]
    for name in ("use_jupyterbook_latex", "use_multitoc_numbering", "comments_config"):
        config.pop(name, None)
    # Sphinx 9 has no British plural for what a search has found, and its script fails.
    config["language"] = "en"
    # Sphinx looks for these beside conf.py.
    config.update(html_static_path=[str(ROOT / "_static")],
                  external_toc_path=str(ROOT / "_toc.yml"),
                  bibtex_bibfiles=[str(ROOT / name) for name in config["bibtex_bibfiles"]],
                  nb_execution_cache_path=str(BUILD / ".jupyter_cache"))
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["import sys", f"sys.path.append({str(ROOT / '_ext')!r})",
             *(f"{name} = {value!r}" for name, value in sorted(config.items()))]
    (folder / "conf.py").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(builder: str = "html") -> int:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = [toc["root"], *(page["file"] for part in toc["parts"] for chapter in part["chapters"]
                            for page in (chapter, *chapter.get("sections", ())))]
    if not execute([page for name in names if (page := ROOT / f"{name}.ipynb").exists()]):
        return 1
    if builder == "sphinx":
        write_conf(folder := BUILD / "sphinx")
        command = [ROOT / ".venv-sphinx/bin/python", "-m", "sphinx", "-W", "--keep-going",
                   "-c", folder, "-d", folder / ".doctrees", ROOT, folder / "html"]
    else:
        folder = BUILD
        command = [Path(sys.executable).with_name("jupyter-book"), "build", ROOT, "-W",
                   "--keep-going", "--builder", builder]
    status = subprocess.call(command)
    if status or builder not in ("html", "sphinx"):  # else the next run would not read faulty pages
        for stale in ("html", ".doctrees"):
            shutil.rmtree(folder / stale, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
