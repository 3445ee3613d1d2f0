"""The pages are complete and hang together: names, codes, limits, links."""

import inspect
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import pages
import tenure
from tenure_ledger import bodies, grouping, values
from tenure_ledger.codec import EVENTS
from tenure_ledger.values import checks

DOCS = pages.ROOT / "docs"
REFERENCE = (DOCS / "reference.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\((?!https?:)(?P<page>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")
METHODS = {
    name: method
    for name, method in inspect.getmembers(tenure.Ledger, inspect.isfunction)
    if not name.startswith("_")
}
CALLS: dict[str, Callable[..., object]] = {
    "open_ledger": tenure.open_ledger,
    **METHODS,
    "NarrativeTransform": tenure.NarrativeTransform,
    "apply": tenure.NarrativeTransform.apply,
    "is_admitted_successor_request": tenure.is_admitted_successor_request,
    "GuardRejected": tenure.GuardRejected,
    "HoldingRef": tenure.HoldingRef,
    "Interrupted": tenure.Interrupted,
    "InterruptTarget": tenure.InterruptTarget,
    "SessionWideGuard": tenure.SessionWideGuard,
    "recover": tenure.recover,
    "reap": tenure.reap,
    "execute_plan": tenure.execute_plan,
    "CheckpointPolicy": tenure.CheckpointPolicy,
}


def _signature(name: str) -> str:
    """Return the call as a reader would write it: no types, no self, no command id."""
    signature = inspect.signature(CALLS[name])
    shown = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name not in {"self", "command_id"}
    ]
    empty = inspect.Signature.empty
    return f"{name}{signature.replace(parameters=shown, return_annotation=empty)}"


@pytest.mark.parametrize("name", CALLS)
def test_the_reference_shows_each_method_as_it_is_called(name: str) -> None:
    assert f"`{_signature(name)}`" in REFERENCE


def test_every_method_that_writes_takes_a_command_id() -> None:
    without = {
        name
        for name, method in METHODS.items()
        if "command_id" not in inspect.signature(method).parameters
    }
    reads = set(re.findall(r"^\| `(\w+)\(", REFERENCE, re.MULTILINE)) & METHODS.keys()
    assert without == reads | {"setup", "close", "recovery_writer"}


def test_the_reference_names_every_public_name() -> None:
    missing = [at for at in tenure.__all__ if not re.search(rf"\b{at}\b", REFERENCE)]
    assert missing == []


def _errors(kind: type[tenure.Refused | tenure.Fault]) -> Iterator[tuple[str, str]]:
    if kind.__module__ != "tenure_ledger.rows":  # what the port says is for inside
        yield kind.__name__, kind.code
    for below in kind.__subclasses__():
        yield from _errors(below)


@pytest.mark.parametrize(
    ("error", "code"), [*_errors(tenure.Refused), *_errors(tenure.Fault)]
)
def test_the_reference_gives_every_error_its_code(error: str, code: str) -> None:
    assert f"| `{error}` | `{code}` |" in REFERENCE


REFUSALS = {name for name, _ in _errors(tenure.Refused)}
# What the reference says once, for all: of the fence, of `first`, of every method.
BLOCKED = {"Deleted", "Quarantined", "TooNew"}
FENCE = BLOCKED | {"TermRetired", "FencedOut", "OwnerEnded", "UnknownOwner"}
FIRST = {"AlreadyDecided", "AlreadyStripped", "KeyReused"}
WRITES = [
    name
    for name, method in METHODS.items()
    if "command_id" in inspect.signature(method).parameters
]


def _refusals_named(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text)) & REFUSALS


def _refused(name: str) -> str:
    """Return what the reference says after *Refused* about a method."""
    section = re.split(rf"^### `{name}\(", REFERENCE, flags=re.MULTILINE)[1]
    return re.split(r"^#", section, flags=re.MULTILINE)[0].partition("*Refused*:")[2]


@pytest.mark.parametrize("name", WRITES)
def test_the_reference_and_the_docstring_name_the_same_refusals(name: str) -> None:
    parameters = inspect.signature(METHODS[name]).parameters
    fenced = "authority" in parameters
    for_all = {"InvalidInput"} | (FENCE if fenced else BLOCKED)
    if "first" in parameters:
        for_all |= FIRST
    refused, told = _refused(name), inspect.getdoc(METHODS[name]) or ""
    raises = told.partition("Raises")[2]
    assert _refusals_named(refused) - for_all == _refusals_named(raises) - for_all
    assert not fenced or _refusals_named(told) & FENCE
    assert ("the fence" in " ".join(refused.split())) == fenced


def test_what_is_refused_for_all_is_said_once() -> None:
    methods = REFERENCE.partition("## Methods")[2].partition("\n## ")[0]
    for names in (FENCE, BLOCKED, FIRST):
        said = [part for part in re.split(r"\. |:", methods) if "`" in part]
        assert names in [_refusals_named(part) for part in said]


def test_the_reference_lists_the_events_that_exist() -> None:
    listed = re.findall(r"^\| `([a-z-]+\.v\d+)` \|", REFERENCE, re.MULTILINE)
    assert sorted(listed) == sorted(EVENTS)


def test_the_reference_shows_the_tables_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "relay.db"
    with tenure.open_ledger(f"sqlite:///{file}") as ledger:
        ledger.setup()
    with closing(sqlite3.connect(file)) as db:
        query = (
            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
        )
        found = db.execute(f"{query} WHERE m.type = 'table' ORDER BY c.cid").fetchall()
        (application,) = db.execute("PRAGMA application_id").fetchone()
    tables = REFERENCE.partition("\n## Tables\n")[2]
    for table in {table for table, _ in found}:
        (row,) = re.findall(rf"^\| `{table}` \| (.*) \|$", tables, re.MULTILINE)
        assert re.findall(r"`(\w+)`", row) == [
            at for name, at in found if name == table
        ]
    assert f"0x{application:X}" in REFERENCE


def test_the_limits_are_those_of_the_code() -> None:
    limits = REFERENCE.partition("## Limits")[2].partition("\n## ")[0]
    numbers = {int(number) for number in re.findall(r"\b\d+\b", limits)}
    assert numbers >= {
        values.ID_CHARACTERS_MAX,
        values.ID_BYTES_MAX,
        values.TEXT_CHARACTERS_MAX,
        bodies.BODY_BYTES_MAX,
        bodies.DEPTH_MAX,
        bodies.INTEGER_BITS_MAX,
        checks.IDS_MAX,
        int(checks.SECONDS_MAX),
        grouping.GROUP_MAX,
    }


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken: list[str] = []
    for link in LINK.finditer(page.read_text(encoding="utf-8")):
        target = (page.parent / link["page"]).resolve() if link["page"] else page
        if not target.is_file() or (
            link["anchor"] and link["anchor"] not in _anchors(target)
        ):
            broken.append(link[0])
    assert broken == []


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    listed = {link["page"] for link in LINK.finditer(index)}
    assert listed >= {p.name for p in DOCS.glob("*.md")} - {"README.md"}


def test_both_front_pages_begin_with_the_same_program_that_runs_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    english, chinese = (
        pages.blocks(pages.ROOT / front)[0].code
        for front in ("README.md", "README.zh.md")
    )
    assert english == chinese
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(english, names)  # noqa: S102  running it is the test
    assert isinstance(names["two"], tenure.Authority)
    assert names["two"].generation == 2
    with pytest.raises(tenure.OwnerIsLive, match="manager/ses_1/2 holds session ses_1"):
        exec(english, {})  # noqa: S102  the same
