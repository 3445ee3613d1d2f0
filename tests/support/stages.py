"""A host that runs something: executions that its own guard can really stop."""

from __future__ import annotations

from tenure import Authority, GuardRejected, Interrupted, InterruptTarget

__all__ = ["Stage"]


class Stage:
    """What runs in a host, each under the holding that began it.

    It stops the one execution that it is asked to, if it runs under the holding that
    ended. It never looks at a session as a whole.
    """

    def __init__(self) -> None:
        self.running: dict[str, str] = {}
        """Message id -> incarnation of the holding that runs it."""
        self.stopped: list[str] = []
        self.refused: list[str] = []

    def run(self, authority: Authority, key: str) -> None:
        """Begin to work on a message."""
        self.running[key] = authority.incarnation

    def interrupt(self, target: InterruptTarget) -> Interrupted | GuardRejected:
        """Stop the target, or say why not."""
        key = target.key.physical_user_message_id
        runs_under = self.running.get(key)
        if runs_under is None:
            return self._refuse("no_active_execution")
        if target.ended is None or runs_under != target.ended.incarnation:
            return self._refuse("different_generation_active")
        del self.running[key]
        self.stopped.append(key)
        return Interrupted()

    def _refuse(self, code: str) -> GuardRejected:
        self.refused.append(code)
        return GuardRejected(code)
