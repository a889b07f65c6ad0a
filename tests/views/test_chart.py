"""What a figure's component is given."""

from __future__ import annotations

import json

from streamlit.testing.v1 import AppTest

from tests.pages.components import charts


def page_with_a_figure() -> None:
    import numpy as np
    import plotly.graph_objects as go

    from views.chart import chart

    figure = go.Figure(go.Scatter(y=np.array([1.0, 3.0])), {"height": 240})
    chart(figure.to_json(), key="two", description="From 1 to 3.")


def test_a_figure_travels_as_plotlys_own_json_with_its_description_and_our_copy_of_plotly():
    page = AppTest.from_function(page_with_a_figure, default_timeout=30).run()
    (given,) = charts(page)
    figure = json.loads(given["figure"])
    assert figure["layout"]["height"] == 240 and figure["data"][0]["type"] == "scatter"
    assert given["description"] == "From 1 to 3."
    assert given["library"].startswith("/twospeeds/plotly/v-"), "from this server, never from elsewhere"
