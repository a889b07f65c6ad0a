"""How every kind of number on the site is made, on which machine, with which software."""

from __future__ import annotations

from importlib import metadata

import pandas as pd
import streamlit as st

from engine.account.hardware import cpu_name
from engine.account.record import ModelShape
from engine.serve.client import EngineRefused, EngineUnavailable
from lessons.filters import binary_bytes
from views.engine_calls import engine_notice
from views.engine_link import engine_link
from views.engines_elsewhere import show_elsewhere, show_outside_setting
from views.evidence import LABELS, MEANINGS
from views.language_notes import show_languages
from views.safe_text import code_span, plain
from views.words import N_, _

PACKAGES = (
    "torch", "transformers", "tokenizers", "safetensors", "streamlit", "plotly", "numpy", "msgspec", "starlette",
    "uvicorn", "httpx", "websockets", "prometheus-client", "markdown-it-py", "mdit-py-plugins", "typer", "rich",
    "latex2mathml", "psutil", "py-cpuinfo", "platformdirs", "ninja",
)  # fmt: skip
"""What the app and the engine are built on, as named in requirements.txt."""


def show_method() -> None:
    """Draw the page."""
    st.title(_("How the numbers are made"), anchor=False)
    st.markdown(_("Every number on this site carries one of these labels."))
    st.markdown("\n".join(f"- **{LABELS[kind]}**: {MEANINGS[kind]}" for kind in LABELS))
    st.header(_("Timings"), anchor="timings")
    st.markdown(_(_TIMINGS))
    st.header(_("What is not measured"), anchor="not-measured")
    st.markdown(_(_NOT_MEASURED))
    st.header(_("This machine"), anchor="machine")
    _machine()
    st.header(_("Software and licences"), anchor="software")
    _software()
    show_languages()


_TIMINGS = N_(
    """
- The engine is a process of its own. It reads a monotonic clock at the start of every pass, and at its end when the new
  token has been drawn. All times are whole nanoseconds from the moment at which the request arrived.
- **Queue** runs from arrival to the first pass, **prefill** from there to the first token. Time to first token is their
  sum. **Gaps** run from one token to the next. Percentiles are values that were measured, by nearest rank, n beside
  them.
- Reading and writing speed are two numbers. They are never blended into one.
- The model is warmed up when it is loaded, so the first request does not pay for that.
- The engine serves up to sixteen requests at once and shares its steps among them; beyond that, or when its memory is
  full, a run waits: that is the queue. Each timing says whether it was measured alone or under load.
- Instruments cost time. Times per layer and states come from a second pass over the same tokens, taken afterwards, and
  are never mixed with the timings of the run.
"""
)

_NOT_MEASURED = N_(
    """
- Memory traffic. The bytes that a pass reads and writes are counted from the model's shape, each byte once, whatever
  the processor's caches do.
- The way to your screen. Timings end in the engine; the picture follows some hundredths of a second later.
- Energy, and the noise of whatever else this machine is doing: repeat a run before you compare two.
"""
)


def _machine() -> None:
    if notice := engine_notice():
        st.info(plain(notice))
    if engine_link().supervised:
        st.markdown(_("The engine runs here, on {name}.").format(name=code_span(cpu_name())))
    else:
        show_elsewhere()
    show_outside_setting()
    models = _models()
    if models:
        st.dataframe(
            pd.DataFrame(
                {
                    _("model"): [one.name for one in models],
                    _("parameters"): [f"{one.parameters:,}" for one in models],
                    _("full-attention layers"): [one.layer_types.count("full_attention") for one in models],
                    _("DeltaNet layers"): [one.layer_types.count("linear_attention") for one in models],
                    _("weights"): [f"{binary_bytes(one.weight_bytes)}, {one.weight_dtype}" for one in models],
                    _("KV cache"): [one.kv_dtype for one in models],
                    _("state"): [one.state_dtype for one in models],
                    _("context (tokens)"): [f"{one.context_length:,}" for one in models],
                }
            ),
            hide_index=True,
            width="content",
        )


def _models() -> list[ModelShape]:
    try:
        return engine_link().client.models()
    except (EngineUnavailable, EngineRefused):
        return []


def _software() -> None:
    rows = [(name, *_version_and_licence(name)) for name in PACKAGES]
    columns = [_("package"), _("version"), _("licence")]
    st.table(pd.DataFrame(rows, columns=columns), border="horizontal", hide_index=True)
    st.markdown(_("Two Speeds itself is under the Apache License 2.0. The model card names the training texts."))


def _version_and_licence(package: str) -> tuple[str | None, str | None]:
    """What the installed package says of itself; blank if it is not there or does not say."""
    try:
        about = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return None, None
    expressions = about.get_all("License-Expression") or []
    classified = [line.rpartition("::")[2].strip() for line in about.get_all("Classifier") or [] if "License" in line]
    stated = [line for text in about.get_all("License") or [] for line in text.strip().splitlines()[:1]]
    return metadata.version(package), next((one for one in [*expressions, ", ".join(classified), *stated] if one), None)
