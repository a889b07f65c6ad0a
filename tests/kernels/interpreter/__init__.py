"""Every Triton kernel against its plain statement in float64: on the CPU under Triton's interpreter, or on a GPU."""
