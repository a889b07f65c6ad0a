"""Tokens for a model that has no tokenizer: a text goes in as its bytes, and other ids have no text at all."""

from __future__ import annotations

from collections.abc import Sequence

from engine.account.record import Token
from engine.model.chat_template import ChatTemplate


class ByteTokens:
    """Ids 0 to 255 are the bytes; any other is shown as its number. Same members as `tokenizer.Tokenizer`."""

    longest_token_bytes = 1
    vocab_size = 256

    def __init__(self) -> None:
        self.eos_ids: frozenset[int] = frozenset()
        self.chat_template: ChatTemplate | None = None

    @property
    def vocabulary(self) -> dict[str, int]:
        """Every byte's printable form and its id."""
        return {chr(byte): byte for byte in range(256)}

    def encode(self, text: str) -> list[int]:
        """The bytes of the text in UTF-8."""
        return list(text.encode("utf-8"))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of those ids that are bytes."""
        return b"".join(self.token(i).raw for i in ids).decode("utf-8", errors="replace")

    def token(self, token_id: int) -> Token:
        """A byte, or a token without bytes that prints as its number."""
        if token_id < 256:
            return Token.of(token_id, bytes([token_id]))
        return Token(token_id, "", f"[{token_id}]")
