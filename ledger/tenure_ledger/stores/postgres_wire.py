"""One connection to a server: prepared statements, many of them in one round trip.

On libpq itself (`psycopg.pq`): what a cursor does for each statement costs more than
the server does. Every call has a deadline of its own, since no setting of the server
or of libpq bounds a COMMIT that waits for a standby (design section 12).
"""

from __future__ import annotations

import select
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic
from typing import NamedTuple

from psycopg import Error, pq
from psycopg.pq import abc

__all__ = [
    "SAME",
    "Call",
    "ConnectionLost",
    "NoAnswer",
    "Replaced",
    "Result",
    "ServerError",
    "Wire",
    "connected",
]

Result = abc.PGresult

SAME = "{same}"
"""Stands in statements for what is true as long as the ledger is the one that was
opened, and ends the transaction if it is not (`Wire.guard`)."""

_NOT_THE_SAME = "42704"
_NOT_FOUND = frozenset({"42P01", "42883", "3F000"})
_NOT_ALLOWED = "42501"
_CANCELLED_WAIT = "01000"
"""Of the warning with which a COMMIT ends that did not wait for its standby."""
_BINARY = 1
_PATIENCE_SECONDS = 1.0
"""How long one waits for an answer before one asks whether this is still the server."""
# As numbers, which are what libpq gives: an enumeration is looked up each time.
_OK, _SYNC, _FATAL, _COMMAND_OK = map(
    int,
    (
        pq.ConnStatus.OK,
        pq.ExecStatus.PIPELINE_SYNC,
        pq.ExecStatus.FATAL_ERROR,
        pq.ExecStatus.COMMAND_OK,
    ),
)


class Call(NamedTuple):
    """One statement, and the values of its parameters."""

    sql: str
    values: Sequence[bytes | None] = ()
    formats: Sequence[int] = ()
    """Of each value: 0 as text, 1 as binary."""


class ConnectionLost(Exception):  # noqa: N818  what happened, not what to call it
    """The connection is gone: what was sent may have been done, or not."""


class NoAnswer(ConnectionLost):
    """The server did not answer in time."""


class ServerError(Exception):
    """The server refused a statement; nothing of the transaction is kept."""

    def __init__(self, result: Result) -> None:
        # Not the whole message: it quotes our statement, and points into it.
        said = (
            _field(result, pq.DiagnosticField.MESSAGE_PRIMARY),
            _field(result, pq.DiagnosticField.MESSAGE_DETAIL),
        )
        text = "; ".join(filter(None, said)) or result.get_error_message().strip()
        super().__init__(text)
        self.code = _field(result, pq.DiagnosticField.SQLSTATE)
        self.table = _field(result, pq.DiagnosticField.TABLE_NAME)
        self.fatal = _field(result, pq.DiagnosticField.SEVERITY_NONLOCALIZED) not in (
            "ERROR",
            "",
        )


class Replaced(ServerError):  # noqa: N818  what happened, not what to call it
    """Another ledger lies where the one was that was opened (`SAME`)."""


