"""Inside the kernels."""

from __future__ import annotations

from views.kernels_page import show_kernels

show_kernels()
