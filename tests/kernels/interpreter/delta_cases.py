"""Inputs for the delta rule: packed sequences, a pool of states that is NaN elsewhere, gates from mild to extreme."""

import torch

from kernels import reference

N_SLOTS = 6

GATES = {
    # a and b as a projection gives them, decay rates over the whole range that checkpoints have.
    "ordinary": lambda a, b: (a, b),
    "nothing fades": lambda a, b: (torch.full_like(a, -1e4), b),
    "everything fades at once": lambda a, b: (a + 40, b),
    "nothing is written": lambda a, b: (a, torch.full_like(b, -40.0)),
    "everything is overwritten": lambda a, b: (a, torch.full_like(b, 40.0)),
    # A decay of e^-700 000 in some places, next to decays close to 1: differences of running sums would lose those.
    "a few resets": lambda a, b: (torch.where(a > 1, 4e4, a - 6), b),
    "resets to exactly zero": lambda a, b: (torch.where(a > 1, float("inf"), a - 6), b),
}


class DeltaCase:
    """Tensors on the CPU, as the reference takes them, and where kernels get them in `placed`."""

    def __init__(
        self, memory, lengths, *, heads=(1, 2), dims=(32, 32), dtype=torch.float32, gates="ordinary", decay_rate=None,
        repeated=False, slots=None, seed=0, may_change=True,
    ):  # fmt: skip
        draw = torch.Generator().manual_seed(seed)

        def randn(*shape):
            return torch.randn(*shape, generator=draw)

        self.n_key_heads, n_heads = heads
        key_dim, value_dim = dims
        n_tokens = sum(lengths)
        self.bounds = torch.tensor([0, *lengths]).cumsum(0)
        self.slots = torch.tensor(slots or [(2 * i + 3) % N_SLOTS for i in range(len(lengths))])
        self.qkv = randn(n_tokens, 2 * self.n_key_heads * key_dim + n_heads * value_dim).to(dtype)
        if repeated:
            self.qkv = self.qkv[:1].expand(n_tokens, -1).clone()
        self.a, self.b = (x.to(dtype) for x in GATES[gates](randn(n_tokens, n_heads), 2 * randn(n_tokens, n_heads)))
        self.decay_rate = (
            -16 * torch.rand(n_heads, generator=draw) if decay_rate is None else decay_rate.expand(n_heads)
        )
        self.dt_bias = randn(n_heads)
        self.states = randn(N_SLOTS, n_heads, value_dim, key_dim)
        self.used = [slot for slot in self.slots.tolist() if slot >= 0]
        unused = [slot for slot in range(N_SLOTS) if slot not in self.used]
        self.states[unused] = float("nan")
        owned = torch.zeros_like(self.states, dtype=torch.bool)
        owned[self.used] = may_change
        # b and a are slices of one projection, as in the model.
        b_a = memory.place(torch.cat([self.b, self.a], dim=1), gap=3)
        self.placed = (
            memory.place(self.qkv, gap=4), b_a[:, n_heads:], b_a[:, :n_heads], memory.place(self.decay_rate),
            memory.place(self.dt_bias), memory.place(self.states, may_change=owned), memory.place(self.bounds),
            memory.place(self.slots), self.n_key_heads,
        )  # fmt: skip

    def exact(self):
        """The inputs in float64."""
        floats = (self.qkv, self.a, self.b, self.decay_rate, self.dt_bias, self.states)
        return (*(x.double() for x in floats), self.bounds, self.slots, self.n_key_heads)

    def truth(self):
        """Outputs and states afterwards, in float64."""
        inputs = self.exact()
        return reference.gated_delta_rule(*inputs), inputs[5][self.used]

    @property
    def states_after(self):
        """The used slots' states where the kernels wrote them."""
        return self.placed[5][self.used]
