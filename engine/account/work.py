"""What the passes of a run computed, and what of it was computed for the first time.

A position that a prefix checkpoint held was not computed at all, one that was lost to a preemption is computed twice,
and a run that keeps no cache computes its prefix at every step. Speeds must not mix these (a reused prefix would look
like an impossibly fast prefill, a preemption like a longer prompt), so they are counted apart here, once.
"""

from __future__ import annotations

import msgspec

from engine.account.record import Admitted, Preempted, Run


class Work(msgspec.Struct, frozen=True):
    """Counts of one run, or of several summed."""

    prompt_positions: int = 0
    """Prompt positions that went through the model for the first time."""
    output_tokens: int = 0
    """Tokens emitted."""
    reused_positions: int = 0
    """Positions that a prefix checkpoint gave, when the run first left the queue."""
    sought_positions: int = 0
    """Prompt positions of the runs that looked for a checkpoint, found or not."""
    recomputed_positions: int = 0
    """Positions that went through again because a preemption had taken their memory."""
    repeated_positions: int = 0
    """Positions that went through again because the run keeps no cache."""
    preemptions: int = 0
    draft_passes: int = 0
    drafted_tokens: int = 0
    accepted_tokens: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(*(mine + theirs for mine, theirs in zip(_counts(self), _counts(other), strict=True)))


def work(run: Run) -> Work:
    """Count one run, finished or not."""
    reused, sought = _reuse(run)
    known = reused
    prompt_positions = again = 0
    for one in run.passes:
        # A rejected draft leaves nothing behind: the position after it is not computed "again".
        end = one.start_position + len(one.token_ids) - one.drafted + one.accepted
        again += max(0, min(known, end) - one.start_position)
        prompt_positions += max(0, min(end, len(run.header.prompt_tokens)) - max(known, one.start_position))
        known = max(known, end)
    keeps = run.header.serving.cache == "kept"
    return Work(
        prompt_positions=prompt_positions,
        output_tokens=len(run.emissions),
        reused_positions=reused,
        sought_positions=sought,
        recomputed_positions=again if keeps else 0,
        repeated_positions=0 if keeps else again,
        preemptions=sum(isinstance(event, Preempted) for event in run.events),
        draft_passes=sum(one.drafted > 0 for one in run.passes),
        drafted_tokens=sum(one.drafted for one in run.passes),
        accepted_tokens=sum(one.accepted for one in run.passes),
    )


def _reuse(run: Run) -> tuple[int, int]:
    """Positions reused at the first admission, and positions for which reuse was looked for (a hit must leave one)."""
    first = next((event for event in run.events if isinstance(event, Admitted)), None)
    if first is None or first.reused_positions is None:
        return 0, 0
    return first.reused_positions, len(run.header.prompt_tokens)


def _counts(counted: Work) -> tuple[int, ...]:
    return msgspec.structs.astuple(counted)
