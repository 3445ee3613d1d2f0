"""How the demonstration speaks: short aligned lines, colours on a terminal only."""

from __future__ import annotations

import os
from textwrap import wrap
from typing import TextIO

__all__ = ["Telling"]

COLUMNS = 79
TEXT_AT = 25
"""Where what happened begins; left of it stand the mark and what was done."""
SECOND_AT, THIRD_AT = 21, 56
"""Where the second and the third column of a table begin."""

GREEN, RED, BOLD, DIM, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[1m", "\x1b[2m", "\x1b[0m"


class Telling:
    """Writes steps, each with its check, and remembers whether one of them failed."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        self._coloured = out.isatty() and not plain
        self.checked = 0
        self.failed = 0

    def title(self, text: str) -> None:
        """Begin a part of the story."""
        self._line(f"\n{self._in(BOLD, text)}")

    def step(self, did: str, what: str, *, why: str, holds: bool) -> None:
        """Tell what was done, what happened and why; ``holds``: as it must."""
        self.checked += 1
        self.failed += not holds
        mark = self._in(GREEN, "ok  ") if holds else self._in(RED, "FAIL")
        first, *more = _wrapped(what, COLUMNS - TEXT_AT)
        self._line(f"{mark} {did:<{TEXT_AT - 5}}{first}")
        for line in more:
            self._line(f"{'':{TEXT_AT}}{line}")
        for line in wrap(why, COLUMNS - TEXT_AT):
            self._line(f"{'':{TEXT_AT}}{self._in(DIM, line)}")

    def row(
        self, first: str, second: str, third: str, *, holds: bool | None = None
    ) -> None:
        """Tell one row of a table; ``holds`` None: its head, which is no check."""
        if holds is None:
            mark = "    "
        else:
            self.checked += 1
            self.failed += not holds
            mark = self._in(GREEN, "ok  ") if holds else self._in(RED, "FAIL")
        left = f"{first:<{SECOND_AT - 5}}{second:<{THIRD_AT - SECOND_AT}}"
        if holds is None:
            left = self._in(DIM, left)
        first_line, *more = wrap(third, COLUMNS - THIRD_AT)
        self._line(f"{mark} {left}{first_line}")
        for line in more:
            self._line(f"{'':{THIRD_AT}}{line}")

    def quote(self, text: str) -> None:
        """Tell what was said, word for word and on one line."""
        self._line(f"  {self._in(RED, text)}")

    def end(self, text: str) -> None:
        """Close with the count of what held, and a last line."""
        held = f"{self.checked - self.failed} of {self.checked} checks held"
        self._line(f"\n{self._in(RED if self.failed else GREEN, held)}")
        self._line(text)

    def _in(self, colour: str, text: str) -> str:
        return f"{colour}{text}{PLAIN}" if self._coloured else text

    def _line(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()


def _wrapped(text: str, columns: int) -> list[str]:
    """Return the lines of a text, each in as many as it needs."""
    return [one for line in text.splitlines() for one in wrap(line, columns)] or [""]
