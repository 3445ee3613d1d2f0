"""Who is fenced, the proof of a holding, and evidence about another's."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal, Protocol, Self, runtime_checkable

from tenure_ledger.errors import InvalidInput
from tenure_ledger.values.checks import (
    TEXT_CHARACTERS_MAX,
    check_choice,
    check_id,
    check_integer,
    check_name,
    check_optional_id,
    check_text,
    json_fields,
    set_plain,
)

__all__ = [
    "RESTORED",
    "Authority",
    "Evidence",
    "EvidenceKind",
    "OwnerRef",
    "Seen",
    "agent_stream",
    "check_authority",
    "check_owner",
    "check_same_owner",
    "parts_of_stream",
]

EvidenceKind = Literal["gone", "alive", "cannot_tell"]

_NOT_OURS = (ValueError, TypeError, RecursionError)
"""What parsing text that is no JSON can raise."""


@dataclass(frozen=True, slots=True)
class OwnerRef:
    """What is fenced: ``OwnerRef("session", session_id)``, or another class's owner."""

    recovery_class: str
    owner_id: str

    def __post_init__(self) -> None:
        name = check_name("recovery_class", self.recovery_class)
        owner_id = check_id("owner_id", self.owner_id)
        if name is not self.recovery_class or owner_id is not self.owner_id:
            set_plain(self, recovery_class=name, owner_id=owner_id)

    @property
    def stream(self) -> str:
        """Name of the owner's stream; different owners have different names."""
        return f"owner:{self.recovery_class}:{self.owner_id}"

    @classmethod
    def of_stream(cls, stream: str) -> OwnerRef | None:
        """Return the owner whose stream has this name; None for an agent's stream."""
        parts = parts_of_stream(stream)
        return None if parts is None else cls(*parts)

    def __str__(self) -> str:
        return f"{self.recovery_class} {self.owner_id}"


RESTORED = OwnerRef("tenure.ledger", "restored")
"""The ledger's own record of the backups that were restored: nobody holds it, and its
generation is the floor, above which every later one lies."""


def parts_of_stream(stream: str) -> tuple[str, str] | None:
    """Return (recovery class, owner id); None for an agent's stream.

    Without the checks of `OwnerRef.of_stream`: rows are made of streams that exist.
    """
    if not stream.startswith("owner:"):
        return None
    _, recovery_class, owner_id = stream.split(":", 2)
    return recovery_class, owner_id


def agent_stream(agent_id: str) -> str:
    """Return the name of an agent's stream."""
    return f"agent:{agent_id}"


@dataclass(frozen=True, slots=True)
class Authority:
    """The captured proof of a holding: what a fenced write is made with.

    It holds no secret and no connection, and may travel: `to_json`, `from_json`.
    ``incarnation`` is the id of the event that gave the holding.
    """

    owner: OwnerRef
    generation: int
    incarnation: str
    agent_id: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.owner, OwnerRef):
            msg = "an authority's owner must be an OwnerRef"
            raise InvalidInput(msg)
        set_plain(
            self,
            generation=check_integer("generation", self.generation, 1),
            incarnation=check_id("incarnation", self.incarnation),
            agent_id=check_optional_id("agent_id", self.agent_id),
        )

    def to_json(self) -> str:
        """Return the authority as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the authority that `to_json` wrote; `InvalidInput` for other text."""
        try:
            data: object = json.loads(text)
        except _NOT_OURS as error:
            msg = f"this is not the JSON of an Authority: {error}"
            raise InvalidInput(msg) from None
        given = json_fields(cls, "the JSON of an Authority", data)
        owner = json_fields(OwnerRef, "owner in it", given.pop("owner"))
        return cls(OwnerRef(**owner), **given)


@runtime_checkable
class Seen(Protocol):
    """What evidence is about: `Ledger.owner` returns one."""

    @property
    def incarnation(self) -> str | None:
        """The holding that was seen."""
        ...

    @property
    def version(self) -> int:
        """The version of the owner's stream at which it was seen."""
        ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen of the holding that somebody wants to end (section 5, rule 5)."""

    kind: EvidenceKind
    incarnation: str | None
    """The holding that was seen; None: nobody held the owner then."""
    version: int
    detail: str = ""

    def __post_init__(self) -> None:
        set_plain(
            self,
            kind=check_choice("evidence kind", self.kind, EvidenceKind),
            incarnation=check_optional_id("incarnation", self.incarnation),
            version=check_integer("version", self.version, 0),
            detail=check_text("detail", self.detail, TEXT_CHARACTERS_MAX),
        )

    @classmethod
    def gone(cls, seen: Seen, detail: str = "") -> Self:
        """Say that the holder is not there any more."""
        return cls._of("gone", seen, detail)

    @classmethod
    def alive(cls, seen: Seen, detail: str = "") -> Self:
        """Say that the holder is there."""
        return cls._of("alive", seen, detail)

    @classmethod
    def cannot_tell(cls, seen: Seen, detail: str = "") -> Self:
        """Say that nobody can tell."""
        return cls._of("cannot_tell", seen, detail)

    @classmethod
    def _of(cls, kind: EvidenceKind, seen: Seen, detail: str) -> Self:
        if not isinstance(seen, Seen):
            msg = (
                "evidence is about what ledger.owner(ref) returned, not "
                f"{type(seen).__name__}"
            )
            raise InvalidInput(msg)
        return cls(kind, seen.incarnation, seen.version, detail)


def check_owner(owner: object) -> OwnerRef:
    """Return the owner, or raise `InvalidInput`."""
    if not isinstance(owner, OwnerRef):
        msg = f"owner must be an OwnerRef, not {type(owner).__name__}"
        raise InvalidInput(msg)
    return owner


def check_same_owner(named: OwnerRef, owner: OwnerRef) -> None:
    """Raise `InvalidInput` when a call or a key is of another owner."""
    if named != owner:
        msg = f"this call or key is of {named}, not of {owner}: pass its own owner"
        raise InvalidInput(msg)


def check_authority(authority: object) -> Authority:
    """Return the authority, or raise `InvalidInput`: no write goes without one."""
    if not isinstance(authority, Authority):
        msg = (
            "authority must be the Authority that claim, succeed, take_over, advance "
            f"or spawn returned, not {type(authority).__name__}"
        )
        raise InvalidInput(msg)
    return authority
