"""How events give, end and change ownership: the fold of module `ownership`.

Source of the rules: design sections 2, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from immutables import Map
from msgspec.structs import replace

from tenure_ledger.events import (
    AuthorityGranted,
    AuthorityRevoked,
    ChildSpawned,
    ConversationDeleted,
    GenerationAdvanced,
    OwnershipClaimed,
    OwnerTerminated,
    RetirementCut,
)
from tenure_ledger.folds.judgement import (
    APPLY,
    DUPLICATE,
    Judgement,
    Rule,
    Rules,
    always,
)
from tenure_ledger.folds.ownership import Child, Cut, Holding, Ownership, Terminal

__all__ = ["RULES"]


def _judge_claim(_own: object, own: Ownership, event: OwnershipClaimed) -> Judgement:
    if own.status == "absent":
        return APPLY
    holding = own.holding
    if (
        own.generation == event.generation
        and holding is not None
        and holding.reason == "claimed"
        and holding.agent_id == event.agent_id
    ):
        return DUPLICATE
    return own.latest


def _judge_advance(
    _own: object, own: Ownership, event: GenerationAdvanced
) -> Judgement:
    holding = own.holding
    if event.generation == own.generation and holding is not None:
        reason = "lease_renewal" if event.reason == "lease_renewal" else holding.reason
        same = holding.agent_id == event.agent_id and event.reason == reason
        return DUPLICATE if same else own.latest
    following = max(own.generation, event.floor) + 1
    if event.generation != following or own.status == "deleted":
        return own.latest
    if event.reason == "lease_renewal" and not own.live:
        return own.latest
    return APPLY


def _judge_cut(_own: object, own: Ownership, event: RetirementCut) -> Judgement:
    if event.generation != own.generation:
        return own.latest
    if own.status == "cut" and own.cut is not None:
        same = own.cut.outcome == event.outcome
        return DUPLICATE if same else own.cut.version
    if own.running or event.outcome == "forced":
        return APPLY
    return own.latest


def _judge_end(_own: object, own: Ownership, event: OwnerTerminated) -> Judgement:
    first = own.terminal
    if own.status == "terminal" and first is not None:
        same = (first.event_type, first.status) == (
            event.event_type,
            event.terminal_status,
        )
        return DUPLICATE if same else first.version
    if own.running or own.status == "revoked":
        return APPLY
    return own.latest


def _judge_spawn(_own: object, own: Ownership, event: ChildSpawned) -> Judgement:
    known = own.children.get(event.child.stream)
    if known is None:
        return APPLY
    if known.generation == event.child_generation:
        return DUPLICATE if known.used == (event.agent_id is None) else known.version
    return APPLY if own.live else known.version


def _judge_revoke(_own: object, own: Ownership, event: AuthorityRevoked) -> Judgement:
    return DUPLICATE if event.ends_holding and not own.live else APPLY


def _judge_delete(
    _own: object, own: Ownership, _event: ConversationDeleted
) -> Judgement:
    return DUPLICATE if own.status == "deleted" else APPLY


def _claim(
    _own: object, own: Ownership, version: int, event: OwnershipClaimed
) -> Ownership:
    return _grant(own, version, event, "claimed")


def _advance(
    _own: object, own: Ownership, version: int, event: GenerationAdvanced
) -> Ownership:
    return _grant(own, version, event, event.reason)


def _grant(
    own: Ownership,
    version: int,
    event: OwnershipClaimed | GenerationAdvanced,
    reason: str,
) -> Ownership:
    before = own.holding
    parent = event.parent or own.parent
    grants: Map[str, datetime | None] = own.grants
    if event.parent is not None:
        grants = _new_grants(event.grants, event.grants_until)
    imported = event.generation == 0 or (event.agent_id is None and parent is None)
    if reason == "lease_renewal" and before is not None:
        holding = replace(
            before,
            lease_until=event.lease_until,
            process=event.process or before.process,
        )
        return replace(
            own,
            generation=event.generation,
            active_at=event.recorded_at,
            holding=holding,
        )
    holding = Holding(
        incarnation=event.event_id,
        agent_id=event.agent_id,
        process=event.process,
        author=event.author,
        reason=reason,
        lease_until=event.lease_until,
        granted=version,
    )
    same_agent = before is not None and before.agent_id == event.agent_id
    goes_on = own.live and same_agent and reason in {"instance_restart", "migration"}
    return replace(
        own,
        status="imported" if imported else "live",
        generation=event.generation,
        active_at=event.recorded_at,
        holding=holding,
        term=own.term if goes_on else own.term + 1,
        term_version=own.term_version if goes_on else version,
        restarts=own.restarts + (reason == "instance_restart") if goes_on else 0,
        terminal=None,
        parent=parent,
        grants=grants,
        ended=version if imported else own.ended,
        ended_at=event.recorded_at if imported else own.ended_at,
    )


def _new_grants(
    grants: tuple[str, ...], until: datetime | None
) -> Map[str, datetime | None]:
    rows: Mapping[str, datetime | None] = dict.fromkeys(grants, until)
    return Map(rows)


def _cut(_own: object, own: Ownership, version: int, event: RetirementCut) -> Ownership:
    incarnation = own.holding.incarnation if own.holding else None
    cut = Cut(
        version=version,
        generation=event.generation,
        incarnation=incarnation,
        outcome=event.outcome,
        boundary=event.boundary,
        handover=event.handover,
        agent_id=own.holding.agent_id if own.holding else None,
        author=event.author,
        at=event.recorded_at,
        terminal_status=event.terminal_status,
    )
    retired = own.retired
    if incarnation is not None:
        retired = retired.set(incarnation, version)
    return replace(
        own,
        status="cut",
        cuts=own.cuts.set(version, cut),
        cut=cut,
        ended=version,
        ended_at=cut.at,
        retired=retired,
    )


def _revoke(
    _own: object, own: Ownership, version: int, event: AuthorityRevoked
) -> Ownership:
    grants = own.grants
    for name in event.grants:
        if name in grants:
            grants = grants.delete(name)
    if event.ends_holding:
        return replace(
            own,
            status="revoked",
            ended=version,
            ended_at=event.recorded_at,
            grants=grants,
        )
    return replace(own, grants=grants)


def _end(
    _own: object, own: Ownership, version: int, event: OwnerTerminated
) -> Ownership:
    incarnation = own.holding.incarnation if own.holding else None
    end = Terminal(
        version=version,
        generation=event.generation,
        event_type=event.event_type,
        status=event.terminal_status,
        incarnation=incarnation,
        author=event.author,
        at=event.recorded_at,
    )
    ends = own.ends.set(version, end)
    return replace(
        own, status="terminal", ends=ends, terminal=end, ended=version, ended_at=end.at
    )


def _spawn(
    _own: object, own: Ownership, version: int, event: ChildSpawned
) -> Ownership:
    used = event.agent_id is None
    child = Child(event.child, version, used, event.child_generation)
    return replace(own, children=own.children.set(event.child.stream, child))


def _grant_more(
    _own: object, own: Ownership, _version: int, event: AuthorityGranted
) -> Ownership:
    grants = own.grants.update(dict.fromkeys(event.grants, event.until))
    return replace(own, grants=grants)


def _delete(
    _own: object, own: Ownership, version: int, event: ConversationDeleted
) -> Ownership:
    return replace(own, status="deleted", ended=version, ended_at=event.recorded_at)


RULES: Rules[Ownership] = {
    OwnershipClaimed: Rule(_judge_claim, _claim),
    GenerationAdvanced: Rule(_judge_advance, _advance),
    RetirementCut: Rule(_judge_cut, _cut),
    OwnerTerminated: Rule(_judge_end, _end),
    ChildSpawned: Rule(_judge_spawn, _spawn),
    AuthorityGranted: Rule(always, _grant_more),
    AuthorityRevoked: Rule(_judge_revoke, _revoke),
    ConversationDeleted: Rule(_judge_delete, _delete),
}
