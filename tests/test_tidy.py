"""The repository keeps its own rules: one small test over all of its files.

After the manner of TigerBeetle's `tidy`. Each rule is a function from a file to what is
wrong with it; the last tests show each rule a planted fault, so none can fall asleep.
What ruff sees already (the order of `__all__`, bare `noqa`) is left to it.
"""

import ast
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]

# Arrows run gate -> projections -> ledger. The face hands names on; nobody inside uses
# it, except the demonstration, which is written as a user would write it.
MAY_IMPORT: Final = {
    "ledger/tenure_ledger": {"tenure_ledger"},
    "projections/tenure_projections": {"tenure_ledger", "tenure_projections"},
    "gate/tenure_gate": {"tenure_ledger", "tenure_projections", "tenure_gate"},
    "gate/tenure": {"tenure_ledger", "tenure_projections", "tenure_gate"},
    "gate/tenure_gate/demo": {"tenure"},
}
PACKAGES: Final = {path for path in MAY_IMPORT if path.count("/") == 1}
OURS: Final = {PurePosixPath(path).name for path in PACKAGES}
FACE: Final = "gate/tenure/__init__.py"

# Modules that decide, fold or name: same input, same output, on every machine.
PURE: Final = (
    "gate/tenure_gate/arranging.py",
    "gate/tenure_gate/calling.py",
    "gate/tenure_gate/choosing.py",
    "gate/tenure_gate/due.py",
    "gate/tenure_gate/guard.py",
    "gate/tenure_gate/journal.py",
    "gate/tenure_gate/looking.py",
    "gate/tenure_gate/membership.py",
    "gate/tenure_gate/notices.py",
    "gate/tenure_gate/pairing.py",
    "gate/tenure_gate/readers/*.py",
    "gate/tenure_gate/reading.py",
    "gate/tenure_gate/refusals.py",
    "gate/tenure_gate/recovery/candidates.py",
    "gate/tenure_gate/recovery/pending.py",
    "gate/tenure_gate/recovery/plans.py",
    "gate/tenure_gate/recovery/policy.py",
    "gate/tenure_gate/recovery/results.py",
    "gate/tenure_gate/recovery/steps.py",
    "gate/tenure_gate/recovery/waiting.py",
    "gate/tenure_gate/showing.py",
    "gate/tenure_gate/steps.py",
    "gate/tenure_gate/turns.py",
    "gate/tenure_gate/verdicts.py",
    "gate/tenure_gate/view.py",
    "ledger/tenure_ledger/attribution.py",
    "ledger/tenure_ledger/bodies.py",
    "ledger/tenure_ledger/codec.py",
    "ledger/tenure_ledger/columns.py",
    "ledger/tenure_ledger/decisions/*.py",
    "ledger/tenure_ledger/decisions/recovering/*.py",
    "ledger/tenure_ledger/errors/*.py",
    "ledger/tenure_ledger/events/*.py",
    "ledger/tenure_ledger/folds/*.py",
    "ledger/tenure_ledger/hook.py",
    "ledger/tenure_ledger/lean.py",
    "ledger/tenure_ledger/payloads.py",
    "ledger/tenure_ledger/rows.py",
    "ledger/tenure_ledger/sealing.py",
    "ledger/tenure_ledger/snapshots.py",
    "ledger/tenure_ledger/values/*.py",
    "ledger/tenure_ledger/views.py",
    "projections/tenure_projections/differences.py",
    "projections/tenure_projections/followers/batch.py",
    "projections/tenure_projections/followers/model.py",
    "projections/tenure_projections/followers/rows.py",
    "projections/tenure_projections/followers/shape.py",
    "projections/tenure_projections/followers/tracking.py",
    "projections/tenure_projections/live.py",
    "projections/tenure_projections/tables/*.py",
)
# fmt: off
IO_MODULES: Final = {
    "asyncio", "concurrent", "http", "io", "logging", "multiprocessing", "os",
    "pathlib", "platform", "psycopg", "random", "secrets", "selectors", "shutil",
    "signal", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading",
    "time", "urllib", "uuid",
}
# fmt: on
# Clocks that need no import of their own.
CLOCK: Final = re.compile(r"\b(?:date|datetime)\.(?:now|utcnow|today)\(")

MAY_PRINT: Final = ("gate/tenure_gate/cli/command.py",)
# What builds and tools leave behind, beside hidden folders.
NOT_OURS: Final = frozenset({"__pycache__", "build", "dist", "htmlcov"})

