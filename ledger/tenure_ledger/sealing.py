"""From drafts to rows: ids, places in the command, the hash chain, the outcome.

Pure but for the ids, which are an argument.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenure_ledger.decisions.work import (
    Asked,
    At,
    Called,
    Command,
    Decided,
    Granted,
    Outcome,
    Recovered,
    States,
)
from tenure_ledger.errors import Corrupt, InvalidInput
from tenure_ledger.events import Recorded
from tenure_ledger.hook import Change
from tenure_ledger.lean import write
from tenure_ledger.rows import BodyRow, CommandRow, EventRow, row_hash, sha256
from tenure_ledger.snapshots import RestartSnapshot, Unreadable
from tenure_ledger.values import Authority, OwnerRef

__all__ = [
    "Sealed",
    "command_digest",
    "dump_outcome",
    "load_outcome",
    "seal",
]


class Sealed(Struct, frozen=True):
    """One command's rows, and what they do to each stream."""

    rows: list[EventRow]
    """One for each draft."""
    bodies: list[BodyRow]
    command: CommandRow | None
    changes: list[Change]
    first: bytes | None
    """Hash of its first event in the stream of its owner."""


def seal(
    decided: Decided,
    before: States,
    command: Command,
    command_id: str,
    fresh: str,
    new_id: Callable[[], str],
) -> Sealed:
    """Give every draft its ids, its place and the hash of its predecessor.

    ``fresh`` is the id that the decision could use; a lone event takes it.
    """
    rows: list[EventRow] = []
    bodies: dict[tuple[str, str], BodyRow] = {}
    events: dict[str, list[Recorded]] = {}
    own = command.owner.stream
    first_version, first_hash = before[own].version, None
    count = len(decided.drafts)
    for index, draft in enumerate(decided.drafts):
        stream, version, event = draft.stream, draft.version, draft.event
        told = events.setdefault(stream, [])
        previous = told[-1].hash if told else before[stream].hash
        # The draft is this command's own: it is not copied to be filled in.
        vars(event).update(
            event_id=event.event_id or (fresh if count == 1 else new_id()),
            command_id=command_id,
            index=index,
            count=count,
            previous_hash=previous.hex(),
        )
        state, topic = write(event), event.topic
        hashed = row_hash(stream, version, topic, state)
        if first_hash is None and stream == own:
            first_version, first_hash = version, hashed
        rows.append(EventRow(0, stream, version, topic, state, hashed))
        told.append(Recorded(0, stream, version, hashed, event))
        if draft.body is not None:
            name, data = draft.body
            bodies[name, stream] = BodyRow(name, stream, data)
    changes = [
        Change(before[at], replace(decided.states[at], hash=told[-1].hash), told)
        for at, told in events.items()
    ]
    row = None
    if decided.refusal is None:
        # What remembers the command; a refusal is not remembered.
        digest, outcome = command_digest(command), dump_outcome(decided.outcome)
        row = CommandRow(own, command_id, digest, first_version, outcome)
    return Sealed(rows, list(bodies.values()), row, changes, first_hash)


_READ = frozenset({RestartSnapshot, Unreadable})


def command_digest(command: Command) -> bytes:
    """Return the digest by which the same command is told from another.

    An authority counts by owner and incarnation: a renewed lease is the same holding.
    Fields at their defaults are left out, so that a new optional field changes nothing.
    What was read from a body counts by the digest of that body.
    """
    kind: Any = type(command)
    defaults: dict[str, object] = kind._field_defaults
    given: Any = command
    parts = [kind.__name__]
    for name, value in zip(kind._fields, given, strict=True):
        if isinstance(value, Authority):
            parts.append(f"{value.owner.stream!r} {value.incarnation!r}")
        elif type(value) in _READ:
            continue
        elif name not in defaults or defaults[name] != value:
            parts.append(f"{name}={value!r}")
    return sha256("\0".join(parts).encode())


_ENCODER = msgspec.json.Encoder(order="deterministic")


def dump_outcome(outcome: Outcome) -> bytes:
    """Return the JSON that ``commands.outcome`` keeps."""
    match outcome:
        case At():
            data: dict[str, Any] = {"at": outcome.version}
        case Granted():
            data = {
                "granted": _authority(outcome.authority),
                "process": outcome.process,
            }
        case Called():
            data = {"called": [outcome.key, outcome.call_id]}
        case Asked():
            data = {"asked": outcome.request_id}
        case Recovered():
            data = {"recovered": _plain(outcome)}
    return _ENCODER.encode(data)


def _plain(outcome: Recovered) -> dict[str, Any]:
    fields = outcome._asdict()
    if outcome.told is not None:
        fields["told"] = _owner(outcome.told)
    if outcome.authority is not None:
        fields["authority"] = _authority(outcome.authority)
    return fields


def _authority(given: Authority) -> dict[str, Any]:
    # What `dataclasses.asdict` returns, in a tenth of its time.
    return {
        "owner": _owner(given.owner),
        "generation": given.generation,
        "incarnation": given.incarnation,
        "agent_id": given.agent_id,
    }


def _owner(given: OwnerRef) -> dict[str, str]:
    return {"recovery_class": given.recovery_class, "owner_id": given.owner_id}


def _recovered(fields: dict[str, Any]) -> Recovered:
    told, authority = fields["told"], fields["authority"]
    if told is not None:
        fields["told"] = OwnerRef(**told)
    if authority is not None:
        owner = OwnerRef(**authority.pop("owner"))
        fields["authority"] = Authority(owner, **authority)
    for several in ("reasons", "grants"):
        if fields[several] is not None:
            fields[several] = tuple(fields[several])
    return Recovered(**fields)


def load_outcome(data: bytes) -> Outcome:
    """Return the outcome that `dump_outcome` wrote; a call is never fresh again.

    Raises `Corrupt` for anything else.
    """
    try:
        match json.loads(data):
            case {"granted": granted, "process": str(process)}:
                fields: dict[str, Any] = {**granted}
                owner = OwnerRef(**fields.pop("owner"))
                return Granted(Authority(owner, **fields), process)
            case {"called": [str(key), str(call_id)]}:
                return Called(key, call_id)
            case {"asked": str(request_id)}:
                return Asked(request_id)
            case {"at": int(version)}:
                return At(version)
            case {"recovered": recovered}:
                return _recovered({**recovered})
            case _:
                problem = "it is none of ours"
    except (ValueError, TypeError, KeyError, RecursionError, InvalidInput) as error:
        problem = str(error)
    msg = (
        f"a command's stored outcome cannot be read ({problem}): somebody changed the "
        "table commands; restore a backup"
    )
    raise Corrupt(msg)
