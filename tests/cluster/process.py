"""One of a run's processes: `process.py ROLE NAME URL FOLDER [AUTHORITY]`.

It works until its standard input ends.
"""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Event, Thread

from asking import Asking, Stopped
from relaying import Hunter, Relayer
from telling import Teller
from tenure import Authority, open_ledger
from writer import Ended, Writer

__all__ = ["main"]

USUAL_SECONDS, IMPATIENT_SECONDS = 30.0, 4.0


def main(role: str, name: str, url: str, folder: Path, given: str = "") -> None:
    """Play the role until told to stop."""
    over = Event()

    def listen() -> None:
        sys.stdin.read()
        over.set()

    Thread(target=listen, daemon=True).start()
    # Some hosts wait as long as is usual, some do not.
    impatient = role == "impatient"
    deadline = IMPATIENT_SECONDS if impatient else USUAL_SECONDS
    ask = Asking(Teller(folder, name), over, gives_up=impatient)
    with open_ledger(url, process=name, deadline_seconds=deadline) as ledger:
        file = folder / "relay.known"
        match role:
            case "ended":
                work = Ended(ledger, ask, Authority.from_json(given)).run
            case "relayer":
                work = Relayer(ledger, ask, file).run
            case "hunter":
                work = Hunter(ledger, ask, file).run
            case _:
                work = Writer(ledger, ask).run
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        try:
            work()
        except Stopped:
            return


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]), *sys.argv[5:])
