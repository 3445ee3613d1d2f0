"""Is on this node what the processes were told? `checking.py URL FOLDER`.

Everything is read from the node alone, and held against the lines of all processes.
Prints what was found as JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from telling import Said, all_said
from tenure import Event, OwnerRef, Recorded, open_ledger
from tenure_ledger.events import LateResult
from witness import violations

__all__ = ["LATE_SECONDS", "Found", "Told", "check", "compared", "told"]

LATE_SECONDS = 1.0


class Told(NamedTuple):
    """What the processes were told, by command id."""

    sent: dict[str, Said]
    acknowledged: dict[str, Said]
    refused: dict[str, Said]
    """By an answer, or by a fault that says that nothing was written."""
    doubtful: dict[str, Said]
    """In doubt at least once."""
    given_up: dict[str, Said]
    ended: dict[str, Said]
    """Sent under an authority whose term had ended."""
    unanswered: dict[str, Said]
    """The process was stopped before it had an answer."""

    def held_up(self) -> set[str]:
        """Return what was in doubt, or answered late: its commit may have been so."""
        return self.doubtful.keys() | {
            name
            for name, one in self.acknowledged.items()
            if one.at - self.sent[name].at > LATE_SECONDS
        }


class Found(NamedTuple):
    """What one node has."""

    events: int
    commands: int
    head: str
    lost: list[str]
    doubled: list[str]
    moved: list[str]
    """Acknowledged at another version than the one it has."""
    refused_but_there: list[str]
    ended_but_there: list[str]
    """Accepted from an ended holding."""
    unknown: list[str]
    """Nobody sent it."""
    given_up_and_there: list[str]
    broken: list[str]
    """Invariants, the chain, tables, quarantines: in words."""
    decided_at: dict[str, float]
    """Of what was in doubt or held up, and is there: when it was decided, in seconds
    since 1970."""


def told(lines: list[Said]) -> Told:
    """Sort the lines."""
    found = Told({}, {}, {}, {}, {}, {}, {})
    for one in lines:
        match one.word:
            case "sent":
                if one.what == "ended":
                    found.ended[one.command_id] = one
                if one.command_id != "-":
                    found.sent[one.command_id] = one
                    found.unanswered[one.command_id] = one
                continue
            case "acknowledged":
                found.acknowledged[one.command_id] = one
            case "refused" | "failed":
                found.refused[one.command_id] = one
            case "unknown":
                found.doubtful[one.command_id] = one
                continue
            case "given_up":
                found.given_up[one.command_id] = one
            case _:
                continue
        found.unanswered.pop(one.command_id, None)
    return found


def check(url: str, folder: Path) -> Found:
    """Hold the node's ledger against what was told."""
    known = told(all_said(folder))
    with open_ledger(url) as ledger:
        log = list(ledger.events())
        broken = violations(log)
        verified = ledger.verify(ledger.head())
        if not verified.ok:
            broken.append(f"the chain: {verified.problem}")
        broken += [
            f"the table {one.table} has {one.differing} rows that differ"
            for one in ledger.rebuild(check=True)
            if one.differing
        ]
        owners = {one.stream for one in log if one.stream.startswith("owner:")}
        for stream in sorted(owners):
            kind, name = stream.removeprefix("owner:").split(":", 1)
            if ledger.owner(OwnerRef(kind, name)).status == "quarantined":
                broken.append(f"{stream} is quarantined")
        head = ledger.head()
    return compared(log, known, broken, head.to_json())


def compared(log: list[Recorded], known: Told, broken: list[str], head: str) -> Found:
    slow, decided_at = known.held_up(), dict[str, float]()
    at: dict[str, list[tuple[str, str]]] = {}
    first: Counter[str] = Counter()
    versions: Counter[str] = Counter()
    late: dict[str, bool] = {}
    for one in log:
        event = one.event
        assert isinstance(event, Event)
        name = event.command_id
        first[name] += event.index == 0
        versions[one.stream] += 1
        if name in slow:
            decided_at.setdefault(name, event.recorded_at.timestamp())
        places = at.setdefault(name, [])
        places += [(one.stream, str(one.version)), (one.stream, event.event_id)]
        late[name] = late.get(name, False) or isinstance(event, LateResult)
    here = at.keys()
    # The one refusal that stores something: a result that came late, and its notice.
    acted = {name for name in here if not late[name]}
    lost = [
        name
        for name, said in known.acknowledged.items()
        if name not in here and not _said_before(said, versions)
    ]
    moved = [
        name
        for name, said in known.acknowledged.items()
        if name in here and (said.stream, said.what) not in at[name]
    ]
    return Found(
        events=len(log),
        commands=len(here),
        head=head,
        lost=sorted(lost),
        doubled=sorted(name for name, count in first.items() if count > 1),
        moved=sorted(moved),
        refused_but_there=sorted(known.refused.keys() & acted),
        ended_but_there=sorted(
            known.ended.keys() & (acted | known.acknowledged.keys())
        ),
        # What the gate writes by itself has ids that the library makes.
        unknown=sorted({name for name in here if "/" in name} - known.sent.keys()),
        given_up_and_there=sorted(known.given_up.keys() & here),
        broken=broken,
        decided_at=decided_at,
    )


def _said_before(said: Said, versions: Counter[str]) -> bool:
    """Say whether the answer was that of an earlier command for the same message.

    Only the relayer asks twice for one; its version must be there all the same.
    """
    if said.who != "relayer" or not said.what.isdigit():
        return False
    return int(said.what) <= versions[said.stream]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(check(sys.argv[1], Path(sys.argv[2]))._asdict()))
