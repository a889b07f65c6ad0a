"""The recorded tokens of the kernels page are still what the bundled model gives."""

import base64

import numpy as np

from benchmarks.delta_tokens import PROMPT, record
from views.delta_arrays import head_inputs, steps
from views.kernel_recordings import delta_tokens


def test_the_bundled_model_still_gives_what_was_recorded():
    kept, now = delta_tokens(), record()
    assert [one.layer for one in now.layers] == [one.layer for one in kept.layers]
    assert now.tokens == kept.tokens
    assert "".join(token.text for token in now.tokens) == PROMPT
    for before, after in zip(kept.layers, now.layers, strict=True):
        for name, dtype in (("keys", "<f2"), ("values", "<f2"), ("decay", "<f4"), ("write_strength", "<f4")):
            old, new = (np.frombuffer(base64.b64decode(getattr(one, name)), dtype) for one in (before, after))
            assert np.abs(old.astype(float) - new).max() <= 0.02 * np.abs(old).max(), (before.layer, name)


def test_the_states_that_follow_from_the_record_are_the_engines():
    """The recorder compares them; half precision is all that is lost on the way."""
    assert all(one.largest_gap < 2e-3 for one in delta_tokens().layers)


def test_a_step_is_decay_then_erase_then_write():
    kept = delta_tokens()
    for layer in kept.layers:
        for step in steps(head_inputs(kept, layer, 0)):
            np.testing.assert_allclose(step.after, step.faded - step.erased + step.written, atol=1e-5)
            np.testing.assert_allclose(step.faded, step.decay * step.before, atol=1e-6)


def test_after_a_full_strength_write_the_key_gives_the_value_back():
    """The delta rule's promise: with beta = 1 what was under the key is gone, and the value is there."""
    kept = delta_tokens()
    inputs = head_inputs(kept, kept.layers[0], 0)
    inputs.write_strength[:] = 1.0
    last = steps(inputs)[-1]
    np.testing.assert_allclose(last.after @ inputs.keys[-1], inputs.values[-1], atol=2e-2 * np.abs(inputs.values).max())
