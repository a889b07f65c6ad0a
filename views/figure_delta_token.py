"""A DeltaNet state before and after one token, and what faded, what was erased and what was written, side by side."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from lessons.filters import significant
from views.delta_arrays import Floats, Step
from views.figure_style import styled
from views.figure_trace import NEGATIVE, ZERO
from views.palette import COLOURS, Theme
from views.words import _

HEIGHT = 190


def matrix_figure(matrix: Floats, largest: float, theme: Theme) -> go.Figure:
    """One matrix in colours symmetric about 0, on a scale that all matrices of a token share."""
    figure = go.Figure(
        go.Heatmap(
            z=matrix, zmin=-largest, zmax=largest, showscale=False,
            colorscale=[[0, NEGATIVE[theme]], [0.5, ZERO[theme]], [1, COLOURS[theme]["state"]]],
            hovertemplate=_("value {y}, key {x}: {z}").format(y="%{y}", x="%{x}", z="%{z:.3g}") + "<extra></extra>",
        )
    )  # fmt: skip
    styled(figure, theme, height=HEIGHT)
    figure.update_layout(margin={"l": 2, "r": 2, "t": 2, "b": 2})
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, autorange="reversed", scaleanchor="x", constrain="domain")
    return figure


def scale(step: Step) -> float:
    """Where the shared colours end: the magnitude that one number in 200 of the fullest matrix exceeds.

    A few numbers are far larger than the others; on a scale up to those the rest would be blank.
    """
    every = (step.before, step.faded, step.erased, step.written, step.after)
    return max(float(np.quantile(np.abs(matrix), 0.995)) for matrix in every) or 1.0


def matrices(step: Step) -> list[tuple[str, str, Floats]]:
    """Title, a line of words and the matrix of each picture, in the order of the rule."""
    return [
        (_("1 · before"), _("the state S as the token before left it"), step.before),
        (_("2 · faded"), _("e^g S: {share} of it is kept").format(share=f"{step.decay:.1%}"), step.faded),
        (_("3 · erased"), _("what the token's key brings up, times β = {beta}").format(
            beta=significant(step.write_strength, 2)), step.erased),
        (_("4 · written"), _("the token's value under its key, times β"), step.written),
        (_("5 · after"), _("2 minus 3 plus 4"), step.after),
    ]  # fmt: skip


def size(matrix: Floats) -> float:
    """Length of a matrix as one long vector (Frobenius norm)."""
    return float(np.linalg.norm(matrix))
