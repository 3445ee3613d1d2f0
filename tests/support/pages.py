"""The Python examples in a Markdown page, and how they are run.

A block is code between fences whose first line says `python`. The blocks of a page
share one namespace and run in order, as a reader would type them. A block that cannot
run says why in a comment before it, `<!-- no-run: needs a server -->`; its syntax is
still read.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]

FENCE = re.compile(r"^ *(?P<fence>`{3,}|~{3,}) *(?P<language>[^\s`]*)(?P<rest>[^`]*)$")
NO_RUN = re.compile(r"^ *<!-- no-run: *(?P<reason>\S.*?) *-->$")
OTHER_NAMES_OF_PYTHON = frozenset({"Python", "py", "py3", "pycon", "python3"})


class PageError(Exception):
    """The page itself is wrong: a fence without end, or Python under another name."""


@dataclass(frozen=True)
class Block:
    """One example: its code, the page's line where it begins, why it is not run."""

    code: str
    line: int
    no_run: str | None


def pages() -> list[Path]:
    """List the pages whose examples are run, the front pages first."""
    return [*sorted(ROOT.glob("README*.md")), *sorted(ROOT.glob("docs/**/*.md"))]


def blocks(page: Path) -> list[Block]:
    """Read the Python blocks of a page, in order."""
    return list(_blocks(page))


def run(page: Path) -> Literal["ran", "nothing to run"]:
    """Run the page's examples in the present folder; what one raises is raised here.

    The code is compiled under the page's own name and lines: a traceback points there.
    """
    found = blocks(page)
    module = ModuleType("example")
    replaced = sys.modules.get(module.__name__)
    # Dataclasses and pydantic look the module of a class up by its name.
    sys.modules[module.__name__] = module
    try:
        for block in found:
            source = "\n" * (block.line - 1) + block.code
            # Never the flags of this file: an example brings its own future imports.
            code = compile(source, str(page), "exec", dont_inherit=True)
            if block.no_run is None:
                exec(code, module.__dict__)  # noqa: S102  # running it is the test
    finally:
        del sys.modules[module.__name__]
        if replaced is not None:
            sys.modules[module.__name__] = replaced
    return "ran" if any(block.no_run is None for block in found) else "nothing to run"


def program(page: Path) -> str:
    """Join the page's runnable blocks into one program."""
    return "\n".join(block.code for block in blocks(page) if block.no_run is None)


def imports_tenure(code: str) -> bool:
    """Say whether the code imports the public face."""
    return any(
        (isinstance(node, ast.ImportFrom) and node.module == "tenure")
        or (isinstance(node, ast.Import) and node.names[0].name == "tenure")
        for node in ast.walk(ast.parse(code))
    )


def _blocks(page: Path) -> Iterator[Block]:
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
    no_run: str | None = None
    for number, line in lines:
        if excuse := NO_RUN.match(line):
            no_run = excuse["reason"]
        elif opening := FENCE.match(line):
            if opening["language"] in OTHER_NAMES_OF_PYTHON:
                raise PageError(f"{page}:{number}: write `python` after the fence")
            inside: list[str] = []
            for _, text in lines:
                if text.strip() == opening["fence"]:
                    break
                inside.append(text)
            else:
                raise PageError(f"{page}:{number}: this fence is never closed")
            if opening["language"] == "python":
                yield Block(dedent("\n".join(inside)) + "\n", number + 1, no_run)
            no_run = None
        elif line.strip():
            no_run = None
