"""The gate in front of every model call (design section 6): its synchronous face."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from tenure_gate.calling import call
from tenure_gate.guard import SessionGuard, check_guard
from tenure_gate.looking import Asked, HumanPolicy, MissingIdPolicy, Settings
from tenure_gate.performing import Performer
from tenure_gate.readers import (
    Message,
    MessageReader,
    OpenAIReader,
    check_reader,
)
from tenure_gate.view import History, View
from tenure_ledger.errors import InvalidInput
from tenure_ledger.ledger import Ledger
from tenure_ledger.values import (
    Authority,
    OwnerRef,
    check_authority,
    check_choice,
    check_flag,
    check_id,
    check_seconds,
    kind_of,
)

__all__ = ["HumanPolicy", "MissingIdPolicy", "NarrativeTransform"]


class NarrativeTransform:
    """Makes the list that a model may see, or says why none may be called.

    Safe to share between threads; one for each host is enough.
    """

    def __init__(
        self,
        ledger: Ledger,
        guard: SessionGuard,
        *,
        reader: MessageReader | None = None,
        history: History = "auto",
        unadmitted_human: HumanPolicy = "admit",
        missing_id: MissingIdPolicy = "refuse",
        guard_timeout_seconds: float = 10.0,
        record_verdicts: bool = False,
    ) -> None:
        """Take the ledger and the host's guard.

        ``reader`` reads the host's messages (default: plain OpenAI chat dicts).
        ``history``: ``auto`` puts the hand-over in the place of what an ended term did
        when its cut says ``continue`` and left one; ``keep`` never does, ``handover``
        does wherever there is one. ``unadmitted_human``: what a person sent and nobody
        admitted is admitted (``admit``), accepted only (``hold``), or only reported
        (``refuse``). ``missing_id``: a request without an id is refused, or kept out
        (``strip``). ``record_verdicts`` puts every verdict on record. Raises
        `InvalidInput`, and TypeError for an asynchronous ledger or guard.
        """
        if not isinstance(ledger, Ledger):
            msg = f"ledger must be what open_ledger returned, not {kind_of(ledger)}"
            waits = inspect.iscoroutinefunction(getattr(ledger, "fresh_state", None))
            raise (TypeError if waits else InvalidInput)(msg)
        check_guard(guard)
        self.ledger = ledger
        self.guard = guard
        self.settings = Settings(
            OpenAIReader() if reader is None else check_reader(reader),
            check_choice("history", history, History),
            check_choice("unadmitted_human", unadmitted_human, HumanPolicy),
            check_choice("missing_id", missing_id, MissingIdPolicy),
            check_flag("record_verdicts", record_verdicts),
        )
        seconds = check_seconds("guard_timeout_seconds", guard_timeout_seconds)
        if seconds is None:
            msg = "guard_timeout_seconds must be a number of seconds"
            raise InvalidInput(msg)
        self.guard_timeout_seconds = seconds

    def apply(
        self,
        owner: OwnerRef | str,
        messages: Sequence[Message],
        *,
        authority: Authority | None,
        acting: str | None = None,
        side: bool = False,
        record: bool = True,
    ) -> View:
        """Return what the model may see, before each call and each retry of one.

        The host's list and its messages are never changed. ``owner``: a session id, or
        any owner. ``acting``: the id of the request that the call serves (default: the
        one started last and not settled, else the last of the list); what nothing has
        started is started. ``side``: the call serves no request (a title, a summary):
        its last message is the host's own instruction, and nothing is written.
        ``record=False`` judges and writes nothing. ``authority=None``: only the request
        is asked about, not the caller.

        Raises `FencedOut` or `TermRetired` for a caller whose holding ended,
        `NothingToSay` when the acting request may not be answered, `RelayGateFailure`
        when a leftover could not be cleaned up, `KeyReused` and `InvalidInput` for a
        list that cannot be read, and what the ledger raises. Whatever is raised: do
        not call the model.
        """
        ref = owner if isinstance(owner, OwnerRef) else OwnerRef("session", owner)
        if authority is not None:
            of = check_authority(authority).owner
            if of != ref:
                msg = f"this authority is of {of}, not of {ref}: pass its own owner"
                raise InvalidInput(msg)
        if acting is not None:
            acting = check_id("acting", acting)
        side, record = check_flag("side", side), check_flag("record", record)
        if side and not (isinstance(messages, Sequence) and messages):
            msg = "side: messages must be a list that ends with the host's instruction"
            raise InvalidInput(msg)
        writes = record and not side
        if isinstance(messages, Sequence) and not isinstance(messages, (str, bytes)):
            # One call judges and shows one list, whatever the host does to its own.
            messages = tuple(messages)
        asked = Asked(ref, messages, authority, acting, side, writes)
        performer = Performer(self.ledger, self.guard, self.guard_timeout_seconds)
        return performer.run(call(self.settings, asked))
