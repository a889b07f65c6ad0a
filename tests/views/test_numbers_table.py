"""The numbers of a figure as a table."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page_with_a_table() -> None:
    from views.numbers_table import numbers_table

    numbers_table({"pass": [1, 2], "ms": [3.5, None]}, key="two")


def test_a_table_travels_to_the_page_when_it_is_unfolded():
    page = AppTest.from_function(page_with_a_table, default_timeout=30).run()
    assert page.expander[0].label == "The numbers as a table" and not page.dataframe
    page.session_state["table-two"] = True
    (table,) = page.run().dataframe
    assert list(table.value["pass"]) == [1, 2] and table.value["ms"].isna().tolist() == [False, True]
