"""What must always hold, checked from the log alone (design section 10, I1 to I6).

A `LogChecker` is fed every recorded event in the order of the ledger, and knows nothing
but what the events say. Owners are judged whenever a command is complete.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tenure import Event, OwnerRef, Recorded
from tenure_ledger import events as e

__all__ = ["LogChecker"]

MUST_BE_FENCED = (
    e.ChildSpawned,
    e.ExecutionAdmitted,
    e.ExecutionStarted,
    e.HistoryRewritten,
    e.CheckpointSaved,
    e.OutputStarted,
    e.ApprovalRequested,
    e.ApprovalConsumed,
    e.ToolCallIntended,
    e.ToolCallDispatched,
    e.ToolCallCompleted,
)
"""What acts: none of these is ever written without a live holding."""
FIRST_IS_FINAL = (
    e.SubmissionAccepted,
    e.ExecutionStarted,
    e.ExecutionSettled,
    e.StaleRequestStripped,
    e.LateResult,
    e.InterruptSettled,
    e.OutputStarted,
    e.ApprovalRequested,
    e.ApprovalDecided,
    e.ApprovalConsumed,
    e.ApprovalClosed,
    e.ToolCallIntended,
    e.ToolCallDispatched,
    e.ToolCallCompleted,
    e.ToolCallClosed,
)
IDS = ("key", "call_id", "request_id", "interrupt_id")


@dataclass
class Stream:
    """What the log says of one owner."""

    generation: int = 0
    live: bool = False
    agent: str | None = None
    gone: bool = False
    term: int = 0
    begun: bool = False
    """A term began in the command that is being read."""
    holding: str | None = None
    under: tuple[str, str | None] | None = None
    """Of a used thing: its parent's stream, and the parent's holding at its grant."""
    parent: str | None = None
    accepted: dict[str, int] = field(default_factory=dict[str, int])
    """Message -> version."""
    carried: int = 0
    """The acceptance that this command carried over last."""
    admitted: dict[str, int] = field(default_factory=dict[str, int])
    absorbed: dict[str, str] = field(default_factory=dict[str, str])
    started: set[str] = field(default_factory=set[str])
    closed: set[str] = field(default_factory=set[str])
    revision: int | None = None
    """Of the live checkpoint."""
    seen: Counter[tuple[str, ...]] = field(default_factory=Counter[tuple[str, ...]])

    def end(self) -> None:
        """End the term: an absorption by what was only admitted ends with it."""
        self.live = False
        ended = {k: lead for k, lead in self.absorbed.items() if lead in self.accepted}
        self.absorbed = ended

    def shared(self, key: str) -> set[str]:
        """Return the message and what it absorbed in its admission."""
        inner = {k for k, lead in self.absorbed.items() if lead == key}
        return {key, *(k for k in inner if k not in self.closed)}


class LogChecker:
    """Walks the log once; an assertion fails at the first thing that must not be."""

    def __init__(self) -> None:
        self.position = 0
        self.streams: dict[str, Stream] = {}
        self.versions: Counter[str] = Counter()
        self.agents: dict[str, str | None] = {}
        self._touched: set[str] = set()

    def feed(self, recorded: Recorded) -> None:
        """Check the next event, and after the last of a command every owner."""
        assert recorded.position > self.position
        self.position = recorded.position
        self.versions[recorded.stream] += 1
        assert recorded.version == self.versions[recorded.stream], recorded
        event = recorded.event
        assert isinstance(event, Event)
        if recorded.stream.startswith("agent:"):
            self._bind(recorded.stream, event)
        else:
            own = self.streams.setdefault(recorded.stream, Stream())
            self._fence(own, event)
            self._own(recorded.stream, own, event)
            self._message(own, recorded.version, event)
        self._touched.add(recorded.stream)
        if event.index + 1 == event.count:
            self._settled()

    def _bind(self, stream: str, event: Event) -> None:
        """I6: at most one owner for each agent, released before it is bound."""
        before = self.agents.get(stream)
        match event:
            case e.AgentBound():
                assert before is None, (stream, before)
                self.agents[stream] = event.owner.stream
            case e.AgentReleased():
                assert before == event.owner.stream, (stream, before)
                self.agents[stream] = None
            case _:
                raise AssertionError(event)

    def _fence(self, own: Stream, event: Event) -> None:
        """I3: nothing that acts, and nothing fenced, outside of the live holding."""
        assert not own.gone or isinstance(event, e.BodiesErased), event
        if isinstance(event, MUST_BE_FENCED):
            assert event.fenced, event
        if event.fenced and not isinstance(event, e.GenerationAdvanced):
            assert own.live, event
            assert event.generation == own.generation, event
        if isinstance(event, FIRST_IS_FINAL):
            ids = [str(getattr(event, name)) for name in IDS if hasattr(event, name)]
            own.seen[event.topic, *ids] += 1
            assert own.seen[event.topic, *ids] == 1, event  # I5

    def _own(self, stream: str, own: Stream, event: Event) -> None:
        match event:
            case e.OwnershipClaimed() | e.GenerationAdvanced():
                self._grant(own, event)
            case e.RetirementCut():
                again = event.outcome == "forced"
                assert own.live or again, event
                assert event.generation == own.generation
                own.end()
            case e.OwnerTerminated():
                assert own.live, event  # I5: one for each generation
                own.end()
            case e.AuthorityRevoked(ends_holding=True):
                assert own.live, event
                own.end()
            case e.ConversationDeleted():
                own.live, own.gone = False, True
            case e.CheckpointSaved():
                assert own.revision is None or event.revision > own.revision, event
                own.revision = event.revision
            case e.CheckpointCleared():
                assert event.revision == own.revision, event
                own.revision = None
            case e.ChildSpawned():
                child = self.streams.setdefault(event.child.stream, Stream())
                child.parent = stream
            case _:
                pass

    def _grant(
        self, own: Stream, event: e.OwnershipClaimed | e.GenerationAdvanced
    ) -> None:
        """I1 and I2: by exactly one, and never beside a live holding.

        From the floor on that a restored backup was given.
        """
        imported = isinstance(event, e.OwnershipClaimed) and event.generation == 0
        assert event.floor == 0 or event.floor > own.generation, event
        before = max(own.generation, event.floor)
        assert event.generation == before + (not imported), event
        own.generation = event.generation
        reason = event.reason if isinstance(event, e.GenerationAdvanced) else "claimed"
        if own.live:
            assert reason in {"lease_renewal", "instance_restart", "migration"}, event
            assert event.agent_id == own.agent, event
        else:
            assert reason not in {"lease_renewal", "instance_restart"}, event
            own.term += 1
            own.begun = not imported
        if reason != "lease_renewal":
            own.holding = event.event_id
            above = self.streams[own.parent].holding if own.parent else None
            used = own.parent is not None and event.agent_id is None
            own.under = (own.parent or "", above) if used else None
        own.live, own.agent = not imported, event.agent_id

    def _message(self, own: Stream, version: int, event: Event) -> None:
        match event:
            case e.SubmissionAccepted():
                assert event.key not in own.closed, event
                own.accepted[event.key] = version
            case e.ExecutionAdmitted():
                # What waits is carried over in the order in which it was accepted.
                if event.carried_from is not None:
                    assert event.carried_from == own.accepted[event.key], event
                    assert event.carried_from > own.carried, event
                    own.carried = event.carried_from
                for key in (event.key, *event.absorbed):
                    assert key not in own.started | own.closed, event
                    own.admitted[key] = own.term
                    own.absorbed.pop(key, None)
                own.absorbed |= dict.fromkeys(event.absorbed, event.key)
            case e.ExecutionStarted():
                assert own.admitted[event.key] == own.term, event
                own.started |= own.shared(event.key)
            case e.ExecutionSettled():
                assert event.key not in own.closed, event
                own.closed |= own.shared(event.key)
            case e.StaleRequestStripped():
                assert own.live, event
                assert own.admitted.get(event.key) != own.term, event
                assert event.key not in own.accepted, event  # I4
                own.closed.add(event.key)
            case _:
                pass

    def _settled(self) -> None:
        """After a whole command: I4 and I6."""
        for stream in self._touched:
            own = self.streams.get(stream)
            if own is None or stream.startswith("agent:"):
                continue
            agent = f"agent:{own.agent}"
            if own.agent is not None:
                assert (self.agents.get(agent) == stream) == own.live, stream
            assert own.live or own.revision is None, stream
            for key in own.accepted.keys() - own.closed:
                here = own.live and own.admitted.get(key) == own.term
                assert here or key not in own.started, (stream, key)
                assert here or not own.begun, (stream, key)
            own.begun, own.carried = False, 0
        for one in self.streams.values():
            if one.live and one.under is not None:
                above = self.streams[one.under[0]]
                assert above.live, one
                assert above.holding == one.under[1], one
        self._touched.clear()

    def bound(self, ref: OwnerRef) -> list[str]:
        """Return the agents that the log says hold this owner."""
        return [agent for agent, to in self.agents.items() if to == ref.stream]