class Wire:
    """A connection; one thread at a time uses it."""

    def __init__(self, raw: abc.PGconn) -> None:
        self._raw = raw
        raw.nonblocking = 1
        raw.notice_handler = self._notice
        raw.enter_pipeline_mode()
        self._poll = select.poll()
        self._poll.register(raw.socket, select.POLLIN)
        self._names: dict[str, bytes] = {}
        self._named = 0
        self._same: str | None = None
        self.in_transaction = False
        """An explicit transaction is open: BEGIN was sent."""
        self.lock_timeout_ms = 0
        """The server's setting, as far as it is known; -1: it is not."""
        self.doubtful = False
        """A COMMIT of the last `run` ended without the standby's word."""
        self.timeline = 0
        """The one that the server writes on."""
        self.synchronous = False
        """The server waits for standbys, as far as it is known."""
        self.heard_at = -inf
        """When something was sent that was confirmed, by standbys too if it waits for
        any: the server was the primary then."""
        self.no_usage: str | None = None
        """Asked where nothing is found by its name: a row if the role may not look."""
        self.left_behind: Callable[[], bool] | None = None
        """Asked while an answer does not come: has another taken the server's place?"""

    @property
    def broken(self) -> bool:
        """Say whether nothing can be sent any more."""
        return self._raw.status != _OK

    @property
    def backend_pid(self) -> int:
        """The server's process."""
        return self._raw.backend_pid

    def guard(self, same: str) -> None:
        """Put this for `SAME` from now on; as long as nothing is, it is true."""
        if self._same is None:
            self._same = same
            for statement in [one for one in self._names if SAME in one]:
                del self._names[statement]

    def stale(self) -> bool:
        """Say whether the server has ended what nobody was using."""
        if self.broken:
            return True
        try:
            # What it said last, and then that it said its last.
            while not self.broken and self._poll.poll(0):
                self._raw.consume_input()
        except Error:
            return True
        return self.broken

    def close(self) -> None:
        """Close the connection, which ends what it was doing for the server."""
        self._raw.finish()

    def run(self, calls: Sequence[Call], deadline: float) -> list[Result]:
        """Send all calls and one sync; return one result for each.

        Outside of an explicit transaction they are one transaction, which the sync
        commits. Raises ServerError, ConnectionLost.
        """
        self.doubtful = False
        new: list[str] = []
        try:
            for call in calls:
                name = self._names.get(call.sql)
                if name is None:
                    name = self._prepare(call.sql)
                    new.append(call.sql)
                self._raw.send_query_prepared(
                    name, call.values, call.formats, result_format=_BINARY
                )
            self._raw.pipeline_sync()
            answers = self._receive(deadline)
        except Error as error:
            self.close()
            raise ConnectionLost(str(error).strip()) from error
        except BaseException:
            # Nobody knows what was answered to what.
            self.close()
            raise
        if not new and len(answers) == len(calls) and not any(map(_failed, answers)):
            return answers
        try:
            return self._results(answers, calls, new)
        except ServerError as error:
            if error.code in _NOT_FOUND and self.no_usage is not None:
                self._tell_usage(error, self.no_usage)
            raise

    def _tell_usage(self, error: ServerError, query: str) -> None:
        """Say so if the schema is only hidden: the role has no USAGE on it (any more).

        The transaction is over, so it is ended here.
        """
        self.no_usage = None
        try:
            until = monotonic() + _PATIENCE_SECONDS
            (_, found) = self.run([Call("ROLLBACK"), Call(query)], until)
            if found.ntuples:
                name = (found.get_value(0, 0) or b"").decode()
                error.code = _NOT_ALLOWED
                error.args = (f"it has no USAGE on the schema {name}",)
        except (ServerError, ConnectionLost):
            # What was found out first is what is told.
            return
        finally:
            self.no_usage = query

    def script(self, text: str, deadline: float) -> None:
        """Run several statements as they stand, without values."""
        try:
            self._raw.exit_pipeline_mode()
            self._raw.send_query(text.encode())
            answers = self._receive(deadline)
            self._raw.enter_pipeline_mode()
        except Error as error:
            self.close()
            raise ConnectionLost(str(error).strip()) from error
        except BaseException:
            self.close()
            raise
        for answer in answers:
            if answer.status == _FATAL:
                raise ServerError(answer)

    def _prepare(self, sql: str) -> bytes:
        name = self._names[sql] = b"t%d" % self._named
        self._named += 1
        text = sql.replace(SAME, self._same or "true")
        self._raw.send_prepare(name, text.encode())
        return name

    def _receive(self, deadline: float) -> list[Result]:
        raw, answers = self._raw, list[Result]()
        unsent = raw.flush()
        between = False
        while True:
            while raw.is_busy():
                unsent = self._wait(deadline, unsent)
            answer = raw.get_result()
            if answer is not None:
                between = False
                if answer.status == _SYNC:
                    return answers
                answers.append(answer)
            elif answers and not between:
                between = True
            else:
                # Not between two statements: at the end, outside of a pipeline.
                if raw.pipeline_status == pq.PipelineStatus.OFF:
                    return answers
                if raw.status != _OK:
                    raise ConnectionLost(raw.get_error_message().strip())

    def _wait(self, deadline: float, unsent: int) -> int:
        """Wait for what the server says; return whether there is more to send."""
        raw, poll = self._raw, self._poll
        if unsent:
            poll.modify(raw.socket, select.POLLIN | select.POLLOUT)
        left = deadline - monotonic()
        if left <= 0:
            raise NoAnswer("the server did not answer in time")
        if not poll.poll(min(left, _PATIENCE_SECONDS) * 1000 + 1):
            if self.left_behind is not None and self.left_behind():
                raise ConnectionLost("another server has taken its place")
            return unsent
        raw.consume_input()
        if unsent:
            unsent = raw.flush()
            poll.modify(
                raw.socket,
                select.POLLIN | select.POLLOUT if unsent else select.POLLIN,
            )
        return unsent

    def _results(
        self, answers: list[Result], calls: Sequence[Call], new: list[str]
    ) -> list[Result]:
        """Return the statements' own results, without those of their preparation."""
        results: list[Result] = []
        failed: Result | None = None
        waiting = set(new)
        at = iter(answers)
        for call in calls:
            if call.sql in waiting:
                waiting.discard(call.sql)
                answer = next(at, None)
                if answer is None or answer.status != _COMMAND_OK:
                    self._names.pop(call.sql, None)
                    failed = failed or answer
            answer = next(at, None)
            if answer is None:
                break
            if answer.status == _FATAL:
                failed = failed or answer
            results.append(answer)
        for answer in at:
            # What only the commit itself could find.
            failed = failed or answer
        if failed is None and len(results) == len(calls):
            return results
        if self.broken or failed is None:
            self.close()
        if failed is None:
            raise ConnectionLost("the server did not answer everything")
        error = ServerError(failed)
        raise Replaced(failed) if error.code == _NOT_THE_SAME else error

    def _notice(self, notice: Result) -> None:
        if _field(notice, pq.DiagnosticField.SQLSTATE) == _CANCELLED_WAIT:
            self.doubtful = True


def connected(conninfo: str, deadline: float) -> Wire:
    """Open a connection. Raises ConnectionLost."""
    raw: abc.PGconn | None = None
    try:
        raw = pq.PGconn.connect_start(conninfo.encode())
        _connect(raw, deadline)
        return Wire(raw)
    except BaseException as error:
        if raw is not None:
            raw.finish()
        if isinstance(error, Error):
            raise ConnectionLost(str(error).strip()) from error
        raise


def _connect(raw: abc.PGconn, deadline: float) -> None:
    while True:
        status = raw.connect_poll()
        if status == pq.PollingStatus.OK:
            return
        if status == pq.PollingStatus.FAILED or raw.status == pq.ConnStatus.BAD:
            raise ConnectionLost(raw.get_error_message().strip())
        reading = status == pq.PollingStatus.READING
        poll = select.poll()
        poll.register(raw.socket, select.POLLIN if reading else select.POLLOUT)
        left = deadline - monotonic()
        if left <= 0 or not poll.poll(left * 1000 + 1):
            raise ConnectionLost("no connection in time")


def _failed(result: Result) -> bool:
    return result.status == _FATAL


def _field(result: Result, field: pq.DiagnosticField) -> str:
    return (result.error_field(field) or b"").decode(errors="replace")
