"""What a lesson may say of shapes and machines agrees with the course's facts, and what is not measured is unknown."""

import pytest

from engine.account import probe
from engine.account.probe import MachineProbe, Rate, save
from lessons import catalogue
from lessons.named_shapes import KINDS, MACHINES, SHAPES, WAYS, named_values

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    """A cache folder in which no probe has left anything."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_every_name_has_a_value_and_no_other_name_exists():
    assert set(named_values()) == set(KINDS)


@pytest.mark.parametrize(
    ("key", "billions", "full", "linear", "kv", "state", "crossover"),
    [
        ("qwen08b", 0.7524, 6, 18, 12 * KIB, 18 * MIB, 1536),
        ("qwen2b", 1.8818, 6, 18, 12 * KIB, 18 * MIB, 1536),
        ("qwen4b", 4.2058, 8, 24, 32 * KIB, 48 * MIB, 1536),
        ("qwen9b", 8.9538, 8, 24, 32 * KIB, 48 * MIB, 1536),
        ("qwen27b", 26.896, 16, 48, 64 * KIB, 144 * MIB, 2304),
    ],
)
def test_the_qwen_shapes_are_those_of_the_facts(key, billions, full, linear, kv, state, crossover):
    values = named_values()
    assert values[f"shape.{key}.parameters"] == pytest.approx(billions * 1e9, rel=1e-4)
    told = [values[f"shape.{key}.{what}"] for what in ("full_layers", "linear_layers", "kv_bytes_per_position")]
    assert told == [full, linear, kv]
    assert (values[f"shape.{key}.state_bytes"], values[f"shape.{key}.crossover"]) == (state, crossover)


def test_a_step_of_the_27b_reads_less_than_it_holds():
    values = named_values()
    assert round(values["shape.qwen27b.weight_bytes"] / 1e9, 2) == 53.79
    assert round(values["shape.qwen27b.step_weight_bytes"] / 1e9, 2) == 51.25


def test_uniform_attention_has_no_state_and_so_no_crossover():
    values = named_values()
    assert values["shape.smollm2.kv_bytes_per_position"] == 22.5 * KIB
    assert values["shape.smollm2.state_bytes"] == 0 and values["shape.smollm2.crossover"] is None


def test_the_story_model_is_told_by_its_recording_and_unknown_without_it(tmp_path, monkeypatch):
    assert named_values()["shape.story.crossover"] == 384
    monkeypatch.setattr(catalogue, "RECORDINGS", tmp_path)
    assert named_values()["shape.story.crossover"] is None


def test_every_machine_and_link_has_its_printed_rate():
    values = named_values()
    assert values["preset.h100.bandwidth"] == 3.35e12 and values["link.ib400.bandwidth"] == 50e9
    assert all(values[f"preset.{key}.ridge"] > 1 for key in MACHINES) and all(
        values[f"link.{key}.bandwidth"] for key in WAYS
    )
    assert all(values[f"shape.{key}.name"] for key in SHAPES)


def test_this_machine_is_unknown_until_it_has_been_measured():
    assert {value for name, value in named_values().items() if name.startswith("machine.")} == {None}
    rate = Rate(2e10, 1e10, 3e10, 5)
    for threads in (1, 2):
        kept = MachineProbe("2026-11-30T00:00:00+00:00", "A CPU", threads, "2", {}, 8 << 30, 1, rate, rate, rate)
        save(kept, probe.kept_at(threads))
    values = named_values()
    assert values["machine.bandwidth"] == 2e10 and values["machine.ridge"] == 1 and "A CPU" in values["machine.name"]
