"""A reload and cut lines in mid-run: the run goes on, and the page picks it up where it was."""

import re

from tests.browser.site.visitor import run_in_lab, visit, wait_for_end

TOKENS = 220
"""Each computed from the beginning again, or the run would be over before a line is cut."""
RUN = "new URL(location.href).searchParams.get('run')"
CUTS = 3


def test_neither_a_reload_nor_cut_lines_lose_a_token_or_the_page(page, app):
    streams, cuts = [], []

    def cut_again_and_again(line):
        """The run's own line breaks after every second message, a few times."""
        server, heard = line.connect_to_server(), []

        def pass_on(message):
            heard.append(message)
            line.send(message)
            if len(heard) == 2 and len(cuts) < CUTS:
                cuts.append(line.url)
                line.close(code=1012)

        server.on_message(pass_on)

    def remember(line):
        line.connect_to_server()
        streams.append(line)

    page.route_web_socket(re.compile("/twospeeds/runs/"), cut_again_and_again)
    page.route_web_socket(re.compile("/_stcore/stream"), remember)
    visit(page, app.url + "/lab?stop=0&cache=recomputed")
    run_in_lab(page, "Once upon a time", TOKENS)
    run_id = page.evaluate(RUN)
    page.reload()
    page.wait_for_function("window.__flipbook?.passes > 0")
    assert page.evaluate(RUN) == run_id and not page.evaluate("__flipbook.isOver"), "still in the middle of it"
    streams[-1].close(code=1012)  # and Streamlit's own line, too
    wait_for_end(page)
    assert page.evaluate("__flipbook.passes") == TOKENS and page.evaluate(RUN) == run_id
    assert len(cuts) == CUTS and len(streams) > 2
    assert any(int(re.search(r"from=(\d+)", url)[1]) for url in cuts), "it comes back where it was"
