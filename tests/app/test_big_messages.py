"""Streamlit's own caching of messages, which ended a page's line for good, is off."""

from __future__ import annotations

import pytest
from streamlit import config
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_cache import populate_hash_if_needed

OPTION = "global.minCachedMessageSize"


def is_left_to_the_browser() -> bool:
    """Whether the next time this message would only be named, and the browser trusted to have it still."""
    message = ForwardMsg()
    message.delta.new_element.markdown.body = "x" * 1_000_000
    populate_hash_if_needed(message)
    return message.metadata.cacheable


def test_a_large_figure_is_sent_anew_rather_than_named(monkeypatch: pytest.MonkeyPatch):
    """A teacher turned a screen on the stage and back while the class panel's timer ran; in half of such moments the
    browser had just thrown the message away: "Cached ForwardMsg MISS", and no button worked any more.
    """
    config.get_config_options(force_reparse=True)
    assert not is_left_to_the_browser()
    ours = config.get_option
    monkeypatch.setattr(config, "get_option", lambda name: 10_000 if name == OPTION else ours(name))
    assert is_left_to_the_browser(), "Streamlit still has the cache that our setting is for"
