"""Spanish in a real browser: chosen once, it holds for the page, its picture, the document and the next visit."""

from playwright.sync_api import expect

from tests.browser.site.visitor import LESSON, visit

SPANISH = "() => document.documentElement.lang === 'es'"


def test_whoever_chooses_spanish_has_it_on_this_page_on_the_next_and_tomorrow(browser, app):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    page = context.new_page()
    visit(page, app.url + LESSON + "?teach=1")
    assert page.evaluate("document.documentElement.lang") == "en"
    page.get_by_role("radiogroup", name="Language · Idioma").get_by_text("Español").click()
    page.wait_for_function(SPANISH)
    expect(page.get_by_role("heading", level=1)).to_have_text("Una petición, dos fases")
    expect(page.get_by_role("group", name="Imagen paso a paso de una petición")).to_be_visible()
    expect(page.get_by_role("button", name="Hoja para imprimir")).to_be_visible()  # what ?teach=1 opens
    assert page.url.partition("?")[0] == app.url + LESSON and "lang=es" in page.url
    page.get_by_role("link", name="Laboratorio").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Laboratorio")
    page.wait_for_function("() => location.search.includes('lang=es')")

    tomorrow = context.new_page()
    visit(tomorrow, app.url + "/serving")
    expect(tomorrow.get_by_role("heading", level=1)).to_have_text("Servicio")
    tomorrow.wait_for_function(SPANISH)
    assert "lang=" not in tomorrow.url  # an address that is passed on leaves everybody their own
    context.close()
