"""A link that locks or hides the Lab's settings, for a class that is to look at one thing."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.pages.conftest import MAIN, checked, press


def lab(**params: str) -> AppTest:
    page = AppTest.from_file(str(MAIN), default_timeout=30)
    page.switch_page("../pages/lab.py")
    for name, value in params.items():
        page.query_params[name] = value
    return checked(page.run())


def test_a_link_locks_some_settings_hides_others_and_the_run_has_its_values(engine):
    page = lab(temperature="0.3", seed="7", top_k="5", lock="temperature,seed,perfume", hide="top_k,serving,stop")
    boxes = {box.label: box for box in page.number_input}
    assert boxes["Temperature"].disabled and boxes["Seed"].disabled and not boxes["New tokens"].disabled
    assert "Top-k" not in boxes and not page.checkbox
    assert "`perfume`" in page.warning[0].value
    boxes["New tokens"].set_value(12)
    press(page, "Run it")
    ((_prompt, sampling),) = engine.asked
    assert (sampling.temperature, sampling.seed, sampling.top_k, sampling.max_new_tokens) == (0.3, 7, 5, 12)
