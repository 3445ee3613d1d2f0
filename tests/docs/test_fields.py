"""The reference shows each record with all its fields, and no other."""

import re
from typing import get_args

import pytest
from pydantic import BaseModel

import pages
import tenure
from tenure_ledger.codec import EVENTS
from tenure_ledger.events import Fact, FactKind
from tenure_ledger.folds.effects import Call
from tenure_ledger.folds.ownership import Cut, Terminal
from tenure_ledger.folds.recovery import Checkpoint
from tenure_ledger.views import OwnerStatus

REFERENCE = (pages.ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
RECORDS: tuple[type, ...] = (
    tenure.OwnerView,
    tenure.Execution,
    tenure.ToolCall,
    Call,
    tenure.Approval,
    tenure.Notice,
    Fact,
    tenure.View,
    tenure.Verdict,
    tenure.JournalSnapshot,
    Cut,
    Terminal,
    Checkpoint,
    tenure.Recorded,
    tenure.Unknown,
    tenure.Head,
    tenure.Verification,
    tenure.Problem,
    tenure.Difference,
    tenure.Rebuilt,
    tenure.Restored,
    tenure.Parked,
)


def _fields(record: type) -> list[str]:
    if issubclass(record, BaseModel):
        return list(record.model_fields)
    return list(record.__annotations__)


def _section(heading: str) -> str:
    """Return what stands below this heading, up to the next one that is as high."""
    depth = len(heading.partition(" ")[0])
    parts = REFERENCE.split(f"\n{heading}\n")
    assert len(parts) == 2, heading
    return re.split(rf"^#{{1,{depth}}} ", parts[1], flags=re.MULTILINE)[0]


def _rows(text: str) -> list[str]:
    return re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_the_reference_shows_the_fields_of_a_record_in_their_order(
    record: type,
) -> None:
    assert _rows(_section(f"### {record.__name__}")) == _fields(record)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_the_reference_shows_what_a_record_can_be_asked_besides(record: type) -> None:
    properties = {at for at, what in vars(record).items() if isinstance(what, property)}
    told = re.findall(r"`(\w+)`: ", _section(f"### {record.__name__}"))
    assert properties <= set(told)


def test_every_record_that_is_shown_is_compared_with_the_source() -> None:
    headings = re.findall(r"^### (\w+)$", _section("## Records"), re.MULTILINE)
    assert headings == [record.__name__ for record in RECORDS]


def test_the_reference_shows_the_envelope() -> None:
    envelope = _section("## Events").partition("| topic |")[0]
    assert _rows(envelope) == _fields(tenure.Event)


@pytest.mark.parametrize("topic", EVENTS)
def test_the_reference_shows_the_own_fields_of_an_event(topic: str) -> None:
    (own,) = re.findall(
        rf"^\| `{re.escape(topic)}` \| .* \| (.*) \|$", REFERENCE, re.MULTILINE
    )
    every, envelope = _fields(EVENTS[topic]), _fields(tenure.Event)
    expected = [field for field in every if field not in envelope]
    assert re.findall(r"`(\w+)`", own) == expected


def test_the_reference_explains_each_kind_of_fact_and_each_status() -> None:
    (kind,) = re.findall(r"^\| `kind` \| (.*) \|$", _section("### Fact"), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", kind)) == set(get_args(FactKind))
    view = _section("### OwnerView")
    (status,) = re.findall(r"^\| `status` \| (.*) \|$", view, re.MULTILINE)
    known = {
        name for part in get_args(OwnerStatus) for name in get_args(part) or [part]
    }
    assert set(re.findall(r"`(\w+)`", status)) == known
