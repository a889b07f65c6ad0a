"""The training loop: by the clock, resumable at any step, saving as it goes.

The learning rate and the stage follow the share of the planned minutes that is over, so a machine that is busy with
other things trains on fewer tokens and still ends in time with a rate near zero. The plan may change on resuming.
"""

import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from training.batches import ANNEAL, BROAD, RowStream, Stage
from training.evaluation import evaluate
from training.fast_layers import speed_up
from training.loss import hidden_states, next_token_loss
from training.optimizers import set_rates
from training.state import TrainingState

ANNEAL_FROM = 0.85  # share of the run after which rows are 2,048 tokens long and the plain stories prevail
SAVE_EVERY, LOG_EVERY, EVALUATE_EVERY = 180.0, 15.0, 600.0  # seconds


@dataclass(frozen=True)
class Plan:
    """How long to train and where things lie.

    Attributes:
        minutes: training time over all sittings.
        tokens: folder that `prepare` wrote.
        folder: where the state and the log lie.
        compile_layers: whether torch.compile fuses the layers; slow to start, faster after.
        steps: stop after so many steps in this sitting, for a trial.
        warm_start: checkpoint folder whose weights a new run begins with.
    """

    minutes: float
    tokens: Path
    folder: Path
    seed: int = 0
    compile_layers: bool = True
    steps: int | None = None
    warm_start: Path | None = None


def stage_at(share: float) -> Stage:
    """The stage for this share of the run."""
    return BROAD if share < ANNEAL_FROM else ANNEAL


def train_step(state: TrainingState, batch: Tensor) -> float:
    """One step on rows [B, T + 1]; returns the loss before it."""
    hidden = hidden_states(state.model, batch[:, :-1])
    loss = next_token_loss(hidden, state.model.lm_head.weight, batch[:, 1:])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(state.model.parameters(), 1.0)
    for optimizer in state.optimizers:
        optimizer.step()
        optimizer.zero_grad()
    state.step += 1
    state.tokens += batch[:, 1:].numel()
    state.update_average()
    return loss.item()


class Every:
    """A timer that is due once in so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.last = seconds, time.monotonic()

    def due(self) -> bool:
        """Whether the time is over since it last was."""
        if time.monotonic() - self.last < self.seconds:
            return False
        self.last = time.monotonic()
        return True


class Journal:
    """The run's log: a JSON object a line, in train.jsonl and on standard output, and a progress bar on a terminal."""

    def __init__(self, folder: Path, minutes: float) -> None:
        self._file = (folder / "train.jsonl").open("a", buffering=1)
        form = "{l_bar}{bar}| {n:.1f}/{total} min {postfix}"
        self._bar = tqdm(total=round(minutes, 1), disable=None, bar_format=form)

    def write(self, **entry: object) -> None:
        """Log one entry."""
        line = json.dumps(entry)
        self._file.write(line + "\n")
        if self._bar.disable:
            print(line, flush=True)

    def assess(self, state: TrainingState, tokens: Path) -> None:
        """Log the held-out losses, in nats a token."""
        held_out = evaluate(state, tokens)
        self.write(step=state.step, tokens=state.tokens, seconds=round(state.seconds), held_out=held_out)

    def progress(self, minutes: float, loss: float) -> None:
        """Move the bar."""
        self._bar.n = minutes
        self._bar.set_postfix_str(f"loss {loss:.3f}")


def stop_on_signals() -> Callable[[], bool]:
    """Let SIGTERM and SIGINT ask for a stop after the present step; returns what tells whether one did."""
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: asked.append(received))
    return lambda: bool(asked)


def first_state(plan: Plan, path: Path) -> TrainingState:
    """The saved state if there is one, else one from the checkpoint to begin with, else fresh weights."""
    if path.exists():
        return TrainingState.load(path)
    if plan.warm_start is not None:
        return TrainingState.from_checkpoint(plan.warm_start, plan.seed)
    return TrainingState.fresh(plan.seed)


def train(plan: Plan) -> TrainingState:
    """Train from the state in `plan.folder`, or from the start, until the minutes are over or a signal comes."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    path = plan.folder / "state.pt"
    state = first_state(plan, path)
    speed_up(state.model, plan.compile_layers)
    journal = Journal(plan.folder, plan.minutes)
    stopped = stop_on_signals()
    run(state, plan, journal, lambda: state.save(path), stopped)
    state.save(path)
    if not stopped():
        journal.assess(state, plan.tokens)
    return state


def run(
    state: TrainingState, plan: Plan, journal: Journal, save: Callable[[], None], stopped: Callable[[], bool]
) -> None:
    """The loop itself: steps, with a log line, a save and an evaluation when each is due."""
    log, store, assess = Every(LOG_EVERY), Every(SAVE_EVERY), Every(EVALUATE_EVERY)
    stream: RowStream | None = None
    first_step, before, losses, seen = state.step, time.monotonic(), [], state.tokens
    while (share := state.seconds / (60 * plan.minutes)) < 1 and not stopped():
        if plan.steps is not None and state.step - first_step >= plan.steps:
            break
        if stream is None or stream.stage is not stage_at(share):
            stream = RowStream(stage_at(share), plan.tokens, state.seed, state.position)
        set_rates(state.optimizers, share)
        losses.append(train_step(state, stream.next_batch()))
        state.position = stream.position
        now = time.monotonic()
        state.seconds, before = state.seconds + now - before, now
        journal.progress(state.seconds / 60, losses[-1])
        if log.due():
            rate = round((state.tokens - seen) / LOG_EVERY)
            mean = round(sum(losses) / len(losses), 4)
            journal.write(step=state.step, tokens=state.tokens, share=round(share, 4), loss=mean, rate=rate)
            losses, seen = [], state.tokens
        if store.due():
            save()
        if assess.due():
            journal.assess(state, plan.tokens)
