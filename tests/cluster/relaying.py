"""One process changes a session; another asks the gate about it all the while.

The first leaves in a file what it was told: whoever reads there that a term was cut, or
that a version is on record, knows what any verdict that is asked for later must know.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from asking import Asking, Stopped
from gate_hunter import judge_again, strips_are_right
from gate_writer import Willing, listed
from gates import S
from tenure import (
    Authority,
    Fault,
    FencedOut,
    First,
    Ledger,
    NarrativeTransform,
    NothingToSay,
    TermRetired,
    Verdict,
    View,
)

__all__ = ["Hunter", "Relayer"]

WRITER_PAUSE_SECONDS = 0.08
HUNTER_PAUSE_SECONDS = 0.03


class Known(NamedTuple):
    """What is on record, acknowledged."""

    version: int = 0
    number: int = 0
    """How many messages there are."""
    held: str | None = None
    """The authority of the term, as JSON; None: it may be cut."""
    ended: str | None = None
    """One whose cut is on record."""

    def tell(self, file: Path) -> None:
        """Leave it for the other."""
        beside = file.with_suffix(".new")
        beside.write_text(json.dumps(self), "utf-8")
        beside.replace(file)

    @classmethod
    def read(cls, file: Path) -> Known:
        """Return what was left last."""
        try:
            return cls(*json.loads(file.read_text("utf-8")))
        except FileNotFoundError:
            return cls()


class Relayer:
    """The process that writes."""

    def __init__(self, ledger: Ledger, ask: Asking, file: Path) -> None:
        self.ledger = ledger
        self.ask = ask
        self.file = file
        self.known = Known()
        self.held: Authority | None = None
        self.terms = 0

    def run(self) -> None:
        """Do one thing after another. Raises Stopped."""
        weights = [6, 3, 4, 3, 2]
        while True:
            kinds = ["admit", "accept", "start", "settle", "retire"]
            (kind,) = self.ask.chance.choices(kinds, weights)
            if self.held is None:
                self.begin()
            else:
                self.act(kind, self.held)
            self.known.tell(self.file)
            self.ask.pause(WRITER_PAUSE_SECONDS)

    def act(self, kind: str, held: Authority) -> None:
        """Do one thing in the term."""
        ledger, key = self.ledger, self.key()
        acts: dict[str, Callable[[str], int]] = {
            "admit": lambda one: ledger.admit(
                held, key, "assistant_run", command_id=one
            ),
            "accept": lambda one: ledger.accept(
                S, key, "inbox", human=True, command_id=one
            ),
            "start": lambda one: ledger.start(held, key, command_id=one),
            "settle": lambda one: ledger.settle(held, key, "completed", command_id=one),
            "retire": lambda one: ledger.retire(
                held, "continue", "go on", command_id=one
            ),
        }
        version = self.ask(kind, S, acts[kind])
        if version is not None:
            self.known = self.known._replace(version=max(self.known.version, version))
        if kind == "retire":
            # Without an answer it may be cut all the same.
            ended = self.known.ended if version is None else held.to_json()
            self.known = self.known._replace(held=None, ended=ended)
            self.held = None

    def begin(self) -> None:
        """Begin the next term, or go on with the one that is there."""
        ledger = self.ledger
        self.terms += 1
        agent, first = f"manager/{self.terms}", First(self.key(new=True), "human")
        way = ledger.succeed if self.known.version else ledger.claim
        held = self.ask(
            "succeed",
            S,
            lambda one: way(S, agent, "host", first=first, command_id=one),
        )
        if held is not None:
            self.held = held
            self.known = self.known._replace(held=held.to_json())

    def key(self, *, new: bool = False) -> str:
        """Return a new key, or one of the last few."""
        number = self.known.number
        if new or self.ask.chance.random() < 0.7:
            self.known = self.known._replace(number=number + 1)
            return f"k{number}"
        return f"k{max(0, number - self.ask.chance.randrange(1, 6))}"


class Hunter:
    """The process that asks; it keeps every verdict, to be judged again."""

    def __init__(self, ledger: Ledger, ask: Asking, file: Path) -> None:
        self.ledger = ledger
        self.ask = ask
        self.file = file
        self.gate = NarrativeTransform(ledger, Willing())
        self.judged: list[Verdict] = []
        self.seen: Counter[str] = Counter()

    def run(self) -> None:
        """Ask, again and again; in the end hold all of it against the log."""
        try:
            while True:
                self.look()
                self.ask.pause(HUNTER_PAUSE_SECONDS)
        except Stopped:
            history = self.ledger.history(S)
            try:
                judge_again(history, self.judged)
                strips_are_right(history)
            except AssertionError as wrong:
                self.ask.teller.say("wrong", what=f"verdicts: {wrong!s:.300}")
            raise

    def look(self) -> None:
        """Ask once, and hold the answer against what was on record before."""
        # Read before the call: what stands here, the call has to know.
        known = Known.read(self.file)
        how = self.ask.chance.choice(["held", "held", "ended", "nobody", "side"])
        given = known.ended if how == "ended" else known.held
        held = None if how == "nobody" or given is None else Authority.from_json(given)
        messages = listed(known.number, self.ask.chance)
        side = how == "side" and held is not None
        if side:
            messages.append({"role": "user", "content": "A title, please."})
        came = "view"
        view: View | None = None
        say = self.ask.teller.say
        say("sent", stream=S.stream, what="look")
        try:
            view = self.gate.apply(S, messages, authority=held, side=side)
        except (TermRetired, FencedOut):
            say("looked", stream=S.stream, what="ended")
            return
        except NothingToSay as nothing:
            came, view = "nothing to say", nothing.view
        except Fault as fault:
            say("looked", stream=S.stream, what=f"fault {type(fault).__name__}")
            return
        say("looked", stream=S.stream, what=came)
        if how == "ended" and held is not None:
            say("wrong", what="a view for a term whose cut was on record")
        verdicts = () if view is None else view.verdicts
        for verdict in verdicts:
            if verdict.journal.version < known.version:
                say(
                    "wrong",
                    what=f"a verdict of version {verdict.journal.version}, and "
                    f"{known.version} was on record",
                )
        self.judged.extend(verdicts)
