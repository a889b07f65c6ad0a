"""A batch says where every token of every sequence lies."""

from __future__ import annotations

import pytest
import torch

from engine.memory.memory import Holding
from engine.model.batch import Batch, Shape, Span


def _holding(slot: int, pages: list[int], length: int) -> Holding:
    return Holding(slot, pages, length)


def test_spans_are_packed_with_their_positions_pages_slots_and_rows():
    long, short = _holding(3, [7, 2], 18), _holding(0, [5], 1)
    batch = Batch.of([Span([10, 11, 12], 15, "prefill", long, "last"), Span([20], 0, "decode", short, "all")])
    assert batch.token_ids.tolist() == [10, 11, 12, 20]
    assert batch.positions.tolist() == [15, 16, 17, 0]
    assert batch.kv_rows.tolist() == [7 * 16 + 15, 2 * 16, 2 * 16 + 1, 5 * 16]
    assert batch.shape == Shape((0, 3, 4), (2, 3))
    assert batch.bounds_index.tolist() == [0, 3, 4]
    assert batch.page_tables.tolist() == [[7, 2], [5, -1]]
    assert batch.state_slots.tolist() == [3, 0]
    assert batch.context_lengths == (18, 1)
    assert batch.logit_rows.tolist() == [2, 3]
    assert batch.phases == ("prefill", "decode")
    assert (batch.shape.n_tokens, batch.shape.n_sequences) == (4, 2)


def test_a_batch_takes_pass_after_pass_of_its_shape_and_ends_as_a_new_one_would():
    """Tables that did not change are not written again, so each kind of change is here: a page more, another page in
    the place of the last (copy on write), fewer pages, and another sequence in the row.
    """
    first, second = _holding(0, [7], 16), _holding(1, [3, 4], 20)
    batch = Batch.empty(Shape((0, 1, 2), (0, 1)), 4)
    for change in (
        lambda: None,
        lambda: (first.pages.append(9), setattr(first, "length", 17)),
        lambda: second.pages.__setitem__(-1, 8),
        lambda: (second.pages.pop(), setattr(second, "length", 15)),
    ):
        change()
        for spans in ([first, second], [second, first]):
            given = [Span([5 + one.slot], one.length - 1, "decode", one) for one in spans]
            batch.take(given)
            new = Batch.of(given)
            width = new.page_tables.shape[1]
            assert (
                torch.equal(batch.page_tables[:, :width], new.page_tables)
                and (batch.page_tables[:, width:] == -1).all()
            )
            for name in ("token_ids", "positions", "kv_rows", "bounds_index", "state_slots", "logit_rows"):
                assert torch.equal(getattr(batch, name), getattr(new, name)), name
            assert (batch.context_lengths, batch.phases) == (new.context_lengths, new.phases)


@pytest.mark.parametrize(("logits", "rows"), [("none", []), ("last", [1]), ("all", [0, 1])])
def test_the_rows_asked_for(logits: str, rows: list[int]):
    batch = Batch.of([Span([1, 2], 0, "prefill", _holding(0, [0], 2), logits)])
    assert batch.logit_rows.tolist() == rows


def test_a_span_without_tokens_or_without_room_is_refused():
    with pytest.raises(ValueError, match="at least one token"):
        Batch.of([Span([], 0, "prefill", _holding(0, [0], 1))])
    with pytest.raises(ValueError, match="no room was taken for position 16"):
        Batch.of([Span([1] * 17, 0, "prefill", _holding(0, [0], 16))])
    with pytest.raises(ValueError, match="no room was taken for position 5"):
        Batch.of([Span([1], 5, "decode", _holding(0, [0], 5))])


def test_one_sequence_twice_in_a_batch_is_refused():
    holding = _holding(0, [0], 4)
    with pytest.raises(ValueError, match="twice"):
        Batch.of([Span([1, 2], 0, "prefill", holding), Span([3, 4], 2, "prefill", holding)])
