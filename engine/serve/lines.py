"""Cutting a byte stream into lines.

At the newline byte alone: `str.splitlines`, which HTTP libraries use for this, also cuts at U+0085, U+2028 and U+2029,
and a JSON string may hold these as they are.
"""

from __future__ import annotations


class LineCutter:
    """Takes chunks as they arrive and gives the lines that are whole, without their ends; blank ones are left out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes."""
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        return [line for line in whole if line.strip()]
