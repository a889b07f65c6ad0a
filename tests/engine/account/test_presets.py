import pytest

from engine.account.presets import HARDWARE, IDEAL, LINKS, this_machine, together
from tests.engine.account.test_probe import QUICK

# What the data sheets print: bf16 rate with sparsity in TFLOP/s (None: printed dense), bandwidth in GB/s, memory in GB.
SHEETS = {
    "H100 SXM": (1979, 3350, 80),
    "H200 SXM": (1979, 4800, 141),
    "A100 SXM 80 GB": (624, 2039, 80),
    "RTX 4090": (330.3, 1008, 24),
}


@pytest.mark.parametrize("name", SHEETS)
def test_a_dense_rate_is_half_of_the_printed_one_with_sparsity(name):
    sparse, bandwidth, memory = SHEETS[name]
    machine = HARDWARE[name]
    assert machine.flops_per_s / 1e12 == pytest.approx(sparse / 2, rel=1e-3)
    assert machine.bandwidth_bytes_per_s == bandwidth * 1e9
    assert machine.memory_bytes == memory * 10**9


def test_every_preset_names_its_source_and_date_and_says_that_it_is_ideal():
    for machine in HARDWARE.values():
        assert len(machine.source) > 20
        assert machine.dated[:2] == "20"
        assert (machine.compute_share, machine.bandwidth_share, machine.shares_source) == (1.0, 1.0, IDEAL)
    for link in LINKS.values():
        assert len(link.source) > 20
        assert link.dated[:2] == "20"


def test_a_link_is_one_direction_in_bytes():
    # The usual rounded figures: 31.5 and 63 GB/s, 450 GB/s, 3.125, 12.5 and 50 GB/s.
    rounded = {name: round(link.bandwidth_bytes_per_s / 1e9, 3) for name, link in LINKS.items()}
    assert rounded == {
        "PCIe 4.0 x16": 31.508, "PCIe 5.0 x16": 63.015, "NVLink 4": 450.0, "25 GbE": 3.125, "100 GbE": 12.5,
        "InfiniBand NDR400": 50.0,
    }  # fmt: skip


def test_a_transfer_takes_latency_and_bytes_over_bandwidth():
    import msgspec

    link = LINKS["InfiniBand NDR400"]
    assert link.transfer_ns(50_000_000) == 1_000_000
    assert msgspec.structs.replace(link, latency_ns=5_000).transfer_ns(50_000_000) == 1_005_000


def test_eight_machines_together_have_eight_times_everything_and_say_what_is_left_out():
    one = HARDWARE["H100 SXM"]
    eight = together(one, 8)
    assert eight.name == "8 x H100 SXM"
    assert eight.memory_bytes == 640 * 10**9
    assert eight.ridge == pytest.approx(one.ridge)
    assert "not counted" in eight.source
    assert together(one, 1) == one
    with pytest.raises(ValueError, match="at least one"):
        together(one, 0)


def test_this_machine_is_what_the_probe_measured_and_its_roof_is_the_faster_product():
    here = this_machine(QUICK)
    assert here.bandwidth_bytes_per_s == QUICK.bandwidth_bytes_per_s.median
    assert here.flops_per_s == QUICK.bf16_flops_per_s.median
    assert here.dated == "2026-01-02"
    assert "measured here" in here.source
    import msgspec

    without_bf16 = msgspec.structs.replace(QUICK, bf16_flops_per_s=QUICK.fp32_flops_per_s.__class__(1e9, 1e9, 1e9, 3))
    assert this_machine(without_bf16).flops_per_s == QUICK.fp32_flops_per_s.median
