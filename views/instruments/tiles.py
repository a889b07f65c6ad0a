"""Attention by the tile: the loop of the kernel, turn by turn, and what the tiling saves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import msgspec
import streamlit as st

from engine.account import attention_traffic
from engine.account.attention_traffic import Heads
from engine.account.kernel_records import Counted
from engine.account.record import ModelShape
from lessons.filters import binary_bytes
from lessons.named_shapes import SHAPE_KEYS, shape_of
from views.chart import chart
from views.figure_style import made, travelling
from views.figure_tiles import Tiling, bytes_figure, map_figure
from views.instruments.frame import publish, show_drawn
from views.kernel_recordings import attention_bytes
from views.readers import with_readers
from views.scene import Scene
from views.shape_choice import NAMES
from views.theme import current_theme
from views.words import _

NAME = "tiles"
LENGTHS = (64, 128, 256, 512, 1024, 2048, 8192)
QUERIES = (1, 16, 32, 64, 128)
KEYS = (16, 32, 64, 128)
MOST_DRAWN = 20_000
"""More tiles than this are not drawn: a tile would be smaller than a dot."""


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """Boxes for prompt and tile, the map of tiles at one turn of the loop, and the bytes that each way moves."""
    boxes, changed = st.grid(4, min_column_width=180), with_readers(scene.page, NAME, key)
    with boxes:
        shape_key = _shape_box(settings.get("shape", "story"), key, changed)
    shape = shape_of(shape_key)
    if shape is None:
        st.caption(_("The shape of the model cannot be read."))
        return
    heads, chosen = Heads.of(shape), kernel_tile(shape.head_dim)
    with boxes:
        tiling = _boxes(settings, chosen, key, changed)
    _publish(scene, tiling, heads)
    drawn = replace(bytes_figure(tiling, heads, current_theme()), how=_how(shape, chosen))
    made(drawn)
    _map(tiling, heads, key)
    asked = {"tokens": tiling.n_tokens, "queries": tiling.block_m, "keys": tiling.block_n}
    link = {"shape": shape_key, **{name: str(value) for name, value in asked.items()}}
    show_drawn(drawn, name=NAME, scene=scene, settings=link, key=key)


def kernel_tile(head_dim: int) -> tuple[int, int]:
    """The tile that the kernel itself chose for 16-bit heads of this width when it was counted: queries, keys."""
    tiles = _counted().get(head_dim, {}).values()
    return next(((one.block_m, one.block_n) for one in tiles if one.block_m and one.block_n), (64, 64))


def _counted() -> dict[int, dict[int, Counted]]:
    """Width of a head -> tokens -> the kernel as counted; empty where the record cannot be read."""
    try:
        prompts = attention_bytes().prompts
    except (OSError, msgspec.DecodeError):
        return {}
    found: dict[int, dict[int, Counted]] = {}
    for prompt in prompts:
        found.setdefault(prompt.head_dim, {})[prompt.n_tokens] = next(one for one in prompt.ways if one.way == "tiled")
    return found


def _boxes(settings: Mapping[str, str], chosen: tuple[int, int], key: str, changed: Callable[[], None]) -> Tiling:
    """The prompt's length and the tile; the kernel's own tile says that it is."""

    def box(name: str, label: str, choices: tuple[int, ...], own: int | None, at_first: int) -> int:
        asked = int(settings.get(name, at_first))
        options = sorted({*choices, at_first, asked})
        words = {n: f"{n:,}" + (_(", the kernel's own") if n == own else "") for n in options}
        place = options.index(asked)
        # The kernel's own tile differs from model to model, and each has boxes of its own.
        box_key = f"{key}-{name}-{own}"
        return int(st.selectbox(label, options, place, format_func=words.__getitem__, key=box_key, on_change=changed))

    block_m, block_n = chosen
    return Tiling(
        box("tokens", _("Tokens of the prompt"), LENGTHS, None, 256),
        box("queries", _("Queries in a tile"), QUERIES, block_m, block_m),
        box("keys", _("Keys in a tile"), KEYS, block_n, block_n),
    )


def _shape_box(asked: str, key: str, changed: Callable[[], None]) -> str:
    place = SHAPE_KEYS.index(asked)
    return st.selectbox(
        _("Model"), SHAPE_KEYS, place, format_func=NAMES.__getitem__, key=f"{key}-shape", on_change=changed
    )


def _map(tiling: Tiling, heads: Heads, key: str) -> None:
    """One head's tiles, and a slider through the turns of its loop."""
    st.subheader(_("One head, tile by tile"), anchor=False)
    if tiling.programs * -(-tiling.n_tokens // tiling.block_n) > MOST_DRAWN:
        st.caption(_("{n} tiles are too many to draw one by one. The bytes are below.").format(n=f"{tiling.turns:,}"))
        return
    turn = 0
    if tiling.turns > 1:
        turn = (
            st.slider(_("Turn of the loop"), 1, tiling.turns, (tiling.turns + 2) // 2, key=f"{key}-turn-{tiling}") - 1
        )
    words, picture = st.columns([2, 3], gap="medium")
    with words:
        st.markdown(_told(tiling, heads, turn))
    with picture:
        described = _("Map of tiles. ") + _told(tiling, heads, turn).replace("*", "")
        chart(travelling(map_figure(tiling, turn, current_theme())), key=f"plot-{key}-map", description=described)


def _told(tiling: Tiling, heads: Heads, turn: int) -> str:
    """What happens at one turn, in words."""
    program, tile = tiling.place(turn)
    m, n = tiling.block_m, tiling.block_n
    last = attention_traffic.last_query(tiling.n_tokens, m, program)
    read = tiling.keys_read(turn) * 2 * heads.row_bytes
    return "\n\n".join(
        (
            _("**Program {program} of {programs}** holds the queries {first} to {last}.").format(
                program=program + 1, programs=tiling.programs, first=program * m, last=last
            ),
            _("It reads keys and values {first} to {last}, tile {tile} of its {tiles}. The blank tiles come after its "
              "queries and are never read.").format(
                first=tile * n, last=min((tile + 1) * n - 1, last), tile=tile + 1, tiles=tiling.tiles_of(program)
            ),
            _("On the chip now: {size}. The {scores} scores of this tile are part of it, and the next turn overwrites "
              "them.").format(
                size=binary_bytes(attention_traffic.on_chip_bytes(m, n, heads.head_dim)), scores=f"{m * n:,}"
            ),
            _("Keys and values read so far by this head: {read}. They are {held} in memory.").format(
                read=binary_bytes(read), held=binary_bytes(tiling.n_tokens * 2 * heads.row_bytes)
            ),
        )
    )  # fmt: skip


def _publish(scene: Scene, tiling: Tiling, heads: Heads) -> None:
    moved = attention_traffic.tiled(tiling.n_tokens, tiling.block_m, heads)
    single = attention_traffic.tiled(tiling.n_tokens, 1, heads)
    results = {
        "tokens": tiling.n_tokens, "queries": tiling.block_m, "keys": tiling.block_n,
        "programs": tiling.programs, "tiles": tiling.turns,
        "tiled": moved.total, "single": single.total,
        "written": attention_traffic.written_out(tiling.n_tokens, heads).total,
        "least": attention_traffic.least(tiling.n_tokens, heads),
        "kv_ratio": single.keys / moved.keys,
        "on_chip": attention_traffic.on_chip_bytes(tiling.block_m, tiling.block_n, heads.head_dim),
    }  # fmt: skip
    publish(scene, NAME, results)


def _how(shape: ModelShape, chosen: tuple[int, int]) -> str:
    counted = _counted().get(shape.head_dim, {})
    longest = max(counted, default=None)
    lines = [
        _(
            "Added up over the programs and the loop of kernels/triton/attention_prefill.py for one layer of {name}, "
            "everything in 16-bit numbers. A test runs the kernel under Triton's interpreter, counts every load and "
            "store, and asks for the same sums."
        ).format(name=shape.name),
        _(
            "Written out, the scores and the weights are matrices in memory, and a product is supposed to read each "
            "matrix once. A cache between memory and chip may answer part of what a program asks for."
        ),
    ]
    if longest:
        lines.append(
            _("Recorded while the kernel ran with its own tile of {m} × {n}: {moved} for {tokens} tokens.").format(
                m=chosen[0], n=chosen[1], moved=binary_bytes(counted[longest].total), tokens=longest
            )
        )
    return "\n\n".join(lines)
