"""The ledger that a release leaves behind, as a file for the releases after it.

    python tests/support/golden.py

writes ``tests/golden/relay-<version>.sql``: once for each release, never again.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from lives import Lives
from worlds import World

__all__ = ["GOLDEN", "restore"]

GOLDEN = Path(__file__).parent.parent / "golden"
EVENTS_MIN = 600
_PRAGMAS = ("application_id", "user_version")


def dump(db: sqlite3.Connection) -> str:
    """Return all that a file holds as SQL."""
    numbers = {name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in _PRAGMAS}
    lines = [f"PRAGMA {name} = {number};" for name, number in numbers.items()]
    return "\n".join([*lines, *db.iterdump(), ""])


def restore(script: Path, path: Path) -> None:
    """Make the file again."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script.read_text(encoding="utf-8"))


def main() -> int:
    """Write the golden ledger of this version."""
    target = GOLDEN / f"relay-{version('tenure')}.sql"
    if target.exists():
        msg = f"{target.name} is there: a release's ledger is written once"
        raise SystemExit(msg)
    with TemporaryDirectory() as folder:
        world = World("sqlite", Path(folder))
        Lives(world).write(EVENTS_MIN)
        world.close()
        with closing(sqlite3.connect(Path(folder) / "relay.db")) as db:
            target.write_text(dump(db), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
