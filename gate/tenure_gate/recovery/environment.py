"""What only the host knows, and a recovery run must be told (design section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import getattr_static
from types import MemberDescriptorType
from typing import Any, TypeVar, get_args

from tenure_gate.recovery.holders import HolderAnswer, holder_of_process
from tenure_ledger.decisions.recovering.command import Answers, Identity
from tenure_ledger.errors import InvalidInput
from tenure_ledger.methods.base import ids
from tenure_ledger.values import OwnerRef, kind_of

__all__ = ["RecoveryEnvironment", "environment_of"]

T = TypeVar("T")
_HOLDERS = get_args(HolderAnswer)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryEnvironment:
    """The host's answers, each a callable that is given the owner.

    What is left out is not asked: then what is on record counts. An answer of None says
    the same of that one owner, except from ``parent``, where it says: a root. A class
    of yours that inherits from this one may have them as methods instead.
    """

    holder: Callable[[OwnerRef, str | None], HolderAnswer] = holder_of_process
    """Is the process that holds it (its name on record) gone?"""
    conversation_exists: Callable[[OwnerRef], bool | None] | None = None
    parent: Callable[[OwnerRef], OwnerRef | None] | None = None
    """Its parent in the session tree."""
    identity: Callable[[OwnerRef], Identity | None] | None = None
    """Its agent's type and tenant, to be those in the checkpoint's config."""
    current_grants: Callable[[OwnerRef], Iterable[str] | None] | None = None
    """What it may do now."""
    current_model: Callable[[OwnerRef], str | None] | None = None
    """The model that it would run on now."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            inherited: Any = getattr_static(type(self), name)
            if not isinstance(inherited, MemberDescriptorType):
                # A method of a subclass, of whatever kind: the field would hide it.
                bind: Any = getattr(inherited, "__get__", None)
                if bind is not None:
                    inherited = bind(self, type(self))
                object.__setattr__(self, name, inherited)
            asked = getattr(self, name)
            if not callable(asked) and (asked is not None or name == "holder"):
                msg = f"{name} must be callable, not {kind_of(asked)}"
                raise InvalidInput(msg)

    def holder_of(self, owner: OwnerRef, process: str | None) -> HolderAnswer:
        """Return the checked answer about the holder's process."""
        answer = self.holder(owner, process)
        if answer not in _HOLDERS:
            msg = f"holder must answer gone, alive or cannot_tell, not {answer!r:.80}"
            raise InvalidInput(msg)
        return answer

    def answers(self, owner: OwnerRef) -> Answers:
        """Ask everything else, once."""
        exists, parent = _ask(self.conversation_exists, owner), self.parent
        grants = _ask(self.current_grants, owner)
        if grants is not None:
            grants = ids("current_grants", grants)
        return Answers(
            conversation_exists=True if exists is None else exists,
            parent=None if parent is None else (parent(owner),),
            identity=_ask(self.identity, owner),
            grants=grants,
            model=_ask(self.current_model, owner),
        )


def environment_of(given: RecoveryEnvironment | None) -> RecoveryEnvironment:
    """Return it, or one that asks nothing of the host. Raises `InvalidInput`."""
    environment: object = RecoveryEnvironment() if given is None else given
    if not isinstance(environment, RecoveryEnvironment):
        msg = f"environment must be a RecoveryEnvironment, not {kind_of(environment)}"
        raise InvalidInput(msg)
    return environment


def _ask(question: Callable[[OwnerRef], T | None] | None, owner: OwnerRef) -> T | None:
    return None if question is None else question(owner)
