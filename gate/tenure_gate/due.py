"""What a look says is to be written: one thing at a time, the next look shows the rest.

Each rule returns whether it wrote, or found that somebody else had: then look again.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice

from tenure_gate.guard import HoldingRef, InterruptTarget
from tenure_gate.journal import JournalSnapshot
from tenure_gate.looking import Asked, Judged, Settings, hindrance
from tenure_gate.refusals import RelayGateFailure
from tenure_gate.steps import (
    Accept,
    Admit,
    Ask,
    Deliver,
    GiveVerdicts,
    Settle,
    Start,
    Steps,
    Strip,
)
from tenure_gate.verdicts import STALE, Verdict
from tenure_ledger.errors import (
    AlreadyDecided,
    AlreadyStripped,
    FencedOut,
    KeyReused,
    NotAdmitted,
    OwnerEnded,
    OwnerMoved,
)
from tenure_ledger.events import StripVerdict
from tenure_ledger.folds.relay import Interrupt
from tenure_ledger.values import IDS_MAX, ChatExecutionKey, Origin, OwnerRef

__all__ = ["write_due"]


def write_due(settings: Settings, asked: Asked, judged: Judged) -> Steps[bool]:
    """Write the next thing that is due; return whether to look again."""
    if (yield from _take_in(settings, asked, judged)):
        return True
    if not judged.journal.live_term:
        return False
    if (yield from _strip(asked, judged)) or (yield from _interrupt(asked, judged)):
        return True
    if hindrance(asked, judged) is not None:
        return False
    if (yield from _begin(asked, judged)):
        return True
    return (yield from _keep_verdicts(settings, asked, judged))


def _take_in(settings: Settings, asked: Asked, judged: Judged) -> Steps[bool]:
    """Accept or admit what a person sent, as the host wants it."""
    policy = settings.unadmitted_human
    if policy == "refuse" or "unadmitted_human" not in judged.names:
        return False
    admits = policy == "admit" and judged.journal.live_term
    authority = asked.authority if admits else None
    wrote = False
    for verdict in _first_contact(judged) or judged.verdicts:
        key, known = verdict.key, verdict.known
        if verdict.name != "unadmitted_human" or key is None:
            continue
        try:
            if authority is not None:
                person = known is None or known.human
                origin: Origin = "human" if person else "continue_relay"
                yield Admit(authority, key, origin)
            elif known is None:
                yield Accept(asked.owner, key)
            else:
                continue
        except (AlreadyDecided, AlreadyStripped, KeyReused):
            # Decided by somebody else since the look: the next one shows it.
            pass
        wrote = True
    return wrote


def _first_contact(judged: Judged) -> list[Verdict] | None:
    """Return the acting request alone where the ledger knows none of the list.

    What stands before it was answered before the ledger was there: once it is known,
    the next look sees that, and admits none of it.
    """
    acting = judged.verdict
    if acting is None or judged.journal.ended:
        return None
    known = acting.list_facts.first_known is not None
    return None if known or acting.name != "unadmitted_human" else [acting]


def _strip(asked: Asked, judged: Judged) -> Steps[bool]:
    """Put every leftover's strip on record, at the version it was judged at."""
    if STALE.isdisjoint(judged.names):
        return False
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
    with suppress(OwnerMoved, FencedOut, OwnerEnded):
        # The rest, of very many, at the next look; and so if the owner moved meanwhile.
        yield Strip(asked.owner, strips[:IDS_MAX], journal.version)
    return True


def _interrupt(asked: Asked, judged: Judged) -> Steps[bool]:
    """Ask the host to stop what was stripped; settle each answer once.

    All are asked about before the first failure is raised.
    """
    interrupts = judged.journal.open_interrupts()
    failure: RelayGateFailure | None = None
    for one in interrupts:
        target = _target(asked.owner, judged.journal, one)
        try:
            outcome: str = yield Ask(target)
        except RelayGateFailure as problem:
            failure = failure or problem
            continue
        try:
            yield Settle(target, outcome)
        except AlreadyDecided:
            continue  # another process asked too, and was first
    if failure is not None:
        raise failure
    return bool(interrupts)


def _target(
    owner: OwnerRef, journal: JournalSnapshot, one: Interrupt
) -> InterruptTarget:
    known, live = journal.execution(one.key), journal.holding
    assert live is not None  # noqa: S101  nothing is interrupted without one
    ended = None
    if known is not None and known.incarnation is not None:
        agents = {cut.incarnation: cut.agent_id for cut in journal.cuts.values()}
        agent = agents.get(known.incarnation)
        ended = HoldingRef(known.generation, known.incarnation, agent)
    return InterruptTarget(
        one.interrupt_id,
        owner,
        ChatExecutionKey(owner.owner_id, one.key),
        ended,
        HoldingRef(journal.generation, live.incarnation, live.agent_id),
    )


def _begin(asked: Asked, judged: Judged) -> Steps[bool]:
    """Start the acting request, and hand it what waits to be told."""
    acting = judged.verdict
    if acting is None or acting.key is None:
        return False
    journal, authority = judged.journal, asked.authority
    lead = journal.lead(acting.key)
    try:
        if authority is not None and not journal.executions[lead].started:
            yield Start(authority, lead)
        elif journal.undelivered():
            yield Deliver(authority or asked.owner, lead)
        else:
            return False
    except (AlreadyDecided, NotAdmitted):
        # Settled or cancelled by somebody since the look: the next one shows it.
        pass
    return True


def _keep_verdicts(settings: Settings, asked: Asked, judged: Judged) -> Steps[bool]:
    """Put on record what each request is, where that changed and was asked for."""
    authority = asked.authority
    if not settings.record_verdicts or authority is None:
        return False
    given, cut = judged.journal.state.relay.given, judged.journal.cut_version
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
        yield GiveVerdicts(authority, dict(islice(new.items(), IDS_MAX)))
    return bool(new)
