"""A visitor who reads Spanish: pages without an English word of ours, addresses as before, a choice that stays."""

from streamlit.runtime.context import ContextProxy
from streamlit.testing.v1 import AppTest

from lessons import catalogue as course
from tests.pages.conftest import checked, opened, words
from views.language import COOKIE
from views.locale import catalogue
from views.words import speaking


def english_words() -> dict[str, str]:
    """Every message whose Spanish is another, and where it stands."""
    spanish = catalogue.read("es")
    return {
        text: places[0][0]
        for key, places in catalogue.used().items()
        for text in ((key,) if isinstance(key, str) else key)
        if (found := spanish.get(catalogue._msgid(key))) and text not in catalogue._strings(found)
    }


def shown(page) -> list[str]:
    """Every label, text, help and option of a page, the side bar too."""
    texts: list[str] = []
    for element in [*page.main, *page.sidebar]:
        names = ("label", "help", "options" if hasattr(element, "options") else "value")
        for name in names:
            value = getattr(element, name, None)
            texts += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
    return texts


def test_nothing_english_of_ours_is_left_on_pages_in_spanish(engine):
    english, page = english_words(), opened(lang="es")
    for name in ("", "lab", "kernels"):
        if name:
            page.switch_page(f"../pages/{name}.py")
            with speaking("es"):  # AppTest names a box's choice as the browser would, in the page's words
                checked(page.run())
        texts = shown(page)
        assert len(texts) > 20
        assert {text: english[text] for text in texts if text in english} == {}, name


def choice(page):
    return next(one for one in page.radio if one.label == "Language · Idioma")


def test_a_choice_opens_the_page_anew_and_stands_in_the_address_from_then_on(engine):
    page = opened()
    assert choice(page).value == "en" and "lang" not in page.query_params
    checked(choice(page).set_value("es").run())
    (script,) = [one.proto.body for one in page.main.get("html") if "location.replace" in one.proto.body]
    assert f'"{COOKIE}=es; ' in script and '.set("lang", "es")' in script
    anew = opened(lang="es")
    assert anew.session_state["address"] == page.session_state["address"]
    assert course.lessons("es")[0].front.title in words(anew)
    anew.switch_page("../pages/lab.py")
    checked(anew.run())
    assert "Laboratorio" in words(anew)
    assert anew.query_params["lang"] in ("es", ["es"])


def small_page():
    import streamlit as st

    from views.language import in_link, settle
    from views.words import language

    settle()
    st.text(f"{language()} {in_link()}")


def test_a_link_comes_first_then_the_cookie_then_the_browsers_own_language(monkeypatch):
    def said(**params: str) -> str:
        page = AppTest.from_function(small_page)
        page.query_params.update(params)
        return page.run().text[0].value

    assert said() == "en {}"
    monkeypatch.setattr(ContextProxy, "locale", property(lambda _self: "es-AR"))
    assert said() == "es {}"  # not chosen, so a shared link leaves everybody theirs
    monkeypatch.setattr(ContextProxy, "cookies", property(lambda _self: {COOKIE: "en"}))
    assert said() == "en {}"
    assert said(lang="es") == "es {'lang': 'es'}"
    assert said(lang="xx") == "en {}"


def test_a_lesson_that_has_no_spanish_yet_is_shown_in_english_and_says_so(engine, monkeypatch):
    monkeypatch.setattr(course, "translated_files", lambda language: course.lesson_files())
    page = opened(lang="es")
    with speaking("es"):
        assert course.lessons("es")[0].front.title in words(page)
    assert "Esta lección aún no se ha traducido" in words(page)
