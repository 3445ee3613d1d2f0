"""The reference lists each value of a column, each payload's fields, each reason."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import pages
import tenure
from tenure_gate.guard import TOLERATED
from tenure_gate.membership import Hindrance
from tenure_ledger.decisions.recovering.assertions import ASSERTIONS
from tenure_ledger.events import effects, recovery, relay
from tenure_ledger.payloads import RestartPayload
from tenure_ledger.values import Origin, ReplayReason
from tenure_projections import tables

REFERENCE = (pages.ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
CODES: dict[str, Iterable[str]] = {
    "runtime_restart_checkpoints.mode": get_args(recovery.CheckpointMode),
    "chat_executions.outcome": get_args(relay.SettleOutcome),
    "chat_executions.origin": get_args(Origin),
    "chat_executions.verdict": get_args(relay.StripVerdict),
    "interrupts.verdict": get_args(relay.StripVerdict),
    "retirement_cuts.outcome": get_args(relay.CutOutcome),
    "interrupts.outcome": {"interrupted", *TOLERATED},
    "notices.reasons_json": (*get_args(ReplayReason), *ASSERTIONS),
    "notices.facts_json": get_args(recovery.FactKind),
    "tool_calls.outcome": get_args(effects.CallOutcome),
    "approvals.decision": get_args(effects.Decision),
    "approvals.close_reason": get_args(effects.CloseReason),
}
"""Columns whose values are a type of the code."""
COMPUTED = {
    "chat_executions.status": ("executions.py", "_status"),
    "tool_calls.state": ("calls.py", "_state"),
    "approvals.state": ("approvals.py", "_state"),
}
"""Columns whose values a function of the table's module returns."""


def _below(heading: str) -> str:
    """Return what stands below this heading, up to the next one of any depth."""
    (text,) = REFERENCE.split(f"\n{heading}\n")[1:]
    return re.split(r"^#", text, flags=re.MULTILINE)[0]


def _listed() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for line in _below("### Their values").splitlines():
        cells = line.split(" | ")
        for column in re.findall(r"`(\w+\.\w+)`", cells[0]):
            found[column] = set(re.findall(r"`(\w+)`", cells[1]))
    return found


def _returned(module: str, function: str) -> set[str]:
    path = Path(tables.__file__).parent / module
    body = path.read_text(encoding="utf-8").partition(f"\ndef {function}(")[2]
    returns = re.findall(r"^ +return (.*)$", body.partition("\n\n\n")[0], re.MULTILINE)
    assert returns
    return {word for line in returns for word in re.findall(r'"(\w+)"', line)}


@pytest.mark.parametrize("column", CODES)
def test_a_columns_values_are_those_of_the_code(column: str) -> None:
    assert _listed()[column] == set(CODES[column])


@pytest.mark.parametrize("column", COMPUTED)
def test_a_columns_values_are_those_that_its_table_makes(column: str) -> None:
    made = _returned(*COMPUTED[column])
    if column == "approvals.state":
        made |= set(get_args(effects.Decision))
    assert _listed()[column] == made


def test_each_column_with_a_few_values_is_listed() -> None:
    words = {"status", "state", "outcome", "verdict", "mode", "origin", "decision"}
    columns = {
        f"{table.spec.name}.{column}"
        for table in tables.TABLES
        for column in table.spec.columns
    }
    assert {at for at in columns if at.partition(".")[2] in words} <= _listed().keys()
    assert _listed().keys() <= columns


PAYLOADS = [
    kind
    for kind in map(vars(tenure).get, tenure.__all__)
    if isinstance(kind, type) and issubclass(kind, RestartPayload)
]


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.__name__)
def test_a_payloads_fields_are_listed_with_what_must_be_given(
    payload: type[RestartPayload],
) -> None:
    (table,) = re.findall(
        rf"^\| `{payload.__name__}` \|.*\n(?:\| \|.*\n)*", REFERENCE, re.MULTILINE
    )
    rows = re.findall(r"^\| \S* ?\| `(\w+)` \| (.*?) \|", table, re.MULTILINE)
    assert [name for name, _ in rows] == [*payload.model_fields]
    for name, told in rows:
        field, hint = payload.model_fields[name], str(get_type_hints(payload)[name])
        assert told.endswith(", required") == field.is_required()
        assert ("opaque" in told) == ("JsonValue" in hint)
        assert ("list" in told) == ("list" in hint)
        optional = "None" in hint or "Optional" in hint
        assert ("or None" in told) == (optional and "opaque" not in told)


def test_all_four_payloads_are_listed() -> None:
    assert len(PAYLOADS) == 4
    listed = re.findall(r"^\| `(RuntimeRestart\w+)` \| `", REFERENCE, re.MULTILINE)
    assert sorted(listed) == sorted(kind.__name__ for kind in PAYLOADS)


def test_each_reason_to_say_nothing_is_listed() -> None:
    table = REFERENCE.partition("| reason | |\n")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(listed) == sorted(get_args(get_type_hints(Hindrance)["code"]))
