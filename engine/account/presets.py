"""Machines and links that are not here: what their makers print, with source and date.

A peak is what a data sheet promises, and nobody reaches it. So each machine has two shares, of its bandwidth and of its
product rate, that a calculation multiplies in; in the presets both are 1, the ideal, and say so. Rates are dense: where
a data sheet prints the rate "with sparsity", half of it stands here. Sizes are as printed, in powers of ten.
"""

from __future__ import annotations

import msgspec

from engine.account.probe import MachineProbe

IDEAL = "ideal: the peak as printed, nothing taken off"


class Hardware(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a machine can do at most: bytes and operations a second, bytes of memory."""

    name: str
    flops_per_s: float
    """Matrix products in bf16 with sums in fp32, dense."""
    bandwidth_bytes_per_s: float
    memory_bytes: int
    source: str
    dated: str
    """Date of the source, or of the measurement."""
    compute_share: float = 1.0
    bandwidth_share: float = 1.0
    shares_source: str = IDEAL

    @property
    def ridge(self) -> float:
        """Operations a byte above which arithmetic is the bound and below which memory is (the roofline's ridge)."""
        return (self.flops_per_s * self.compute_share) / (self.bandwidth_bytes_per_s * self.bandwidth_share)


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way from one memory to another, one direction of it."""

    name: str
    bandwidth_bytes_per_s: float
    source: str
    dated: str
    latency_ns: int | None = None
    """Time before the first byte arrives; None if it is left out, since it depends on cards, switches and software."""

    def transfer_ns(self, n_bytes: int) -> int:
        """Nanoseconds that so many bytes take: latency + bytes / bandwidth."""
        return (self.latency_ns or 0) + round(n_bytes * 1e9 / self.bandwidth_bytes_per_s)


HARDWARE: dict[str, Hardware] = {
    one.name: one
    for one in (
        Hardware(
            "H100 SXM", 989.4e12, 3.35e12, 80 * 10**9,
            "NVIDIA H100 Tensor Core GPU data sheet (bf16 1,979 TFLOPS with sparsity, half of it dense; 3.35 TB/s)",
            "2023",
        ),
        Hardware(
            "H200 SXM", 989.4e12, 4.8e12, 141 * 10**9,
            "NVIDIA H200 Tensor Core GPU data sheet (bf16 1,979 TFLOPS with sparsity, half of it dense; 4.8 TB/s)",
            "2024",
        ),
        Hardware(
            "A100 SXM 80 GB", 312e12, 2.039e12, 80 * 10**9,
            "NVIDIA A100 Tensor Core GPU data sheet (bf16 312 TFLOPS dense; 2,039 GB/s)", "2021",
        ),
        Hardware(
            "RTX 4090", 165.2e12, 1.008e12, 24 * 10**9,
            "NVIDIA Ada GPU architecture white paper (bf16 with fp32 sums 165.2 TFLOPS dense; 1,008 GB/s)", "2023",
        ),
        Hardware(
            "Apple M4 Max", 40 * 128 * 2 * 1.578e9, 546e9, 128 * 10**9,
            "Apple, newsroom (40-core GPU, 546 GB/s, up to 128 GB). Apple prints no rate: computed as 40 cores x 128 "
            "lanes x 2 operations x 1.578 GHz, the clock that others measured; bf16 at the rate of fp32", "2024-10",
        ),
        Hardware(
            "Apple M1 Max", 10.4e12, 400e9, 64 * 10**9,
            "Apple, newsroom (32-core GPU, 10.4 TFLOPS in fp32, 400 GB/s, up to 64 GB); bf16 at the rate of fp32",
            "2021-10",
        ),
    )
}  # fmt: skip
"""Name -> machine. `this_machine` gives the one that is here."""

LINKS: dict[str, Link] = {
    one.name: one
    for one in (
        Link("PCIe 4.0 x16", 16 * 16e9 * 128 / 130 / 8, "PCI-SIG: 16 GT/s a lane, 16 lanes, 128b/130b coding", "2017"),
        Link("PCIe 5.0 x16", 16 * 32e9 * 128 / 130 / 8, "PCI-SIG: 32 GT/s a lane, 16 lanes, 128b/130b coding", "2019"),
        Link("NVLink 4", 450e9, "NVIDIA H100 data sheet: 900 GB/s, both directions together", "2023"),
        Link("25 GbE", 25e9 / 8, "IEEE 802.3by: line rate, protocol headers not taken off", "2016"),
        Link("100 GbE", 100e9 / 8, "IEEE 802.3bj: line rate, protocol headers not taken off", "2014"),
        Link("InfiniBand NDR400", 400e9 / 8, "InfiniBand Trade Association: 4 lanes of 100 Gb/s", "2021"),
    )
}
"""Name -> link; bytes a second in one direction."""


def together(hardware: Hardware, n: int) -> Hardware:
    """`n` of them that share one model evenly (tensor parallel), at their best: what they tell each other is not
    counted. Raises ValueError for fewer than one.
    """
    if n < 1:
        raise ValueError(f"There must be at least one machine; asked for {n}.")
    if n == 1:
        return hardware
    return msgspec.structs.replace(
        hardware,
        name=f"{n} x {hardware.name}",
        flops_per_s=n * hardware.flops_per_s,
        bandwidth_bytes_per_s=n * hardware.bandwidth_bytes_per_s,
        memory_bytes=n * hardware.memory_bytes,
        source=f"{n} times: {hardware.source}; the exchange between them is not counted",
    )


def this_machine(probe: MachineProbe) -> Hardware:
    """The machine that is here, as the probe measured it; its shares are 1, since the rates were reached.

    The engine multiplies in bf16 where the processor has instructions for it and converts to fp32 where it has not, so
    the faster of the two is the roof.
    """
    rate = max(probe.bf16_flops_per_s, probe.fp32_flops_per_s, key=lambda one: one.median)
    return Hardware(
        name=f"{probe.cpu}, {probe.threads} thread{'s' if probe.threads > 1 else ''}",
        flops_per_s=rate.median,
        bandwidth_bytes_per_s=probe.bandwidth_bytes_per_s.median,
        memory_bytes=probe.memory_bytes,
        source=f"measured here with torch {probe.torch_version}, medians of {rate.n} and "
        f"{probe.bandwidth_bytes_per_s.n} repetitions",
        dated=probe.created[:10],
        shares_source="measured: what the libraries reached",
    )
