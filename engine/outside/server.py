"""Which outside server is asked: its address, key and model, as the operator gives them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

import httpx


class OutsideError(Exception):
    """The outside server cannot be asked, or its answer cannot be used. `code` for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class OutsideServer:
    """An OpenAI-compatible server. The key stays out of `repr`, records and messages."""

    url: str
    """Up to where `/v1` begins, without a slash at the end."""
    model: str | None = None
    """None: the first that the server lists."""
    key: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Host and port, for people."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        host = f"[{host}]" if ":" in host else host
        return f"{host}:{parts.port}" if parts.port else host

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}


def outside_server(url: str, model: str | None = None, key: str | None = None) -> OutsideServer:
    """Check an address, with or without `/v1` at its end; raises `OutsideError`."""
    try:
        parts = urlsplit(url.strip())
        httpx.URL(url.strip())
    except (ValueError, httpx.InvalidURL):
        raise OutsideError("bad_address", "The outside engine's address cannot be read.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise OutsideError(
            "bad_address", "The outside engine's address must begin with http:// or https:// and name a host."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        message = "The outside engine's address takes no user, password or query; a key is given apart."
        raise OutsideError("bad_address", message)
    path = parts.path.rstrip("/").removesuffix("/v1")
    if key is not None and not (key.isascii() and key.isprintable()):
        raise OutsideError("bad_key", "The outside engine's key has characters that no header can carry.")
    return OutsideServer(urlunsplit((parts.scheme, parts.netloc, path, "", "")), model or None, key or None)


def configured(environment: Mapping[str, str] = os.environ) -> OutsideServer | None:
    """The operator's outside engine; None where none is set. Raises `OutsideError` for an address that is no use.

    TWOSPEEDS_OUTSIDE_URL, TWOSPEEDS_OUTSIDE_MODEL and TWOSPEEDS_OUTSIDE_KEY. Only the process's environment can set it:
    nobody who visits a page can make this machine ask an address of theirs.
    """
    url = environment.get("TWOSPEEDS_OUTSIDE_URL", "").strip()
    if not url:
        return None
    return outside_server(url, environment.get("TWOSPEEDS_OUTSIDE_MODEL"), environment.get("TWOSPEEDS_OUTSIDE_KEY"))
