"""Figures from a run: drawn to scale, labelled, with axes that hold what they show, and a table of the same numbers."""

import numpy as np
import plotly.graph_objects as go
import pytest

from engine.account import cost
from engine.account.record import Device
from engine.account.trace_record import LayerGates, PassTimes, StateTrace, TraceRecord, pack
from tests.lessons.story_run import DECODE_NS, PREFILL_NS, PROMPT, QUEUE_NS, REPLY, STORY, story_run, token
from views import staged_figure
from views.figure_margins import with_room
from views.figure_memory import axis_end, memory_figure
from views.figure_passes import passes_figure
from views.figure_style import PATTERNS, styled, whole_figure
from views.figure_trace import gates_figure, layer_times_figure, state_figure
from views.palette import COLOURS
from views.trace_arrays import head_gates, layer_times_ns, mean_kept_shares, state_frames

THEMES = ["light", "dark"]


def texts(figure) -> list[str]:
    return [annotation.text for annotation in figure.layout.annotations]


@pytest.mark.parametrize("theme", THEMES)
def test_passes_stand_where_and_as_long_as_they_ran(theme):
    run = story_run()
    figure = passes_figure(run, theme, recorded=False).figure
    blocks = {trace.name: trace for trace in figure.data}
    assert list(blocks["prefill"].base) == [QUEUE_NS / 1e6] and list(blocks["prefill"].x) == [PREFILL_NS / 1e6]
    assert len(blocks["decode"].x) == len(REPLY) - 1 and set(blocks["decode"].x) == {DECODE_NS / 1e6}
    low, high = figure.layout.xaxis.range
    assert low == 0 and run.passes[-1].end_ns / 1e6 < high < run.passes[-1].end_ns / 1e6 * 1.1
    assert figure.layout.xaxis.title.text == "ms since the request arrived"


@pytest.mark.parametrize("theme", THEMES)
def test_phases_differ_by_colour_by_pattern_and_by_the_label_of_their_row(theme):
    figure = passes_figure(story_run(), theme, recorded=False).figure
    for trace in figure.data:
        assert set(trace.y) == {trace.name}
        assert trace.marker.color == COLOURS[theme][trace.name]
        assert trace.marker.pattern.shape == PATTERNS[trace.name]
    assert len({trace.marker.pattern.shape for trace in figure.data}) == 2


def test_the_wait_for_the_first_token_is_marked_at_queue_plus_prefill():
    figure = passes_figure(story_run(), "light", recorded=False).figure
    (line,) = figure.layout.shapes
    assert line.x0 == line.x1 == (QUEUE_NS + PREFILL_NS) / 1e6
    assert texts(figure) == ["first token after 6.50 ms"]


def test_a_recording_says_so_and_a_live_run_says_measured():
    run = story_run()
    assert passes_figure(run, "light", recorded=True).evidence == "recorded"
    assert passes_figure(run, "light", recorded=False).evidence == "measured"
    assert "2026-11-29" in passes_figure(run, "light", recorded=True).how


def test_many_passes_leave_out_the_words_on_the_blocks_but_not_in_the_table():
    run = story_run(reply=[" word"] * 40)
    drawn = passes_figure(run, "light", recorded=False)
    assert all(trace.text is None for trace in drawn.figure.data)
    assert len(drawn.table["token out"]) == 40


def test_a_thousand_passes_are_drawn_without_lines_that_would_hide_them():
    figure = passes_figure(story_run(reply=[" word"] * 1000), "light", recorded=False).figure
    decode = next(trace for trace in figure.data if trace.name == "decode")
    assert len(decode.x) == 999 and decode.marker.line.width == 0 and decode.marker.pattern.shape is None


def test_a_token_with_markup_is_only_text_in_the_figure():
    figure = passes_figure(story_run(reply=["<b>x</b>", "<a href='javascript:1'>"]), "light", recorded=False).figure
    assert "<" not in "".join(text for trace in figure.data for text in trace.text)


