"""What the instruments of serving publish for a lesson's own settings, without a page around them."""

from __future__ import annotations

import msgspec

from engine.account.service import service_report
from lessons.expressions import Value
from lessons.named_shapes import named_values
from lessons.structure import Block, Lesson
from views import batch_simulated, colliding, collision_scene, pools, what_if_service
from views.batch_engine import sharing_results
from views.service_panels import results as service_results
from views.sharing import kept
from views.virtual_clock import play
from views.what_if_load import playback_of


def published(lesson: Lesson, *, until: int | None = None) -> dict[str, Value]:
    """The results of the lesson's instruments, in order, the later ones on top; of the first `until` blocks only."""
    values: dict[str, Value] = dict(named_values())
    for block in lesson.named("instrument")[:until]:
        prefix = block.argument.replace("-", "_")
        values |= {f"{prefix}.{name}": value for name, value in results_of(block).items()}
    return values


def results_of(block: Block) -> dict[str, float | int | None]:
    """What one instrument block publishes."""
    settings = {one.key: one.value for one in block.settings}
    source = settings.pop("source", "")
    return _RESULTS[block.argument, source](settings)


def _shared(settings: dict[str, str]) -> dict[str, float | int | None]:
    shared = kept(int(settings["n"]))
    assert shared is not None
    return sharing_results(shared)


def _policies(settings: dict[str, str]) -> dict[str, float | int | None]:
    chosen = msgspec.convert(settings, batch_simulated.Chosen, strict=False)
    both = [playback_of("", one.policy, play(one), one.arrivals) for one in chosen.setups()]
    return batch_simulated.policy_results(both, chosen.mine)


def _collision(settings: dict[str, str]) -> dict[str, float | int | None]:
    chosen = msgspec.convert(settings, collision_scene.Chosen, strict=False)
    setups = chosen.setups()
    return collision_scene.results(collision_scene.played(setups, [play(one) for one in setups]), chosen.chunk)


def _recorded_collision(settings: dict[str, str]) -> dict[str, float | int | None]:
    taken = collision_scene.measured()
    assert taken is not None
    found = collision_scene.results(taken.playbacks, int(settings["chunk"]))
    return {f"real_{name}": value for name, value in found.items()}


def _pools(settings: dict[str, str]) -> dict[str, float | int | None]:
    chosen = msgspec.convert(settings, pools.Chosen, strict=False)
    return dict(pools.results({a: pools.served([play(one) for one in them]) for a, them in chosen.setups().items()}))


def _percentiles(settings: dict[str, str]) -> dict[str, float | int | None]:
    chosen = msgspec.convert(settings, what_if_service.Chosen, strict=False)
    found = play(chosen.setup())
    return service_results(service_report(found.runs, found.rows, window_ns=found.end_ns, limits=chosen.limits))


def _own_collision(_settings: dict[str, str]) -> dict[str, float | int | None]:
    found = colliding.kept()
    assert found is not None
    return colliding.own_results(found)


_RESULTS = {
    ("batch-table", "engine"): _shared,
    ("batch-table", "simulated"): _policies,
    ("collision", "simulated"): _collision,
    ("collision", "recorded"): _recorded_collision,
    ("collision", "engine"): _own_collision,
    ("two-pools", ""): _pools,
    ("percentiles", ""): _percentiles,
}
