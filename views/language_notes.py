"""What a reader should know of the site's languages: how one is chosen, what stays English, how to add another."""

from __future__ import annotations

import streamlit as st

from views.words import LANGUAGES, _


def show_languages() -> None:
    """Draw the section."""
    st.header(_("Languages"), anchor="languages")
    own_names = " · ".join(LANGUAGES.values())
    example = "`?lang=es`"
    st.markdown(
        "\n".join(
            f"- {line}"
            for line in (
                _(
                    "The pages and the lessons are in {languages}. Choose one in the side bar, or by {parameter} in "
                    "the address; until somebody chooses, the browser's own language decides. A link keeps a language "
                    "only if it was chosen."
                ).format(languages=own_names, parameter=example),
                _(
                    "Numbers have a decimal point and a comma between thousands in every language, so that a page, a "
                    "file and a line of code agree. Spanish is written like this in Mexico and Central America."
                ),
                _(
                    "English in every language: code, the columns of CSV files, the sources of printed figures, and a "
                    "detail that only the engine knows. The story model has read nothing but English."
                ),
                _(
                    "Streamlit's own words, which cannot be translated from here: the menu at the top right, “Press "
                    "Enter” under a box, the buttons of a table, of an upload and of a number box, “No results” in a "
                    "list, and its notes about a lost connection."
                ),
                _(
                    "To add a language: `python -m views.locale add CODE` begins its catalogue, and its lessons go "
                    "into lessons/CODE, under the same file names. `python -m views.locale check` and "
                    "`python -m lessons check` name what is missing; a lesson without a translation is in English."
                ),
            )
        )
    )
