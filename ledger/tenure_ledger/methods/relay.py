"""Accept, admit, start, settle, retire (design sections 5, 6 and 13)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from tenure_ledger.decisions import admission, executions, relay
from tenure_ledger.errors import InvalidInput
from tenure_ledger.methods.base import (
    Methods,
    body,
    ids,
)
from tenure_ledger.values import (
    Authority,
    Boundary,
    Origin,
    OwnerRef,
    check_authority,
    check_choice,
    check_flag,
    check_id,
    check_integer,
    check_optional_id,
    check_owner,
)

__all__ = ["RelayMethods"]


class RelayMethods(Methods):
    """How messages become executions, and terms end."""

    def accept(
        self,
        owner: OwnerRef,
        message_id: str,
        author: str,
        sender: str | None = None,
        digest: str | None = None,
        human: bool = False,  # noqa: FBT001, FBT002  a public signature (section 13)
        *,
        command_id: str | None = None,
    ) -> int:
        """Take a message in, whatever the owner does now; return its version.

        It lets nothing pass: it waits until it is admitted, by `admit` or by the next
        grant. ``human`` vouches that a person sent it. Raises `KeyReused`,
        `AlreadyStripped`, `Deleted`, `TooNew`; for other owners than sessions also
        `UnknownOwner`, `OwnerEnded`.
        """
        command = admission.Accept(
            check_owner(owner),
            check_id("message_id", message_id),
            check_id("author", author),
            check_optional_id("sender", sender),
            check_optional_id("digest", digest),
            check_flag("human", human),
        )
        return self._version(command, command_id)

    def admit(
        self,
        authority: Authority,
        message_id: str,
        origin: Origin,
        sender: str | None = None,
        digest: str | None = None,
        absorbed: Iterable[str] = (),
        *,
        command_id: str | None = None,
    ) -> int:
        """Make a message an execution of the live term; return its version.

        A human origin accepts it too. ``absorbed`` names messages merged into it: they
        share its admission, start and settle. Raises `FencedOut`, `AlreadyDecided`,
        `AlreadyStripped`, `KeyReused`.
        """
        command = admission.Admit(
            check_authority(authority),
            check_id("message_id", message_id),
            check_choice("origin", origin, Origin),
            check_optional_id("sender", sender),
            check_optional_id("digest", digest),
            ids("absorbed", absorbed),
        )
        return self._version(command, command_id)

    def start(
        self,
        authority: Authority,
        message_id: str,
        into: str | None = None,
        *,
        command_id: str | None = None,
    ) -> int:
        """Record that work on the message begins; return its version.

        ``into`` names the running execution that takes the message in; it is settled
        with it. Raises `FencedOut`, `NotAdmitted`, `AlreadyDecided`.
        """
        command = executions.Start(
            check_authority(authority),
            check_id("message_id", message_id),
            check_optional_id("into", into),
        )
        return self._version(command, command_id)

    def settle(
        self,
        authority: Authority,
        message_id: str,
        outcome: executions.HostOutcome,
        *,
        command_id: str | None = None,
    ) -> int:
        """Record how the execution ended; return its version. The first one stands.

        Under an ended holding the outcome is kept as a late result, unless one is on
        record or the message is the live holding's own work, and `FencedOut` or
        `OwnerEnded` is raised with the version of what is on record in ``.late``, if
        any. Raises `NotAdmitted`, `AlreadyDecided`.
        """
        command = executions.Settle(
            check_authority(authority),
            check_id("message_id", message_id),
            check_choice("outcome", outcome, executions.HostOutcome),
        )
        return self._version(command, command_id)

    def retire(
        self,
        authority: Authority,
        outcome: Literal["accepted", "continue"],
        handover: str | None = None,
        boundary: str | Boundary | None = None,
        finishes: Iterable[str] = (),
        *,
        command_id: str | None = None,
    ) -> int:
        """End the term by a cut; return the cut's version.

        ``handover`` is text for the successor, ``boundary`` the last message of this
        term in the host's list (default: the one started last), ``finishes`` names
        executions that are done with it. Raises `FencedOut`, `NotAdmitted`,
        `AlreadyDecided`.
        """
        outcome = check_choice("outcome", outcome, Literal["accepted", "continue"])
        if isinstance(boundary, str):
            boundary = Boundary(boundary)
        if boundary is not None and not isinstance(boundary, Boundary):
            msg = "boundary must be a message id or a Boundary"
            raise InvalidInput(msg)
        if handover is not None and not isinstance(handover, str):
            msg = f"handover must be text, not {type(handover).__name__}"
            raise InvalidInput(msg)
        command = relay.Retire(
            check_authority(authority),
            outcome,
            None if handover is None else body("handover", handover),
            boundary,
            ids("finishes", finishes),
        )
        return self._version(command, command_id)

    def history_rewritten(
        self,
        authority: Authority,
        history_rewrite_generation: int,
        prompt_floor: str | None = None,
        checkpoint_seq: str | None = None,
        state: object = None,
        *,
        command_id: str | None = None,
    ) -> int:
        """Record that the host compacted its history; return the version.

        Both floors are message ids; ``state`` is any JSON of the host's. Raises
        `StaleCheckpoint` for a rewrite generation that is not above the one on record,
        `FencedOut`.
        """
        command = relay.RewriteHistory(
            check_authority(authority),
            check_integer("history_rewrite_generation", history_rewrite_generation, 0),
            check_optional_id("prompt_floor", prompt_floor),
            check_optional_id("checkpoint_seq", checkpoint_seq),
            None if state is None else body("state", state),
        )
        return self._version(command, command_id)

    def settle_interrupt(
        self,
        owner: OwnerRef,
        interrupt_id: str,
        outcome: str,
        author: str,
        *,
        command_id: str | None = None,
    ) -> int:
        """Give an open interrupt up, on record; return the version.

        Raises `UnknownOwner`, `NotFound`, `AlreadyDecided`.
        """
        command = relay.SettleInterrupt(
            check_owner(owner),
            check_id("interrupt_id", interrupt_id),
            check_id("outcome", outcome),
            check_id("author", author),
        )
        return self._version(command, command_id)
