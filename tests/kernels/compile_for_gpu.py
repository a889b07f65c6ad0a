"""Compile every kernel for a GPU that is not there, with the arguments that a model's passes give; run none.

    python -m tests.kernels.compile_for_gpu

Triton compiles for any target from its own parts, down to machine code (NVIDIA's assembler is in its wheel). So what
the interpreter cannot see is seen here: code that the compiler refuses, and tiles that do not fit a multiprocessor's
memory. Prints a line of JSON for each kernel.
"""

import json

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

HOPPER = GPUTarget("cuda", 90, 32)


class NoGPU:
    """What the launcher asks of a driver before it compiles."""

    def get_current_target(self):
        return HOPPER

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0


def main() -> None:
    launch = JITFunction.run
    seen = set()

    def compile_only(self, *args, grid, warmup, **kwargs):
        compiled = launch(self, *args, grid=grid, warmup=True, **kwargs)
        name, shared = self.__name__, compiled.metadata.shared
        if (name, compiled.hash) not in seen:
            seen.add((name, compiled.hash))
            print(json.dumps({"kernel": name, "shared": shared, "code_bytes": len(compiled.asm["cubin"])}), flush=True)
        return compiled

    driver.set_active(NoGPU())
    JITFunction.run = compile_only
    run_all()


def run_all() -> None:
    """A decode step, drafts and a prompt of the 4B model, over a short cache."""
    from benchmarks.kernel_calls import Inputs, calls
    from engine.account.cost import PRESET_SHAPES
    from kernels import gpu

    shape = PRESET_SHAPES["Qwen3.5-4B"]
    for passes in ((2, 1, 100), (1, 3, 100), (1, 100, 0)):
        inputs = Inputs(shape, *passes, "cpu", torch.bfloat16)
        for call in calls(inputs):
            call.run()
    x, windows, scale = inputs.randn(100, 64), torch.zeros(1, 3, 64), torch.ones(64)
    gpu.fold_windows(x, windows, inputs.bounds, inputs.slots, inputs.slots)
    gpu.drafted_causal_conv(x, torch.zeros(4, 64), windows, inputs.bounds, inputs.slots)
    gpu.add_rms_norm(x, x, scale, 1e-6)


if __name__ == "__main__":
    assert not triton.knobs.runtime.interpret, "the interpreter compiles nothing"
    main()
