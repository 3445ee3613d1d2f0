"""The SQL that a page gives answers its question on a real ledger."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

import pages
from clients import client
from tenure import Event, First, Ledger, OwnerRef, arguments_digest, open_ledger

PAGE = (pages.ROOT / "docs" / "howto-tables.md").read_text(encoding="utf-8")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SESSION = OwnerRef("session", "ses_1")
DELETED = OwnerRef("session", "ses_2")
UNCLAIMED = OwnerRef("session", "ses_3")

Rows = list[tuple[object, ...]]


def _questions() -> dict[str, list[str]]:
    """Return the statements below each question of the page."""
    parts = re.split(r"^\*\*(.*?)\*\*", PAGE, flags=re.MULTILINE)
    below = zip(parts[1::2], parts[2::2], strict=True)
    return {
        question: re.findall(r"^```sql\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for question, text in below
    }


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Three terms of one session."""
    with _open(f"sqlite:///{tmp_path / 'relay.db'}") as ledger:
        _write(ledger)
        yield ledger


def _open(url: str) -> Ledger:
    """Open a ledger with a minute between any two events' times."""
    minutes = count()
    return open_ledger(url, clock=lambda: NOON + timedelta(minutes=next(minutes)))


def _write(ledger: Ledger) -> None:
    _first_term(ledger)
    _second_term(ledger)
    _third_term(ledger)
    ledger.claim(DELETED, "manager/9", "host", first=First("old", "human"))
    ledger.accept(DELETED, "never", "inbox", human=True)
    ledger.delete_conversation(DELETED, "host")
    ledger.accept(UNCLAIMED, "early", "inbox", human=True)


def _first_term(ledger: Ledger) -> None:
    one = ledger.claim(SESSION, "manager/1", "host", first=First("msg_1", "human"))
    ledger.start(one, "msg_1")
    done = ledger.begin_tool_call(one, "msg_1", "call_1", "search", {"q": "x"})
    ledger.complete_tool_call(one, done, ["found"])
    for call_id in ("call_2", "call_3"):
        ledger.begin_tool_call(one, "msg_1", call_id, "mail", {"to": call_id})
    ledger.intend_tool_call(one, "msg_1", "call_4", "pay", {})
    ledger.admit(one, "probe_1", "tool_probe")
    ledger.retire(one, "continue", handover="Done: A.")
    ledger.late_result(SESSION, "host", ("msg_1", "call_3"), "sent")
    ledger.late_result(SESSION, "host", "msg_1", "all done")


def _second_term(ledger: Ledger) -> None:
    two = ledger.succeed(SESSION, "manager/2", "host")
    ledger.admit(two, "msg_2", "human")
    ledger.terminate(two, "task_finished", "well")


def _third_term(ledger: Ledger) -> None:
    three = ledger.claim(SESSION, "manager/3", "host")
    ledger.accept(SESSION, "msg_3", "inbox")
    ledger.admit(three, "run_1", "assistant_run")
    ledger.start(three, "run_1")
    ledger.begin_tool_call(three, "run_1", "call_5", "search", {})
    ledger.spawn(three, OwnerRef("browser", "tab_1"), author="manager/3")
    digest = arguments_digest({"sum": 9})
    ledger.request_approval(three, "call_6", "pay", digest, "p-1", timeout=1.0)
    ledger.advance(three, "lease_renewal", lease_seconds=90)


def _ask(tmp_path: Path, question: str, statement: int = 0) -> Rows:
    file = f"file:{tmp_path / 'relay.db'}?mode=ro"
    with closing(sqlite3.connect(file, uri=True)) as db:
        return db.execute(_questions()[question][statement]).fetchall()


def _times(ledger: Ledger) -> dict[int, datetime]:
    """Return when each event of the session was recorded, by version."""
    return {
        one.version: one.event.recorded_at
        for one in ledger.history(SESSION)
        if isinstance(one.event, Event)
    }


def _moment(text: object) -> datetime:
    return datetime.fromisoformat(str(text))


@pytest.mark.usefixtures("ledger")
def test_every_statement_of_the_page_runs(tmp_path: Path) -> None:
    asked = [
        (question, at)
        for question, statements in _questions().items()
        for at in range(len(statements))
    ]
    assert len(asked) == PAGE.count("```sql\n") == 11
    for question, at in asked:
        _ask(tmp_path, question, at)


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_on_a_server_the_same_is_asked_as_the_page_says(
    place: str, tmp_path: Path
) -> None:
    with _open(place) as there, client(place.partition("&durability")[0]) as db:
        _write(there)
        for question, statements in _questions().items():
            for at, statement in enumerate(statements):
                found = db.execute(_on_a_server(statement).encode()).fetchall()
                here = _ask(tmp_path, question, at)
                # Not every question asks for one order.
                assert sorted(map(_alike, found)) == sorted(map(_alike, here))


