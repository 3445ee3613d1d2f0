"""Long histories in which every kind of event occurs: lives of sessions, one by one."""

from __future__ import annotations

from random import Random
from typing import Literal

from projected import mend
from tenure import (
    Authority,
    Evidence,
    First,
    OwnerRef,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
    arguments_digest,
)
from tenure_ledger import events as e
from worlds import World

__all__ = ["Lives"]

OUTCOMES: tuple[Literal["completed", "failed"], ...] = ("completed", "failed")
TOOLS = ("shell", "search", "pay")
LOOP = RuntimeRestartReactionLoopState(consecutive_batches=2)
QUEUE = RuntimeRestartQueuedSubmission(submission_key="m 1")


class Lives:
    """Writes one session's life after another, the same ones for the same seed.

    ``imports``: also what no command of this release writes, through the recorder.
    """

    def __init__(self, world: World, seed: int = 0, *, imports: bool = True) -> None:
        self.world = world
        self.imports = imports
        self.random = Random(seed)  # noqa: S311  a history, not a secret
        self.number = 0

    def write(self, events_min: int) -> None:
        """Write lives until the ledger has that many events."""
        while self.world.ledger.head().count < events_min:
            self.life()

    def life(self) -> None:
        """Write one life: terms, work, children, a restart, an import, an end."""
        self.number += 1
        session = OwnerRef("session", f"ses {self.number} 会话")
        one = self._term(session, 1)
        self._children(one)
        self._effects(one, "m 1")
        self._queue(session, one)
        self._retire(one)
        two = self.world.ledger.succeed(
            session,
            self._agent(2),
            "host",
            first=First("next 2", "continue_relay"),
            lease_seconds=60,
        )
        self._restart(session, two)
        self._end(session)
        if self.imports:
            self._imported()

    def _append(self, owner: OwnerRef, *events: e.Event) -> None:
        """Append what no command of these lives writes, and its rows beside it."""
        if self.imports:
            self.world.append(owner, *events)
            mend(self.world.store(), owner.stream)

    def _agent(self, term: int) -> str:
        return f"manager/{self.number}/{term}"

    def _term(self, session: OwnerRef, term: int) -> Authority:
        ledger, world = self.world.ledger, self.world
        held = ledger.claim(
            session, self._agent(term), "host", first=First("m 1", "human", "Ana", "d1")
        )
        for number in range(2, 4 + self.random.randrange(8)):
            world.pass_seconds(self.random.choice((0, 0.25, 3, 3, -2)))
            key = f"m {number}"
            ledger.accept(session, key, "inbox", "Ana", f"d{number}", human=True)
            absorbed = [f"q {number}"] if number % 3 == 0 else []
            ledger.admit(held, key, "human", absorbed=absorbed)
            ledger.start(held, key)
            ledger.mark_output_started(held, key)
            ledger.settle(held, key, self.random.choice(OUTCOMES))
        ledger.start(held, "m 1")
        ledger.history_rewritten(held, 1, "m 2", "seq 1", {"kept": ["m 2"]})
        return held

    def _children(self, held: Authority) -> None:
        ledger = self.world.ledger
        kid = OwnerRef("subagent", f"kid {self.number}")
        child = ledger.spawn(
            held, kid, f"kid/{self.number}", grants=["read"], author="host"
        )
        tab = OwnerRef("browser", f"tab {self.number}")
        ledger.spawn(held, tab, None, author="host")
        ledger.grant(held, kid, ["write", "pay"])
        ledger.revoke(held, kid, ["pay"])
        ledger.admit(child, "k 1", "assistant_run")
        ledger.start(child, "k 1")
        if self.number % 2:
            ledger.settle(child, "k 1", "completed")
            ledger.terminate(child, "done", "It found the file.")

    def _effects(self, held: Authority, key: str) -> None:
        ledger, world = self.world.ledger, self.world
        for number, tool in enumerate(TOOLS):
            call, arguments = f"c {number}", {"run": [tool, number], "for": "Ana"}
            ledger.intend_tool_call(held, key, call, tool, arguments)
            asked = ledger.request_approval(
                held, call, tool, arguments_digest(arguments), "policy 1", 30
            )
            if number == 2:
                world.pass_seconds(31)
            decided = ledger.decide_approval(
                held.owner, asked.request_id, "approved", "Ana"
            )
            if decided.decision == "approved":
                ledger.begin_tool_call(
                    held, key, call, tool, arguments, asked.request_id
                )
            if number == 0:
                ledger.complete_tool_call(held, (key, call), {"found": "a.txt"})
        ledger.request_approval(held, "c 9", "pay", arguments_digest({}), "policy 1")

    def _queue(self, session: OwnerRef, held: Authority) -> None:
        ledger = self.world.ledger
        ledger.save_checkpoint(held, LOOP, {"model": "large"})
        ledger.save_checkpoint(held, QUEUE)
        ledger.clear_checkpoint(held)
        ledger.save_checkpoint(held, LOOP, {"model": "large"})
        ledger.accept(session, "late 1", "inbox", "Bo", human=True)
        ledger.admit(held, "late 2", "human")
        ledger.bar_replay(session, "user_cancelled", "Ana", ["late 2"])

    def _retire(self, held: Authority) -> None:
        ledger, session = self.world.ledger, held.owner
        ledger.retire(held, "continue", "Done: A. Next: B.", "m 3")
        # What a gate writes: no command for it yet.
        cut = len(ledger.history(session))
        self._append(
            session,
            e.StaleRequestStripped(
                author="gate",
                generation=1,
                key="ghost 1",
                verdict="stale_unadmitted",
                cut=cut,
                interrupt_id="i 1",
            ),
            e.VerdictGiven(
                author="gate", generation=1, key="ghost 1", verdict="stale", cut=cut
            ),
        )
        if self.imports:
            ledger.settle_interrupt(session, "i 1", "no_active_execution", "host")
        ledger.late_result(session, "tool", ("m 1", "c 1"), {"found": "late"})

    def _restart(self, session: OwnerRef, held: Authority) -> None:
        ledger = self.world.ledger
        held = ledger.advance(held, "lease_renewal", lease_seconds=60)
        ledger.start(held, "next 2")
        ledger.save_checkpoint(held, QUEUE, keys=["next 2"])
        gone = Evidence.gone(ledger.owner(session), "its process is not there")
        agent = self._agent(2) if self.number % 3 else self._agent(3)
        three = ledger.take_over(session, agent, "host", gone)
        self._append(
            session,
            e.RecoveryDecided(
                author="recovery", generation=three.generation, disposition="resumed"
            ),
        )
        notices = ledger.pending_notices(session)
        ledger.admit(three, "after 1", "human")
        self._append(
            session,
            *(
                e.NoticeDelivered(
                    author="gate",
                    generation=three.generation,
                    notice=notice.notice,
                    key="after 1",
                )
                for notice in notices
            ),
        )
        ledger.start(three, "after 1")
        ledger.settle(three, "after 1", "completed")

    def _end(self, session: OwnerRef) -> None:
        ledger = self.world.ledger
        if self.number % 4 == 0:
            ledger.delete_conversation(session, "Ana")
            self._append(
                session, e.BodiesErased(author="Ana", generation=3, reason="asked")
            )

    def _imported(self) -> None:
        """Write what only an import can hold; a person resolves every other one."""
        world = self.world
        owner = OwnerRef("job", f"job {self.number}")
        first, second = f"cron/{self.number}/1", f"cron/{self.number}/2"
        self._append(
            owner,
            e.OwnershipClaimed(author="import", generation=1, agent_id=first),
            e.OwnershipClaimed(author="import", generation=1, agent_id=second),
            e.SubmissionAccepted(author="import", generation=1, key="j 1"),
        )
        if self.number % 2:
            world.ledger.resolve_quarantine(owner, 1 + self.number % 4 // 2, "Ana")
        if self.number % 5 == 0:
            world.append_unknown(owner, ignorable=True)
            mend(world.store(), owner.stream)
