"""Serving: the engine as a service, live, and what another load or machine would do."""

from __future__ import annotations

from views.serving import show_serving

show_serving()