def _on_a_server(statement: str) -> str:
    for was, now in re.findall(r"^\| `(.*?)` \| `(.*?)` \|$", PAGE, re.MULTILINE)[::-1]:
        # Of a name that stands for any, and of a number or a text.
        (named,) = {*re.findall(r"\w+", was)} & {"body", "key", "version"}
        for_any = re.escape(was).replace(named, r"([\w.]+)")
        statement = re.sub(for_any, now.replace(named, r"\1"), statement)
    return statement.replace("'terminal_status')::bigint", "'terminal_status')")


def _alike(row: tuple[object, ...]) -> list[str]:
    """Return what is the same in two ledgers: no made id, no format of a time."""
    texts = [one.isoformat() if isinstance(one, datetime) else str(one) for one in row]
    return [re.sub(r"[0-9a-f-]{30,}|\.0+Z|\+00:00|Z$", "", text) for text in texts]


def test_a_generation_begins_later_than_its_holding(
    ledger: Ledger, tmp_path: Path
) -> None:
    seen, times = ledger.owner(SESSION), _times(ledger)
    ((*held, active),) = _ask(tmp_path, "Who holds what?")
    assert held == ["session", "ses_1", "manager/3", 4]
    assert _moment(active) == times[seen.version]
    ((version, since),) = _ask(tmp_path, "Since when does that holding last?")
    assert version == seen.granted
    assert _moment(since) == times[seen.granted] < _moment(active)


def test_what_waits_is_what_the_next_term_would_be_given(
    ledger: Ledger, tmp_path: Path
) -> None:
    rows = _ask(tmp_path, "What waits for the next term?")
    assert [row[1:4] for row in rows] == [
        ("ses_1", "msg_2", "admitted"),
        ("ses_1", "msg_3", "waiting"),
        ("ses_3", "early", "waiting"),
    ]
    for ref in (SESSION, DELETED, UNCLAIMED):
        waiting = [row[2] for row in rows if row[1] == ref.owner_id]
        assert waiting == [*ledger.owner(ref).waiting]


def test_a_late_result_does_not_change_what_became_of_a_message(
    ledger: Ledger, tmp_path: Path
) -> None:
    question = "What happened to a message?"
    ((status, outcome, *_, late, _known, _admitted, _started, _ended),) = _ask(
        tmp_path, question
    )
    assert (status, outcome) == ("settled", "retired")
    told = _ask(tmp_path, question, 1)
    history = {one.version: one.event for one in ledger.history(SESSION)}
    of_it = [at for at, one in history.items() if getattr(one, "key", None) == "msg_1"]
    assert [row[0] for row in told] == of_it
    assert (late, "late-result.v1") in [(row[0], row[1]) for row in told]


def test_each_end_of_a_term_is_told_in_order(ledger: Ledger, tmp_path: Path) -> None:
    rows = _ask(tmp_path, "How did the terms of a session end?")
    assert [row[1:4] for row in rows] == [
        (1, "cut", "continue"),
        (2, "task_finished", "well"),
        (2, "cut", "forced"),  # by the claim
    ]
    times = _times(ledger)
    assert [_moment(row[4]) for row in rows] == [
        times[int(str(row[0]))] for row in rows
    ]


@pytest.mark.usefixtures("ledger")
def test_a_call_whose_result_came_late_is_not_unknown(tmp_path: Path) -> None:
    rows = _ask(tmp_path, "Which calls may have run, with what result unknown?")
    assert [row[3] for row in rows] == ["call_2", "call_5"]


@pytest.mark.usefixtures("ledger")
def test_bodies_are_found_by_stream_and_digest(tmp_path: Path) -> None:
    rows = _ask(tmp_path, "What was a call asked, and what did it answer?")
    assert [row[1:] for row in rows] == [
        ("call_1", "search", '{"q":"x"}', '["found"]'),
        ("call_2", "mail", '{"to":"call_2"}', None),
        ("call_3", "mail", '{"to":"call_3"}', '"sent"'),
        ("call_4", "pay", "{}", None),
        ("call_5", "search", "{}", None),
    ]
    ((_, agent, text),) = _ask(tmp_path, "What did each term hand over?")
    assert (agent, text) == ("manager/1", '"Done: A."')


@pytest.mark.usefixtures("ledger")
def test_an_approval_waits_even_when_its_time_is_over(tmp_path: Path) -> None:
    rows = _ask(tmp_path, "Who must decide something?")
    assert [row[3:5] for row in rows] == [("call_6", "pay")]
    assert _ask(tmp_path, "Is anything out of order?") == []


def test_what_no_table_says_is_said_by_the_owner(ledger: Ledger) -> None:
    (question,) = (at for at in _questions() if at.startswith("Whose child"))
    assert _questions()[question] == []
    seen = ledger.owner(OwnerRef("browser", "tab_1"))
    assert (seen.status, seen.agent_id, seen.parent) == ("live", None, SESSION)
    (told,) = re.findall(rf"{re.escape(question)}\*\*(.*?)\n\n", PAGE, re.DOTALL)
    named = set(re.findall(r"`(\w+)`", told))
    assert named == {"parent", "process", "lease_until", "grants"} <= {*seen._fields}
