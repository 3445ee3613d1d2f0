"""Verdicts: what one request of a list is, on what evidence, in plain words.

A verdict is light: it points at what it was judged by, and makes evidence and words
only when they are asked for. Source of the names: design section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from tenure_gate.journal import JournalSnapshot
from tenure_ledger.folds.executions import Execution

__all__ = [
    "ANSWERED",
    "PASSES",
    "STALE",
    "ListFacts",
    "RequestFacts",
    "Verdict",
    "VerdictName",
]

VerdictName = Literal[
    "queued",
    "current",
    "successor",
    "unadmitted_human",
    "not_admitted",
    "history",
    "stale_admitted",
    "stale_unadmitted",
    "missing_physical_id",
]
"""In the order of the table, whose first row that holds decides."""

ANSWERED: frozenset[VerdictName] = frozenset({"current", "successor"})
"""What a model may be called for."""
PASSES: frozenset[VerdictName] = frozenset({*ANSWERED, "history"})
"""What the model may see; a hand-over may stand for history."""
STALE: frozenset[VerdictName] = frozenset({"stale_admitted", "stale_unadmitted"})
"""Leftovers: stripped, and interrupted, once."""


class RequestFacts(Struct, frozen=True, gc=False):
    """What the host's list says of one request."""

    key: str | None
    """The message id; None: the host has none."""
    answered: bool
    """An answer hangs on it in this list."""
    human: bool
    """The host vouches that a person sent it."""
    place: int
    """Among the requests of the list, from 0; an *index* is a message's."""
    acting: bool
    """It is the acting request, or part of the same execution."""


class ListFacts(Struct, frozen=True, gc=False):
    """What the list as a whole says, by places of requests, from 0."""

    boundary: int | None
    """Requests with a lower place are at or before the boundary of the term that ended
    last; None: no term has ended."""
    first_known: int | None
    """The first request that the ledger knows; None: it knows none."""


class Verdict(Struct, frozen=True, gc=False, eq=False):
    """What one request is. Two verdicts are equal when name, key and evidence are."""

    name: VerdictName
    request: RequestFacts
    known: Execution | None
    """What the ledger knows of it."""
    journal: JournalSnapshot
    list_facts: ListFacts

    @property
    def key(self) -> str | None:
        """The request's message id."""
        return self.request.key

    @property
    def passes(self) -> bool:
        """Say whether the model may see it."""
        return self.name in PASSES

    @property
    def recorded(self) -> bool:
        """Say whether it is a strip on record: nothing is left to write."""
        return self.known is not None and self.known.stripped > 0

    @property
    def evidence(self) -> Mapping[str, int | str | bool | None]:
        """What decided: versions in the owner's stream (0: not), generations, places.

        The same on every store.
        """
        known, cut, request = self.known, self.journal.cut, self.request
        return {
            "version": self.journal.version,
            "generation": self.journal.generation,
            "cut": self.journal.cut_version,
            "cut_generation": cut.generation if cut else 0,
            "ended": self.journal.ended,
            "accepted": known.accepted if known else 0,
            "admitted": known.admitted if known else 0,
            "admitted_generation": known.generation if known else 0,
            "started": known.started if known else 0,
            "settled": known.settled if known else 0,
            "outcome": known.outcome if known else None,
            "stripped": known.stripped if known else 0,
            "place": request.place,
            "boundary": self.list_facts.boundary,
            "first_known": self.list_facts.first_known,
            "answered": request.answered,
            "human": request.human,
            "acting": request.acting,
        }

    def explain(self) -> str:
        """Say in plain words what it is and why."""
        known = self.known
        if known is not None and known.stripped:
            why = "it was left over by a term that ended"
            if self.name == "stale_unadmitted":
                why = "nothing had admitted it, and nobody vouched for a person"
            return (
                f"{known.key} was stripped as {self.name} at version {known.stripped}: "
                f"{why}. It stays out for ever; what a person wants to say comes under "
                "a new id, accepted or marked as human"
            )
        if known is None:
            return self._unknown()
        return self._known(known)

    def _known(self, known: Execution) -> str:
        cut = self.journal.cut
        ended = self.journal.ended
        key, admitted = known.key, known.admitted
        to = f"admitted at version {admitted} (generation {known.generation})"
        match self.name:
            case "queued":
                return (
                    f"{key} was {to} and nobody has started it: it waits for its turn, "
                    "and is kept out of this view so that it is not answered twice"
                )
            case "current":
                how = to if admitted else _end(known)
                return f"no term has ended, and {key} was {how}: it passes"
            case "successor" if cut is not None:
                return (
                    f"{key} was {to}, above the latest cut at version {cut.version} "
                    f"(of generation {cut.generation}): it passes, whatever it looks "
                    "like"
                )
            case "unadmitted_human":
                return (
                    f"{key} was accepted at version {known.accepted}, and never "
                    "started or settled: it is never dropped; it waits to be admitted"
                )
            case "history":
                done = "" if known.settled else ", and not settled"
                how = f"started at version {known.started}" if known.started else ""
                how = " and ".join(filter(None, [how, _end(known)])) + done
                return (
                    f"{key} was {how}, and the latest term does not have it: it is "
                    "history"
                )
            case "not_admitted":
                return (
                    f"{key} is on record, and nothing admitted it: it is kept out, and "
                    "nothing is stripped; admit it first"
                )
            case _:
                return (
                    f"{key} was {to}, before the term ended at version {ended}, and "
                    "never started: it is a leftover, and stays out"
                )

    def _unknown(self) -> str:
        key = self.key or "a request without an id"
        ended = self.journal.ended
        nothing = f"nothing on record up to version {self.journal.version} knows {key}"
        match self.name:
            case "current":
                return (
                    f"no term has ended, and {key} stands before every request of the "
                    "list that the ledger knows: it passes"
                )
            case "unadmitted_human":
                return (
                    f"{nothing}, and the host vouches that a person sent it: it is "
                    "never dropped; it waits to be admitted"
                )
            case "not_admitted":
                return (
                    f"{nothing}, and no term has ended: it is kept out, and nothing is "
                    "stripped; admit it first"
                )
            case "history":
                return (
                    f"{key} stands at or before the boundary of the term that ended at "
                    f"version {ended}: it is history"
                )
            case "missing_physical_id":
                after = f"after the boundary of the term that ended at version {ended}"
                if not ended:
                    after = "where its place says nothing"
                return (
                    f"{key} stands {after}: what it is cannot be looked up, and is "
                    "never guessed at by its content; give it an id"
                )
            case _:
                return (
                    f"{nothing}, it stands after the boundary of the term that ended "
                    f"at version {ended}, and nobody vouches for a person: it is a "
                    "leftover, and stays out"
                )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Verdict):
            return NotImplemented
        mine, theirs = (self.name, self.key), (other.name, other.key)
        return mine == theirs and self.evidence == other.evidence

    def __hash__(self) -> int:
        return hash((self.name, self.key))

    def __repr__(self) -> str:
        return f"Verdict({self.name!r}, {self.key!r})"


def _end(known: Execution) -> str:
    if not known.settled:
        return ""
    return f"settled {known.outcome} at version {known.settled}"
