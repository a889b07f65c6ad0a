"""A file from a person becomes a run, or a sentence that says why not. Nothing raises from here.

An opened file stays in the session that opened it: nothing of it is kept on the server, and no link leads to it.
"""

from __future__ import annotations

import hashlib

import streamlit as st

from engine.account import any_record
from engine.account.outside_record import AnyRun
from engine.account.record_file import RecordError
from views.open_file_checks import check_stranger
from views.words import _

MAX_MEGABYTES = 16
MOST_OPEN = 8
"""Files of one session; beyond it the one opened first goes."""

LONGEST_REASON = 300

_OPENED = "opened-files"


def read_file(raw: bytes) -> AnyRun | str:
    """The run in a file; or in plain words why it cannot be shown."""
    if len(raw) > MAX_MEGABYTES * 1_000_000:
        return _("The file is larger than {n} MB.").format(n=MAX_MEGABYTES)
    try:
        run = any_record.loads(raw)
        check_stranger(run)
    except RecordError as error:
        told = str(error)  # a decoder may quote what it could not read
        return told if len(told) <= LONGEST_REASON else f"{told[:LONGEST_REASON]}…"
    return run


def keep_open(raw: bytes, run: AnyRun) -> str:
    """Keep a run for this session; returns the name under which it is found again, the same for the same file."""
    name = hashlib.sha256(raw).hexdigest()[:12]
    files = opened()
    files.pop(name, None)
    files[name] = run
    for oldest in list(files)[:-MOST_OPEN]:
        del files[oldest]
    return name


def opened() -> dict[str, AnyRun]:
    """Name -> run of every file that is open in this session, the oldest first."""
    files: dict[str, AnyRun] = st.session_state.setdefault(_OPENED, {})
    return files


def close_file(name: str) -> None:
    """Forget a file."""
    opened().pop(name, None)
