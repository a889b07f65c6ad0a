"""Everything that is shipped along may be shipped along."""

from __future__ import annotations

import pytest

from tests.licences import ROOT, accepted, brought_along, is_permissive, licences


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return licences(sorted(brought_along()))


def test_every_package_states_a_licence_that_is_permissive_or_was_accepted_by_name(found):
    needed = brought_along()
    assert len(needed) > 50 and set(found) == set(needed)
    wrong = {name: told for name, told in found.items() if not is_permissive(told) and not accepted(name)}
    assert wrong == {}


def test_every_package_is_in_the_document(found):
    written = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    new = [name for name in found if f"\n| {name} |" not in written and not accepted(name)]
    assert new == [], "python -m tests.licences > docs/licences.md"


@pytest.mark.parametrize("licence", ["GPL-3.0-only", "MIT AND LGPL-2.1", "UNKNOWN", "", "Proprietary", "MITX"])
def test_copyleft_and_unknown_are_noticed(licence):
    assert not is_permissive(licence)


@pytest.mark.parametrize(
    "licence", ["MIT", "Apache-2.0 OR GPL-3.0", "(BSD-3-Clause AND 0BSD)", "MIT License; BSD License"]
)
def test_permissive_ones_are_let_through(licence):
    assert is_permissive(licence)
