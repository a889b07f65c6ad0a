"""What a fragment says on Streamlit's connection, in portions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from views import portions
from views.portions import STREAM, Portions

BEGINS, ENDS, AGAIN, ELEMENT = (ForwardMsg() for _ in range(4))
BEGINS.new_session.name = "main"
BEGINS.metadata.run.fragment_ids.append("an instrument")
WHOLE_PAGE = ForwardMsg()
WHOLE_PAGE.new_session.name = "main"
ENDS.script_finished = ForwardMsg.FINISHED_SUCCESSFULLY
AGAIN.script_finished = ForwardMsg.FINISHED_EARLY_FOR_RERUN
ELEMENT.delta.new_element.text.body = "words"

Told = Callable[[ForwardMsg | bytes], Awaitable[None]]


def sent(message: ForwardMsg | bytes) -> Message:
    said = message if isinstance(message, bytes) else message.SerializeToString()
    return {"type": "websocket.send", "bytes": said}


def connected(talk: Callable[[Told, list[Message]], Awaitable[None]], path: str = STREAM) -> list[Message]:
    """What a browser has got when a talk with it is over; the talk sees it arrive."""
    arrived: list[Message] = []

    async def app(_scope, _receive, send) -> None:
        await talk(lambda message: send(sent(message)), arrived)

    async def arrive(message: Message) -> None:
        arrived.append(message)
        await asyncio.sleep(0.002)

    asyncio.run(Portions(app)({"type": "websocket", "path": path}, None, arrive))
    return arrived


def test_a_run_that_is_over_soon_arrives_whole_and_at_its_end():
    async def talk(tell: Told, arrived: list[Message]) -> None:
        for message in (BEGINS, ELEMENT, ELEMENT):
            await tell(message)
        await asyncio.sleep(0.01)
        assert arrived == []
        await tell(ENDS)
        assert arrived == [*map(sent, (BEGINS, ELEMENT, ELEMENT, ENDS))]

    connected(talk)


def test_the_next_run_has_a_time_of_its_own():
    # The wait that a run had begun went on after its end, and cut the next one in two.
    async def talk(tell: Told, arrived: list[Message]) -> None:
        for message in (BEGINS, ELEMENT, ENDS):
            await tell(message)
        await asyncio.sleep(0)
        assert len(arrived) == 3 and len(asyncio.all_tasks()) == 1

    connected(talk)


def test_a_run_that_begins_again_is_one_with_what_follows():
    async def talk(tell: Told, arrived: list[Message]) -> None:
        for message in (BEGINS, AGAIN, BEGINS, ELEMENT):
            await tell(message)
        assert arrived == []
        await tell(ENDS)
        assert len(arrived) == 5

    connected(talk)


def test_what_a_long_run_has_said_does_not_wait_for_its_end(monkeypatch):
    monkeypatch.setattr(portions, "PORTION_S", 0.01)

    async def talk(tell: Told, arrived: list[Message]) -> None:
        for n in range(1, 4):
            await tell(BEGINS if n == 1 else ELEMENT)
            await until(lambda n=n: len(arrived) == n)

    connected(talk)


def test_what_is_said_while_a_portion_goes_out_goes_with_it(monkeypatch):
    # Left for a next portion, it would have waited until the script said something more.
    monkeypatch.setattr(portions, "PORTION_S", 0.01)

    async def talk(tell: Told, arrived: list[Message]) -> None:
        await tell(BEGINS)
        await tell(ELEMENT)
        await until(lambda: len(arrived) >= 1)
        await tell(ELEMENT)
        await until(lambda: len(arrived) == 3)

    connected(talk)


def test_a_run_of_the_whole_page_is_drawn_while_the_rest_of_it_is_made():
    async def talk(tell: Told, arrived: list[Message]) -> None:
        for message in (WHOLE_PAGE, ELEMENT):
            await tell(message)
        assert len(arrived) == 2

    connected(talk)


def test_outside_a_run_and_on_other_connections_nothing_waits():
    async def outside(tell: Told, arrived: list[Message]) -> None:
        await tell(ELEMENT)
        await tell(b"\xff no message of Streamlit's")
        assert len(arrived) == 2

    async def elsewhere(tell: Told, arrived: list[Message]) -> None:
        await tell(BEGINS)
        assert len(arrived) == 1

    connected(outside)
    connected(elsewhere, path="/twospeeds/runs/1")


def test_a_browser_that_is_gone_is_told_to_who_speaks_next(monkeypatch):
    monkeypatch.setattr(portions, "PORTION_S", 0.01)
    tried: list[Message] = []

    async def gone(message: Message) -> None:
        tried.append(message)
        raise OSError

    async def app(_scope, _receive, send) -> None:
        await send(sent(BEGINS))
        await until(lambda: bool(tried))
        await asyncio.sleep(0)
        with pytest.raises(OSError):
            await send(sent(ELEMENT))

    asyncio.run(Portions(app)({"type": "websocket", "path": STREAM}, None, gone))


@given(st.lists(st.sampled_from((BEGINS, WHOLE_PAGE, ELEMENT, AGAIN, ENDS, None))))
def test_everything_arrives_once_and_in_order(said):
    """None: a moment passes. A run's last words are the end of the connection's."""
    messages = [one for one in said if one is not None] + [ENDS]

    async def talk(tell: Told, _arrived: list[Message]) -> None:
        for message in [*said, ENDS]:
            await (asyncio.sleep(0) if message is None else tell(message))

    assert connected(talk) == [*map(sent, messages)]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.001)
