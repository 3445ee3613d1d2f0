"""The examples that a reader can copy are true, in pages and in docstrings."""

import doctest
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import pages

PACKAGES = ("tenure", "tenure_gate", "tenure_ledger", "tenure_projections")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Run in an empty folder, with no ledger set from outside."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TENURE_URL", raising=False)


@pytest.mark.parametrize(
    "page", [pytest.param(p, id=str(p.relative_to(pages.ROOT))) for p in pages.pages()]
)
def test_the_examples_of_a_page_run_in_order(page: Path) -> None:
    assert pages.run(page) in {"ran", "nothing to run"}


@pytest.mark.parametrize("front", sorted(p.name for p in pages.ROOT.glob("README*.md")))
def test_a_front_page_shows_a_program_on_the_public_names(front: str) -> None:
    assert pages.imports_tenure(pages.program(pages.ROOT / front))


def test_the_examples_in_docstrings_run() -> None:
    results = {module.__name__: _doctest(module) for module in _modules_with_doctests()}
    failed = {name: result for name, result in results.items() if result.failed}
    assert not failed, f"see the output above; all results: {results}"


def _modules_with_doctests() -> Iterator[ModuleType]:
    """Import only what holds an example: other modules may need an optional driver."""
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        folder = Path(spec.origin).parent
        for file in sorted(folder.rglob("*.py")):
            if ">>> " in file.read_text(encoding="utf-8"):
                parts = file.relative_to(folder.parent).with_suffix("").parts
                yield importlib.import_module(".".join(parts).removesuffix(".__init__"))


def _doctest(module: ModuleType) -> doctest.TestResults:
    return doctest.testmod(module, optionflags=doctest.ELLIPSIS)


# The runners themselves: each can fail.


def _page(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def test_blocks_share_a_namespace_and_a_failure_points_into_the_page(
    tmp_path: Path,
) -> None:
    page = _page(
        tmp_path,
        "# Page\n\n```python\nx = 1\n```\n\n"
        "  ```python\n  y = 2\n  assert x == y\n  ```\n",
    )
    with pytest.raises(AssertionError) as failure:
        pages.run(page)
    last = traceback.extract_tb(failure.value.__traceback__)[-1]
    assert (last.filename, last.lineno) == (str(page), 9)


def test_a_block_with_an_excuse_is_read_but_not_run(tmp_path: Path) -> None:
    excuse = "<!-- no-run: needs a server -->\n\n"
    page = _page(tmp_path, f"{excuse}```python\nraise SystemExit\n```\n")
    assert pages.run(page) == "nothing to run"
    page = _page(tmp_path, f"{excuse}```python\nx = (\n```\n")
    with pytest.raises(SyntaxError):
        pages.run(page)


@pytest.mark.parametrize(
    "before", ["<!-- no-run: -->\n", "<!-- no-run: why -->\nText.\n"]
)
def test_an_excuse_has_a_reason_and_stands_before_its_block(
    tmp_path: Path, before: str
) -> None:
    page = _page(tmp_path, f"{before}```python\nraise KeyError\n```\n")
    with pytest.raises(KeyError):
        pages.run(page)


@pytest.mark.parametrize("text", ["```py\n1 / 0\n```\n", "```python\n1 / 0\n"])
def test_no_example_is_passed_over_in_silence(tmp_path: Path, text: str) -> None:
    with pytest.raises(pages.PageError):
        pages.run(_page(tmp_path, text))


def test_an_example_may_define_classes_that_look_their_module_up(
    tmp_path: Path,
) -> None:
    page = _page(
        tmp_path,
        "```python\nfrom __future__ import annotations\nimport sys\n\n"
        "class A: ...\n\nassert sys.modules[A.__module__].A is A\n```\n",
    )
    assert pages.run(page) == "ran"
    assert "example" not in sys.modules


def test_a_wrong_docstring_fails(capsys: pytest.CaptureFixture[str]) -> None:
    module = ModuleType("wrong", ">>> 1 + 1\n3\n")
    assert _doctest(module).failed == 1
    assert "Expected:" in capsys.readouterr().out
