"""The engine inside its server: loading, ready, or failed with a reason.

The server answers from its first moment on, so that a page can say what is going on; the model loads beside it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from engine.loop.variant import split_variant, variants
from engine.serve import wire
from engine.serve.faults import Refused

if TYPE_CHECKING:
    from engine.loop.engine import Engine

_log = logging.getLogger(__name__)


KEPT_S = 600.0
"""A variant or another model that nobody has asked for so long gives its memory back."""


class OtherModels(NamedTuple):
    """The models beside the server's own."""

    names: Callable[[], Sequence[str]]
    """Those that are on this machine now."""
    load: Callable[[str], Engine]
    """Makes the engine of one of their variants."""


@dataclass
class _Variant:
    engine: Engine
    asked_at: float


class EngineHost:
    """Loads one engine in a thread, once, and hands it to whoever asks when it is ready.

    Beside it stand variants of the same model in fewer bits, and other models, each an engine of its own: loaded when
    first asked for, closed when nobody has asked for ten minutes.
    """

    def __init__(
        self, load: Callable[[], Engine], load_variant: Callable[[str], Engine] | None = None,
        others: OtherModels | None = None,
    ) -> None:  # fmt: skip
        self._load = load
        self._load_variant = load_variant
        self._others = others
        self._variants: dict[str, _Variant] = {}
        self._loading_variant = threading.Lock()
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
        """Loading, ready or failed, and why; of a cluster that is ready, how many engines it has."""
        if self._engine is not None and self._engine.condition:
            return wire.Health("ready", self._engine.condition)
        return self._health

    @property
    def machine(self) -> str | None:
        """The name of what computes; None while nothing does. A front of several engines has no one device."""
        device = getattr(self._engine, "device", None)
        return device.name if device else None

    @property
    def engine(self) -> Engine:
        """The engine; raises Refused (503) while there is none."""
        if self._engine is None:
            code = "engine_failed" if self._health.status == "failed" else "engine_loading"
            raise Refused(503, code, self._health.message or "The engine is not ready.")
        return self._engine

    @property
    def engines(self) -> list[Engine]:
        """Every engine that is loaded, the model as it is first; raises Refused (503) while there is none."""
        return [self.engine, *(variant.engine for variant in list(self._variants.values()))]

    @property
    def names(self) -> list[str]:
        """Every name that may be asked for, loaded or not. Raises Refused while there is no engine."""
        own = list(self.engine.models)
        if self._load_variant is not None:
            own = [one for name in own for one in variants(name)]
        others = self._others.names() if self._others else ()
        return list(dict.fromkeys([*own, *(one for name in others for one in variants(name))]))

    def is_loaded(self, model: str | None) -> bool:
        """Whether `engine_for` answers at once."""
        return model is None or model in self.engine.models or model in self._variants

    def check(self, model: str) -> None:
        """Raise Refused: 404 for a name that is not in `names`, 503 while there is no engine."""
        known = self.names
        if model not in known:
            raise Refused(404, "unknown_model", f"There is no model {model[:80]!r} here; there is: {', '.join(known)}.")

    def engine_for(self, model: str | None) -> Engine:
        """The engine of a model's name, None for the model as it is; loads one that is not here, which takes seconds.

        Raises Refused: 404 for a name that is not in `names`, 503 while there is no engine or if loading fails.
        """
        if model is None or model in self.engine.models:
            return self.engine
        if found := self._loaded(model):
            return found
        self.check(model)
        with self._loading_variant:
            if found := self._loaded(model):
                return found
            engine = self._bring_up_variant(model)
            with self._lock:
                if not self._closed:
                    self._variants[model] = _Variant(engine, time.monotonic())
                    return engine
        engine.close()
        raise Refused(503, "engine_closed", "The engine is shutting down.")

    def _loaded(self, model: str) -> Engine | None:
        """A variant that is here, which is thereby asked for; never waits for another one that is being loaded."""
        with self._lock:
            variant = self._variants.get(model)
            if variant is None:
                return None
            variant.asked_at = time.monotonic()
            return variant.engine

    def drop_unused(self, now: float | None = None) -> None:
        """Close the variants that nobody has used for a while."""
        now = time.monotonic() if now is None else now
        with self._lock:
            unused = [
                name for name, variant in self._variants.items()
                if now - variant.asked_at > KEPT_S and not variant.engine.batch_table()
            ]  # fmt: skip
            engines = [self._variants.pop(name).engine for name in unused]
        for engine in engines:
            engine.close()

    def close(self) -> None:
        """Stop the engines; their live runs end as cancelled. One that is still loading is stopped once it is there."""
        with self._lock:
            self._closed = True
            engines = [variant.engine for variant in self._variants.values()]
            if self._engine is not None:
                engines.append(self._engine)
            self._engine, self._variants = None, {}
            self._health = wire.Health("failed", "The engine is shutting down.")
        for engine in engines:
            engine.close()

    def _bring_up_variant(self, model: str) -> Engine:
        is_own = self._load_variant is not None and split_variant(model)[0] in self.engine.models
        load = self._load_variant if is_own or self._others is None else self._others.load
        assert load is not None, "only a name that `check` knows is brought up"
        try:
            engine = load(model)
        except Exception as error:
            raise Refused(503, "engine_failed", self._explain(error)) from error
        engine.start()
        return engine

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
