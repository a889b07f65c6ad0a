"""Count the bytes that attention moves while it runs: with scores written out, a query at a time, and tile by tile.

    TRITON_INTERPRET=1 python -m benchmarks.attention_bytes --save lessons/recordings/kernels/attention-bytes.json

Needs no GPU: Triton's interpreter executes the kernel's own programs, and every load and store goes through two of its
functions. There the elements that the mask lets through are counted, by the tensor that they lie in. The written-out
way is torch operations, counted one by one by their operands and results. The ways are checked against each other.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import torch
import triton
from torch import Tensor
from triton.runtime import interpreter

from engine.account.cost import PRESET_SHAPES
from engine.account.kernel_records import AttentionBytes, Counted, CountedPrompt, Way
from engine.account.record import ModelShape
from engine.account.record_file import load
from engine.memory.pages import PAGE_SIZE, pages_for
from kernels.triton import attention_prefill
from lessons.catalogue import recording_path
from lessons.named_shapes import STORY_RECORDING

DTYPE = torch.float16
"""What every tensor is made of: the interpreter multiplies float16, and a bfloat16 has as many bytes."""

LENGTHS = {"story": (64, 256), "Qwen3.5-4B": (256,)}

MOST_SINGLE_QUERIES = 1024
"""A program a query takes the interpreter long: beyond so many queries, over all heads, this way is left out."""

PLACES = ("page_tables", "positions", "bounds")


class Moved:
    """Bytes loaded and stored, by the name of the tensor that they lie in."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.loaded: Counter[str] = Counter()
        self.stored: Counter[str] = Counter()
        self.tile_loads = 0
        self._tensors = dict(tensors)

    def name_of(self, address: int) -> str:
        """Which tensor an address lies in; the output is made while counting, and is what no known tensor holds."""
        for name, tensor in self._tensors.items():
            if tensor.data_ptr() <= address < tensor.data_ptr() + tensor.untyped_storage().nbytes():
                return "tables" if name in PLACES else name
        return "output"

    def operation(
        self, result: str, operation: Callable[..., Tensor], alpha: float = 1.0, **operands: Tensor
    ) -> Tensor:
        """Do one torch operation, and count its operands as read and its result as written, each by name."""
        made = operation(*operands.values(), **({"alpha": alpha} if alpha != 1.0 else {}))
        for name, operand in operands.items():
            self.loaded[name] += operand.nbytes
        self.stored[result] += made.nbytes
        return made

    def counted(self, way: Way, **tile: int) -> Counted:
        """As a record."""
        return Counted(way, dict(self.loaded), dict(self.stored), **tile)


