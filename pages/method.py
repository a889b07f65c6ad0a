"""Method: how every kind of number on this site is made."""

from __future__ import annotations

from views.method import show_method

show_method()
