"""The boxes of a what-if and their answer: a change of one draws the answer and leaves the boxes alone."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page_with_boxes() -> None:
    import streamlit as st

    from views.what_if_choice import Boxes
    from views.what_if_service import Chosen

    def answer(before: str, boxes: Boxes[Chosen]) -> None:
        chosen = boxes.chosen
        st.text(f"{before} {chosen.policy} {chosen.requests} {chosen.rate} {chosen.machine}")

    st.session_state["drawn"] = st.session_state.get("drawn", 0) + 1
    boxes = Boxes(Chosen(requests=500, machine="unheard of"), "load")
    boxes.policy("policy", "Policy")
    boxes.whole("requests", "Requests", 1, 100)
    boxes.decimal("rate", "Requests a second", 0.1, 10.0)
    boxes.machine()
    boxes.answered(answer, "asked:")


def test_the_answer_is_to_what_the_boxes_show_and_a_value_out_of_bounds_is_brought_into_them():
    page = AppTest.from_function(page_with_boxes, default_timeout=30).run()
    assert not page.exception
    assert [box.value for box in page.number_input] == [100, 5.0]
    assert page.text[0].value == f"asked: continuous 100 5.0 {page.selectbox(key='load-machine').value}"


def test_a_change_draws_the_answer_alone_and_the_boxes_keep_what_was_chosen():
    page = AppTest.from_function(page_with_boxes, default_timeout=30).run()
    page.number_input(key="load-rate").set_value(2.5).run()
    assert page.text[0].value.startswith("asked: continuous 100 2.5 ")
    assert page.session_state["drawn"] == 1 and not page.number_input, "nothing else was drawn"
    page.run()
    page.selectbox(key="load-policy").set_value("static").run()
    assert page.text[0].value.startswith("asked: static 100 2.5 ")
