"""Two thousand requests through one engine: nothing is lost, nothing grows, nobody gets another's answer."""

from __future__ import annotations

import gc
import random

import psutil
import pytest
import torch

from engine import Engine, Request, SamplingParams
from engine.account.record import Serving
from engine.loop.policy import Policy
from engine.loop.runner import Runner
from engine.model.model import Model
from engine.model.tokenizer import Tokenizer

N_REQUESTS = 2000
N_TEXTS = 12
WORDS = ["the", "king", "saw", "a", "fox", "and", "both", "ran", "home", "to", "tell", "moon", "of", "it"]


@pytest.fixture(scope="module")
def engine(small_model_folder):
    torch.set_num_threads(1)
    model = Model.load(small_model_folder, torch.float32, torch.float32)
    runner = Runner(model, model.new_memory(n_slots=20, n_positions=1024), max_checkpoints=6)
    with Engine(runner, Tokenizer(small_model_folder), model.shape, context_length=128, policy=Policy(chunk=16)) as one:
        yield one


def requests():
    """A dozen different ones, in every way of serving, each with an answer of its own."""
    draw = random.Random(5)
    ways = [Serving(), Serving(reuse_prefix=True), Serving(drafts="prompt_lookup"), Serving(cache="recomputed")]
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(2, 10))) for _ in range(N_TEXTS)]
    return [
        Request(text, SamplingParams(max_new_tokens=3 + i % 7, seed=i, temperature=i % 2), serving=ways[i % 4])
        for i, text in enumerate(texts)
    ]


def tokens(run):
    return [emission.token.id for emission in run.emissions]


def test_two_thousand_requests_a_tenth_of_them_cancelled(engine):
    asked, draw = requests(), random.Random(7)
    expected = [tokens(engine.run(Request(r.prompt, r.sampling))) for r in asked]
    memory, process = engine._runner.memory, psutil.Process()
    live, done, cancelled, grown = [], 0, 0, []
    submitted = 0
    while submitted < N_REQUESTS or live:
        while submitted < N_REQUESTS and len(live) < 40:
            which = draw.randrange(N_TEXTS)
            live.append((which, draw.random() < 0.1, engine.submit(asked[which])))
            submitted += 1
        engine.step()
        if submitted % 100 == 0:
            memory.check_integrity()
        for _, leaves, log in live:
            if leaves and len(log) > 4 and not log.ended:
                log.cancel()
        for which, _, log in [one for one in live if one[2].ended]:
            reason = log.run.end.reason
            answer = tokens(log.run)
            assert answer == expected[which][: len(answer)]
            assert reason == "cancelled" or len(answer) == len(expected[which])
            cancelled += reason == "cancelled"
            done += 1
        live = [one for one in live if not one[2].ended]
        if done % 400 == 0 and len(grown) <= done // 400:
            gc.collect()
            grown.append(process.memory_info().rss)
    assert done == N_REQUESTS
    assert 100 < cancelled < 300
    memory.check_integrity()
    engine._runner.prefixes.clear()
    assert memory.pages.n_free == memory.pages.n_pages
    assert memory.slots.n_free == memory.slots.n_slots
    assert engine.batch_table() == []
    # The step log fills up to its bound during the first part; after that, nothing may grow.
    assert grown[-1] - grown[1] < 12 << 20
