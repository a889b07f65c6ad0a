"""A session of the class benchmark does what a page does when a line breaks: it takes the line up again and goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.streamlit_session import PICTURE, Session, SessionLost
from tests.browser.site.conftest import free_port
from tests.lessons.story_run import story_run

RUN = story_run()


@dataclass
class BreakingApp:
    """Speaks the two protocols of the app. The first press and the first line of a run are cut off."""

    resumes: bool = True
    asked_as: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    told_ended: list[str] = field(default_factory=list)
    presses: int = 0

    async def page(self, _request: Request) -> HTMLResponse:
        return HTMLResponse("", headers={"Set-Cookie": "visitor=somebody"})

    async def stream(self, line: WebSocket) -> None:
        protocols = line.headers["sec-websocket-protocol"].split(", ")
        known = protocols[2] if len(protocols) > 2 else ""
        self.asked_as.append(known)
        await line.accept(subprotocol=protocols[0])
        session_id = known if known and self.resumes else f"session-{len(self.asked_as)}"
        async for data in line.iter_bytes():
            state = BackMsg.FromString(data).rerun_script
            pressed = any(widget.trigger_value for widget in state.widget_states.widgets)
            self.told_ended += [one.json_value for one in state.widget_states.widgets if one.json_value]
            self.presses += pressed
            if pressed and self.presses == 1:
                await line.close(1012)
                return
            for message in _page(session_id, pressed, part=bool(state.fragment_id)):
                await line.send_bytes(message.SerializeToString())

    async def run(self, line: WebSocket) -> None:
        await line.accept()
        start = int(line.query_params["from"])
        self.starts.append(start)
        cut = len(self.starts) == 1
        events = msgspec.to_builtins(RUN.events[start : 2 if cut else None])
        await line.send_json({"from": start, "events": events})
        if not cut:
            await line.send_json({"end": "length"})
        await line.close(1012 if cut else 1000)

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        routes = [
            Route("/lab", self.page), WebSocketRoute("/_stcore/stream", self.stream),
            WebSocketRoute("/twospeeds/runs/{run_id}", self.run),
        ]  # fmt: skip
        server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), port=(port := free_port()), log_level="error"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True
        await serving


def _page(session_id: str, pressed: bool, *, part: bool) -> list[ForwardMsg]:
    """What a script run sends: who it is, the button, the picture, after a press the run's address, and its end."""
    new, button, picture, moved, done = (ForwardMsg() for _ in range(5))
    new.new_session.initialize.session_id = session_id
    button.delta.new_element.button.id = "run-it"
    button.delta.new_element.button.is_form_submitter = True
    button.delta.new_element.button.type = "primary"
    picture.delta.new_element.bidi_component.id = "picture"
    picture.delta.new_element.bidi_component.component_name = PICTURE
    picture.delta.fragment_id = "around-the-picture"
    moved.page_info_changed.query_string = "run=one"
    done.script_finished = ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY if part else ForwardMsg.FINISHED_SUCCESSFULLY
    if part:
        done.metadata.run.fragment_ids.append("around-the-picture")
    return [new, button, picture, *([moved] if pressed else []), done]


def test_a_lost_press_and_a_run_s_broken_line_are_taken_up_again_and_counted():
    app = BreakingApp()

    async def learn() -> None:
        async with app.served() as url, Session(url, "lab", "") as session:
            answer = await session.run()
            assert answer.run == RUN and answer.seen_first_ns > 0
            assert session.reconnections == 2

    asyncio.run(learn())
    assert app.asked_as == ["", "session-1"], "the page comes back as who it was"
    assert app.presses == 2 and app.starts == [0, 2], "the run goes on from the events that are held"
    assert app.told_ended == ['{"ended": "one"}']


def test_a_session_that_the_app_does_not_know_any_more_is_lost():
    async def learn() -> None:
        async with BreakingApp(resumes=False).served() as url, Session(url, "lab", "") as session:
            with pytest.raises(SessionLost, match="another session"):
                await session.run()

    asyncio.run(learn())