@pytest.mark.parametrize("theme", THEMES)
def test_memory_shows_growth_the_flat_state_and_their_crossover_inside_the_axes(theme):
    run = story_run()
    figure = memory_figure(run, theme).figure
    traces = {trace.name: trace for trace in figure.data}
    kib = 1024
    held = traces["KV cache, this run"]
    assert list(held.x) == [0, *(one.positions_held for one in run.passes)]
    assert list(held.y)[-1] == (len(PROMPT) + len(REPLY) - 1) * cost.kv_bytes_per_position(STORY) / kib
    assert set(traces["state"].y) == {cost.recurrent_state_bytes(STORY) / kib}
    crossover = traces["crossover"]
    assert list(crossover.x) == [384] and list(crossover.y) == [384]
    (x_low, x_high), (y_low, y_high) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert x_low == y_low == 0
    for trace in figure.data:
        assert max(trace.x) <= x_high and max(trace.y) <= y_high
    assert any("equal at 384 tokens" in text for text in texts(figure))
    assert figure.layout.yaxis.title.text == "KiB"
    assert (traces["state"].line.color, held.line.color) == (COLOURS[theme]["state"], COLOURS[theme]["kv"])


def test_this_runs_part_is_solid_and_the_part_that_only_the_formula_knows_is_dashed():
    traces = {trace.name: trace for trace in memory_figure(story_run(), "light").figure.data}
    assert traces["KV cache, this run"].line.dash == "solid" and traces["KV cache, further"].line.dash == "dash"
    assert traces["KV cache, further"].x[0] == traces["KV cache, this run"].x[-1]


def test_the_axis_ends_past_whatever_comes_last():
    assert axis_end(STORY, 17) > 384
    assert axis_end(STORY, 1500) > 1500


def story_trace(n_prompt: int = 8, n_decodes: int = 4) -> TraceRecord:
    """A trace with known arrays: gates that tell layer and head apart, states that grow."""
    n, heads, rows, columns = n_prompt + n_decodes, 4, 3, 5
    gates = []
    for layer, kind in enumerate(STORY.layer_types):
        if kind == "linear_attention":
            decay = np.linspace(0.5, 1, n * heads, dtype="<f2").reshape(n, heads) - layer * 0.01
            gates.append(LayerGates(layer, heads, pack(decay.astype("<f2").tobytes()), pack((decay / 2).tobytes())))
    frames = np.arange(2 * rows * columns, dtype=np.int8).reshape(2, rows, columns) - 14
    state = StateTrace(0, 2, rows, columns, n - 1, [0, n - 1], [0.5, 0.25], pack(frames.tobytes()))
    passes = [PassTimes(0, "prefill", n_prompt, 1, [1_000_000] * 8, 1)]
    passes += [PassTimes(i + 1, "decode", 1, 1, [(i + 1) * 100_000] * 8, 1) for i in range(n_decodes)]
    words = [*PROMPT, *REPLY][:n]
    return TraceRecord(
        "1" * 32, "story", Device("cpu", "Test CPU", 2, "2.13.0", {}), STORY.layer_types,
        [token(word) for word in words], n_prompt, passes, gates, state,
    )  # fmt: skip


def test_packed_arrays_come_back_as_they_were():
    trace = story_trace()
    gates = head_gates(trace, 0, 2)
    assert gates.decay.shape == (12,) and gates.decay[0] == np.float16(np.linspace(0.5, 1, 48, dtype="<f2")[2])
    assert np.allclose(gates.write_strength, gates.decay / 2, atol=1e-3)
    assert mean_kept_shares(trace, 0)[2] == pytest.approx(float(gates.decay.mean()))
    frames = state_frames(trace.state)
    assert frames.shape == (2, 3, 5) and frames[0, 0, 0] == -7.0 and frames[1, 2, 4] == 15 * 0.25
    assert list(layer_times_ns([one for one in trace.passes if one.phase == "decode"])) == [250_000] * 8
    with pytest.raises(KeyError):
        head_gates(trace, 3, 0)


