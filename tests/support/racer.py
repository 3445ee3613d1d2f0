"""One of several processes that race on the same owners of one ledger.

It does what a careless host would: looks, then acts on what it saw, under names that
others use too. It says what was acknowledged, and what it was refused, line by line.
"""

from __future__ import annotations

import sys
from collections import Counter
from random import Random

from tenure import (
    Authority,
    Evidence,
    First,
    Ledger,
    OwnerRef,
    Refused,
    RuntimeRestartReactionLoopState,
    open_ledger,
)
from witness import Acknowledged

__all__ = ["OWNERS", "race"]

OWNERS = (OwnerRef("session", "s1"), OwnerRef("session", "s2"), OwnerRef("job", "j1"))
AGENTS = tuple(f"agent/{number}" for number in range(5))
THING = OwnerRef("browser", "b1")


def say(line: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Racer:
    """One process: its ledger, the authorities it still believes in, its chances."""

    def __init__(self, ledger: Ledger, name: str, seed: int) -> None:
        self.ledger = ledger
        self.name = name
        self.chance = Random(seed)  # noqa: S311  a test that can be run again
        self.held: list[Authority] = []
        self.keys: dict[OwnerRef, list[str]] = {owner: [] for owner in OWNERS}
        self.count = 0
        self.refused: Counter[str] = Counter()

    def told(self, owner: OwnerRef, version: int, command_id: str) -> None:
        """Say that a command was acknowledged."""
        wrote = any(
            getattr(one.event, "command_id", "") == command_id
            for one in self.ledger.history(owner)[version - 1 : version]
        )
        said = Acknowledged(command_id, owner.stream, version, wrote)
        say(f"ack {said.line()}")

    def granted(self, authority: Authority, command_id: str) -> None:
        """Say that an authority was given, and keep it longer than is wise."""
        versions = [
            one.version
            for one in self.ledger.history(authority.owner)
            if getattr(one.event, "command_id", "") == command_id
            and getattr(one.event, "generation", 0) == authority.generation
            and hasattr(one.event, "process")
        ]
        said = Acknowledged(command_id, authority.owner.stream, versions[0])
        say(f"ack {said.line()}")
        self.held = [*self.held[-3:], authority]

    def step(self) -> None:
        """Do one thing; a refusal is a normal answer."""
        self.count += 1
        command_id = f"{self.name}/{self.count}"
        weights = [8, 6, 4, 10, 8, 8, 5, 3, 3, 2, 2, 2]
        (act,) = self.chance.choices(ACTS, weights)
        try:
            act(self, self.chance.choice(OWNERS), command_id)
        except Refused as refused:
            self.refused[refused.code] += 1

    def mine(self) -> Authority | None:
        """Return an authority of this process, which may have ended long ago."""
        return self.chance.choice(self.held) if self.held else None


def _begin(racer: Racer, owner: OwnerRef, command_id: str) -> None:
    agent, first = racer.chance.choice(AGENTS), None
    if racer.chance.random() < 0.5:
        first = First(f"first/{command_id}", "continue_relay")
    way = racer.ledger.claim
    if racer.ledger.owner(owner).status == "cut":
        way = racer.ledger.succeed
    one = way(owner, agent, racer.name, first=first, command_id=command_id)
    racer.granted(one, command_id)


def _take_over(racer: Racer, owner: OwnerRef, command_id: str) -> None:
    evidence = Evidence.gone(racer.ledger.owner(owner), "so it seems")
    agent = racer.chance.choice(AGENTS)
    one = racer.ledger.take_over(
        owner, agent, racer.name, evidence, command_id=command_id
    )
    racer.granted(one, command_id)


def _renew(racer: Racer, _: OwnerRef, command_id: str) -> None:
    mine = racer.mine()
    if mine is not None:
        reason = racer.chance.choice(["lease_renewal", "migration"])
        one = racer.ledger.advance(
            mine,
            "migration" if reason == "migration" else "lease_renewal",
            lease_seconds=60,
            command_id=command_id,
        )
        racer.granted(one, command_id)


def _accept(racer: Racer, owner: OwnerRef, command_id: str) -> None:
    key = f"m/{command_id}"
    at = racer.ledger.accept(owner, key, racer.name, command_id=command_id)
    racer.keys[owner].append(key)
    racer.told(owner, at, command_id)


def _admit(racer: Racer, _: OwnerRef, command_id: str) -> None:
    mine = racer.mine()
    if mine is not None:
        known = racer.keys.get(mine.owner, [])
        key = racer.chance.choice([*known[-3:], f"a/{command_id}"])
        origin = "human" if racer.chance.random() < 0.5 else "assistant_run"
        at = racer.ledger.admit(
            mine,
            key,
            "human" if origin == "human" else "assistant_run",
            command_id=command_id,
        )
        if key not in known:
            racer.keys[mine.owner].append(key)
        racer.told(mine.owner, at, command_id)


def _work(racer: Racer, _: OwnerRef, command_id: str) -> None:
    mine = racer.mine()
    if mine is not None and racer.keys.get(mine.owner):
        opened = [one.key for one in racer.ledger.owner(mine.owner).open_executions]
        key = racer.chance.choice(opened or racer.keys[mine.owner][-4:])
        at = racer.ledger.start(mine, key, command_id=command_id)
        racer.told(mine.owner, at, command_id)


def _settle(racer: Racer, _: OwnerRef, command_id: str) -> None:
    mine = racer.mine()
    if mine is not None and racer.keys.get(mine.owner):
        key = racer.chance.choice(racer.keys[mine.owner][-4:])
        at = racer.ledger.settle(mine, key, "completed", command_id=command_id)
        racer.told(mine.owner, at, command_id)


def _save(racer: Racer, _: OwnerRef, command_id: str) -> None:
    mine = racer.mine()
    if mine is not None:
        payload = RuntimeRestartReactionLoopState(consecutive_batches=racer.count)
        at = racer.ledger.save_checkpoint(mine, payload, command_id=command_id)
        racer.told(mine.owner, at, command_id)


def _retire(racer: Racer, _: OwnerRef, command_id: str) -> None:
    mine = racer.mine()
    if mine is not None:
        at = racer.ledger.retire(mine, "continue", "go on", command_id=command_id)
        racer.told(mine.owner, at, command_id)


def _terminate(racer: Racer, _: OwnerRef, command_id: str) -> None:
    mine = racer.mine()
    if mine is not None and mine.owner.recovery_class == "job":
        at = racer.ledger.terminate(mine, "done", "done", command_id=command_id)
        racer.told(mine.owner, at, command_id)


def _use(racer: Racer, _: OwnerRef, command_id: str) -> None:
    mine = racer.mine()
    if mine is not None:
        racer.ledger.spawn(mine, THING, author=racer.name, command_id=command_id)


def _cancel(racer: Racer, owner: OwnerRef, command_id: str) -> None:
    at = racer.ledger.bar_replay(
        owner, "user_cancelled", racer.name, command_id=command_id
    )
    racer.told(owner, at, command_id)


ACTS = (
    _begin,
    _take_over,
    _renew,
    _accept,
    _admit,
    _work,
    _settle,
    _save,
    _retire,
    _terminate,
    _use,
    _cancel,
)


def race(url: str, name: str, steps: int) -> None:
    """Take this many steps in the ledger at ``url``, then say what was refused."""
    with open_ledger(url, process=name) as ledger:
        racer = Racer(ledger, name, seed=hash_of(name))
        for _ in range(steps):
            racer.step()
    for code, count in racer.refused.items():
        say(f"refused {code} {count}")


def hash_of(name: str) -> int:
    """Return a number for a name, the same in every process."""
    return int.from_bytes(name.encode(), "big")
