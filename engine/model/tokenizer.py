"""Text to token ids and back, by the checkpoint's own `tokenizer.json`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer as FastTokenizer
from tokenizers import decoders

from engine.account.record import Token
from engine.model.chat_template import ChatTemplate
from engine.model.config import CheckpointError, read_json, token_ids


class Tokenizer:
    """A byte-level BPE tokenizer. Its pieces are bytes, not characters: one token may be a third of an emoji."""

    def __init__(self, folder: str | Path) -> None:
        """Load `folder/tokenizer.json`, the end-of-text ids from the two configs, and the chat template, if any.

        Raises CheckpointError.
        """
        folder = Path(folder)
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise CheckpointError(f"{path} is missing")
        try:
            self._fast = FastTokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for a file that it cannot read
            raise CheckpointError(f"{path} cannot be read: {error}") from error
        if not isinstance(self._fast.decoder, decoders.ByteLevel):
            raise CheckpointError(f"{path} is not a byte-level tokenizer: the bytes of its tokens are not known")
        self.chat_template = ChatTemplate.of(folder)
        self.eos_ids = _eos_ids(folder) | self._end_of_turn()
        self._added = self._fast.get_added_tokens_decoder()
        self._token = functools.lru_cache(maxsize=None)(self._make_token)

    @property
    def vocab_size(self) -> int:
        """Number of tokens that the tokenizer knows; the model's table may be padded beyond it."""
        return self._fast.get_vocab_size()

    @property
    def vocabulary(self) -> dict[str, int]:
        """Every piece and its id."""
        return self._fast.get_vocab()

    @functools.cached_property
    def longest_token_bytes(self) -> int:
        """Bytes of the longest token: n tokens of text have at most n times as many (a character a byte)."""
        return max(map(len, self._fast.get_vocab()))

    def encode(self, text: str) -> list[int]:
        """Token ids of the text; nothing is put before or after it."""
        return self._fast.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the tokens' bytes joined; what is not UTF-8 prints as the replacement character."""
        return b"".join(self.token(i).raw for i in ids).decode("utf-8", errors="replace")

    def token(self, token_id: int) -> Token:
        """The token with its exact bytes. An id of the padding beyond the vocabulary has none."""
        return self._token(token_id)

    def _end_of_turn(self) -> frozenset[int]:
        """A chat model's reply ends with its turn, whether or not the configs list that token among the others."""
        text = self.chat_template.eos_token if self.chat_template else None
        token_id = None if text is None else self._fast.token_to_id(text)
        return frozenset() if token_id is None else frozenset({token_id})

    def _make_token(self, token_id: int) -> Token:
        if token_id in self._added:
            return Token.of(token_id, self._added[token_id].content.encode())
        piece = self._fast.id_to_token(token_id)
        return Token.of(token_id, b"" if piece is None else piece_bytes(piece))


def piece_bytes(piece: str) -> bytes:
    """The bytes that a piece of a byte-level vocabulary stands for: each byte is written as a printable character."""
    alphabet = _byte_of_character()
    return bytes(alphabet[character] for character in piece)


@functools.cache
def _byte_of_character() -> dict[str, int]:
    """GPT-2's alphabet: printable Latin-1 bytes are themselves, the other 68 are numbered from U+0100 in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(hidden)}


def _eos_ids(folder: Path) -> frozenset[int]:
    """generation_config.json decides where it is present; a chat model ends a turn by another token than a text."""
    for name in ("generation_config.json", "config.json"):
        if (folder / name).exists():
            fields = read_json(folder / name)
            fields = {**fields.get("text_config", {}), **fields}
            found = token_ids(fields.get("eos_token_id"), f"{name}: eos_token_id")
            if found:
                return frozenset(found)
    return frozenset()
