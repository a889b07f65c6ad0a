"""The engine: one model, its memory, and the loop that turns requests into tokens.

    Request -> Batch -> logits -> token -> Request

`step()` is three calls: the scheduler plans, the runner computes logits, and the results are sampled and recorded. Anyone may
submit and cancel from any thread; one thread steps, either the caller of `run()` or the worker that `start()` starts.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from engine.account.cost import Rates
from engine.account.record import Device, FinishReason, ModelShape, Run, Sampling, Token
from engine.account.trace_record import TraceRecord
from engine.loop.request import Request, RequestError, read_prompt
from engine.loop.live import LiveRun
from engine.loop.model_folder import find_model
from engine.loop.recorder import Recorder
from engine.loop.run_log import Bell, RunLog
from engine.loop.sampler import Choice, choose
from engine.loop.scheduler import BatchRow, Scheduler, Sequence, StepPlan

if TYPE_CHECKING:
    from engine.loop.runner import Runner

_log = logging.getLogger(__name__)
