"""The gate in front of every model call (design section 6).

Each call looks at the durable head, writes what is due, and looks again, until nothing
is left to write: so the view that leaves comes from one look, at which everything it
says was already on record.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Sequence
from itertools import islice
from time import monotonic
from typing import Literal, NamedTuple

from tenure_gate.guard import (
    HoldingRef,
    InterruptTarget,
    SessionGuard,
    ask,
    check_guard,
)
from tenure_gate.journal import JournalSnapshot
from tenure_gate.membership import (
    Hindrance,
    acting_request,
    judge,
    locate,
    may_act,
    serving,
)
from tenure_gate.readers import (
    Message,
    MessageReader,
    OpenAIReader,
    check_reader,
)
from tenure_gate.refusals import NothingToSay, RelayGateFailure
from tenure_gate.turns import Split, Turn, split
from tenure_gate.verdicts import ANSWERED, STALE, RequestFacts, Verdict
from tenure_gate.view import History, View, assemble, handover_due
from tenure_ledger.decisions.work import fence, unfenced
from tenure_ledger.errors import (
    AlreadyDecided,
    AlreadyStripped,
    Contended,
    FencedOut,
    InvalidInput,
    KeyReused,
    NotAdmitted,
    OwnerEnded,
    OwnerMoved,
)
from tenure_ledger.events import StripVerdict
from tenure_ledger.folds.ownership import Cut
from tenure_ledger.folds.relay import Interrupt
from tenure_ledger.ledger import Ledger
from tenure_ledger.values import (
    IDS_MAX,
    Authority,
    ChatExecutionKey,
    Origin,
    OwnerRef,
    check_authority,
    check_choice,
    check_flag,
    check_id,
    check_same_owner,
    check_seconds,
    kind_of,
)

__all__ = ["HumanPolicy", "MissingIdPolicy", "NarrativeTransform"]

HumanPolicy = Literal["admit", "hold", "refuse"]
MissingIdPolicy = Literal["refuse", "strip"]

AUTHOR = "gate"
_log = logging.getLogger("tenure.gate")


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
        self.reader = OpenAIReader() if reader is None else check_reader(reader)
        self.history: History = check_choice("history", history, History)
        self.unadmitted_human: HumanPolicy = check_choice(
            "unadmitted_human", unadmitted_human, HumanPolicy
        )
        self.missing_id: MissingIdPolicy = check_choice(
            "missing_id", missing_id, MissingIdPolicy
        )
        seconds = check_seconds("guard_timeout_seconds", guard_timeout_seconds)
        if seconds is None:
            msg = "guard_timeout_seconds must be a number of seconds"
            raise InvalidInput(msg)
        self.guard_timeout_seconds = seconds
        self.record_verdicts = check_flag("record_verdicts", record_verdicts)

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
            check_same_owner(check_authority(authority).owner, ref)
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
        return _Call(self, ref, messages, authority, acting, side=side, writes=writes)()


class _Judged(NamedTuple):
    """One look: the owner's journal, and what each request of the list is by it."""

    journal: JournalSnapshot
    split: Split
    verdicts: list[Verdict]
    """Of the requests; a side call's own instruction is none, and has none."""
    acting: int | None
    """Place of the acting request."""


