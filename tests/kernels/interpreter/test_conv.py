"""The causal convolution, its window, and drafts that may be rejected."""

import pytest
import torch

from kernels import gpu as kernels
from kernels import reference, reference_drafts
from tests.kernels.interpreter.closeness import HALF, assert_close, tolerance
from tests.kernels.interpreter.memory import DEVICE

N_SLOTS = 7


class Case:
    """Packed inputs and a pool of windows, in which only the slots in use are anything but NaN. Slot -1 is a padding
    row.
    """

    def __init__(
        self, memory, lengths, *, channels=24, taps=4, dtype=torch.float32, slots=None, seed=0, may_change=True
    ):
        draw = torch.Generator().manual_seed(seed)
        self.lengths = lengths
        self.slots = torch.tensor(slots or [(2 * i + 3) % N_SLOTS for i in range(len(lengths))])
        self.bounds = torch.tensor([0, *lengths]).cumsum(0)
        self.x = torch.randn(sum(lengths), channels, generator=draw).to(dtype)
        self.taps = torch.randn(taps, channels, generator=draw)
        self.windows = torch.full((N_SLOTS, taps - 1, channels), float("nan"))
        self.used = [slot for slot in self.slots.tolist() if slot >= 0]
        self.windows[self.used] = torch.randn(len(self.used), taps - 1, channels, generator=draw)
        self.owned = torch.zeros_like(self.windows, dtype=torch.bool)
        self.owned[self.used] = may_change
        self.placed = (
            memory.place(self.x, gap=6), memory.place(self.taps), memory.place(self.windows, may_change=self.owned),
            memory.place(self.bounds), memory.place(self.slots),
        )  # fmt: skip

    def truth(self):
        """Outputs and windows afterwards, in float64."""
        windows = self.windows.double()
        out = reference.causal_conv(self.x.double(), self.taps.double(), windows, self.bounds, self.slots)
        return out, windows


@pytest.mark.parametrize(
    ("length", "dtype"), [(n, torch.float32) for n in (1, 2, 3, 4, 63, 64, 65, 127, 200)] + [(1, HALF), (65, HALF)]
)
def test_one_sequence_of_any_length(memory, length, dtype):
    case = Case(memory, [length], dtype=dtype)
    truth, windows = case.truth()
    assert_close(kernels.causal_conv(*case.placed), truth, tolerance(dtype, float32=2e-6))
    assert_close(case.placed[2][case.used], windows[case.used], 1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_random_shapes_packed(memory, seed):
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 40, (int(torch.randint(1, 6, (1,), generator=draw)),), generator=draw).tolist()
    channels, taps = (int(n) for n in torch.randint(2, 150, (2,), generator=draw))
    case = Case(memory, lengths, channels=channels, taps=2 + taps % 4, seed=seed)
    truth, windows = case.truth()
    assert_close(kernels.causal_conv(*case.placed), truth, 2e-6)
    assert_close(case.placed[2][case.used], windows[case.used], 1e-7)


def test_a_decode_step_of_several_sequences(memory):
    case = Case(memory, [1, 1, 1, 1])
    truth, windows = case.truth()
    assert_close(kernels.causal_conv(*case.placed), truth, 2e-6)
    assert_close(case.placed[2][case.used], windows[case.used], 1e-7)


@pytest.mark.parametrize("cut", (1, 2, 5, 16, 17, 29))
def test_split_anywhere_equals_whole(memory, cut):
    case, again = Case(memory, [30]), Case(memory, [30])
    whole = kernels.causal_conv(*case.placed)
    x, taps, windows, _, slots = again.placed
    pieces = [
        kernels.causal_conv(part, taps, windows, torch.tensor([0, len(part)], device=DEVICE), slots)
        for part in (x[:cut], x[cut:])
    ]
    assert torch.equal(torch.cat(pieces), whole)
    assert torch.equal(windows[again.used], case.placed[2][case.used])


def test_packed_equals_separate(memory):
    lengths = [5, 1, 33]
    packed = Case(memory, lengths)
    together = kernels.causal_conv(*packed.placed)
    apart = Case(memory, lengths)
    x, taps, windows, bounds, slots = apart.placed
    for i, length in enumerate(lengths):
        rows = slice(int(bounds[i]), int(bounds[i + 1]))
        alone = kernels.causal_conv(x[rows], taps, windows, torch.tensor([0, length], device=DEVICE), slots[i : i + 1])
        assert torch.equal(alone, together[rows])
    assert torch.equal(windows[apart.used], packed.placed[2][packed.used])


@pytest.mark.parametrize("lengths", ([1, 1, 1], [1, 20, 1]))
def test_padding_rows_touch_nothing_and_read_as_zero(memory, lengths):
    case = Case(memory, lengths, slots=[-1, 4, -1])
    out = kernels.causal_conv(*case.placed)
    padding = torch.tensor([0, len(out) - 1], device=out.device)
    assert (out[padding] == 0).all()
    assert torch.isfinite(out).all()


def test_a_drafted_pass_leaves_the_windows_alone(memory):
    case = Case(memory, [3, 4], may_change=False)
    truth, _ = case.truth()
    assert_close(kernels.drafted_causal_conv(*case.placed), truth, 2e-6)


@pytest.mark.parametrize("accepted", ([0, 0, 2], [3, 1, 0], [1, 4, 1]))
def test_windows_move_over_accepted_inputs_only(memory, accepted):
    case = Case(memory, [3, 4, 2], slots=[5, 0, -1])
    x, _, windows, bounds, slots = case.placed
    kernels.fold_windows(x, windows, bounds, slots, memory.place(torch.tensor(accepted)))
    expected = case.windows.double()
    reference_drafts.fold_windows(
        case.x.double(), expected, case.bounds[:3], case.slots[:2], torch.tensor(accepted[:2])
    )
    assert_close(windows[case.used], expected[case.used], 1e-7)
