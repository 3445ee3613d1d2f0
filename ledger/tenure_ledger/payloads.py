"""The four checkpoint payloads, with the fields of seed 000 section 2, verbatim.

Unknown fields are kept: a newer host's snapshot survives an older library.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tenure_ledger.errors import InvalidInput
from tenure_ledger.events import CheckpointMode

__all__ = [
    "RestartPayload",
    "RuntimeRestartQueuedSubmission",
    "RuntimeRestartReactionLoopState",
    "RuntimeRestartScheduledWorkContext",
    "RuntimeRestartToolApprovalWait",
]


class RestartPayload(BaseModel, frozen=True):
    """What a restart would resume; ``MODE`` is the checkpoint's mode."""

    model_config = ConfigDict(extra="allow")

    MODE: ClassVar[CheckpointMode]

    def __init__(self, **fields: Any) -> None:  # noqa: ANN401  what hosts pass
        try:
            super().__init__(**fields)
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
                for one in error.errors(include_url=False, include_input=False)
            )
            msg = f"this is no {type(self).__name__}: {wrong}"
            raise InvalidInput(msg) from None


class RuntimeRestartToolApprovalWait(RestartPayload, frozen=True):
    """A tool call waits for a person. Times in milliseconds."""

    MODE = "tool_approval_wait"

    wait_started_at_ms: int
    timeout_remaining_ms: int | None = None
    authenticated_user_inputs: list[JsonValue] = Field(default_factory=list[JsonValue])
    dispatched_before_restart: bool
    producer_inference_request_id: str | None = None
    producer_inference_attempt_id: str | None = None
    presentation_locale: str | None = None
    client_language_chain: list[str] = Field(default_factory=list[str])
    client_ip: str | None = None
    location_freshness: JsonValue = None


class RuntimeRestartQueuedSubmission(RestartPayload, frozen=True):
    """A submission was taken in and inference has not begun."""

    MODE = "queued_submission"

    submission_key: str
    absorbed_submission_keys: list[str] = Field(default_factory=list[str])
    override_system_prompt: str | None = None
    append_system_prompt: str | None = None
    requested_model: str | None = None
    reasoning_strength_override: JsonValue = None
    tools_allowed_override: list[str] | None = None
    tool_call_prefill: JsonValue = None
    transient_companion_wake_start_seq: int | None = None


class RuntimeRestartReactionLoopState(RestartPayload, frozen=True):
    """The loop of thought, tool call and result was under way."""

    MODE = "reaction_loop"

    consecutive_batches: int
    pending_compact: JsonValue = None
    pending_tool_calls: list[JsonValue] = Field(default_factory=list[JsonValue])
    completed_unpersisted_tool_outputs: list[JsonValue] = Field(
        default_factory=list[JsonValue]
    )
    lifetime_inference_count: int = 0
    lifetime_tool_call_count: int = 0


class RuntimeRestartScheduledWorkContext(RestartPayload, frozen=True):
    """A job of a schedule was running."""

    MODE = "scheduled_work"

    job_id: str
    attempt: int
    version: int
    scheduled_work_context: JsonValue = None
    replay_disposition: JsonValue = None