class _Call:
    """One call of `NarrativeTransform.apply`."""

    def __init__(
        self,
        gate: NarrativeTransform,
        owner: OwnerRef,
        messages: Sequence[Message],
        authority: Authority | None,
        acting: str | None,
        *,
        side: bool,
        writes: bool,
    ) -> None:
        self._gate = gate
        self._ledger = gate.ledger
        self._owner = owner
        self._messages = messages
        self._authority = authority
        self._acting = acting
        self._side = side
        self._writes = writes
        self._until = monotonic() + self._ledger.deadline_seconds
        self._first: JournalSnapshot | None = None

    def __call__(self) -> View:
        while True:
            judged = self._look()
            if not self._write(judged):
                return self._leave(judged)
            if monotonic() >= self._until:
                msg = (
                    f"others kept writing to {self._owner} until the deadline; what "
                    "was stripped and settled so far is on record: apply again"
                )
                raise Contended(msg)

    def _look(self) -> _Judged:
        """Judge every request by the stream's durable head."""
        state = self._ledger.fresh_state(self._owner)
        if self._authority is not None:
            refusal = fence(state, self._authority)
        else:
            refusal = unfenced(state, self._owner)
        if refusal is not None:
            raise refusal.error()
        journal = JournalSnapshot.of(state)
        # What this call starts itself has no answer in a list that was made before.
        self._first = self._first or journal
        parts = split(self._messages, self._gate.reader, self._first)
        requests = self._requests(parts)
        keys = [turn.key for turn in requests]
        acting = None if self._side else self._place(journal, keys)
        served = serving(journal, None if acting is None else keys[acting])
        place = locate(journal, keys)
        verdicts = [
            judge(
                journal,
                RequestFacts(
                    turn.key,
                    turn.answered,
                    turn.human,
                    turn.place,
                    turn.place == acting or turn.key in served,
                ),
                place,
            )
            for turn in requests
        ]
        self._check_ids(requests, verdicts)
        return _Judged(journal, parts, verdicts, acting)

    def _requests(self, parts: Split) -> Sequence[Turn]:
        """Return what is to be judged: a side call's own instruction is no request."""
        if not self._side:
            return parts.requests
        last = len(self._messages) - 1
        if parts.requests and parts.requests[-1].at == last:
            return parts.requests[:-1]
        if self._gate.reader.role(self._messages[last]) == "system":
            return parts.requests
        msg = (
            "side: the last message is the host's own instruction: a user or system "
            "message that no other of the list has the id of"
        )
        raise InvalidInput(msg, index=last)

    def _place(
        self, journal: JournalSnapshot, keys: Sequence[str | None]
    ) -> int | None:
        if self._acting is None:
            return acting_request(journal, keys)
        return keys.index(self._acting) if self._acting in keys else None

    def _check_ids(self, requests: Sequence[Turn], verdicts: Sequence[Verdict]) -> None:
        refused = self._gate.missing_id == "refuse"
        for turn, verdict in zip(requests, verdicts, strict=True):
            # What a person said is never dropped, whatever the policy.
            if verdict.name == "missing_physical_id" and (refused or turn.human):
                msg = f"message {turn.at}: {verdict.explain()}"
                raise InvalidInput(msg, index=turn.at, verdict=verdict)

    def _write(self, judged: _Judged) -> bool:
        """Write the next thing that is due; return whether to look again."""
        if not self._writes:
            return False
        if self._take_in(judged):
            return True
        if not judged.journal.live_term:
            return False
        return (
            self._strip(judged)
            or self._interrupt(judged)
            or (self._hindrance(judged) is None and self._begin(judged))
        )

    def _take_in(self, judged: _Judged) -> bool:
        """Accept or admit what a person sent, as the host wants it."""
        policy = self._gate.unadmitted_human
        authority = self._authority if policy == "admit" else None
        wrote = False
        for verdict in self._first_contact(judged) or judged.verdicts:
            key, known = verdict.key, verdict.known
            if verdict.name != "unadmitted_human" or policy == "refuse" or key is None:
                continue
            try:
                if authority is not None and judged.journal.live_term:
                    person = known is None or known.human
                    origin: Origin = "human" if person else "continue_relay"
                    self._ledger.admit(authority, key, origin)
                elif known is None:
                    self._ledger.accept(self._owner, key, AUTHOR, human=True)
                else:
                    continue
            except (AlreadyDecided, AlreadyStripped, KeyReused):
                # Decided by somebody else since the look: the next one shows it.
                pass
            wrote = True
        return wrote

    def _first_contact(self, judged: _Judged) -> list[Verdict] | None:
        """Return the acting request alone where the ledger knows none of the list.

        What stands before it was answered before the ledger was there: once it is
        known, the next look sees that, and admits none of it.
        """
        if judged.acting is None or judged.journal.ended:
            return None
        acting = judged.verdicts[judged.acting]
        if acting.place.first_known is not None or acting.name != "unadmitted_human":
            return None
        return [acting]

    def _strip(self, judged: _Judged) -> bool:
        """Put every leftover's strip on record, at the version it was judged at."""
        journal = judged.journal
        strips: list[tuple[str, StripVerdict, int]] = []
        for verdict in judged.verdicts:
            name, key = verdict.name, verdict.key
            if key is None or verdict.recorded:
                continue
            if name == "stale_admitted" or name == "stale_unadmitted":  # noqa: PLR1714
                strips.append((key, name, journal.cut_version))
        if not strips:
            return False
        try:
            # The rest, of very many, at the next look.
            due = strips[:IDS_MAX]
            self._ledger.strip_requests(self._owner, due, AUTHOR, journal.version)
        except (OwnerMoved, FencedOut, OwnerEnded):
            _log.debug("%s moved while its requests were judged", self._owner)
        return True

    def _interrupt(self, judged: _Judged) -> bool:
        """Ask the host to stop what was stripped; settle each answer once.

        All are asked about before the first failure is raised.
        """
        interrupts = judged.journal.open_interrupts()
        failure: RelayGateFailure | None = None
        for one in interrupts:
            target = self._target(judged.journal, one)
            began = monotonic()
            try:
                outcome = ask(
                    self._gate.guard, target, self._gate.guard_timeout_seconds
                )
            except RelayGateFailure as problem:
                failure = failure or problem
                continue
            finally:
                # The deadline is for other writers, not for the host.
                self._until += monotonic() - began
            try:
                self._ledger.settle_interrupt(
                    self._owner, one.interrupt_id, outcome, AUTHOR
                )
            except AlreadyDecided:
                continue  # another process asked too, and was first
            _log.info("%s: leftover %s is out: %s", self._owner, one.key, outcome)
        if failure is not None:
            raise failure
        return bool(interrupts)

    def _target(self, journal: JournalSnapshot, one: Interrupt) -> InterruptTarget:
        known, live = journal.execution(one.key), journal.holding
        assert live is not None  # noqa: S101  nothing is interrupted without one
        ended = None
        if known is not None and known.incarnation is not None:
            agents = {cut.incarnation: cut.agent_id for cut in journal.cuts.values()}
            agent = agents.get(known.incarnation)
            ended = HoldingRef(known.generation, known.incarnation, agent)
        return InterruptTarget(
            one.interrupt_id,
            self._owner,
            ChatExecutionKey(self._owner.owner_id, one.key),
            ended,
            HoldingRef(journal.generation, live.incarnation, live.agent_id),
        )

    def _begin(self, judged: _Judged) -> bool:
        """Start the acting request, and hand it what waits to be told."""
        if judged.acting is None:
            return False
        journal, key = judged.journal, judged.split.keys[judged.acting]
        if key is None:
            return False
        lead = journal.lead(key)
        known = journal.executions[lead]
        told = journal.undelivered()
        try:
            if not known.started and self._authority is not None:
                self._ledger.start(self._authority, lead)
                return True
            if told:
                by = self._authority or self._owner
                self._ledger.deliver_notices(by, lead, AUTHOR)
                return True
        except (AlreadyDecided, NotAdmitted):
            # Settled or cancelled by somebody since the look: the next one shows it.
            return True
        return self._keep_verdicts(judged)

    def _keep_verdicts(self, judged: _Judged) -> bool:
        if not (self._gate.record_verdicts and self._authority is not None):
            return False
        given = judged.journal.state.relay.given
        cut = judged.journal.cut_version
        new = {
            verdict.key: verdict.name
            for verdict in judged.verdicts
            if verdict.key is not None
            and (
                (last := given.get(verdict.key)) is None
                or (last.verdict, last.cut) != (verdict.name, cut)
            )
        }
        if new:
            due = dict(islice(new.items(), IDS_MAX))
            self._ledger.record_verdicts(self._authority, due)
        return bool(new)

    def _hindrance(self, judged: _Judged) -> Hindrance | None:
        """Return why the acting request may not be answered now."""
        if self._side:
            if judged.journal.live_term:
                return None
            at = judged.journal.state.ownership.ended
            return Hindrance("no_holding", "nobody holds the owner", at)
        if judged.acting is None:
            text = "the list has no request: there is nothing to answer"
            if self._acting is not None:
                text = (
                    f"acting names {self._acting}, which is no request of this list: "
                    "pass the list that holds it"
                )
            return Hindrance("no_request", text, 0)
        verdict = judged.verdicts[judged.acting]
        hindrance = may_act(judged.journal, verdict.key)
        stale = verdict.name in STALE and judged.journal.live_term
        if stale or (hindrance is None and verdict.name not in ANSWERED):
            return Hindrance("kept_out", verdict.explain(), judged.journal.ended)
        return hindrance

    def _leave(self, judged: _Judged) -> View:
        """Hand the view out, or say why there is none."""
        view = self._view(judged)
        why = self._hindrance(judged)
        if why is None:
            return view
        verdict = None
        if judged.acting is not None:
            verdict = judged.verdicts[judged.acting]
        raise NothingToSay(
            f"do not call the model for {self._owner}: {why.text}",
            reason=why.code,
            verdict=verdict,
            view=view,
            version=judged.journal.version,
        )

    def _view(self, judged: _Judged) -> View:
        journal, parts, acting = judged.journal, judged.split, judged.acting
        key = None if acting is None else parts.keys[acting]
        told = [] if key is None else journal.delivered_to(key)
        instruction = len(parts.requests) - len(judged.verdicts)
        return assemble(
            self._messages,
            parts,
            [*judged.verdicts, *[None] * instruction],
            self._gate.reader,
            journal,
            acting=acting,
            handover=self._handover(journal.cut),
            notices=[notice.text for notice in told],
        )

    def _handover(self, cut: Cut | None) -> str | None:
        """Return the text that stands for the history, where there is to be one."""
        if cut is None or cut.handover is None:
            return None
        if not handover_due(self._gate.history, cut):
            return None
        text = self._ledger.body(self._owner, cut.handover)
        return text if isinstance(text, str) else None
