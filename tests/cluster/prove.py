"""Five failovers of a real cluster under load, and one that must lose.

`make prove-cluster` runs it. First the control: commits that wait for no standby, and a
leader that dies while its standbys lag. What the check finds missing there shows that
it can find it. Then the same cluster with synchronous commits, and five failovers in
which nothing may be missing, on any node.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from time import monotonic

from asking import Asking
from checking import Found, check
from crew import HERE, Crew, environment
from failing_over import Round, fail_over
from failures import FAILURES
from nodes import Cluster
from overseeing import await_whole, set_mode
from parting import part
from showing import IMPATIENT, faults, show
from telling import Teller
from tenure import Authority, OwnerRef, open_ledger
from tools import Missing, found

__all__ = ["main"]

ORDER = ("process", "machine", "lagging", "frozen", "process")
ENDED = OwnerRef("session", "ended")


@contextmanager
def the_only_run() -> Generator[int]:
    """Hold the lock: two runs would kill each other's nodes, or starve them."""
    place = Path(tempfile.gettempdir(), f"tenure-cluster-{os.geteuid()}.lock")
    with place.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Missing("another run is going on, or ending: wait for it") from None
        yield lock.fileno()


def say(line: str) -> None:
    """Tell whoever watches."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def control(cluster: Cluster, folder: Path) -> list[str]:
    """Lose what was acknowledged, and return what is wrong if it is not found."""
    url = f"{cluster.url}?schema=control"
    crew = Crew(url, folder)
    try:
        for at in range(3):
            crew.start("writer", f"c{at}")
        one = fail_over(cluster, FAILURES["lagging"], folder, synchronous=False)
        wrong = crew.stop()
    finally:
        crew.kill()
    missing = check(url, folder)
    say(
        f"control, without synchronous commits: {one.failure}, {missing.commands} "
        f"commands, {len(missing.lost)} acknowledged are lost, as they must be"
    )
    if not missing.lost:
        wrong.append("the control lost nothing: the check would not see it")
    return wrong


def failovers(cluster: Cluster, folder: Path) -> tuple[list[Round], list[str]]:
    """Fail over five times under load; return what happened, and what went wrong."""
    url = f"{cluster.url}?schema=proof"
    crew = Crew(url, folder)
    rounds: list[Round] = []
    try:
        crew.start("ended", "ended", an_ended_authority(url, folder).to_json())
        for role, name in (
            ("writer", "w1"),
            ("writer", "w2"),
            *(("impatient", name) for name in IMPATIENT),
            ("relayer", "relayer"),
            ("hunter", "hunter"),
        ):
            crew.start(role, name)
        for name in ORDER:
            one = fail_over(cluster, FAILURES[name], folder, synchronous=True)
            rounds.append(one)
            say(
                f"{name}: timeline {one.timelines[0]} to {one.timelines[1]}, "
                f"whole again after {one.over - one.struck:.0f} s"
            )
        return rounds, crew.stop()
    finally:
        crew.kill()


def an_ended_authority(url: str, folder: Path) -> Authority:
    """Return an authority whose term was cut and succeeded."""
    teller = Teller(folder, "prove")
    ask = Asking(teller, Event(), gives_up=False)
    with closing(teller), open_ledger(url, process="prove") as ledger:
        one = ask(
            "claim",
            ENDED,
            lambda name: ledger.claim(ENDED, "first", "host", command_id=name),
        )
        assert one is not None
        ask(
            "retire",
            ENDED,
            lambda name: ledger.retire(one, "continue", "go on", command_id=name),
        )
        ask(
            "succeed",
            ENDED,
            lambda name: ledger.succeed(ENDED, "second", "host", command_id=name),
        )
    return one


def check_every_node(cluster: Cluster, folder: Path) -> dict[str, Found]:
    """Make each node a server of its own, and hold each against what was told."""
    part(cluster)
    script = str(HERE / "checking.py")
    running = {
        name: subprocess.Popen(
            [sys.executable, script, f"{url}?schema=proof", str(folder)],
            stdout=subprocess.PIPE,
            env=environment(),
        )
        for name, url in cluster.urls.items()
    }
    answers = {name: one.communicate()[0] for name, one in running.items()}
    return {name: Found(**json.loads(answer)) for name, answer in answers.items()}


def prove() -> int:
    """Run all of it; return the exit code."""
    begun = monotonic()
    with the_only_run() as lock:
        cluster = Cluster(found(), lock)
        first, second = cluster.folder / "control", cluster.folder / "proof"
        try:
            first.mkdir()
            second.mkdir()
            cluster.start()
            await_whole(cluster, synchronous=False)
            say(f"three nodes after {monotonic() - begun:.0f} s")
            wrong = control(cluster, first)
            set_mode(cluster, synchronous=True)
            rounds, more = failovers(cluster, second)
            nodes = check_every_node(cluster, second)
            wrong += more + faults(nodes, rounds, second)
            show(rounds, nodes, second, say)
            if wrong:
                kept = tempfile.mkdtemp(prefix="tenure-cluster-said-")
                shutil.copytree(second, kept, dirs_exist_ok=True)
                wrong.append(f"what every process was told is in {kept}")
        except BaseException:
            for log in sorted(cluster.folder.glob("*.log")):
                sys.stderr.write(f"== {log.name}\n{log.read_text()[-1500:]}\n")
            raise
        finally:
            cluster.stop()
    for one in wrong:
        say(f"WRONG: {one}")
    say(f"{'FAILED' if wrong else 'holds'} after {monotonic() - begun:.0f} s")
    return int(bool(wrong))


def _end(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def main() -> int:
    """Return the exit code: 0 only if all of it holds."""
    signal.signal(signal.SIGTERM, _end)
    try:
        return prove()
    except Missing as missing:
        sys.stderr.write(f"prove-cluster: {missing}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
