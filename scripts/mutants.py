"""Change lines of odtlib at random, and see whether the tests of their packages notice.

    make mutants N=20 SEED=1

Everything happens in a copy.  A mutant is killed by a test that fails with it and passes without
it; by time, when its tests use much more of the processor than they should.  The tests that were
quickest so far come first.  With ``--results FILE``, a run that was stopped goes on where it was.

(mutmut swaps mutants while the program runs, which compiled code does not notice; cosmic-ray has
one command of tests for all files, and neither draws a sample.)
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from odtbook.lifetime import end_with

ROOT = Path(__file__).resolve().parents[1]
OPERATORS = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "/", "%": "//", "**": "*", "&": "|",
             "|": "&", "^": "&", "<<": ">>", ">>": "<<", "<": "<=", "<=": "<", ">": ">=",
             ">=": ">", "==": "!=", "!=": "==", "is": "is not", "is not": "is", "in": "not in",
             "not in": "in", "and": "or", "or": "and"}
OPERATOR = re.compile(r"not\s+in|is\s+not|\*\*|//|<<|>>|[<>=!]=|[-+*/%&|^<>]|\b(?:is|in|and|or)\b")
TWINS = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "floor": "ceil",
         "zeros": "ones", "sum": "max"}
TWINS |= {twin: name for name, twin in TWINS.items() if twin not in ("ones", "max")} | {
    "max": "min"}


class Mutant(NamedTuple):
    """A change of one line: the text between two columns becomes another."""

    file: str
    line: int
    start: int
    stop: int
    new: str

    def apply(self, folder: Path) -> str:
        """Change the file of a copy; return what was changed to what."""
        path = folder / self.file
        lines = path.read_bytes().splitlines(keepends=True)
        old = lines[self.line - 1]
        lines[self.line - 1] = old[:self.start] + self.new.encode() + old[self.stop:]
        path.write_bytes(b"".join(lines))
        return f"{old.decode().strip()}  ->  {lines[self.line - 1].decode().strip()}"


def changes(node: ast.AST, lines: list[bytes]):
    """Yield what may be changed at a node: line, first column, column behind it, new text."""
    def between(left, right):
        """Yield the change of the operator between two operands, if they share a line."""
        if left.end_lineno == right.lineno:
            gap = lines[left.end_lineno - 1][left.end_col_offset:right.col_offset].decode()
            if found := OPERATOR.search(gap):
                start = left.end_col_offset + found.start()
                yield (left.end_lineno, start, start + len(found.group()),
                       OPERATORS[re.sub(r"\s+", " ", found.group())])

    here = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    if isinstance(node, ast.BinOp):
        yield from between(node.left, node.right)
    elif isinstance(node, ast.Compare):
        for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
            yield from between(left, right)
    elif isinstance(node, ast.BoolOp):
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from between(left, right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield *here, here[1] + (4 if isinstance(node.op, ast.Not) else 1), ""
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        new = (str(not node.value) if isinstance(node.value, bool) else repr(2 * node.value)
               if isinstance(node.value, float) and node.value else repr(node.value + 1))
        yield *here, node.end_col_offset, new
        if isinstance(node.value, int) and node.value > 0 and not isinstance(node.value, bool):
            yield *here, node.end_col_offset, repr(node.value - 1)
    elif isinstance(node, ast.If | ast.While | ast.IfExp) and \
            node.test.lineno == node.test.end_lineno:
        test = lines[node.test.lineno - 1][node.test.col_offset:node.test.end_col_offset].decode()
        yield (node.test.lineno, node.test.col_offset, node.test.end_col_offset, f"(not ({test}))")
    elif isinstance(node, ast.Call):
        function = node.func
        name = getattr(function, "id", getattr(function, "attr", ""))
        if name in TWINS and function.lineno == function.end_lineno:
            yield (function.lineno, function.end_col_offset - len(name), function.end_col_offset,
                   TWINS[name])
    if isinstance(node, ast.AugAssign) and node.target.end_lineno == node.value.lineno:
        yield from between(node.target, node.value)
    dropped = (isinstance(node, ast.Assign | ast.AugAssign | ast.Break | ast.Continue)
               or isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    if dropped and node.lineno == node.end_lineno:
        yield *here, node.end_col_offset, "pass"


def mutants_of(path: Path) -> list[Mutant]:
    """Return all mutants of a file: of statements in functions, but for errors and texts."""
    content = path.read_bytes()
    lines, found = content.splitlines(), []
    functions = [node for node in ast.walk(ast.parse(content))
                 if isinstance(node, ast.FunctionDef)]
    waiting = [child for function in functions for child in function.body]
    seen = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen or isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef):
            continue
        seen.add(id(node))
        found += [Mutant(str(path.relative_to(ROOT)), *change) for change in changes(node, lines)]
        waiting += ast.iter_child_nodes(node)
    return sorted(set(found))


def draw(number: int, seed: int) -> list[Mutant]:
    """Draw mutants of different lines, each line that can be changed with the same probability."""
    choice = random.Random(seed)
    by_line = {}
    for path in sorted((ROOT / "odtlib").rglob("*.py")):
        for mutant in mutants_of(path):
            by_line.setdefault((mutant.file, mutant.line), []).append(mutant)
    lines = choice.sample(sorted(by_line), min(number, len(by_line)))
    return [choice.choice(by_line[line]) for line in lines]


def package_of(file: str) -> str:
    """Return the folder of tests that a file of odtlib has."""
    parts = Path(file).parts
    return "shared" if len(parts) == 2 or parts[1].startswith("_") else parts[1]


class Order:
    """A plugin of pytest: quickest tests first; it notes their times, and which one failed."""

    def __init__(self, seconds: dict):
        self.seconds, self.failed = seconds, ""

    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: self.seconds.get(item.nodeid, 0.5))

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            self.seconds[report.nodeid] = report.duration
        if report.failed:
            self.failed = report.nodeid


def run_tests(folder: Path, targets: list[str], seconds: dict, cpu_limit: float) -> tuple[str, str]:
    """Run tests in a process of its own; return "passed", "failed" or "time", and the test.

    The process is forked from this one, which has loaded what takes long to import.
    """
    answer = folder / "answer.json"
    answer.unlink(missing_ok=True)
    sys.stdout.flush()
    here = os.getpid()
    child = os.fork()
    if child == 0:
        end_with(here)
        os.setsid()
        os.chdir(folder)
        quiet = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_limit), int(cpu_limit) + 5))
        os.environ["PYTHONPATH"] = str(folder)
        sys.path.insert(0, str(folder))
        import pytest

        order = Order(seconds)
        # Not the limit of a test of pyproject.toml, which is for a machine with nothing else to do.
        status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o",
                              "faulthandler_timeout=0", "--rootdir", str(folder), *targets],
                             plugins=[order])
        answer.write_text(json.dumps([int(status), order.failed, order.seconds]))
        os._exit(0)
    deadline = time.monotonic() + 30 * cpu_limit         # for one that waits for ever
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "time", "waits"
        time.sleep(0.1)
    try:
        os.killpg(child, signal.SIGKILL)                 # what it may have left behind
    except ProcessLookupError:
        pass
    if not answer.exists():
        return "time", "uses the processor, or crashes"
    status, failed, known = json.loads(answer.read_text())
    seconds.update(known)
    if status == 5:
        raise RuntimeError(f"{folder}: no tests in {targets}")
    return ("passed", "") if status == 0 else ("failed", failed or "collecting the tests")


def copy_of_the_project(folder: Path) -> None:
    """Copy what is tracked, and the compiled kernels."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, text=True,
                           capture_output=True).stdout.split("\0")
    kernels = [str(path.relative_to(ROOT)) for path in (ROOT / "odtlib").rglob("*.nb[ci]")]
    for name in [*names, *kernels]:
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


