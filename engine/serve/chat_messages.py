"""The messages of a chat request, as a template is given them.

Text alone: what the engine cannot read (images, calls of tools) is refused by name.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from engine.serve.faults import Refused


class ContentPart(msgspec.Struct, frozen=True):
    """A part of a message; `text` is the only type that a language model of text can read."""

    type: str
    text: str | None = None


class ChatMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message, sent or as an earlier reply came, with its empty fields."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None
    name: str | None = None
    reasoning_content: str | None = None
    tool_calls: Any = None
    function_call: Any = None
    tool_call_id: Any = None
    refusal: Any = None
    annotations: Any = None
    audio: Any = None

    def for_template(self, place: int) -> dict[str, str]:
        """The fields that are set; parts are joined as they are. Raises Refused, with the message's place in the list.

        OpenAI's newer name for a system message is `developer`; templates know the older one.
        """
        where = f"messages[{place}]"
        if self.role in ("tool", "function"):
            raise _refused(f"{where}: the role {self.role!r} is not supported by this engine.")
        for name in ("tool_calls", "function_call", "tool_call_id", "audio"):
            if getattr(self, name):
                raise _refused(f"{where}: {name} is not supported by this engine.")
        role = "system" if self.role == "developer" else self.role
        told = {"role": role, "content": self._text(where), "name": self.name}
        told["reasoning_content"] = self.reasoning_content
        return {name: value for name, value in told.items() if value is not None}

    def _text(self, where: str) -> str:
        if isinstance(self.content, str):
            return self.content
        if not self.content:
            raise Refused(400, "bad_messages", f"{where} has no content.", "messages")
        other = next((part.type for part in self.content if part.type != "text"), None)
        if other is not None:
            raise _refused(f"{where}: a content part of type {other!r} is not supported; this engine reads text.")
        return "".join(part.text or "" for part in self.content)


def _refused(message: str) -> Refused:
    return Refused(400, "unsupported", message, "messages")