LINES_ASKED: Final = 300
LINES_MAX: Final = 600

# Written so that none of these patterns matches itself.
MACHINE: Final = re.compile(
    r"/w[o]rk/|/f[a]rm/|/r[o]ot/|/(?:h[o]me|U[s]ers)/\w|python[h]osted|pypi\.org/simple"
    r"|registry\.npmjs|deb\.debian",
    re.IGNORECASE,
)
LEFTOVER: Final = re.compile(
    r"\b(?:T[O]DO|F[I]XME|X[X]X)\b|NotImplemented[E]rror|pragma: *no *c[o]ver"
    r"|type: *ig[n]ore(?!\[)"
)
SLEEP: Final = re.compile(r"\btime\.sleep\(|\bfrom time import [^\n]*\bsleep\b")
POLL: Final = re.compile(r"\.(?:wait|join)\((?:timeout=)?0?\.\d+\)")


@dataclass(frozen=True)
class File:
    """A text file of the repository: its path from the top, and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree, of a Python file."""
        return ast.parse(self.text, self.path)

    @property
    def lines(self) -> int:
        """How many lines the file has."""
        return len(self.text.splitlines())

    def matches(self, *patterns: str) -> bool:
        """Say whether the path is one of these, where `*` is a part of one name."""
        return any(PurePosixPath(self.path).match(pattern) for pattern in patterns)


Rule = Callable[[File], Iterator[str]]


def imports_run_one_way(file: File) -> Iterator[str]:
    """gate -> projections -> ledger, and never back."""
    allowed: set[str] = set()
    for prefix, names in MAY_IMPORT.items():
        if file.path == prefix or file.path.startswith(f"{prefix}/"):
            allowed |= names
    for line, name in _imports(file):
        package = name.partition(".")[0]
        if package in OURS - allowed:
            yield f"{line}: must not import {package}"
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield f"{node.lineno}: imports are absolute"


def pure_modules_stay_pure(file: File) -> Iterator[str]:
    """No I/O, clock or chance, be it by way of another module of ours."""
    if not file.matches(*PURE):
        return
    pure = _modules(*PURE)
    ours = _modules("*/tenure*/**/*.py")
    for line, name in _imports(file):
        package = name.partition(".")[0]
        if package in IO_MODULES:
            yield f"{line}: a pure module must not import {package}"
        # `from a.b import c`: c is a module of its own, or a name in a.b.
        module = name if name in ours else name.rpartition(".")[0]
        if package in OURS and module not in pure:
            yield f"{line}: a pure module must not import the impure {module}"
    yield from _found(CLOCK, file, "time is an argument")


def the_face_only_hands_names_on(file: File) -> Iterator[str]:
    """A docstring, imports, and `__all__` with each imported name once."""
    if file.path != FACE:
        return
    if not ast.get_docstring(file.tree):
        yield "1: the face says what it is"
    imported: list[str] = []
    listed: list[str] = []
    for node in file.tree.body[1:]:
        match node:
            case ast.ImportFrom(names=names):
                imported += [alias.asname or alias.name for alias in names]
            case (
                ast.Assign(targets=[ast.Name("__all__")], value=ast.List(names))
                | ast.AnnAssign(target=ast.Name("__all__"), value=ast.List(names))
            ):
                listed += [ast.literal_eval(name) for name in names]
            case _:
                yield f"{node.lineno}: only imports and __all__"
    if sorted(imported) != sorted(listed):
        yield f"0: imported or listed, not both: {sorted({*imported} ^ {*listed})}"


def files_are_short_enough_to_read(file: File) -> Iterator[str]:
    """Over 300 lines is a question; over 600 is an answer."""
    if file.lines > LINES_MAX:
        yield f"{file.lines}: lines, at most {LINES_MAX}"


def nothing_is_left_over(file: File) -> Iterator[str]:
    """No marks of unfinished work, no switched-off checks without a name."""
    yield from _found(LEFTOVER, file, "left over")


def sources_do_not_print(file: File) -> Iterator[str]:
    """Only the command prints; what it runs writes to a stream that it is given."""
    if file.matches(*MAY_PRINT):
        return
    for node in ast.walk(file.tree):
        match node:
            case ast.Call(func=ast.Name("print")):
                yield f"{node.lineno}: must not print"
            case _:
                pass


def nothing_waits_on_seconds(file: File) -> Iterator[str]:
    """A test that sleeps is slow on a fast machine and wrong on a slow one."""
    yield from _found(SLEEP, file, "wait on observed state, never on seconds")


