"""The engine inside its server: loading, ready, or failed with a reason.

The server answers from its first moment on, so that a page can say what is going on; the model loads beside it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.serve import wire
from engine.serve.faults import Refused

if TYPE_CHECKING:
    from engine.loop.engine import Engine

_log = logging.getLogger(__name__)


class EngineHost:
    """Loads one engine in a thread, once, and hands it to whoever asks when it is ready."""

    def __init__(self, load: Callable[[], Engine]) -> None:
        self._load = load
        self._engine: Engine | None = None
        self._health = wire.Health("loading", "The model is being loaded.")
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._bring_up, name="engine-load", daemon=True)
        self.loaded_at: int | None = None
        """Wall-clock seconds since 1970 when the model was ready; None before."""

    def start(self) -> None:
        """Begin to load; returns at once."""
        self._thread.start()

    @property
    def health(self) -> wire.Health:
        """Loading, ready or failed, and why."""
        return self._health

    @property
    def engine(self) -> Engine:
        """The engine; raises Refused (503) while there is none."""
        if self._engine is None:
            code = "engine_failed" if self._health.status == "failed" else "engine_loading"
            raise Refused(503, code, self._health.message or "The engine is not ready.")
        return self._engine

    def close(self) -> None:
        """Stop the engine; its live runs end as cancelled. One that is still loading is stopped once it is there."""
        with self._lock:
            self._closed = True
            engine, self._engine = self._engine, None
            self._health = wire.Health("failed", "The engine is shutting down.")
        if engine is not None:
            engine.close()

    def _bring_up(self) -> None:
        try:
            engine = self._load()
            engine.start()
        except Exception as error:
            self._health = wire.Health("failed", self._explain(error))
            return
        with self._lock:
            if not self._closed:
                self._engine = engine
                self.loaded_at = int(time.time())
                self._health = wire.Health("ready")
                return
        engine.close()

    @staticmethod
    def _explain(error: Exception) -> str:
        # CheckpointError and ModelNotFound are ValueErrors written for people; the rest deserves a traceback.
        if isinstance(error, ValueError | FileNotFoundError):
            _log.error("the model could not be loaded: %s", error)
            return str(error)
        _log.exception("the model could not be loaded")
        return f"The model could not be loaded ({type(error).__name__}: {error})."
