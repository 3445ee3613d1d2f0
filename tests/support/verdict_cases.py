"""Requests in the scenes, each with its verdict and what it must say about itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["CASES", "Case"]

FIRST = ("old", "d1", "m1", "q1", "h1", "new")
"""The host's list in the first term, by message ids."""
THIRD = (
    "ancient", "m1", "zz1", "g", "w", "m2", "zz2", "new", "aa3", "d3", "q3", "x3", "h3",
)  # fmt: skip
"""The host's list in the third; the boundary is ``m2``."""


class Case(NamedTuple):
    """The request at ``key`` in a scene's list."""

    title: str
    scene: str
    key: str | None
    verdict: str
    says: str
    """Words that the explanation must have."""
    keys: Sequence[str | None] = THIRD
    acting: str = "aa3"
    answered: bool = False
    human: bool = False


def _first(
    title: str,
    key: str | None,
    verdict: str,
    says: str,
    keys: Sequence[str | None] = FIRST,
    acting: str = "m1",
    *,
    answered: bool = False,
    human: bool = False,
) -> Case:
    return Case(title, "first_term", key, verdict, says, keys, acting, answered, human)


CASES: Sequence[Case] = (
    # no term has ended
    _first("running", "m1", "current", "no term has ended, and m1 was admitted"),
    _first("done", "d1", "current", "admitted at version 3"),
    _first("cancelled", "c1", "current", "settled cancelled", [*FIRST, "c1"]),
    _first("before all", "old", "current", "before every request of the list"),
    _first("idle", "q1", "queued", "nobody has started it"),
    _first("idle acting", "q1", "current", "q1 was admitted", acting="q1"),
    _first("idle answered", "q1", "current", "q1 was admitted", answered=True),
    _first("accepted", "h1", "unadmitted_human", "h1 was accepted at version"),
    _first("vouched", "new", "unadmitted_human", "vouches", human=True),
    _first("unknown", "new", "not_admitted", "admit it first"),
    _first("alone", "new", "not_admitted", "no term has ended", ["new"], "new"),
    _first("no id before", None, "current", "without an id", [None, *FIRST]),
    _first("no id after", None, "missing_physical_id", "never guessed", [*FIRST, None]),
    # three terms, two cuts
    Case("acting", "third_term", "aa3", "successor", "above the latest cut"),
    Case("settled here", "third_term", "d3", "successor", "whatever it looks like"),
    Case("carried twice", "third_term", "w", "queued", "waits for its turn"),
    Case("carried acting", "third_term", "w", "successor", "above", acting="w"),
    Case("carried answered", "third_term", "w", "successor", "above", answered=True),
    Case("waits", "third_term", "q3", "queued", "so that it is not answered twice"),
    Case("absorbed waits", "third_term", "x3", "queued", "x3 was admitted"),
    Case("absorbed acts", "third_term", "x3", "successor", "above", acting="q3"),
    Case("lead of acting", "third_term", "q3", "successor", "above", acting="x3"),
    Case("done in the first", "third_term", "m1", "history", "settled completed"),
    Case("cut in the second", "third_term", "m2", "history", "settled retired"),
    Case("cancelled", "third_term", "c3", "history", "settled", [*THIRD, "c3"]),
    Case("ghost of the first", "third_term", "zz1", "stale_admitted", "a leftover"),
    Case("ghost of the second", "third_term", "zz2", "stale_admitted", "a leftover"),
    Case("stripped", "third_term", "g", "stale_unadmitted", "stripped as stale_un"),
    Case("stripped, vouched", "third_term", "g", "stale_unadmitted", "for ever",
         human=True),
    Case("accepted", "third_term", "h3", "unadmitted_human", "never dropped"),
    Case("late ghost", "third_term", "new", "stale_unadmitted", "nothing on record"),
    Case("vouched", "third_term", "new", "unadmitted_human", "vouches", human=True),
    Case("the past", "third_term", "ancient", "history", "at or before the boundary"),
    Case("the past, vouched", "third_term", "ancient", "history", "boundary",
         human=True),
    Case("no id before", "third_term", None, "history", "without an id", [None, "m2"]),
    Case("no id after", "third_term", None, "missing_physical_id", "give it an id",
         [*THIRD, None]),
    # the list was reordered: the ledger decides for what it knows
    Case("successor first", "third_term", "aa3", "successor", "above",
         ["aa3", "zz1", "m2"]),
    Case("ghost last", "third_term", "zz1", "stale_admitted", "a leftover",
         ["m2", "aa3", "zz1"]),
    Case("ghost of the past", "third_term", "zz2", "stale_admitted", "a leftover",
         ["zz2", "m2", "aa3"]),
    # the generation rose inside of the term
    Case("renewed", "renewed", "aa3", "successor", "admitted at version"),
    Case("renewed waits", "renewed", "q3", "queued", "generation 3"),
    Case("renewed ghost", "renewed", "zz2", "stale_admitted", "generation 2"),
    # nobody holds the session
    Case("ended with it", "waiting", "aa3", "history", "settled retired",
         [*THIRD, "c3"]),
    Case("waits for the next", "waiting", "w", "unadmitted_human", "waits to be"),
    Case("terminal: runs", "ended", "m1", "history", "settled retired", FIRST),
    Case("terminal: waits", "ended", "h1", "unadmitted_human", "accepted", FIRST),
    Case("terminal: only admitted", "ended", "q1", "stale_admitted", "ended", FIRST),
    Case("terminal: the past", "ended", "old", "history", "boundary", FIRST),
)  # fmt: skip
