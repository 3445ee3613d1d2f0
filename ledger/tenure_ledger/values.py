"""The words of design section 2 as values that cannot be built invalid.

All are frozen and hashable. A bad value is `InvalidInput`, raised while it is built,
before anything is written.
"""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Literal, Protocol, Self, cast, runtime_checkable

from tenure_ledger.errors import InvalidInput

__all__ = [
    "Authority",
    "Boundary",
    "ChatExecutionKey",
    "Evidence",
    "EvidenceKind",
    "First",
    "Origin",
    "OwnerRef",
    "ReplayReason",
    "Seen",
    "agent_stream",
    "check_id",
    "check_name",
    "check_text",
    "check_unicode",
    "json_fields",
    "kind_of",
    "set_plain",
]

ID_CHARACTERS_MAX = 256
ID_BYTES_MAX = 800
"""Three longer ids would break PostgreSQL's index limit of 2704 bytes."""
TEXT_CHARACTERS_MAX = 100_000
"""A sentence that goes into a header: evidence, a status. Longer text is a body."""

_NAME = re.compile(r"[a-z0-9_.-]{1,64}\Z")

_NOT_OURS = (ValueError, TypeError, RecursionError)
"""What parsing text that is no JSON can raise."""

Origin = Literal[
    "human",
    "continue_relay",
    "human_successor_root",
    "assistant_run",
    "runtime_recovery",
    "tool_probe",
]
"""How an execution came about. Only the two human ones decide something: they came from
outside the term, so they are accepted as well as admitted, and they count as sent by a
person, so a notice lists them when nobody finished them (design section 4)."""

EvidenceKind = Literal["gone", "alive", "cannot_tell"]

ReplayReason = Literal[
    "visible_output_started",
    "user_cancelled",
    "user_cancelled_whole_stream",
    "agent_closed",
    "model_switch",
    "context_reset",
    "runtime_work_reap",
    "cron_exec_timeout",
    "successor_accepted",
]
"""Why something must not run again: verbatim from seed 000 section 4.1, in the order in
which they are reported (design section 7.2)."""


def kind_of(value: object) -> str:
    """Return the name of the value's type with its article: ``a tuple``, ``an int``."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in set('aeio') else 'a'} {name}"


def check_text(what: str, value: object, characters_max: int) -> str:
    """Return ``value`` as plain text if every store keeps it as it is.

    Of a subclass of `str` the characters are kept and nothing else. Raises
    `InvalidInput` for anything but text, for NUL, for half a surrogate pair (half an
    emoji) and for more than ``characters_max`` characters.
    """
    if not isinstance(value, str):
        msg = f"{what} must be text, not {type(value).__name__}"
        raise InvalidInput(msg)
    if type(value) is not str:
        # What `str` of an enumeration's member returns is its name.
        value = str.__str__(value)
    if len(value) > characters_max:
        msg = f"{what} has {len(value)} characters; at most {characters_max} are kept"
        raise InvalidInput(msg)
    if "\0" in value:
        msg = f"{what} contains a NUL character; remove it"
        raise InvalidInput(msg)
    check_unicode(what, value)
    return value


def check_unicode(what: str, text: str) -> None:
    """Raise `InvalidInput` for half a surrogate pair, which no UTF-8 can keep."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        msg = f"{what} contains half a surrogate pair; decode it before"
        raise InvalidInput(msg) from None


def _shown(value: object) -> str:
    """Return a bad value for a message; not every value has a ``repr`` that works."""
    return f"{value!r:.80}" if isinstance(value, str) else type(value).__name__


def check_id(what: str, value: object) -> str:
    """Return ``value`` if it is an id that a host may give (design section 3).

    Any text of 1 to 256 characters and at most 800 bytes of UTF-8, compared as given.
    """
    text = check_text(what, value, ID_CHARACTERS_MAX)
    if not text:
        msg = f"{what} is empty; give 1 to {ID_CHARACTERS_MAX} characters"
        raise InvalidInput(msg)
    if not text.isascii() and len(text.encode()) > ID_BYTES_MAX:
        msg = f"{what} has more than {ID_BYTES_MAX} bytes of UTF-8; shorten it"
        raise InvalidInput(msg)
    return text


