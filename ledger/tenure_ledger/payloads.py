"""The four checkpoint payloads, with the fields of seed 000 section 2, verbatim.

Unknown fields are kept: a newer host's snapshot survives an older library. A known one
that is wrong is refused when the payload is made, so none is ever stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any, ClassVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
)

from tenure_ledger.errors import InvalidInput
from tenure_ledger.events import CheckpointMode
from tenure_ledger.values import check_id, check_moment, check_seconds

__all__ = [
    "PAYLOADS",
    "PAYLOAD_VERSION",
    "ExecutionConfig",
    "RestartPayload",
    "RuntimeRestartQueuedSubmission",
    "RuntimeRestartReactionLoopState",
    "RuntimeRestartScheduledWorkContext",
    "RuntimeRestartToolApprovalWait",
    "call_id_of",
]

PAYLOAD_VERSION = 1
"""Stored beside each payload; a body without one is of version 1."""

_CALL_IDS = ("call_id", "tool_call_id", "tool_use_id", "id")
"""Where the formats in use keep a call's id, the surest first."""


def call_id_of(item: object) -> str:
    """Return the call id of a pending call or of an output, in any format in use.

    The text itself, or what an object has under ``call_id``, ``tool_call_id``,
    ``tool_use_id`` or ``id``. Raises `InvalidInput`: a call without an id cannot be
    accounted for.
    """
    if isinstance(item, dict):
        named = cast("dict[str, object]", item)
        item = next((named[at] for at in _CALL_IDS if at in named), None)
    if not isinstance(item, str):
        msg = f"a call or output has no id: give it one of {', '.join(_CALL_IDS)}"
        raise InvalidInput(msg)
    return check_id("call_id", item)


def _with_call_ids(items: list[JsonValue]) -> list[JsonValue]:
    for item in items:
        call_id_of(item)
    return items


_Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
_Texts = Annotated[list[str], Field(strict=False)]
_Items = Annotated[list[JsonValue], Field(strict=False)]
_Calls = Annotated[_Items, AfterValidator(_with_call_ids)]
_MessageId = Annotated[str, AfterValidator(partial(check_id, "a message id"))]
_JobId = Annotated[str, AfterValidator(partial(check_id, "job_id"))]


class _Kept(BaseModel, frozen=True):
    """Known fields are checked, unknown ones kept; a wrong one is `InvalidInput`."""

    model_config = ConfigDict(extra="allow", strict=True)

    def __init__(self, /, **fields: Any) -> None:  # noqa: ANN401  what hosts pass
        try:
            super().__init__(**fields)
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
                for one in error.errors(include_url=False, include_input=False)
            )
            msg = f"this is no {type(self).__name__}: {wrong}"
            raise InvalidInput(msg) from None


class RestartPayload(_Kept, frozen=True):
    """What a restart would resume; ``MODE`` is the checkpoint's mode."""

    MODE: ClassVar[CheckpointMode]


class RuntimeRestartToolApprovalWait(RestartPayload, frozen=True):
    """A tool call waits for a person. Times in milliseconds."""

    MODE = "tool_approval_wait"

    wait_started_at_ms: _Count
    timeout_remaining_ms: int | None = None
    authenticated_user_inputs: _Items = Field(default_factory=list[JsonValue])
    dispatched_before_restart: bool
    producer_inference_request_id: str | None = None
    producer_inference_attempt_id: str | None = None
    presentation_locale: str | None = None
    client_language_chain: _Texts = Field(default_factory=list[str])
    client_ip: str | None = None
    location_freshness: JsonValue = None


class RuntimeRestartQueuedSubmission(RestartPayload, frozen=True):
    """A submission was taken in and inference has not begun."""

    MODE = "queued_submission"

    submission_key: _MessageId
    absorbed_submission_keys: Annotated[list[_MessageId], Field(strict=False)] = Field(
        default_factory=list[str]
    )
    override_system_prompt: str | None = None
    append_system_prompt: str | None = None
    requested_model: str | None = None
    reasoning_strength_override: JsonValue = None
    tools_allowed_override: _Texts | None = None
    tool_call_prefill: JsonValue = None
    transient_companion_wake_start_seq: int | None = None


class RuntimeRestartReactionLoopState(RestartPayload, frozen=True):
    """The loop of thought, tool call and result was under way."""

    MODE = "reaction_loop"

    consecutive_batches: _Count
    pending_compact: JsonValue = None
    pending_tool_calls: _Calls = Field(default_factory=list[JsonValue])
    completed_unpersisted_tool_outputs: _Calls = Field(default_factory=list[JsonValue])
    lifetime_inference_count: _Count = 0
    lifetime_tool_call_count: _Count = 0


def _with_slot(context: JsonValue) -> JsonValue:
    _window(context)
    return context


class RuntimeRestartScheduledWorkContext(RestartPayload, frozen=True):
    """A job of a schedule was running.

    Of ``scheduled_work_context`` two names are ours, if it is an object and has them:
    ``slot``, the time that the run stands for, as ISO 8601 with its offset, and
    ``window_seconds``, how long after it the run still makes sense.
    """

    MODE = "scheduled_work"

    job_id: _JobId
    attempt: _Count
    version: _Count
    scheduled_work_context: Annotated[JsonValue, AfterValidator(_with_slot)] = None
    replay_disposition: JsonValue = None

    @property
    def slot(self) -> datetime | None:
        """The time that this run stands for, in UTC: with the job, its identity."""
        return _window(self.scheduled_work_context)[0]

    @property
    def window_ends_at(self) -> datetime | None:
        """When it is too late to run, in UTC; None: never."""
        return _window(self.scheduled_work_context)[1]


def _window(context: JsonValue) -> tuple[datetime | None, datetime | None]:
    """Return the slot and the end of its window, or raise `InvalidInput`."""
    if not isinstance(context, dict):
        return None, None
    text = context.get("slot")
    seconds = check_seconds("window_seconds", context.get("window_seconds"))
    if text is None:
        return None, None
    try:
        slot = check_moment("slot", datetime.fromisoformat(str(text)))
        if slot is None or seconds is None:
            return slot, None
        return slot, slot + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        msg = f"slot must be a time with its offset, as ISO 8601, not {text!r:.80}"
        raise InvalidInput(msg) from None


class ExecutionConfig(_Kept, frozen=True):
    """How the work was run, as far as recovery asks; what a host adds is kept.

    ``branch`` is ``root`` for what nobody spawned, ``subagent`` for a child, or another
    word of the host's; the fields mean the same in each. None: not asked.
    """

    branch: str | None = None
    model: str | None = None
    """Compared with the present one: another is ``model_switch``."""
    agent_type: str | None = None
    tenant: str | None = None
    """Compared, like the agent type, with the present identity."""
    grants: _Texts | None = None
    """What the work needs of what it inherited; None: all that is on record."""

    def __init__(self, /, **fields: Any) -> None:  # noqa: ANN401  what hosts pass
        super().__init__(**fields)
        if self.branch == "root" and self.grants:
            msg = "a root inherits nothing: leave grants out, or say branch='subagent'"
            raise InvalidInput(msg)


PAYLOADS: Mapping[str, type[RestartPayload]] = {
    kind.MODE: kind
    for kind in (
        RuntimeRestartToolApprovalWait,
        RuntimeRestartQueuedSubmission,
        RuntimeRestartReactionLoopState,
        RuntimeRestartScheduledWorkContext,
    )
}
"""By mode."""
