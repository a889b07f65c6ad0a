import subprocess
import sys

import msgspec
import pytest

from engine.account import probe
from engine.account.probe import MachineProbe, Rate

QUICK = MachineProbe(
    created="2026-01-02T03:04:05+00:00", cpu=probe.cpu_name(), threads=1, torch_version=probe.torch_version(),
    cache_bytes={"L2": 1 << 20}, memory_bytes=8 << 30, buffer_bytes=256 << 20,
    bandwidth_bytes_per_s=Rate(40e9, 35e9, 41e9, 9), bf16_flops_per_s=Rate(900e9, 800e9, 920e9, 9),
    fp32_flops_per_s=Rate(100e9, 90e9, 120e9, 9),
)  # fmt: skip


def test_a_rate_is_the_median_with_its_extremes():
    rate = Rate.of(1000, [500, 1000, 250, 2000, 1000])
    assert rate == Rate(median=1e9, low=0.5e9, high=4e9, n=5)
    assert rate.spread == 3.5


def test_measuring_here_gives_ordered_positive_rates_and_leaves_the_threads_as_they_were(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(probe, "SECONDS", 0.02)
    monkeypatch.setattr(probe, "BUFFER_BYTES", 8 << 20)
    monkeypatch.setattr(probe, "cache_sizes", dict)
    before = torch.get_num_threads()
    measured = probe.measure(1)
    assert torch.get_num_threads() == before
    assert (measured.threads, measured.buffer_bytes) == (1, 8 << 20)
    assert measured.memory_bytes > 0
    for rate in (measured.bandwidth_bytes_per_s, measured.bf16_flops_per_s, measured.fp32_flops_per_s):
        assert 0 < rate.low <= rate.median <= rate.high
        assert rate.n >= probe.LEAST


def test_the_buffer_is_at_least_eight_times_the_last_cache():
    assert probe.buffer_bytes(0) == 256 << 20
    assert probe.buffer_bytes(64 << 20) == 512 << 20
    assert probe.buffer_bytes(1 << 30) == 1 << 30  # bounded: a probe must not take a laptop's memory


def test_a_result_is_kept_and_measured_again_only_when_asked_or_when_the_machine_changed(tmp_path, monkeypatch):
    counted = []

    def measure(threads):
        counted.append(threads)
        return msgspec.structs.replace(QUICK, threads=threads)

    monkeypatch.setattr(probe, "measure", measure)
    path = tmp_path / "cache" / "probe.json"
    first = probe.machine_probe(threads=1, path=path)
    assert probe.machine_probe(threads=1, path=path) == first
    assert counted == [1]
    probe.machine_probe(threads=1, path=path, again=True)
    assert counted == [1, 1]
    probe.save(msgspec.structs.replace(QUICK, cpu="another processor"), path)
    probe.machine_probe(threads=1, path=path)
    assert counted == [1, 1, 1]


def test_a_damaged_or_missing_file_is_measured_anew_and_an_unwritable_place_does_not_matter(tmp_path, monkeypatch):
    monkeypatch.setattr(probe, "measure", lambda threads: QUICK)
    damaged = tmp_path / "probe.json"
    damaged.write_bytes(b'{"created": "\xff')
    assert probe.load(damaged) is None
    assert probe.machine_probe(threads=1, path=damaged) == QUICK
    assert probe.load(damaged) == QUICK
    (tmp_path / "file").write_text("")
    assert probe.machine_probe(threads=1, path=tmp_path / "file" / "probe.json") == QUICK


def test_it_is_kept_beside_the_fetched_models(tmp_path, monkeypatch):
    from engine.loop.model_folder import fetched

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert probe.kept_at(2).parent == fetched().parent


def test_cache_sizes_are_read_per_level_without_the_instruction_cache(tmp_path):
    for index, (level, kind, size) in enumerate(
        [(1, "Data", "32K"), (1, "Instruction", "64K"), (3, "Unified", "8192K")]
    ):
        place = tmp_path / f"index{index}"
        place.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (place / name).write_text(f"{text}\n")
    (tmp_path / "index9").mkdir()
    assert probe.cache_sizes(tmp_path) == {"L1d": 32 << 10, "L3": 8 << 20}
    assert probe.cache_sizes(tmp_path / "absent") == {}


def test_the_command_shows_the_kept_result_as_a_table_or_as_itself(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from engine.__main__ import app

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(probe, "measure", lambda threads: msgspec.structs.replace(QUICK, threads=threads))
    shown = CliRunner().invoke(app, ["probe", "--threads", "1"], env={"COLUMNS": "120"})
    assert shown.exit_code == 0
    assert "40.0 GB/s" in shown.output
    assert "measured here 2026-01-02T03:04:05+00:00" in shown.output
    assert "ridge: 22.5 operations a byte" in shown.output
    printed = CliRunner().invoke(app, ["probe", "--threads", "1", "--json"])
    assert msgspec.json.decode(printed.output, type=MachineProbe) == QUICK
    assert CliRunner().invoke(app, ["probe", "--threads", "0"]).exit_code == 2


@pytest.mark.parametrize("module", ["engine.account.probe", "engine.account.presets", "engine.account.step_time"])
def test_importing_it_does_not_import_torch(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
