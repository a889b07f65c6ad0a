"""Every operation twice: its plain statement and the kernel that computes it fast, both read from their files.

The reason for a kernel's shape is a sentence of its own file's head; a test looks it up there.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from lessons.code_source import ROOT
from lessons.syntax import module_tree
from views.words import N_


@dataclass(frozen=True)
class Pair:
    """One kernel: what it is called on the page, where its statement and its source stand, and why it is shaped so."""

    key: str
    title: str
    statement: str
    kernel: str
    launch: str
    """The function that chooses grid and tiles, and starts it."""
    why: str

    @property
    def module(self) -> str:
        """The kernel's module."""
        return self.kernel.partition(":")[0]


def _pair(key: str, title: str, statement: str, kernel: str, launch: str, why: str) -> Pair:
    return Pair(key, title, f"kernels.{statement}", f"kernels.triton.{kernel}", f"kernels.triton.{launch}", why)


PAIRS: tuple[Pair, ...] = (
    _pair(
        "attention-prefill", N_("Attention, a whole prompt"), "reference:attend",
        "attention_prefill:_attention_prefill", "attention_prefill:attention_prefill",
        N_("Scores never leave the chip, and keys and values are read once for BLOCK_M queries of a head instead of "
          "once for each."),
    ),
    _pair(
        "attention-decode", N_("Attention, one token: the split"), "reference:attend",
        "attention_decode:_attention_decode", "attention_decode:attention_decode",
        N_("A program a head would read a long context with a handful of multiprocessors while the others wait, so the "
          "positions of a sequence are split too"),
    ),
    _pair(
        "attention-merge", N_("Attention, one token: the merge"), "reference:paged_attention",
        "attention_merge:_attention_merge", "attention_merge:attention_merge",
        N_("On a common scale m = max m_s they simply add up"),
    ),
    _pair(
        "delta-step", N_("Delta rule, one token"), "reference:delta_rule",
        "delta_step:_delta_step", "delta_step:delta_step",
        N_("The state is the whole traffic: K * V numbers in and out, against 2 K + 2 V of the token, for 6 K V "
          "operations. So it must pass through the chip once."),
    ),
    _pair(
        "delta-solve", N_("Delta rule, 64 tokens: the solve"), "reference:delta_rule",
        "delta_chunk_solve:delta_chunk_solve", "delta_chunks:chunked_delta_rule",
        N_("One token waits for the other only through a unit lower triangular matrix I + A, the same for all "
          "components."),
    ),
    _pair(
        "delta-states", N_("Delta rule, 64 tokens: the states"), "reference:delta_rule",
        "delta_chunk_states:delta_chunk_states", "delta_chunks:chunked_delta_rule",
        N_("This is the only part that goes through a sequence in order, 64 tokens a step."),
    ),
    _pair(
        "delta-outputs", N_("Delta rule, 64 tokens: the outputs"), "reference:delta_rule",
        "delta_chunk_outputs:delta_chunk_outputs", "delta_chunks:chunked_delta_rule",
        N_("The second term is attention inside the chunk, with the decay in the place of the softmax."),
    ),
    _pair(
        "delta-drafts", N_("Delta rule, guessed tokens"), "reference_drafts:drafted_delta_rule",
        "delta_drafts:_delta_drafts", "delta_drafts:drafted_delta_rule",
        N_("A state that was overwritten cannot be taken back, so nothing is written until it is known"),
    ),
    _pair(
        "delta-fold", N_("Delta rule, the guesses that held"), "reference_drafts:fold",
        "delta_fold:_delta_fold", "delta_fold:fold",
        N_("This replays them, operation for operation what `delta_step` does to the state: a sum in another order "
          "would drift from the undrafted run over thousands of tokens."),
    ),
    _pair(
        "convolution", N_("Causal convolution"), "reference:causal_conv",
        "causal_conv:_causal_conv", "causal_conv:_launch",
        N_("The window is replaced by the program of the sequence's first tile: it is the only one that reads the old "
          "one, so nobody needs to wait for anybody."),
    ),
    _pair(
        "norm", N_("RMS norm"), "reference:rms_norm", "rms_norm:_rms_norm", "rms_norm:_launch",
        N_("The row is read once, and stays in registers between the sum of squares and the scaling: separate torch "
          "operations would carry it to memory and back three times."),
    ),
    _pair(
        "gated-norm", N_("Gated norm"), "reference:gated_rms_norm",
        "gated_rms_norm:_gated_rms_norm", "gated_rms_norm:gated_rms_norm",
        N_("The gate is a slice of the mixer's input projection and is read where it lies."),
    ),
    _pair(
        "rotary", N_("Rotary positions"), "reference:rotate_and_store",
        "rotate_and_store:_rotate_and_store", "rotate_and_store:rotate_and_store",
        N_("It loads the head twice, the second time with partners exchanged, instead of shuffling registers; the "
          "second load finds the head in the cache."),
    ),
    _pair(
        "swiglu", N_("SwiGLU"), "reference:swiglu", "swiglu:_swiglu", "swiglu:swiglu",
        N_("Reading both halves in one program, nothing but the result is written: three numbers moved for each "
          "result, where torch's silu and product move five."),
    ),
    _pair(
        "int8", N_("Product with 8-bit weights"), "reference_quantized:int8_linear",
        "int8_linear:_int8_linear", "int8_linear:int8_linear",
        N_("A decode step reads every weight for a handful of tokens, and can be no faster than that reading: a byte a "
          "weight instead of two halves the floor."),
    ),
    _pair(
        "int4", N_("Product with 4-bit weights"), "reference_quantized:int4_linear",
        "int4_linear:_int4_linear", "int4_linear:int4_linear",
        N_("With groups of 64 and 16-bit scales and zeros a weight takes 4.5 bits: where reading weights is what takes "
          "the time, the floor is 3.6 times lower than with 16."),
    ),
)  # fmt: skip
"""In the order of the page."""


def derivation(pair: Pair) -> str:
    """The head of the kernel's file, where the method is derived; empty if it has none."""
    path = ROOT.joinpath(*pair.module.split(".")).with_suffix(".py")
    return ast.get_docstring(module_tree(path.read_text(encoding="utf-8"))) or ""
