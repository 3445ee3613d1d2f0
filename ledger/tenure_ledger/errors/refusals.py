"""Refusals: a rule said no, as an exception and as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

__all__ = [
    "AgentIsBound",
    "AlreadyDecided",
    "AlreadyStripped",
    "CommandIdReused",
    "Deleted",
    "FencedOut",
    "InvalidInput",
    "KeyReused",
    "NotAdmitted",
    "NotFound",
    "OwnerEnded",
    "OwnerIsLive",
    "OwnerMoved",
    "Quarantined",
    "Refused",
    "Rejection",
    "StaleCheckpoint",
    "TermRetired",
    "TooNew",
    "UnknownOwner",
    "refuse",
]


class Refused(Exception):  # noqa: N818  a refusal is not an error of the program
    """A rule said no; nothing of it is done. Read ``.code`` and ``.evidence``.

    Nothing was written, but for the late result that ``.late`` may name.
    """

    code: ClassVar[str] = "refused"

    def __init__(self, text: str, /, **evidence: object) -> None:
        super().__init__(text)
        self.text = text
        self.evidence: Mapping[str, object] = evidence

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes with the evidence."""
        return (_rebuild, (type(self), self.text, dict(self.evidence)))


def _rebuild(kind: type[Refused], text: str, evidence: Mapping[str, object]) -> Refused:
    return kind(text, **evidence)


class FencedOut(Refused):
    """Your holding ended: stop working. Another has the owner now, or nobody.

    ``.holder`` is the agent of the live holding (None when nobody holds it),
    ``.generation`` the owner's generation now, ``.late`` the version in the owner's
    stream of the late result on record: this call's, or an earlier one, which stands.
    """

    code = "fenced_out"

    @property
    def holder(self) -> str | None:
        """The agent that holds the owner now."""
        holder = self.evidence.get("holder")
        return None if holder is None else str(holder)

    @property
    def generation(self) -> int:
        """The owner's generation now."""
        return _integer(self.evidence.get("generation")) or 0

    @property
    def late(self) -> int | None:
        """Version in the owner's stream of the late result on record, if any."""
        return _integer(self.evidence.get("late"))


class TermRetired(FencedOut):
    """The term ended by a retirement cut: stop, the next one goes on by `succeed`."""

    code = "term_retired"


class OwnerIsLive(Refused):
    """Somebody holds the owner and nothing proves that they are gone."""

    code = "owner_is_live"


class OwnerMoved(Refused):
    """What you judged is not what is on record any more: look again."""

    code = "owner_moved"


class OwnerEnded(Refused):
    """The owner came to a terminal event: only `claim` starts it again."""

    code = "owner_ended"

    @property
    def late(self) -> int | None:
        """Version in the owner's stream of the late result on record, if any."""
        return _integer(self.evidence.get("late"))


class UnknownOwner(Refused):
    """Nothing is on record for this owner: claim or spawn it first."""

    code = "unknown_owner"


class Deleted(Refused):
    """The conversation was deleted: use a new id."""

    code = "deleted"


class AgentIsBound(Refused):
    """This agent holds an owner already: one agent is one owner."""

    code = "agent_is_bound"

    @property
    def owner(self) -> object:
        """The `OwnerRef` that the agent is bound to."""
        return self.evidence.get("owner")

    @property
    def generation(self) -> int:
        """The generation under which it was bound."""
        return _integer(self.evidence.get("generation")) or 0


class NotAdmitted(Refused):
    """The message is no execution of the live term, or may not act: admit it first."""

    code = "not_admitted"


class AlreadyDecided(Refused):
    """This was decided before, and the first decision stands. ``.first`` says it."""

    code = "already_decided"

    @property
    def first(self) -> object:
        """The first outcome."""
        return self.evidence.get("first")


class AlreadyStripped(Refused):
    """The key was stripped, for ever: send the message again under a new id."""

    code = "already_stripped"


class KeyReused(Refused):
    """The same key with other content: give the new content a new id."""

    code = "key_reused"


class CommandIdReused(Refused):
    """Another command has this command id: make a new id."""

    code = "command_id_reused"


class StaleCheckpoint(Refused):
    """A newer snapshot is stored, and it stays: drop this one."""

    code = "stale_checkpoint"


class NotFound(Refused):
    """Nothing of this ``.kind`` has this ``.id``."""

    code = "not_found"

    @property
    def kind(self) -> str:
        """What was looked for: an approval, a call, an execution."""
        return str(self.evidence.get("kind"))

    @property
    def id(self) -> str:
        """The id that was looked for."""
        return str(self.evidence.get("id"))


class Quarantined(Refused):
    """Two stored events contradict each other: `resolve_quarantine` ends it."""

    code = "quarantined"


class TooNew(Refused):
    """The stream holds events of a newer version: upgrade this process."""

    code = "too_new"


class InvalidInput(Refused, ValueError):  # noqa: N818  as above
    """A value cannot be stored or makes no sense: correct it and call again."""

    code = "invalid_input"


class Rejection(NamedTuple):
    """What a pure decision returns instead of events: the refusal, as a value."""

    kind: type[Refused]
    text: str
    evidence: Mapping[str, object]

    def error(self) -> Refused:
        """Return the exception that the public method raises."""
        return self.kind(self.text, **self.evidence)


def refuse(kind: type[Refused], text: str, /, **evidence: object) -> Rejection:
    """Return the rejection with this sentence and evidence."""
    return Rejection(kind, text, evidence)


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) else None