def only_one_place_polls(file: File) -> Iterator[str]:
    """Small steps of waiting are `waiting.until`, which says when it gives up."""
    if file.path != "tests/support/waiting.py":
        yield from _found(POLL, file, "poll with `waiting.until`")


def no_machine_is_named(file: File) -> Iterator[str]:
    """Paths of one machine and hosts of registries say nothing to another."""
    yield from _found(MACHINE, file, "names a machine")


SOURCE_RULES: Final = (
    imports_run_one_way,
    pure_modules_stay_pure,
    the_face_only_hands_names_on,
    sources_do_not_print,
)
PYTHON_RULES: Final = (files_are_short_enough_to_read, nothing_is_left_over)
TEST_RULES: Final = (nothing_waits_on_seconds, only_one_place_polls)
TEXT_RULES: Final = (no_machine_is_named,)


def _found(pattern: re.Pattern[str], file: File, why: str) -> Iterator[str]:
    for number, line in enumerate(file.text.splitlines(), start=1):
        if hit := pattern.search(line):
            yield f"{number}: {why}: {hit[0]}"


def _imports(file: File) -> Iterator[tuple[int, str]]:
    """Each import with its line; `from a import b` is `a.b` too."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def _modules(*patterns: str) -> set[str]:
    """Name the modules whose files match: `a/b/c.py` is `b.c`, with its root `a`."""
    paths = (p.relative_to(ROOT) for pattern in patterns for p in ROOT.glob(pattern))
    names = (".".join(path.with_suffix("").parts[1:]) for path in paths)
    return {name.removesuffix(".__init__") for name in names}


def _files() -> list[File]:
    """Every text file that is, or could be, committed."""
    files: list[File] = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in NOT_OURS and _is_visible(f)]
        for name in sorted(names):
            if name.startswith(".coverage"):  # comes and goes while the tests run
                continue
            path = Path(folder, name)
            content = path.read_bytes()
            if b"\0" not in content:  # a database, not a text
                text = content.decode(errors="replace")
                files.append(File(str(path.relative_to(ROOT)), text))
    return files


def _is_visible(folder: str) -> bool:
    return folder == ".ci" or not folder.startswith(".")


def _rules_for(file: File) -> tuple[Rule, ...]:
    top = file.path.partition("/")[0]
    if not file.path.endswith(".py"):
        return TEXT_RULES
    if top in {"ledger", "projections", "gate"}:
        return TEXT_RULES + PYTHON_RULES + SOURCE_RULES
    return TEXT_RULES + PYTHON_RULES + (TEST_RULES if top == "tests" else ())


def _faults(file: File) -> list[str]:
    rules = _rules_for(file)
    return [f"{file.path}:{f} ({r.__name__})" for r in rules for f in r(file)]


@pytest.fixture(scope="module")
def files() -> list[File]:
    return _files()


def test_every_file_keeps_the_rules(files: list[File]) -> None:
    assert [fault for file in files for fault in _faults(file)] == []


def _asked(files: Iterable[File]) -> list[str]:
    """The long files, longest first: a question, not a fault."""
    long = [f for f in files if f.path.endswith(".py") and f.lines > LINES_ASKED]
    long.sort(key=lambda file: -file.lines)
    return [f"{file.lines} lines, one subject? {file.path}" for file in long]


def test_long_files_are_asked_about(
    files: list[File], capsys: pytest.CaptureFixture[str]
) -> None:
    planted = [
        File("tests/long.py", "\n" * (LINES_ASKED + 1)),
        File("tests/short.py", "\n" * LINES_ASKED),
        File("docs/long.md", "\n" * LINES_MAX),
        File("tests/longer.py", "\n" * (LINES_ASKED + 2)),
    ]
    assert _asked(planted) == [
        "302 lines, one subject? tests/longer.py",
        "301 lines, one subject? tests/long.py",
    ]
    with capsys.disabled():
        for question in _asked(files):
            sys.stdout.write(f"\n  {question}")


def test_every_package_is_typed() -> None:
    packages = {path.parent for path in ROOT.glob("*/tenure*/__init__.py")}
    assert {str(path.relative_to(ROOT)) for path in packages} == PACKAGES
    assert [path for path in packages if not (path / "py.typed").is_file()] == []


def test_test_folders_are_no_packages() -> None:
    assert list(ROOT.glob("tests/**/__init__.py")) == []


@pytest.mark.parametrize("pattern", [*PURE, *MAY_PRINT])
def test_the_lists_above_name_files_that_exist(pattern: str) -> None:
    assert list(ROOT.glob(pattern))


# Each rule sees a fault. "@" is taken out, so that this file itself stays clean.
FACE_OF_A: Final = '"Face."\nfrom tenure_ledger.values import A\n'
PLANTED: Final = [
    ("ledger/tenure_ledger/x.py", "import tenure_projections.tables", 1),
    ("ledger/tenure_ledger/x.py", "def f():\n    from tenure_gate import cli", 1),
    ("ledger/tenure_ledger/x.py", "from tenure import First", 1),
    ("projections/tenure_projections/x.py", "import tenure_gate", 1),
    ("projections/tenure_projections/x.py", "from tenure_ledger import values", 0),
    ("gate/tenure_gate/x.py", "import tenure", 1),
    ("gate/tenure_gate/demo/x.py", "import tenure, tenure_ledger", 0),
    ("ledger/tenure_ledger/x.py", "from . import values", 1),
    ("ledger/tenure_ledger/x.py", "import os, sqlite3", 0),
    ("ledger/tenure_ledger/values/x.py", "import os, sqlite3", 2),
    ("ledger/tenure_ledger/decisions/x.py", "from time import monotonic", 1),
    ("ledger/tenure_ledger/decisions/x.py", "from concurrent.futures import wait", 1),
    ("ledger/tenure_ledger/values/x.py", "from tenure_ledger import stores", 1),
    ("ledger/tenure_ledger/values/x.py", "from tenure_ledger.stores.x import f", 1),
    ("ledger/tenure_ledger/values/x.py", "from tenure_ledger.errors import Refused", 0),
    ("ledger/tenure_ledger/values/x.py", "from tenure_ledger import errors", 0),
    ("ledger/tenure_ledger/values/x.py", "x = datetime.now(UTC)", 1),
    (FACE, FACE_OF_A + "__all__ = ['A']", 0),
    (FACE, FACE_OF_A + "__all__ = []", 1),
    (FACE, FACE_OF_A + "__all__: list[str] = ['A', 'A']", 1),
    (FACE, FACE_OF_A + "__all__ = ['A']\nx = 1", 1),
    (FACE, "x = 1", 1),
    ("ledger/tenure_ledger/x.py", "print('x')", 1),
    ("gate/tenure_gate/cli/command.py", "print('x')", 0),
    ("tests/x.py", "print('x')", 0),
    ("tests/x.py", "\n" * LINES_MAX, 0),
    ("tests/x.py", "\n" * (LINES_MAX + 1), 1),
    ("tests/x.py", "# TO@DO\n# FIX@ME\n# XX@X", 3),
    ("gate/tenure_gate/x.py", "raise NotImplemented@Error", 1),
    ("gate/tenure_gate/x.py", "x = 1  # pragma: no@ cover", 1),
    ("gate/tenure_gate/x.py", "x = 1  # type: ig@nore", 1),
    ("gate/tenure_gate/x.py", "x = 1  # type: ig@nore[misc]", 0),
    ("tests/x.py", "import time\ntime.sl@eep(1)", 1),
    ("tests/x.py", "from time import monotonic, sl@eep", 1),
    ("tests/x.py", "gone.wait@(0.005)\nthread.join@(timeout=.1)", 2),
    ("tests/x.py", "gone.wait@(60.0)\nthread.join@()", 0),
    ("tests/support/waiting.py", "gone.wait@(0.005)", 0),
    ("docs/x.md", "see /wo@rk/main", 1),
    ("docs/x.md", "see /fa@rm/x\nand /ro@ot/x", 2),
    ("docs/x.md", "cd /ho@me/me", 1),
    ("constraints.txt", "# from https://files.python@hosted.org/x", 1),
    ("Makefile", "pip install -i https://pypi.org/si@mple", 1),
    ("bench/x.py", "# registry.np@mjs.org\n# deb.deb@ian.org", 2),
]


@pytest.mark.parametrize(("path", "text", "faults"), PLANTED)
def test_a_rule_sees_a_planted_fault(path: str, text: str, faults: int) -> None:
    found = _faults(File(path, text.replace("@", "")))
    assert len(found) == faults, found


def test_a_fault_names_the_file_the_line_and_the_rule() -> None:
    (fault,) = _faults(File("ledger/tenure_ledger/x.py", "\nimport tenure_gate"))
    assert fault == (
        "ledger/tenure_ledger/x.py:2: must not import tenure_gate (imports_run_one_way)"
    )
