"""GPU kernels in Triton, one a file, with the derivation on top. `kernels.gpu` puts the operations together from them.

They run on a GPU, and slowly on the CPU under Triton's interpreter (TRITON_INTERPRET=1 in the environment before
Triton is imported), which is how they are tested without one.
"""
