"""What the gate raises: a refusal that carries the view, and a fault that stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenure_ledger.errors import Fault, Refused

if TYPE_CHECKING:
    from tenure_gate.verdicts import Verdict
    from tenure_gate.view import View
    from tenure_ledger.values import OwnerRef

__all__ = ["NothingToSay", "RelayGateFailure"]


class NothingToSay(Refused):
    """The acting request may not be answered now: do not call the model.

    What had to be stripped, interrupted, accepted or admitted has been, unless nobody
    holds the owner, or ``record=False``.
    """

    code = "nothing_to_say"

    @property
    def reason(self) -> str:
        """Why, as a code.

        ``no_holding``, ``no_request`` (none in the list, or not the one that ``acting``
        names), ``not_admitted``, ``settled``, ``cancelled``, or ``kept_out``.
        """
        return str(self.evidence.get("reason"))

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the acting request; None: the list has no request."""
        found: Verdict | None = self.evidence.get("verdict")  # type: ignore[assignment]
        return found

    @property
    def open(self) -> tuple[str, ...]:
        """The requests of the list that could be the acting one: pass one of them."""
        found: tuple[str, ...] = self.evidence.get("open", ())  # type: ignore[assignment]
        return found

    @property
    def view(self) -> View | None:
        """What the model would have seen."""
        found: View | None = self.evidence.get("view")  # type: ignore[assignment]
        return found


class RelayGateFailure(Fault):
    """The gate could not make sure that a leftover is out: do not call the model.

    The interrupt stays open: the next `apply` tries it again, and only
    `settle_interrupt`, on record, gives it up: ``.owner``, ``.interrupt_id`` and
    ``.key`` (the leftover's message id) name it.
    """

    code = "relay_gate_failure"

    def __init__(
        self,
        text: str,
        /,
        *,
        owner: OwnerRef | None = None,
        interrupt_id: str | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(text)
        self.owner = owner
        self.interrupt_id = interrupt_id
        self.key = key

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes with what it is about."""
        about = {name: getattr(self, name) for name in ("owner", "interrupt_id", "key")}
        return (_rebuild, (type(self), str(self), about))


def _rebuild(
    kind: type[RelayGateFailure], text: str, about: dict[str, Any]
) -> RelayGateFailure:
    return kind(text, **about)
