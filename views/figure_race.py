"""Two runs on one clock: their passes in two lanes, the tokens out over time, and the gap between their odds."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from engine.account.record import Pass, Phase, Run
from lessons.filters import milliseconds, significant
from views.conditions import condition_of_both
from views.evidence import source_line, timing_evidence
from views.figure_style import FAINT, ON_COLOUR, TEXT, Drawn, phase_pattern, styled
from views.palette import COLOURS, Theme
from views.safe_text import plotly_text, token_label
from views.two_runs import TOLERANCE, Compared, busy_ns, lane_names
from views.words import _

_SEPARATE_PASSES = 150
_LABELLED_TOKENS = 48
PHASES: tuple[Phase, ...] = ("prefill", "decode")


def race_figure(first: Run, second: Run, theme: Theme, *, recorded: bool) -> Drawn:
    """Both runs from the start of their first pass on; each has at least one pass."""
    runs = dict(zip(lane_names(first, second), (first, second), strict=True))
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.4, 0.6], vertical_spacing=0.06)
    for phase in PHASES:
        _add_blocks(figure, runs, phase, theme)
    for dash, (name, run) in zip(("solid", "dash"), runs.items(), strict=True):
        _add_steps(figure, name, run, dash, theme)
    styled(figure, theme, height=420)
    end_ms = max((busy_ns(run) or 0) / 1e6 for run in runs.values())
    most = max(len(run.emissions) for run in runs.values())
    figure.update_layout(barmode="overlay", bargap=0.3, margin_t=48)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    figure.update_xaxes(range=[0, end_ms * 1.02])
    figure.update_xaxes(title_text=_("ms since the first pass began"), row=2, col=1)
    figure.update_yaxes(showgrid=False, autorange="reversed", row=1, col=1)
    figure.update_yaxes(title_text=_("new tokens"), range=[0, most * 1.08], row=2, col=1)
    return Drawn(
        spec=figure,
        title=_("Two runs on one clock"),
        description=_description(runs),
        evidence=timing_evidence(first, recorded=recorded),
        how=_(
            "The same prompt ran twice, one run after the other, with nothing else of yours beside it. Each pass is "
            "drawn from the engine's clock at its start to the moment when its tokens existed. Time in the queue is "
            "left out: both lanes begin with their first pass. {source}."
        ).format(source=source_line(first, recorded=recorded)),
        table=_table(runs),
        found=condition_of_both(first, second),
    )


def gap_figure(compared: Compared, theme: Theme) -> Drawn:
    """The largest difference of log odds at each new token, against what is allowed; some token was compared."""
    largest = compared.largest or 0.0
    places = list(range(len(compared.gaps)))
    labels = [token_label(gap.token.text) for gap in compared.gaps]
    figure = go.Figure(
        go.Scatter(
            x=places, y=[gap.largest for gap in compared.gaps], mode="markers", name=_("largest gap"),
            marker={"color": TEXT[theme], "size": 9, "symbol": "diamond"},
            text=[plotly_text(label) for label in labels], hovertemplate="%{text}: %{y:.2g}<extra></extra>",
        )
    )  # fmt: skip
    styled(figure, theme, height=240)
    figure.add_hline(
        y=TOLERANCE, line_dash="dash", line_color=FAINT[theme], line_width=1,
        annotation={"text": _("allowed: {limit}").format(limit=TOLERANCE), "font": {"color": FAINT[theme]},
                    "xanchor": "right", "yanchor": "bottom"},
    )  # fmt: skip
    if len(places) <= _LABELLED_TOKENS:
        ticks = [plotly_text(label, longest=12) for label in labels]
        figure.update_xaxes(tickvals=places, ticktext=ticks, tickangle=-60)
    figure.update_xaxes(showgrid=False, range=[-0.6, len(places) - 0.4])
    # From a little below 0, so that a marker on the line of 0 is whole.
    top = max(TOLERANCE, largest) * 1.25
    figure.update_yaxes(title_text=_("gap of ln(odds)"), range=[-0.06 * top, top])
    return Drawn(
        spec=figure,
        title=_("The same odds?"),
        description=_("The odds of both runs differ by at most {largest} in natural logarithm.").format(
            largest=significant(largest, 2)
        ),
        evidence="computed",
        how=_(
            "For each new token both records list the leading candidates with their odds. Shown is the largest "
            "difference of natural logarithms over the candidates that both list, which is how far two logits can have "
            "moved against each other. Computed from the two records. Kernels of different shapes add up in a "
            "different order, so equal means: within {limit}, which is what the engine's own tests allow in bf16. "
            "After a token that differs the texts are no longer the same, and comparing stops."
        ).format(limit=TOLERANCE),
        table={
            _("new token"): labels,
            _("largest gap of ln(odds)"): [gap.largest for gap in compared.gaps],
            _("candidates compared"): [gap.n_compared for gap in compared.gaps],
        },
        note=_note(compared),
    )


def _note(compared: Compared) -> str:
    if compared.parted_at is None:
        return _("Both runs wrote the same {n} tokens.").format(n=len(compared.gaps))
    return _("The runs wrote the same {n} tokens, then parted.").format(n=compared.parted_at)


def _add_blocks(figure: go.Figure, runs: dict[str, Run], phase: Phase, theme: Theme) -> None:
    blocks = [(name, run, one) for name, run in runs.items() for one in run.passes if one.phase == phase]
    separate = max(len(run.passes) for run in runs.values()) <= _SEPARATE_PASSES
    figure.add_trace(
        go.Bar(
            name=phase, orientation="h",
            base=[_since(run, one.start_ns) for _name, run, one in blocks],
            x=[(one.end_ns - one.start_ns) / 1e6 for *_rest, one in blocks],
            y=[name for name, *_rest in blocks],
            marker={
                "color": COLOURS[theme][phase],
                "line": {"width": 1 if separate else 0, "color": ON_COLOUR[theme]},
                "pattern": phase_pattern(phase) if separate else None,
            },
            customdata=[[one.number + 1, len(one.token_ids)] for *_rest, one in blocks],
            hovertemplate=_("pass %{customdata[0]} · %{x:.2f} ms<br>tokens in: %{customdata[1]}") + "<extra></extra>",
        ),
        row=1, col=1,
    )  # fmt: skip


def _add_steps(figure: go.Figure, name: str, run: Run, dash: str, theme: Theme) -> None:
    times, counts = [0.0], [0]
    for one in run.passes:
        times.append(_since(run, one.end_ns))
        counts.append(counts[-1] + len(one.emitted))
    figure.add_trace(
        go.Scatter(
            name=name, x=times, y=counts, mode="lines",
            line={"shape": "hv", "width": 2.5, "dash": dash, "color": TEXT[theme]},
            hovertemplate="%{x:.1f} ms · %{y}<extra>" + name + "</extra>",
        ),
        row=2, col=1,
    )  # fmt: skip


def _since(run: Run, moment_ns: int) -> float:
    """Milliseconds since the run's first pass began."""
    return (moment_ns - run.passes[0].start_ns) / 1e6


def _description(runs: dict[str, Run]) -> str:
    each = [
        _("{name}: {tokens} new tokens in {time}").format(
            name=name, tokens=len(run.emissions), time=milliseconds(busy_ns(run) or 0)
        )
        for name, run in runs.items()
    ]
    return "; ".join(each) + "."


def _table(runs: dict[str, Run]) -> dict[str, list[object]]:
    rows = [(name, run, one) for name, run in runs.items() for one in run.passes]
    return {
        _("run"): [name for name, *_rest in rows],
        _("pass"): [one.number + 1 for *_rest, one in rows],
        _("tokens in"): [len(one.token_ids) for *_rest, one in rows],
        _("tokens out"): [len(one.emitted) for *_rest, one in rows],
        _("start (ms)"): [round(_since(run, one.start_ns), 3) for _name, run, one in rows],
        _("duration (ms)"): [_duration_ms(one) for *_rest, one in rows],
    }


def _duration_ms(one: Pass) -> float:
    return round((one.end_ns - one.start_ns) / 1e6, 3)
