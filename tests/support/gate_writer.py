"""A process that changes a session all the time, while another one judges it.

It begins terms, admits, accepts, starts, settles, cuts, and strips through its own
gate, and keeps what the hunter needs in files beside the ledger: the authority it got
last, and the keys it has used so far.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

from gates import Message, S, user
from tenure import (
    Authority,
    First,
    Interrupted,
    InterruptTarget,
    Ledger,
    NarrativeTransform,
    Refused,
    open_ledger,
)

__all__ = ["Willing", "latest", "listed", "write"]


class Willing:
    """A guard that stops whatever it is asked to."""

    def interrupt(self, _target: InterruptTarget) -> Interrupted:
        """Say that it stopped."""
        return Interrupted()


def listed(count: int, random: Random) -> list[Message]:
    """A list of a host that knows this many keys: a part of them, in some order."""
    keys = [f"k{number}" for number in range(max(0, count - 12), count + 2)]
    random.shuffle(keys)
    return [user(key) for key in keys[: random.randrange(2, len(keys) + 1)]]


def latest(path: str) -> tuple[Authority | None, int]:
    """What the writer left: its authority, and how many keys it has used."""
    try:
        held, number = Path(f"{path}.held").read_text("utf-8").splitlines()
    except (FileNotFoundError, ValueError):
        return None, 0
    return Authority.from_json(held), int(number)


class Writer:
    """One process; ``held`` is what it was given last, live or not."""

    def __init__(self, ledger: Ledger, path: str, seed: int) -> None:
        self.ledger = ledger
        self.path = path
        self.random = Random(seed)  # noqa: S311  a test that can be run again
        self.gate = NarrativeTransform(ledger, Willing())
        self.held = ledger.claim(S, "manager/0", "host")
        self.term = 0
        self.number = 0
        self.tell()

    def tell(self) -> None:
        """Leave what is so for the hunter, at once."""
        beside = Path(f"{self.path}.new")
        beside.write_text(f"{self.held.to_json()}\n{self.number}\n", "utf-8")
        beside.replace(f"{self.path}.held")

    def key(self) -> str:
        """Return a new key, or one of the last few."""
        if self.random.random() < 0.7:
            self.number += 1
            return f"k{self.number - 1}"
        return f"k{max(0, self.number - self.random.randrange(1, 6))}"

    def step(self) -> None:
        """Do one thing; a refusal is a normal answer."""
        weights = [6, 3, 4, 3, 2, 6]
        acts = [
            self.admit,
            self.accept,
            self.start,
            self.settle,
            self.relay,
            self.project,
        ]
        (act,) = self.random.choices(acts, weights)
        try:
            act()
        except Refused:
            return
        self.tell()

    def admit(self) -> None:
        """Admit a key, which the hunter may have seen already."""
        self.ledger.admit(self.held, self.key(), "assistant_run")

    def accept(self) -> None:
        """Accept one."""
        self.ledger.accept(S, self.key(), "inbox", human=True)

    def start(self) -> None:
        """Start one."""
        self.ledger.start(self.held, self.key())

    def settle(self) -> None:
        """Settle one."""
        self.ledger.settle(self.held, self.key(), "completed")

    def relay(self) -> None:
        """Cut the term and begin the next one."""
        self.ledger.retire(self.held, "continue", "go on")
        self.term += 1
        first = First(self.key(), "continue_relay")
        agent = f"manager/{self.term}"
        try:
            self.held = self.ledger.succeed(S, agent, "host", first=first)
        except Refused:
            self.held = self.ledger.succeed(S, agent, "host")

    def project(self) -> None:
        """Strip what is left over, as this process sees it."""
        messages = listed(self.number, self.random)
        self.gate.apply(S, messages, authority=self.held)


def write(path: str, seed: int, steps: int) -> None:
    """Take this many steps in the ledger at ``path``."""
    with open_ledger(f"sqlite:///{path}", process=f"writer {seed}") as ledger:
        writer = Writer(ledger, path, seed)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        for _ in range(steps):
            writer.step()
