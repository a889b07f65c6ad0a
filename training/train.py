"""The training loop: by the clock, resumable at any step, saving as it goes.

The learning rate and the stage follow the share of the planned minutes that is over, so a machine that is busy with other
things trains on fewer tokens and still ends in time with a rate near zero. The plan may be changed when a run is resumed.
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
from training.evaluation import held_out_loss
from training.loss import hidden_states, next_token_loss
from training.optimizers import set_rates
from training.state import TrainingState
from training.fast_layers import speed_up

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
    """

    minutes: float
    tokens: Path
    folder: Path
    seed: int = 0
    compile_layers: bool = True
    steps: int | None = None


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


def evaluate(state: TrainingState, tokens: Path) -> dict:
    """Held-out losses of the averaged weights, and the overall one of the weights as they are."""
    plain = held_out_loss(state.model, tokens)["overall"]
    state.swap_average()
    averaged = held_out_loss(state.model, tokens)
    state.swap_average()
    return {"held_out": averaged, "held_out_without_average": plain}


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
        self._bar = tqdm(total=round(minutes, 1), unit="min", disable=None, bar_format="{l_bar}{bar}| {n:.1f}/{total} min {postfix}")

    def write(self, **entry: object) -> None:
        """Log one entry."""
        line = json.dumps(entry)
        self._file.write(line + "\n")
        if self._bar.disable:
            print(line, flush=True)

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


def train(plan: Plan) -> TrainingState:
    """Train from the state in `plan.folder`, or from the start, until the planned minutes are over or a signal comes."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    path = plan.folder / "state.pt"
    state = TrainingState.load(path) if path.exists() else TrainingState.fresh(plan.seed)
    speed_up(state.model, plan.compile_layers)
    journal = Journal(plan.folder, plan.minutes)
    run(state, plan, journal, lambda: state.save(path))
    state.save(path)
    journal.write(step=state.step, tokens=state.tokens, minutes=round(state.seconds / 60, 2), **evaluate(state, plan.tokens))
    return state


def run(state: TrainingState, plan: Plan, journal: Journal, save: Callable[[], None]) -> None:
    """The loop itself: steps, with a log line, a save and an evaluation when each is due."""
    stopped = stop_on_signals()
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
            journal.write(step=state.step, tokens=state.tokens, share=round(share, 4), loss=mean, tokens_per_second=rate)
            losses, seen = [], state.tokens
        if store.due():
            save()
        if assess.due():
            journal.write(step=state.step, tokens=state.tokens, **evaluate(state, plan.tokens))
