"""Write down what each token brings to every DeltaNet state of the bundled model, while the engine's own kernels run.

    python -m benchmarks.delta_tokens --save lessons/recordings/kernels/delta-tokens.json

Keys, values and gates are taken where the operation begins, by the pieces of `kernels.reference`; then the operation
runs as usual. The states that the plain rule makes of what was written down are compared with the engine's at the end.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor

from engine.account.kernel_records import DeltaLayer, DeltaTokens
from engine.account.trace_record import pack
from engine.loop.loading import load_model
from engine.memory.memory import Holding, Memory
from engine.model.batch import Span
from engine.model.model import Model
from kernels import dispatch, reference

PROMPT = "Tom has a red ball. Lily has a blue ball."
"""Words come back in it, so that some tokens find what others have left under their key."""


class Listener:
    """Stands in for the operation of every DeltaNet layer: notes what goes in, then has it computed as usual."""

    def __init__(self) -> None:
        self._operation = dispatch.table.gated_delta_net
        self.heard: list[tuple[Tensor, ...]] = []
        """Of every layer, token after token: keys [1, H, K], values [1, H, V], shares kept and strengths [1, H]."""

    def __call__(self, *given: Any) -> Any:
        """See `reference.gated_delta_net`, for one token."""
        projected, taps, decay_rate, dt_bias, _, _, windows, states, bounds, slots = given
        _, n_heads, value_dim, key_dim = states.shape
        inputs, z, b, a = projected.split([taps.shape[1], n_heads * value_dim, n_heads, n_heads], dim=1)
        convolved = reference.causal_conv(inputs, taps, windows.clone(), bounds, slots)
        n_key_heads = (inputs.shape[1] - z.shape[1]) // (2 * key_dim)
        _, keys, values = reference.split_heads(convolved, n_key_heads, n_heads, value_dim)
        decay, strength = reference.decay_and_write_strength(a, b, decay_rate, dt_bias)
        self.heard.append((keys.half(), values.half(), decay.exp(), strength))
        return self._operation(*given)


@torch.inference_mode()
def read(model: Model, memory: Memory, holding: Holding, ids: list[int]) -> list[tuple[Tensor, ...]]:
    """Let the model read the tokens one at a time: for each DeltaNet layer keys, values, shares kept and strengths."""
    dispatch.prepare()
    listener = Listener()
    with dispatch.override(gated_delta_net=listener):
        for position, token in enumerate(ids):
            memory.extend(holding, 1)
            model.forward([Span([token], position, "decode", holding, "none")], memory)
    n_layers = len(model.config.linear_layers)
    layers = [listener.heard[place::n_layers] for place in range(n_layers)]
    return [tuple(torch.cat(column) for column in zip(*tokens, strict=True)) for tokens in layers]


def by_the_rule(keys: Tensor, values: Tensor, decay: Tensor, strength: Tensor) -> Tensor:
    """The states [H, V, K] after all tokens, from nothing."""
    keys, values = keys.float(), values.float()
    state = torch.zeros(*values.shape[1:], keys.shape[2])
    _, state = reference.delta_rule(keys, keys, values, decay.log(), strength, state)
    return state


def record(prompt: str = PROMPT) -> DeltaTokens:
    """Read a prompt with the bundled model and tell what every head was given."""
    model, tokenizer = load_model("story")
    ids, config = tokenizer.encode(prompt), model.config
    memory = model.new_memory(n_slots=1, n_positions=len(ids))
    holding = memory.open()
    layers = []
    for place, heard in enumerate(read(model, memory, holding, ids)):
        states = memory.slots.states[place, holding.slot]
        gap = (by_the_rule(*heard) - states).abs().max() / states.abs().max()
        keys, values, decay, strength = (pack(one.contiguous().numpy().tobytes()) for one in heard)
        layers.append(DeltaLayer(config.linear_layers[place], keys, values, decay, strength, round(float(gap), 6)))
    return DeltaTokens(
        created=datetime.now(UTC).date().isoformat(),
        command="python -m benchmarks.delta_tokens",
        model=model.shape.name,
        kernel=dispatch.in_use()["gated_delta_net"],
        tokens=[tokenizer.token(one) for one in ids],
        n_heads=config.linear_num_value_heads,
        key_dim=config.linear_key_head_dim,
        value_dim=config.linear_value_head_dim,
        layers=layers,
    )


def main() -> None:
    """Print how near the rule comes to the engine's states, layer by layer, and keep the record if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path, help="the file to write")
    asked = parser.parse_args()
    made = record()
    for one in made.layers:
        print(f"layer {one.layer}: the states differ by {one.largest_gap:.1e} of their largest number")
    if asked.save:
        asked.save.parent.mkdir(parents=True, exist_ok=True)
        asked.save.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
    print(json.dumps({"tokens": len(made.tokens), "gaps": [one.largest_gap for one in made.layers]}))


if __name__ == "__main__":
    main()
