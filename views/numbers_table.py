"""The numbers of a figure as a table, folded away below it; they travel to the page when somebody unfolds it.

A table is the heaviest element that Streamlit has, and its browser side looks at every element of a page several times
at each change, whether or not it can be seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from views.words import _


def numbers_table(columns: Mapping[str, Sequence[Any]], *, key: str) -> None:
    """Draw the fold, and in it the columns if it is open. `key` must be unlike any other on the page."""
    fold = st.expander(_("The numbers as a table"), key=f"table-{key}", on_change="rerun")
    if fold.open:
        fold.dataframe(pd.DataFrame(dict(columns)), hide_index=True, width="stretch")
