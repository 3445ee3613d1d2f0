"""Readers: how a host's messages look, and which of them are requests.

A reader never changes a message. What the view needs in another shape (a note, a
message with one tool result less) is a new object.
"""

from tenure_gate.readers.anthropic import AnthropicReader
from tenure_gate.readers.hearing import hear, ids
from tenure_gate.readers.openai import OpenAIReader
from tenure_gate.readers.opencode import OpenCodeReader
from tenure_gate.readers.protocol import (
    Message,
    MessageReader,
    Role,
    Said,
    check_reader,
)
from tenure_gate.readers.transcripts import (
    Format,
    Transcript,
    guess_reader,
    load_transcript,
)

__all__ = [
    "AnthropicReader",
    "Format",
    "Message",
    "MessageReader",
    "OpenAIReader",
    "OpenCodeReader",
    "Role",
    "Said",
    "Transcript",
    "check_reader",
    "guess_reader",
    "hear",
    "ids",
    "load_transcript",
]