@contextmanager
def counting_kernels(moved: Moved) -> Iterator[None]:
    """While this lasts, every load and store of an interpreted kernel is counted."""
    builder: Any = interpreter.interpreter_builder
    load_, store = builder.create_masked_load, builder.create_masked_store

    def counted_load(pointers: Any, mask: Any, *rest: Any) -> Any:
        name = _count(moved, moved.loaded, pointers, mask)
        moved.tile_loads += name == "keys"
        return load_(pointers, mask, *rest)

    def counted_store(pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        _count(moved, moved.stored, pointers, mask)
        return store(pointers, value, mask, *rest)

    builder.create_masked_load, builder.create_masked_store = counted_load, counted_store
    try:
        yield
    finally:
        del builder.create_masked_load, builder.create_masked_store


def _count(moved: Moved, counter: Counter[str], pointers: Any, mask: Any) -> str | None:
    addresses = pointers.data[mask.data]
    if not addresses.size:
        return None
    name = moved.name_of(int(addresses.flat[0]))
    counter[name] += addresses.size * (pointers.get_element_ty().primitive_bitwidth // 8)
    return name


class Prompt:
    """Random queries, gates, and a paged cache that holds the keys and values of the same tokens."""

    def __init__(self, n_tokens: int, heads: int, kv_heads: int, dim: int) -> None:
        draw = torch.Generator().manual_seed(n_tokens)

        def randn(*size: int) -> Tensor:
            return torch.randn(size, generator=draw).to(DTYPE)

        n_pages = pages_for(n_tokens)
        self.queries, self.gate = randn(n_tokens, heads, dim), randn(n_tokens, heads * dim)
        self.keys, self.values = (randn(kv_heads, n_pages, PAGE_SIZE, dim) for _ in range(2))
        self.page_tables = torch.randperm(n_pages, generator=draw).int()[None]
        self.positions, self.bounds = torch.arange(n_tokens), torch.tensor([0, n_tokens])

    @property
    def tensors(self) -> dict[str, Tensor]:
        """Everything that lies in memory before the kernel begins."""
        return vars(self)

    def run_kernel(self) -> Tensor:
        """The kernel as the engine's GPU path calls it."""
        return attention_prefill.attention_prefill(
            self.queries, self.gate, self.keys, self.values, self.page_tables, self.positions, self.bounds
        )


def count_kernel(prompt: Prompt, way: Way, tile: tuple[int, int] | None = None) -> tuple[Counted, Tensor]:
    """Run the kernel once and count, with the tile that it chooses or with one given (queries, keys)."""
    chosen = attention_prefill.tile_shape
    block_m, block_n, warps = chosen(prompt.queries.shape[-1], DTYPE)
    if tile:
        block_m, block_n = tile
    moved, heads = Moved(prompt.tensors), prompt.queries.shape[1]
    attention_prefill.tile_shape = lambda head_dim, dtype: (block_m, block_n, warps)
    try:
        with counting_kernels(moved):
            out = prompt.run_kernel()
    finally:
        attention_prefill.tile_shape = chosen
    programs = -(-len(prompt.queries) // block_m) * heads
    # A turn of the loop loads keys once.
    tiles = moved.tile_loads
    return moved.counted(way, block_m=block_m, block_n=block_n, programs=programs, tiles=tiles), out


def count_written_out(prompt: Prompt) -> tuple[Counted, Tensor]:
    """Scores, weights and outputs as matrices in memory, each made by one torch operation.

    The query heads of a key head lie together, so that each matrix is read once; the layout is made before counting.
    """
    n_tokens, heads, dim = prompt.queries.shape
    pages = prompt.page_tables[0].long()
    keys, values = (pool[:, pages].flatten(1, 2)[:, :n_tokens].contiguous() for pool in (prompt.keys, prompt.values))
    queries = prompt.queries.transpose(0, 1).reshape(len(keys), -1, dim)
    gate = prompt.gate.view(n_tokens, heads, dim).transpose(0, 1).reshape(queries.shape)
    later = torch.full((n_tokens, n_tokens), float("-inf"), dtype=DTYPE).triu(1).repeat(heads // len(keys), 1)
    moved = Moved({})
    do = moved.operation
    scores = do("scores", torch.baddbmm, scores=later, queries=queries, keys=keys.mT, alpha=dim**-0.5)
    weights = do("scores", lambda scores: scores.softmax(-1), scores=scores)
    mixed = do("output", torch.bmm, scores=weights, values=values)
    opened = do("gate", torch.sigmoid, gate=gate)
    out = do("output", torch.mul, output=mixed, gate=opened)
    return moved.counted("written_out"), out.view(heads, n_tokens, dim).transpose(0, 1).reshape(n_tokens, -1)


def count_prompt(shape: ModelShape, n_tokens: int) -> CountedPrompt:
    """Every way of one prompt; raises AssertionError if they do not give the same outputs."""
    heads, kv_heads, dim = shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim
    prompt = Prompt(n_tokens, heads, kv_heads, dim)
    tiled, truth = count_kernel(prompt, "tiled")
    others = [count_written_out(prompt)]
    if n_tokens * heads <= MOST_SINGLE_QUERIES:
        others.append(count_kernel(prompt, "one_query", (1, tiled.block_n or 1)))
    for _, out in others:
        torch.testing.assert_close(out, truth, atol=4e-3, rtol=4e-3)
    return CountedPrompt(shape.name, heads, kv_heads, dim, n_tokens, [*(counted for counted, _ in others), tiled])


def main() -> None:
    """Count the prompts of `LENGTHS`, print a table and a last line of JSON, and keep the record if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path, help="the file to write")
    asked = parser.parse_args()
    shapes = {"story": load(recording_path(STORY_RECORDING)).header.model, **PRESET_SHAPES}
    prompts = [count_prompt(shapes[name], length) for name, lengths in LENGTHS.items() for length in lengths]
    print(f"{'shape':<14}{'tokens':>8}  {'way':<12}{'tile':>9}{'tiles':>8}{'bytes moved':>16}")
    for prompt in prompts:
        for one in prompt.ways:
            tile = f"{one.block_m} x {one.block_n}" if one.block_m else ""
            print(f"{prompt.shape:<14}{prompt.n_tokens:>8}  {one.way:<12}{tile:>9}{one.tiles or '':>8}{one.total:>16,}")
    record = AttentionBytes(
        created=datetime.now(UTC).date().isoformat(),
        command="TRITON_INTERPRET=1 python -m benchmarks.attention_bytes",
        versions={"torch": str(torch.__version__), "triton": str(triton.__version__)},
        number_type=str(DTYPE).removeprefix("torch."),
        prompts=prompts,
    )
    if asked.save:
        asked.save.parent.mkdir(parents=True, exist_ok=True)
        asked.save.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    print(json.dumps({"prompts": [[one.shape, one.n_tokens, *(way.total for way in one.ways)] for one in prompts]}))


if __name__ == "__main__":
    main()
