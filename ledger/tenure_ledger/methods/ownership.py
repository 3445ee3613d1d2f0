"""Claim, succeed, take over, advance, children, ends (design sections 5 and 13)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from tenure_ledger.decisions import children, ownership, relay, takeover, upkeep
from tenure_ledger.methods.base import (
    Methods,
    check_evidence,
    check_first,
    ids,
)
from tenure_ledger.values import (
    TEXT_CHARACTERS_MAX,
    Authority,
    Evidence,
    First,
    OwnerRef,
    check_authority,
    check_choice,
    check_flag,
    check_id,
    check_integer,
    check_moment,
    check_name,
    check_optional_id,
    check_owner,
    check_seconds,
    check_text,
)

__all__ = ["OwnershipMethods"]


class OwnershipMethods(Methods):
    """Who holds an owner."""

    def claim(
        self,
        owner: OwnerRef,
        agent_id: str,
        author: str,
        *,
        first: First | None = None,
        lease_seconds: float | None = None,
        command_id: str | None = None,
    ) -> Authority:
        """Take an owner that nobody holds: new, ended or imported.

        Messages that wait are carried over in stream order, then ``first`` is admitted.
        Raises `OwnerIsLive`, `TermRetired` (use `succeed`), `OwnerEnded` (a used thing:
        use `take_over`, or `spawn` after its end), `AgentIsBound`, `Deleted`,
        `Quarantined`, `TooNew`; for ``first`` `AlreadyDecided`, `AlreadyStripped`,
        `KeyReused`. Source: design section 5, the table.
        """
        command = ownership.Claim(
            check_owner(owner),
            check_id("agent_id", agent_id),
            check_id("author", author),
            check_first(first),
            check_seconds("lease_seconds", lease_seconds),
        )
        return self._authority(command, command_id)

    def succeed(
        self,
        owner: OwnerRef,
        agent_id: str,
        author: str,
        *,
        first: First | None = None,
        lease_seconds: float | None = None,
        command_id: str | None = None,
    ) -> Authority:
        """Begin the next term after a cut; what waits is carried over, then ``first``.

        Raises `UnknownOwner`, `OwnerIsLive`, `OwnerEnded` (use `claim`),
        `AgentIsBound`, and for ``first`` as `claim`. Source: design sections 5 and 6.
        """
        command = ownership.Succeed(
            check_owner(owner),
            check_id("agent_id", agent_id),
            check_id("author", author),
            check_first(first),
            check_seconds("lease_seconds", lease_seconds),
        )
        return self._authority(command, command_id)

    def take_over(
        self,
        owner: OwnerRef,
        agent_id: str | None,
        author: str,
        evidence: Evidence | None = None,
        *,
        override: bool = False,
        first: First | None = None,
        lease_seconds: float | None = None,
        command_id: str | None = None,
    ) -> Authority:
        """End another's holding on evidence that it is gone, and hold the owner.

        By another agent it is a forced cut; by the owner's present agent an instance
        restart of the same term. A used thing (a child without agent) whose parent is
        held anew needs no evidence: pass ``agent_id=None`` or the parent's agent.
        ``override`` is recorded and outvotes doubt, never proof of life. Raises
        `OwnerIsLive`, `OwnerMoved`, `UnknownOwner`, `TermRetired`, `OwnerEnded`,
        `FencedOut` (a thing of another agent), `AgentIsBound`, and for ``first`` as
        `claim`. Source: design section 5, rule 5.
        """
        if evidence is not None:
            check_evidence(evidence)
        command = takeover.TakeOver(
            check_owner(owner),
            check_optional_id("agent_id", agent_id),
            check_id("author", author),
            evidence,
            check_flag("override", override),
            check_first(first),
            check_seconds("lease_seconds", lease_seconds),
        )
        return self._authority(command, command_id)

    def advance(
        self,
        authority: Authority,
        reason: Literal["lease_renewal", "migration"],
        agent_id: str | None = None,
        *,
        lease_seconds: float | None = None,
        command_id: str | None = None,
    ) -> Authority:
        """Renew the lease of a holding, or move it to this process or another agent.

        A worker that is handed an authority calls it with ``"migration"`` first.
        Raises `FencedOut` and its kind, `OwnerEnded`, `AgentIsBound`.
        """
        command = ownership.Advance(
            check_authority(authority),
            check_choice("reason", reason, Literal["lease_renewal", "migration"]),
            check_optional_id("agent_id", agent_id),
            check_seconds("lease_seconds", lease_seconds),
        )
        return self._authority(command, command_id)

    def spawn(
        self,
        authority: Authority,
        child: OwnerRef,
        agent_id: str | None = None,
        *,
        grants: Iterable[str] = frozenset(),
        author: str,
        lease_seconds: float | None = None,
        command_id: str | None = None,
    ) -> Authority:
        """Create a child owner, in one append to all streams concerned.

        With ``agent_id`` it is a sub-agent; without, a thing that the parent's agent
        uses, whose holding ends with the parent's. Raises `InvalidInput` for grants
        that the parent does not have, `OwnerIsLive`, `AgentIsBound`, `FencedOut`.
        """
        command = children.Spawn(
            check_authority(authority),
            check_owner(child),
            check_optional_id("agent_id", agent_id),
            tuple(sorted(ids("grants", grants))),
            check_id("author", author),
            check_seconds("lease_seconds", lease_seconds),
        )
        return self._authority(command, command_id)

    def grant(
        self,
        authority: Authority,
        child: OwnerRef,
        grants: Iterable[str],
        until: datetime | None = None,
        *,
        command_id: str | None = None,
    ) -> int:
        """Grant a child more of what the parent has; return the child's version.

        ``until`` None is as long as the parent itself has it. Raises `NotFound` (no
        child), `InvalidInput` (more than the parent has), `FencedOut`.
        """
        command = children.GrantMore(
            check_authority(authority),
            check_owner(child),
            tuple(sorted(ids("grants", grants))),
            check_moment("until", until),
        )
        return self._version(command, command_id)

    def revoke(
        self,
        authority: Authority,
        child: OwnerRef,
        grants: Iterable[str] | None = None,
        *,
        command_id: str | None = None,
    ) -> int:
        """Take grants of a child back (None: all); return the child's version.

        Raises `NotFound` (no child), `FencedOut`.
        """
        taken = None if grants is None else tuple(sorted(ids("grants", grants)))
        command = children.Revoke(check_authority(authority), check_owner(child), taken)
        return self._version(command, command_id)

    def terminate(
        self,
        authority: Authority,
        event_type: str,
        status: str,
        *,
        command_id: str | None = None,
    ) -> int:
        """End the owner; return the version of its terminal event.

        The same end again, by the holding that wrote it, is the first outcome. Raises
        `AlreadyDecided`, `OwnerEnded`, `FencedOut`.
        """
        command = relay.Terminate(
            check_authority(authority),
            check_name("event_type", event_type),
            check_text("status", status, TEXT_CHARACTERS_MAX),
        )
        return self._version(command, command_id)

    def delete_conversation(
        self, owner: OwnerRef, author: str, *, command_id: str | None = None
    ) -> int:
        """Delete an owner, its descendants and all their bodies, for good.

        The chain and what was decided stay; return the version. Raises `UnknownOwner`,
        `Quarantined`, `TooNew`.
        """
        command = upkeep.DeleteConversation(
            check_owner(owner), check_id("author", author)
        )
        return self._version(command, command_id)

    def resolve_quarantine(
        self,
        owner: OwnerRef,
        keep: int,
        author: str,
        *,
        command_id: str | None = None,
    ) -> int:
        """Say which of two contradicting versions stands; return the version.

        `owner` shows both as ``positions``. Raises `NotFound`, `InvalidInput`,
        `TooNew`, and `AgentIsBound` if the agent that would hold the owner holds
        another by now.
        """
        command = upkeep.ResolveQuarantine(
            check_owner(owner),
            check_integer("keep", keep, 0),
            check_id("author", author),
        )
        return self._version(command, command_id)
