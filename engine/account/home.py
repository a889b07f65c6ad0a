"""The folder of what the app keeps for its visitors: the app writes there, the preflight looks whether it can."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """TWOSPEEDS_HOME, or the system's place for a user's data."""
    chosen = os.environ.get("TWOSPEEDS_HOME")
    return Path(chosen) if chosen else platformdirs.user_data_path("two-speeds", appauthor=False)