class Trial:
    """Tries mutants one after the other in two copies: one as it is, one to be changed."""

    def __init__(self, folder: Path, cpu_limit: float):
        self.genuine, self.changed, self.cpu_limit = folder / "genuine", folder / "c", cpu_limit
        self.seconds, self.sound = {}, {}
        copy_of_the_project(self.genuine)
        shutil.copytree(self.genuine, self.changed)

    def try_one(self, mutant: Mutant) -> tuple[str, str, str]:
        """Return "killed", "time" or "survived", the test that noticed, and what was changed."""
        # kernels that the last one compiled and did not concern have the names of the genuine ones
        for path in (self.changed / "odtlib").rglob("*.nb[ci]"):
            known = self.genuine / path.relative_to(self.changed)
            if not known.exists():
                known.parent.mkdir(exist_ok=True)
                shutil.copy2(path, known)
        for name in ("odtlib", "odtbook"):
            shutil.rmtree(self.changed / name)
            shutil.copytree(self.genuine / name, self.changed / name)
        change = mutant.apply(self.changed)
        # a certificate speaks about every solver
        folders = sorted({f"tests/{package_of(mutant.file)}", "tests/certificates"})
        while True:
            targets = [*folders, *(f"--deselect={test}" for test, sound in self.sound.items()
                                  if not sound)]
            result, test = run_tests(self.changed, targets, self.seconds, self.cpu_limit)
            if result != "failed":
                return {"passed": "survived"}.get(result, result), test, change
            if test not in self.sound:
                where = [*folders, "--collect-only"] if "::" not in test else [test]
                self.sound[test] = run_tests(self.genuine, where, {}, self.cpu_limit)[0] == "passed"
            if self.sound[test]:
                return "killed", test, change
            print(f"  {test} fails without the mutant as well, and is left out", flush=True)
            if "::" not in test:
                return "not tried", test, change


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", "--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--packages", nargs="*", help="only these, in this order (default: all)")
    parser.add_argument("--mutant", nargs="*", metavar="FILE:LINE",
                        help="in place of a draw: one change of each of these lines")
    parser.add_argument("--limit", type=float, default=400, metavar="S",
                        help="CPU seconds that the tests of one mutant may take (default: 400)")
    parser.add_argument("--results", type=Path, help="a CSV file to write to, and to go on from")
    options = parser.parse_args()

    if options.mutant:
        places = [place.rsplit(":", 1) for place in options.mutant]
        choice = random.Random(options.seed)
        drawn = [choice.choice([mutant for mutant in mutants_of(ROOT / file)
                                if mutant.line == int(line)]) for file, line in places]
    else:
        drawn = draw(options.number, options.seed)
    packages = options.packages or sorted({package_of(mutant.file) for mutant in drawn})
    drawn = sorted((mutant for mutant in drawn if package_of(mutant.file) in packages),
                   key=lambda mutant: packages.index(package_of(mutant.file)))
    rows = []
    if options.results and options.results.exists():
        with options.results.open() as file:
            rows = list(csv.reader(file))
    done = {tuple(row[1:6]) for row in rows}
    waiting = [mutant for mutant in drawn if tuple(map(str, mutant)) not in done]
    print(f"{len(drawn)} mutants, {len(drawn) - len(waiting)} of them tried before", flush=True)

    import numba.core.typed_passes  # noqa: F401  (for the processes that are forked)
    import scipy.optimize  # noqa: F401
    import sklearn.ensemble  # noqa: F401

    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trial = Trial(Path(folder), options.limit)
        for number, mutant in enumerate(waiting, 1):
            begin = time.monotonic()
            result, test, change = trial.try_one(mutant)
            rows.append([result, *map(str, mutant), change, test,
                         f"{time.monotonic() - begin:.0f}"])
            print(f"{number}/{len(waiting)} {result:8}  {mutant.file}:{mutant.line}  {change}  "
                  f"[{test}, {rows[-1][-1]} s]", flush=True)
            if options.results:
                with options.results.open("a", newline="") as file:
                    csv.writer(file).writerow(rows[-1])
    for package in packages:
        count = Counter(row[0] for row in rows if package_of(row[1]) == package)
        print(f"{package}: " + ", ".join(f"{n} {result}" for result, n in sorted(count.items())))
    killed = sum(row[0] in ("killed", "time") for row in rows)
    print(f"in all: {killed} of {len(rows)} killed ({killed / max(1, len(rows)):.0%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
