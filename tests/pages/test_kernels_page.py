"""Inside the kernels: figures, recorded counts and every operation's two sources, without an engine's help."""

import pytest

from tests.pages.components import charts
from tests.pages.conftest import checked, opened, words
from views import kernel_counts, kernel_state
from views.kernel_sources import PAIRS

PAGE = "../pages/kernels.py"


def kernels(**params: str):
    page = opened()
    page.switch_page(PAGE)
    for name, value in params.items():
        page.query_params[name] = value
    return checked(page.run())


def box(page, label: str):
    return next(one for one in page.selectbox if one.label == label)


def test_the_page_opens_with_tiles_a_state_and_the_first_operation(engine):
    page = kernels()
    said = words(page)
    for heading in ("Attention, tile by tile", "One token in a DeltaNet state", "Every operation twice"):
        assert heading in said
    assert "Counted while it ran" in said
    assert "cannot be read" not in said
    assert len(charts(page)) == 2 + 5
    code = [block.value for block in page.code]
    assert any("def attend(" in one for one in code)
    assert any("def _attention_prefill(" in one for one in code)


@pytest.mark.parametrize("key", [pair.key for pair in PAIRS])
def test_every_operation_has_an_address_and_shows_both_sources(engine, key):
    page = kernels(operation=key)
    pair = next(one for one in PAIRS if one.key == key)
    assert box(page, "Operation").value == key
    code = "\n".join(block.value for block in page.code)
    for reference in (pair.statement, pair.kernel, pair.launch):
        assert f"def {reference.partition(':')[2]}(" in code


def test_an_address_that_names_no_operation_shows_the_first(engine):
    assert box(kernels(operation="no-such"), "Operation").value == PAIRS[0].key


def test_choosing_an_operation_changes_the_address(engine):
    page = kernels()
    checked(box(page, "Operation").select("swiglu").run())
    assert page.query_params["operation"] in ("swiglu", ["swiglu"])
    assert any("def _swiglu(" in block.value for block in page.code)


def test_the_first_token_finds_an_empty_state(engine):
    page = kernels()
    checked(box(page, "Token").select(0).run())
    assert "nothing is erased" in words(page)


def test_a_record_that_is_not_there_is_said_and_the_rest_of_the_page_stands(engine, monkeypatch):
    def gone():
        raise OSError

    monkeypatch.setattr(kernel_counts, "attention_bytes", gone)
    monkeypatch.setattr(kernel_state, "delta_tokens", gone)
    page = kernels()
    assert "The recorded counts cannot be read." in words(page)
    assert "The recorded tokens cannot be read." in words(page)
    assert any("def attend(" in block.value for block in page.code)
