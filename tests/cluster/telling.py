"""What a process was told about its commands, line by line in a file of its own.

The times are those of the machine's monotonic clock, which all its processes share. A
line is written before a command is sent and after its answer: what a process knew is
in the file, whenever it is killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Literal, NamedTuple, get_args

__all__ = ["Said", "Teller", "Word", "all_said"]

Word = Literal[
    "sent",  # what: of what kind it is
    "acknowledged",  # what: at which version of its stream, or by which incarnation
    "refused",  # what: the code
    "unknown",  # the outcome is in doubt
    "failed",  # a fault, by which nothing was written; what: which
    "given_up",  # in doubt, and not asked again
    "looked",  # a verdict was asked for; what: what came of it
    "wrong",  # what: what must not be
]


class Said(NamedTuple):
    """One line."""

    at: float
    who: str
    word: Word
    command_id: str
    stream: str
    what: str


class Teller:
    """Writes the lines of one process."""

    def __init__(self, folder: Path, who: str) -> None:
        self.who = who
        self._file = (folder / f"{who}.said").open("a", buffering=1, encoding="utf-8")

    def say(
        self, word: Word, command_id: str = "-", stream: str = "-", what: str = "-"
    ) -> None:
        """Write a line at once."""
        line = [f"{monotonic():.4f}", word, command_id, stream, what]
        self._file.write("\t".join(line) + "\n")

    def close(self) -> None:
        """Write no more."""
        self._file.close()


def all_said(folder: Path) -> list[Said]:
    """Return the lines of all processes, in the order of time."""
    return sorted(one for file in folder.glob("*.said") for one in _of(file))


def _of(file: Path) -> Iterator[Said]:
    words = {word: word for word in get_args(Word)}
    for line in file.read_text("utf-8").split("\n")[:-1]:
        at, word, command_id, stream, what = line.split("\t")
        yield Said(float(at), file.stem, words[word], command_id, stream, what)
