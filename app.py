"""The front door: Streamlit's pages, our own routes beside them, and the engine's start and end.

python -m streamlit run app.py
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from views import relay
from views.engine_link import engine_link
from views.keeping import keep_dropping
from views.own_pages import OwnPagesOnly
from views.portions import Portions
from views.served_files import base_path
from views.visitor import VisitorCookie

ROOT = Path(__file__).resolve().parent


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Start the engine without waiting for it: the first page says what it is doing meanwhile."""
    link = engine_link()
    # What is there now stays: a collection need not look through it, whatever asks for one.
    gc.collect()
    gc.freeze()
    dropping = asyncio.create_task(keep_dropping(link.store))
    try:
        yield
    finally:
        dropping.cancel()
        await asyncio.to_thread(link.close)


app = st.App(
    ROOT / "views" / "main.py",
    routes=relay.routes(base_path()),
    middleware=[Middleware(OwnPagesOnly), Middleware(VisitorCookie), Middleware(Portions)],
    lifespan=lifespan,
)
