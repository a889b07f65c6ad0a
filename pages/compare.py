"""Compare: two runs on one clock."""

from __future__ import annotations

from views.compare import show_compare

show_compare()
