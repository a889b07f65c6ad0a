"""The address of a page and the session, when the two disagree."""

import pytest
from streamlit.testing.v1 import AppTest

from views import page_state


def page():
    import streamlit as st

    from engine.account.record import Sampling
    from views.page_state import PageState

    page = PageState("lesson", Sampling(max_new_tokens=10))
    page.open()
    if st.button("run"):
        page.start_run("b" * 32, page.link.sampling)
    st.text(page.link.run or "none")


@pytest.fixture
def site():
    site = AppTest.from_function(page)
    site.query_params["at"] = "0"
    return site.run()


def test_a_rerun_that_comes_with_the_address_of_a_moment_ago_does_not_take_the_new_run_away(site):
    # The picture reported its step while the run began, and its rerun still had the old address: the page then read
    # that address like a link, and the run that a class was waiting for was gone.
    site.button[0].click().run()
    del site.query_params["run"]
    site.query_params["at"] = "0"
    site.run()
    assert site.text[0].value == "b" * 32
    assert site.query_params["run"] in ("b" * 32, ["b" * 32])


def test_who_goes_back_later_goes_back(site, monkeypatch):
    site.button[0].click().run()
    monkeypatch.setattr(page_state, "ECHO_S", 0.0)
    del site.query_params["run"]
    site.query_params["at"] = "0"
    assert site.run().text[0].value == "none"
