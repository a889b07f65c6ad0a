"""The engines that `benchmarks.engines` compares, each asked in the leanest way that Python has.

A turn is one prefill, then decode steps, each timed up to the moment at which the next token is known:

    ours            `Engine.step`, whole: planned, computed, sampled, and noted for the record
    transformers    the model's forward pass with its cache, logits of the last position only, the likeliest token
    llama.cpp       `llama_decode` through llama-cpp-python, then the likeliest token of the logits

So ours does more than the others in every step, and none of them pays for a `generate` around its model.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch

from engine import Engine, Request, SamplingParams
from engine.account.cost import Rates
from engine.loop.model_folder import find_model, random_shape
from engine.loop.parts import Tokenizes
from kernels import dispatch

TEXT = (
    "Once upon a time there was a little girl who found a blue key under a stone and ran home to ask her mother which "
    "door it would open but nobody in the house had ever seen such a key and so she went out again to look for it "
)
"""Repeated and cut to as many tokens as a turn needs."""

clock = time.perf_counter_ns


class Prompt(NamedTuple):
    """The same tokens for every side; ours takes them as text."""

    text: str
    ids: list[int]

    @classmethod
    def of(cls, tokenizer: Tokenizes, n: int) -> Self:
        """The first `n` tokens of TEXT. Raises ValueError if they would be others when read as a prompt."""
        ids = tokenizer.encode(TEXT * (1 + n // 8))[:n]
        text = b"".join(tokenizer.token(one).raw for one in ids).decode()
        if tokenizer.encode(text) != ids:
            raise ValueError(f"The text cut to {n} tokens is read as other tokens; choose another length.")
        return cls(text, ids)


class Turn(NamedTuple):
    """What one turn took, in nanoseconds."""

    prefill_ns: int
    steps_ns: list[int]


@dataclass(frozen=True)
class Side:
    """One engine with its model loaded."""

    name: str
    weights: str
    """How they lie in memory."""
    step_bytes: int
    """Bytes of weights that a decode step reads."""
    turn: Callable[[Prompt, int], Turn]
    """Prefills the prompt, then makes so many decode steps."""


def ours(engine: Engine, name: str, kernels: str | None = None) -> Side:
    """This engine; `kernels` takes the operations from another module, with which it must also have been loaded."""

    def turn(prompt: Prompt, steps: int) -> Turn:
        # The first token is the prefill's own, each further one a step's.
        log = engine.submit(Request(prompt.text, SamplingParams(max_new_tokens=1 + steps, ignore_eos=True)))
        taken = []
        with operations_of(kernels):
            while not log.ended:
                start = clock()
                engine.step()
                taken.append(clock() - start)
        return Turn(taken[0], taken[1:])

    return Side(name, engine.shape.weight_dtype, Rates.of(engine.shape).weight_bytes(1, 1), turn)


def operations_of(kernels: str | None) -> contextlib.AbstractContextManager[None]:
    """All operations from this module of `kernels` for a while; None leaves the best ones that work here."""
    return contextlib.nullcontext() if kernels is None else dispatch.override_all(kernels)


def transformers_side(model: str, dtype: torch.dtype) -> Side:
    """transformers, eager, with all weights in `dtype`; a shape's are random, since only their time is asked for."""
    loaded = _transformers_model(model, dtype).eval()

    @torch.inference_mode()
    def turn(prompt: Prompt, steps: int) -> Turn:
        ids, cache, taken = torch.tensor([prompt.ids]), None, []
        for _ in range(1 + steps):
            start = clock()
            out = loaded(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=1)
            ids, cache = out.logits[:, -1:].argmax(-1), out.cache
            taken.append(clock() - start)
        return Turn(taken[0], taken[1:])

    read = {id(one): one.nbytes for one in loaded.parameters()}
    if not loaded.config.tie_word_embeddings:
        read.pop(id(loaded.get_input_embeddings().weight))
    name = str(dtype).removeprefix("torch.")
    return Side(f"transformers {name}", name, sum(read.values()), turn)


def _transformers_model(model: str, dtype: torch.dtype) -> Any:
    from transformers import AutoModelForCausalLM, GgufConfig, Qwen3_5ForCausalLM, Qwen3_5TextConfig, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if shape := random_shape(model):
        fields = {name: getattr(shape, name) for name in Qwen3_5TextConfig().to_dict() if hasattr(shape, name)}
        config = Qwen3_5TextConfig(**fields, num_hidden_layers=len(shape.layer_types))
        return AutoModelForCausalLM.from_config(config, dtype=dtype)
    folder = find_model(model)
    if gguf := gguf_file(folder):
        # Dense: its kernels for packed weights are a package of their own, fetched when they are used.
        dense = GgufConfig(dequantize=True)
        return AutoModelForCausalLM.from_pretrained(folder, gguf_file=gguf.name, dtype=dtype, quantization_config=dense)
    return Qwen3_5ForCausalLM.from_pretrained(folder, dtype=dtype)


def gguf_file(folder: Path) -> Path | None:
    """The GGUF file of a model folder, which is what llama.cpp reads; None for a folder of another kind."""
    return next(iter(sorted(folder.glob("*.gguf"))), None)


def llama_cpp_side(file: Path, name: str, threads: int, n_context: int) -> Side:
    """llama.cpp with its defaults on a GGUF file; a prompt of up to `n_context` tokens goes in as one batch.

    Raises ImportError where llama-cpp-python is not installed.
    """
    import llama_cpp

    llama = llama_cpp.Llama(
        str(file), n_ctx=n_context, n_batch=n_context, n_ubatch=n_context, n_threads=threads, n_threads_batch=threads,
        n_gpu_layers=0, verbose=False,
    )  # fmt: skip

    def turn(prompt: Prompt, steps: int) -> Turn:
        llama.reset()
        ids, taken = prompt.ids, []
        for _ in range(1 + steps):
            start = clock()
            llama.eval(ids)
            logits = llama_cpp.llama_get_logits_ith(llama.ctx, -1)
            ids = [int(np.ctypeslib.as_array(logits, (llama.n_vocab(),)).argmax())]
            taken.append(clock() - start)
        return Turn(taken[0], taken[1:])

    kinds, step_bytes = stored(file)
    return Side(name, kinds, step_bytes, turn)


def stored(file: Path) -> tuple[str, int]:
    """How a GGUF file keeps body and head, and the bytes of weights that a decode step reads of it."""
    from gguf import GGUFReader

    tensors = {one.name: one for one in GGUFReader(file).tensors}
    head = tensors.get("output.weight")
    read = sum(int(one.n_bytes) for one in tensors.values())
    if head is None:
        head = tensors["token_embd.weight"]
    else:
        read -= int(tensors["token_embd.weight"].n_bytes)
    body = tensors["blk.0.ffn_down.weight"].tensor_type.name
    return f"{body}, head {head.tensor_type.name}", read


def in_bfloat16(file: Path, target: Path) -> Path:
    """The same model with its weights widened to bfloat16 by llama.cpp's own tool. Raises ImportError, RuntimeError."""
    import llama_cpp

    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize = llama_cpp.LLAMA_FTYPE_MOSTLY_BF16, True
    if llama_cpp.llama_model_quantize(str(file).encode(), str(target).encode(), params):
        raise RuntimeError(f"llama.cpp could not widen {file.name} to bfloat16")
    return target
