"""A host: it claims, admits, works, saves, retires and succeeds, through failovers.

Each has a session of its own; all of them fight over another. Whatever ended its term,
it goes on trying with the authority that it had.
"""

from __future__ import annotations

from collections.abc import Callable

from asking import Asking
from tenure import (
    Authority,
    Evidence,
    Fault,
    First,
    Ledger,
    OwnerRef,
    RuntimeRestartReactionLoopState,
)

__all__ = ["SHARED", "Ended", "Writer"]

SHARED = OwnerRef("session", "shared")
PAUSE_SECONDS = 0.02


class Writer:
    """One process."""

    def __init__(self, ledger: Ledger, ask: Asking) -> None:
        self.ledger = ledger
        self.ask = ask
        self.name = ask.teller.who
        self.own = OwnerRef("session", self.name)
        self.held: dict[OwnerRef, Authority] = {}
        self.ended: list[Authority] = []
        self.ready: dict[OwnerRef, list[str]] = {}
        """Admitted, or carried over, and not started."""
        self.begun: dict[OwnerRef, list[str]] = {}
        self.number = 0

    def run(self) -> None:
        """Do one thing after another. Raises Stopped."""
        acts = [self.accept, self.admit, self.start, self.settle]
        acts += [self.save, self.change, self.try_again]
        weights = [2, 4, 7, 7, 3, 2, 3]
        while True:
            owner = self.own if self.ask.chance.random() < 0.7 else SHARED
            (act,) = self.ask.chance.choices(acts, weights)
            if owner in self.held or act == self.accept:
                act(owner)
            else:
                self.begin(owner)
            self.ask.pause(PAUSE_SECONDS)

    def key(self) -> str:
        """Return a message id that nobody had before."""
        self.number += 1
        return f"{self.name}.{self.number}"

    def accept(self, _owner: OwnerRef) -> None:
        """Take a person's message in, which the next term of its own finds waiting."""
        key, own = self.key(), self.own
        self.ask(
            "accept",
            own,
            lambda one: self.ledger.accept(own, key, self.name, command_id=one),
        )

    def admit(self, owner: OwnerRef) -> None:
        """Admit one."""
        held, key = self.held[owner], self.key()
        done = self._fenced(
            "admit",
            held,
            lambda one: self.ledger.admit(held, key, "assistant_run", command_id=one),
        )
        if done:
            self.ready.setdefault(owner, []).append(key)

    def start(self, owner: OwnerRef) -> None:
        """Start one that was admitted."""
        held, waiting = self.held[owner], self.ready.get(owner, [])
        if not waiting:
            return
        key = waiting.pop()
        done = self._fenced(
            "start", held, lambda one: self.ledger.start(held, key, command_id=one)
        )
        if done:
            self.begun.setdefault(owner, []).append(key)

    def settle(self, owner: OwnerRef) -> None:
        """Settle one that was started."""
        held, begun = self.held[owner], self.begun.get(owner, [])
        if begun:
            key = begun.pop()
            self._fenced(
                "settle",
                held,
                lambda one: self.ledger.settle(held, key, "completed", command_id=one),
            )

    def save(self, owner: OwnerRef) -> None:
        """Save a checkpoint."""
        held = self.held[owner]
        self.number += 1
        payload = RuntimeRestartReactionLoopState(consecutive_batches=self.number)
        self._fenced(
            "checkpoint",
            held,
            lambda one: self.ledger.save_checkpoint(held, payload, command_id=one),
        )

    def change(self, owner: OwnerRef) -> None:
        """Retire, and succeed at once."""
        held = self.held[owner]
        if self._fenced(
            "retire",
            held,
            lambda one: self.ledger.retire(held, "continue", "go on", command_id=one),
        ):
            self._lost(held)
            self.begin(owner)

    def try_again(self, _owner: OwnerRef) -> None:
        """Act under an authority whose term has ended."""
        if self.ended:
            old, key = self.ask.chance.choice(self.ended), self.key()
            self.ask(
                "ended",
                old.owner,
                lambda one: self.ledger.admit(
                    old, key, "assistant_run", command_id=one
                ),
            )

    def begin(self, owner: OwnerRef) -> None:
        """Get the owner: whichever way there is."""
        try:
            view = self.ledger.owner(owner)
        except Fault:
            return
        agent, first = self.key(), First(self.key(), "continue_relay")
        ledger, name = self.ledger, self.name
        got: Authority | None = None
        if view.status == "cut":
            got = self.ask(
                "succeed",
                owner,
                lambda one: ledger.succeed(
                    owner, agent, name, first=first, command_id=one
                ),
            )
        elif view.status == "live":
            evidence = Evidence.gone(view, "so it seems")
            got = self.ask(
                "take_over",
                owner,
                lambda one: ledger.take_over(
                    owner, agent, name, evidence, first=first, command_id=one
                ),
            )
        else:
            got = self.ask(
                "claim",
                owner,
                lambda one: ledger.claim(
                    owner, agent, name, first=first, command_id=one
                ),
            )
        if got is not None:
            self.held[owner] = got
            self.ready[owner] = list(view.waiting)

    def _fenced(
        self, kind: str, held: Authority, command: Callable[[str], int]
    ) -> bool:
        """Act under an authority; without an answer, see whether it is still live."""
        if self.ask(kind, held.owner, command) is not None:
            return True
        try:
            live = self.ledger.owner(held.owner).incarnation == held.incarnation
        except Fault:
            return False
        if not live:
            self._lost(held)
        return False

    def _lost(self, held: Authority) -> None:
        self.ended = [*self.ended[-7:], held]
        if self.held.get(held.owner) == held:
            del self.held[held.owner]
        self.ready.pop(held.owner, None)
        self.begun.pop(held.owner, None)


class Ended:
    """One process whose authority was succeeded before the first failover.

    It does nothing but try, in a term whose end it never hears of.
    """

    def __init__(self, ledger: Ledger, ask: Asking, authority: Authority) -> None:
        self.ledger = ledger
        self.ask = ask
        self.authority = authority

    def run(self) -> None:
        """Try one thing after another. Raises Stopped."""
        number = 0
        while True:
            number += 1
            tries = self._tries(f"ended.{number}")
            self.ask("ended", self.authority.owner, tries[number % len(tries)])
            self.ask.pause(PAUSE_SECONDS)

    def _tries(self, key: str) -> list[Callable[[str], int]]:
        old, ledger = self.authority, self.ledger
        payload = RuntimeRestartReactionLoopState(consecutive_batches=1)
        return [
            lambda one: ledger.admit(old, key, "human", command_id=one),
            lambda one: ledger.start(old, key, command_id=one),
            lambda one: ledger.save_checkpoint(old, payload, command_id=one),
            lambda one: ledger.retire(old, "continue", "no", command_id=one),
        ]
