"""Stored checkpoints, read strictly: a whole snapshot, or why it is none.

Nothing is half filled. What is not there is ``partial``, what is there and wrong is
``invalid``: the two assertions of design section 7 about the descriptor itself.
"""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple, cast

from tenure_ledger.bodies import DEPTH_MAX, Json, check_body
from tenure_ledger.errors import InvalidInput
from tenure_ledger.payloads import (
    PAYLOAD_VERSION,
    PAYLOADS,
    ExecutionConfig,
    RestartPayload,
)

__all__ = ["RestartSnapshot", "Unreadable", "config_of", "read_payload", "to_store"]


class RestartSnapshot(NamedTuple):
    """A checkpoint as it was saved."""

    payload: RestartPayload
    config: ExecutionConfig
    """What recovery understands of the execution config."""
    execution_config: Json
    """The execution config as it was stored."""


class Unreadable(NamedTuple):
    """Why a stored checkpoint cannot be resumed."""

    kind: Literal["partial", "invalid"]
    """``partial``: something is missing. ``invalid``: something is there and wrong."""
    detail: str


def to_store(payload: RestartPayload, execution_config: object) -> dict[str, object]:
    """Return the body to store.

    Raises `InvalidInput` for a payload that is not what its class says: its lists could
    be changed since it was made, and not every way to make one checks.
    """
    fields = dict(payload)
    PAYLOADS[payload.MODE](**fields)
    if isinstance(execution_config, ExecutionConfig):
        given = dict(execution_config).items()
        execution_config = {name: value for name, value in given if value is not None}
    return {
        # The fields as they are: a dump would change what JSON cannot give back.
        "payload": fields,
        "execution_config": execution_config,
        "version": PAYLOAD_VERSION,
    }


def config_of(value: object) -> ExecutionConfig:
    """Return what recovery understands of an execution config that is JSON.

    Of what is no object nothing is understood. Raises `InvalidInput` when a known field
    is wrong.
    """
    if not isinstance(value, dict):
        return ExecutionConfig()
    return ExecutionConfig(**cast("dict[str, Any]", value))


def read_payload(mode: str, data: bytes | None) -> RestartSnapshot | Unreadable:
    """Return the snapshot in a stored body, or why there is none; never raises.

    ``data`` is the body's bytes as they are stored; None: erased, or never stored.
    """
    kind = PAYLOADS.get(mode)
    if kind is None:
        return Unreadable("invalid", f"{mode!r:.80} is no mode of this version")
    stored = _object("the checkpoint", _parsed(data))
    if isinstance(stored, Unreadable):
        return stored
    version = stored.get("version", PAYLOAD_VERSION)
    if type(version) is not int or version != PAYLOAD_VERSION:
        detail = f"version {version!r:.80} of the payload, and this one reads 1"
        return Unreadable("invalid", detail)
    fields = _object("its payload", stored.get("payload"))
    if isinstance(fields, Unreadable):
        return fields
    required = (at for at, field in kind.model_fields.items() if field.is_required())
    missing = [at for at in required if at not in fields]
    if missing:
        return Unreadable("partial", f"{kind.__name__} lacks {', '.join(missing)}")
    config: Json = stored.get("execution_config")
    try:
        return RestartSnapshot(kind(**fields), config_of(config), config)
    except InvalidInput as error:
        return Unreadable("invalid", str(error))


def _object(what: str, value: object) -> dict[str, Any] | Unreadable:
    if isinstance(value, Unreadable):
        return value
    if value is None:
        return Unreadable("partial", f"{what} is not there")
    if not isinstance(value, dict):
        return Unreadable("invalid", f"{what} is no object")
    return cast("dict[str, Any]", value)


def _parsed(data: bytes | None) -> object:
    """Return what the bytes say; text that ends too early is ``partial``."""
    if data is None:
        return Unreadable("partial", "its body was erased")
    try:
        value: object = json.loads(data)
        check_body("it", value)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        return Unreadable("partial", f"the checkpoint is no whole JSON: {error}")
    except RecursionError:
        return Unreadable("invalid", f"it is nested deeper than {DEPTH_MAX} levels")
    except (InvalidInput, ValueError) as error:
        return Unreadable("invalid", str(error))
    return value
