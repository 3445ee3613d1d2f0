"""The state of one stream, and its fold: total over every stored history.

A duplicate changes nothing. A contradiction stops the fold of that one stream before
it: the stream is quarantined, both positions are kept, and what follows is held until
`QuarantineResolved` says which of the two stands (design section 5, rule 4). An unknown
event that is not ignorable makes the stream too new for this version (section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from immutables import Map
from msgspec.structs import replace

from tenure_ledger import events as e
from tenure_ledger.codec import EVENTS
from tenure_ledger.folds import (
    admitting,
    agents,
    approvals,
    calls,
    effects,
    executions,
    notices,
    ownership,
    owning,
    progress,
    recovery,
    relay,
)
from tenure_ledger.folds.judgement import APPLY, DUPLICATE, Judgement, Rule, Value
from tenure_ledger.rows import GENESIS

__all__ = ["Quarantine", "State", "apply", "evolve", "fold", "follow", "judge"]


class Quarantine(Value, frozen=True):
    """Two stored events that contradict each other."""

    version: int
    """Version of the later one, before which the fold stopped."""
    against: int
    """Version of the earlier one; 0: nothing on record allows the later one."""
    event: e.Event
    held: Map[int, e.Event] = Map()
    """What was stored after it, by version."""


class State(Value, frozen=True):
    """All that decisions read of one stream."""

    stream: str
    version: int = 0
    hash: bytes = GENESIS
    active: int = 0
    """Version of the latest event that the live holding wrote: proof of life."""
    active_at: datetime | None = None
    """When it wrote that one."""
    too_new: int = 0
    """Version of the first event that this version does not know; 0: none."""
    quarantine: Quarantine | None = None
    ownership: ownership.Ownership = ownership.Ownership()
    executions: executions.Executions = executions.Executions()
    recovery: recovery.Recovery = recovery.Recovery()
    effects: effects.Effects = effects.Effects()
    notices: notices.Notices = notices.Notices()
    relay: relay.Relay = relay.Relay()
    agent: agents.Binding = agents.Binding()


def fold(stream: str, history: Iterable[e.Recorded]) -> State:
    """Return the state after the stream's whole history."""
    state = State(stream)
    for recorded in history:
        state = evolve(state, recorded)
    return state


_PARTS: Mapping[str, Mapping[type[e.Event], Rule[Any]]] = {
    # First: what the other parts do with an event may depend on who holds after it.
    "ownership": owning.RULES,
    "executions": {**admitting.RULES, **progress.RULES},
    "recovery": recovery.RULES,
    "effects": {**calls.RULES, **approvals.RULES},
    "notices": notices.RULES,
    "relay": relay.RULES,
    "agent": agents.RULES,
}


_Judge = Callable[[ownership.Ownership, Any, Any], Judgement]
_Apply = Callable[[ownership.Ownership, Any, int, Any], Any]
_Routes = tuple[tuple[str, _Judge, _Apply], ...]


def _routes(kind: type[e.Event]) -> _Routes:
    return tuple(
        (part, rules[kind].judge, rules[kind].apply)
        for part, rules in _PARTS.items()
        if kind in rules
    )


_UNASKED: frozenset[str] = frozenset(
    kind.model_fields["topic"].default
    for kind in (e.GenerationAdvanced, e.QuarantineResolved)
)
"""Topics of which the fold does not ask whether the holding is live."""
_ROUTES = {topic: _routes(kind) for topic, kind in EVENTS.items()}
"""By topic the parts that an event touches, so that it costs only those."""
_PLAIN = {
    topic: routes
    for topic, routes in _ROUTES.items()
    if "ownership" not in {part for part, _, _ in routes}
}
"""Those that change no ownership: each part can be judged and applied in one go."""


def evolve(state: State, recorded: e.Recorded) -> State:
    """Return the state after the next stored event; never raises."""
    return follow(state, recorded.version, recorded.hash, recorded.event)


