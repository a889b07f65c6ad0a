"""The certificates that our HTTP clients trust."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def certificates() -> ssl.SSLContext:
    """Read once: for a client of every run's own it took an event loop 20 ms each time, also where there is no TLS."""
    return httpx.create_ssl_context(trust_env=False)