def check_name(what: str, value: object) -> str:
    """Return ``value`` if it is a class or type name: ``[a-z0-9_.-]{1,64}``."""
    if not isinstance(value, str) or not _NAME.match(value):
        msg = f"{what} must match [a-z0-9_.-]{{1,64}}, not {_shown(value)}"
        raise InvalidInput(msg)
    return str.__str__(value)


def check_choice(what: str, value: object, choices: Any) -> Any:  # noqa: ANN401
    """Return the literal of ``choices`` that ``value`` equals, or `InvalidInput`."""
    # What `get_args` returns for a Literal, at a tenth of its price.
    allowed: tuple[object, ...] = choices.__args__
    if value not in allowed:
        choices = ", ".join(map(str, allowed))
        msg = f"{what} must be one of {choices}, not {_shown(value)}"
        raise InvalidInput(msg)
    return value if type(value) is str else allowed[allowed.index(value)]


def check_integer(what: str, value: object, least: int, most: int = 2**63 - 1) -> int:
    """Return ``value`` if it is a whole number that fits the stores' 64 bits."""
    if not isinstance(value, int) or isinstance(value, bool):
        msg = f"{what} must be a whole number, not {type(value).__name__}"
        raise InvalidInput(msg)
    if not least <= value <= most:
        msg = f"{what} must be from {least} to {most}"
        raise InvalidInput(msg)
    return int.__index__(value)


def check_flag(what: str, value: object) -> bool:
    """Return ``value`` if it is True or False."""
    if not isinstance(value, bool):
        msg = f"{what} must be True or False, not {type(value).__name__}"
        raise InvalidInput(msg)
    return value


def set_plain(holder: object, **checked: object) -> None:
    """Replace fields of a frozen value by what their checks returned, where it differs.

    A subclass of `str` or `int` becomes the plain value, so that what is stored, sent
    and compared is the same whoever built it.
    """
    for name, value in checked.items():
        if getattr(holder, name) is not value:
            object.__setattr__(holder, name, value)


def json_fields(kind: Any, what: str, value: object) -> dict[str, Any]:  # noqa: ANN401
    """Return the fields of a dataclass as JSON gave them.

    Raises `InvalidInput` that names what is missing, or not known.
    """
    if not isinstance(value, dict):
        msg = f"{what} must be a JSON object, not {kind_of(value)}"
        raise InvalidInput(msg)
    given = dict(cast("dict[str, Any]", value))
    known = {one.name: one.default is MISSING for one in fields(kind)}
    missing = [name for name, needed in known.items() if needed and name not in given]
    odd = [f"{name:.40}" for name in given if name not in known]
    if missing or odd:
        wrong = f"lacks {', '.join(missing)}" if missing else f"has {odd[0]!r} too many"
        msg = f"{what} {wrong}: pass on what to_json gave"
        raise InvalidInput(msg)
    return given


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
        if not stream.startswith("owner:"):
            return None
        return cls(*stream.removeprefix("owner:").split(":", 1))

    def __str__(self) -> str:
        return f"{self.recovery_class} {self.owner_id}"


def agent_stream(agent_id: str) -> str:
    """Return the name of an agent's stream."""
    return f"agent:{agent_id}"


@dataclass(frozen=True, slots=True)
class ChatExecutionKey:
    """The key of an admission: one physical message in one session."""

    session_id: str
    physical_user_message_id: str

    def __post_init__(self) -> None:
        message_id = self.physical_user_message_id
        set_plain(
            self,
            session_id=check_id("session_id", self.session_id),
            physical_user_message_id=check_id("physical_user_message_id", message_id),
        )


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


@dataclass(frozen=True, slots=True)
class First:
    """The first request of a term, admitted in the transaction that opens it."""

    message_id: str
    origin: Origin
    sender: str | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        set_plain(
            self,
            message_id=check_id("message_id", self.message_id),
            origin=check_choice("origin", self.origin, Origin),
            sender=check_optional_id("sender", self.sender),
            digest=check_optional_id("digest", self.digest),
        )


@dataclass(frozen=True, slots=True)
class Boundary:
    """Where in the host's list a term ends; the index is evidence only."""

    message_id: str
    index: int | None = None

    def __post_init__(self) -> None:
        set_plain(self, message_id=check_id("boundary", self.message_id))
        if self.index is not None:
            set_plain(self, index=check_integer("boundary index", self.index, 0))


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


def check_optional_id(what: str, value: object) -> str | None:
    """Return an id that may be left out, as `check_id` does."""
    return None if value is None else check_id(what, value)