def follow(
    state: State, version: int, hashed: bytes, event: e.Event | e.Unknown
) -> State:
    """Return the state after the next stored event; never raises."""
    routes = _PLAIN.get(event.topic)
    frozen = state.quarantine is not None or state.too_new
    if routes is not None and not frozen and not isinstance(event, e.Unknown):
        after = _at_once(state, version, hashed, event, routes)
        if after is not None:
            return after
    if state.too_new:
        return replace(state, version=version, hash=hashed)
    if isinstance(event, e.Unknown):
        too_new = 0 if event.ignorable else version
        return replace(state, version=version, hash=hashed, too_new=too_new)
    stopped = state.quarantine
    if stopped is not None:
        state = replace(state, version=version, hash=hashed)
        return _quarantined(state, stopped, version, event)
    return _step(state, version, event, {"version": version, "hash": hashed})


def _at_once(
    state: State, version: int, hashed: bytes, event: e.Event, routes: _Routes
) -> State | None:
    """Return the state after an event that simply applies; None for all others.

    What `_step` does, in one pass: most of a long stream is read through here.
    """
    own = state.ownership
    changes: dict[str, Any] = {}
    for part, judge_part, apply_part in routes:
        before = getattr(state, part)
        if judge_part(own, before, event) != APPLY:
            return None
        changes[part] = apply_part(own, before, version, event)
    if event.fenced:
        if not (own.running and event.generation == own.generation):
            return None
        changes["active_at"] = event.recorded_at
        return replace(state, version=version, hash=hashed, active=version, **changes)
    return replace(state, version=version, hash=hashed, **changes)


def _step(state: State, version: int, event: e.Event, changes: dict[str, Any]) -> State:
    """Judge and apply the event; ``changes`` come on top, whatever the verdict is."""
    verdict = judge(state, event)
    if verdict == APPLY:
        return _applied(state, version, event, changes)
    if verdict != DUPLICATE:
        changes["quarantine"] = Quarantine(version, verdict, event)
    return replace(state, **changes)


def _quarantined(
    state: State, stopped: Quarantine, version: int, event: e.Event
) -> State:
    match event:
        case e.QuarantineResolved():
            return _resolve(state, stopped, keep=event.keep)
        case e.ConversationDeleted():
            return apply(replace(state, quarantine=None), version, event)
        case e.SubmissionAccepted() if judge(state, event) == APPLY:
            return apply(state, version, event)
        case _:
            held = stopped.held.set(version, event)
            return replace(state, quarantine=replace(stopped, held=held))


def _resolve(state: State, stopped: Quarantine, *, keep: int) -> State:
    """Go on with the earlier event standing, or with the later one taken as true."""
    state = replace(state, quarantine=None)
    if keep == stopped.version:
        state = apply(state, stopped.version, stopped.event)
    for version, event in sorted(stopped.held.items()):
        if state.quarantine is None:
            state = _step(state, version, event, {})
        else:
            state = _quarantined(state, state.quarantine, version, event)
    return state


def judge(state: State, event: e.Event) -> Judgement:
    """Say what the event is to this state (module `judgement`)."""
    own = state.ownership
    verdict = APPLY
    for part, judge_part, _ in _ROUTES.get(event.topic, ()):
        said = judge_part(own, getattr(state, part), event)
        verdict = max(verdict, said)
    # A cut said twice is fenced, and yet the same cut.
    fenced = event.fenced and event.topic not in _UNASKED and verdict != DUPLICATE
    if fenced and not (own.running and event.generation == own.generation):
        return own.latest
    return verdict


def apply(state: State, version: int, event: e.Event) -> State:
    """Return the state with the event taken as true."""
    return _applied(state, version, event, {})


def _applied(
    state: State, version: int, event: e.Event, changes: dict[str, Any]
) -> State:
    own = state.ownership
    if event.fenced:
        changes["active"] = version
        changes["active_at"] = event.recorded_at
    for part, _, apply_part in _ROUTES.get(event.topic, ()):
        changed = apply_part(own, getattr(state, part), version, event)
        if part == "ownership":
            own = changed
        changes[part] = changed
    return replace(state, **changes)
