"""The check of a cluster finds what is missing, doubled, or should not be there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checking import Found, check, compared, told
from telling import Teller
from tenure import OwnerRef, open_ledger

S = OwnerRef("session", "ses_1")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Give a ledger with a term, and a message in it."""
    url = f"sqlite:///{tmp_path}/relay.db"
    with open_ledger(url) as ledger:
        held = ledger.claim(S, "a", "host", command_id="w/1")
        ledger.admit(held, "m1", "human", command_id="w/2")
    return url


@pytest.fixture
def teller(url: str, tmp_path: Path) -> Iterator[Teller]:
    """Give a process that was told of the claim."""
    teller = Teller(tmp_path, "w")
    with open_ledger(url) as ledger:
        given = ledger.owner(S).incarnation
    assert given
    teller.say("sent", "w/1", S.stream, "claim")
    teller.say("acknowledged", "w/1", S.stream, given)
    yield teller
    teller.close()


def wrong(found: Found) -> list[str]:
    """Return what was found that must not be."""
    names = ("lost", "doubled", "moved", "refused_but_there", "ended_but_there")
    return [name for name in (*names, "unknown", "broken") if getattr(found, name)]


def test_a_ledger_that_has_what_was_told_is_right(
    url: str, tmp_path: Path, teller: Teller
) -> None:
    teller.say("sent", "w/2", S.stream, "admit")
    teller.say("acknowledged", "w/2", S.stream, "3")
    assert wrong(check(url, tmp_path)) == []


@pytest.mark.parametrize(
    ("kind", "word", "what", "expected"),
    [
        ("admit", "acknowledged", "1", ["moved"]),
        ("admit", "refused", "fenced_out", ["refused_but_there"]),
        ("admit", "failed", "StoreUnavailable", ["refused_but_there"]),
        ("ended", "acknowledged", "3", ["ended_but_there"]),
        ("ended", "unknown", "-", ["ended_but_there"]),
    ],
)
def test_what_is_there_and_was_told_otherwise_is_found(
    url: str,
    tmp_path: Path,
    teller: Teller,
    kind: str,
    word: str,
    what: str,
    expected: list[str],
) -> None:
    teller.say("sent", "w/2", S.stream, kind)
    match word:
        case "acknowledged" | "refused" | "failed" | "unknown":
            teller.say(word, "w/2", S.stream, what)
        case _:
            raise AssertionError(word)
    assert wrong(check(url, tmp_path)) == expected


def test_what_was_acknowledged_and_is_not_there_is_lost(
    url: str, tmp_path: Path, teller: Teller
) -> None:
    for name, version in (("w/2", "3"), ("w/3", "4")):
        teller.say("sent", name, S.stream, "admit")
        teller.say("acknowledged", name, S.stream, version)
    found = check(url, tmp_path)
    assert wrong(found) == ["lost"]
    assert found.lost == ["w/3"]


def test_what_is_there_twice_is_doubled(url: str) -> None:
    with open_ledger(url) as ledger:
        log = list(ledger.events())
    again = [one for one in log if getattr(one.event, "command_id", "") == "w/2"]
    assert compared(log, told([]), [], "").doubled == []
    assert compared([*log, *again], told([]), [], "").doubled == ["w/2"]


def test_what_nobody_sent_is_found(url: str, tmp_path: Path, teller: Teller) -> None:
    del teller
    assert wrong(check(url, tmp_path)) == ["unknown"]


def test_what_was_given_up_may_be_there_or_not(
    url: str, tmp_path: Path, teller: Teller
) -> None:
    for name in ("w/2", "w/3"):
        teller.say("sent", name, S.stream, "admit")
        teller.say("unknown", name, S.stream)
        teller.say("given_up", name, S.stream)
    found = check(url, tmp_path)
    assert wrong(found) == []
    assert found.given_up_and_there == ["w/2"]