@pytest.mark.parametrize("theme", THEMES)
def test_the_states_colours_have_zero_in_the_middle_and_its_size_is_said_beside_the_largest(theme):
    trace = story_trace()
    drawn = [state_figure(trace, frame, theme) for frame in (0, 1)]
    maps = [one.figure.data[0] for one in drawn]
    assert [(one.zmin, one.zmax) for one in maps] == [(-7.0, 7.0), (-3.75, 3.75)]
    assert "is 3.8; after any token of this run, 7.0" in drawn[1].note
    assert maps[0].colorscale[1][0] == 0.5 and maps[0].colorscale[2][1] == COLOURS[theme]["state"]
    assert np.array(maps[1].z).shape == (3, 5)


def test_decay_and_write_strength_share_an_axis_that_holds_nought_to_one_and_are_named():
    figure = gates_figure(story_trace(), "light").figure
    low, high = figure.layout.yaxis.range
    assert low == 0 and 1 <= high < 1.1
    assert [trace.name for trace in figure.data] == ["write strength β", "kept share exp(g)"]
    assert figure.layout.showlegend
    assert list(figure.layout.xaxis.ticktext[:3]) == ["Once", "upon", "a"]


def test_layer_times_show_prefill_and_the_median_decode_for_every_layer_by_name():
    drawn = layer_times_figure(story_trace(), "light")
    assert [trace.name for trace in drawn.figure.data] == ["prefill", "decode, median of 4"]
    assert list(drawn.figure.data[0].y) == [1.0] * 8 and list(drawn.figure.data[1].y) == [0.25] * 8
    assert drawn.figure.data[0].x[3] == "4 attention" and drawn.figure.data[0].x[0] == "1 DeltaNet"
    assert drawn.figure.layout.yaxis.title.text == "ms" and drawn.figure.layout.yaxis.rangemode == "tozero"


def test_everything_of_the_second_pass_is_labelled_instrumented():
    trace = story_trace()
    drawn = [state_figure(trace, 0, "light"), gates_figure(trace, "light"), layer_times_figure(trace, "light")]
    assert {one.evidence for one in drawn} == {"instrumented"}


@pytest.mark.parametrize("theme", THEMES)
def test_every_figure_has_words_for_whoever_cannot_see_it_and_a_table_without_gaps(theme):
    run, trace = story_run(), story_trace()
    for drawn in (
        passes_figure(run, theme, recorded=False), memory_figure(run, theme), state_figure(trace, 1, theme),
        gates_figure(trace, theme), layer_times_figure(trace, theme),
    ):  # fmt: skip
        assert drawn.title and len(drawn.description) > 20 and drawn.how
        assert len({len(column) for column in drawn.table.values()}) == 1
        assert drawn.figure.layout.template.layout.paper_bgcolor == "rgba(0,0,0,0)"


def test_on_a_stage_words_grow_and_so_does_the_room_around_them():
    """What all figures share stands in their template, where the stage must look for it, too."""
    small = styled(go.Figure(go.Scatter(x=[1], y=[1])), "light", height=200)
    large = staged_figure._enlarged(small).layout
    assert (large.height, large.margin.l, large.margin.t) == (320, 58 * 1.6, 12 * 1.6)
    assert large.font.size == 14 * 1.6 and large.xaxis.tickfont.size == 13 * 1.6


def test_room_for_names_and_a_legend_is_there_before_plotly_looks_for_it_and_marks_in_a_name_take_none():
    bars = {"type": "bar", "orientation": "h", "y": ["<b>short</b>", "a name of so many letters<br>n = 3"], "x": [1, 2]}
    roomy = with_room(whole_figure([bars], {"showlegend": True}, "light", height=200))["layout"]["margin"]
    assert roomy == {"l": 6 * len("a name of so many letters") + 15, "t": 48}
    own = {"l": 2, "t": 3}
    brings_its_own = whole_figure([bars], {"showlegend": True, "margin": own}, "light", height=200)
    assert with_room(brings_its_own)["layout"]["margin"] == own
    plain = with_room(whole_figure([{"type": "scatter", "y": [1, 2]}], {}, "light", height=200))
    assert plain["layout"]["margin"] == {}, "that of all figures"
