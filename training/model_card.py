"""The model card: what the checkpoint is, where its text came from, how it was trained, and what it writes."""

from dataclasses import dataclass
from pathlib import Path

from training.sample import PROMPT, sample_stories
from training.sources import SOURCES
from training.state import TrainingState

HEAD = """\
---
license: apache-2.0
language: en
library_name: transformers
tags: [qwen3_5_text, gated-deltanet, stories, education]
---

# Two Speeds story model

A small language model that writes children's stories. It exists to be looked into: it has the two kinds of layers of
Qwen3.5, Gated DeltaNet with a state of fixed size and gated attention with a cache that grows, in a size that a laptop
runs at once. It was trained from random weights; no weights of another model are in it.

```python
from transformers import AutoTokenizer, Qwen3_5ForCausalLM

model = Qwen3_5ForCausalLM.from_pretrained("models/story")
tokenizer = AutoTokenizer.from_pretrained("models/story")
```
"""

LIMITS = """\
## Limits

- English children's stories, and nothing else. It follows no instructions and answers no questions.
- It has seen ASCII only. Accents, other scripts and emoji are encoded as bytes that it was never trained on.
- Its stories are made up and often lose their thread after some sentences. It knows no facts.
- The stories it learnt from are simple and partly old; what they think of girls, boys and strangers is in it too.
- It was trained on at most 2,048 tokens at a time."""


def shape_section(state: TrainingState) -> str:
    """Sizes, all taken from the config and the weights."""
    c = state.model.config
    parameters = sum(p.numel() for p in state.model.parameters())
    linear, full = (list(c.layer_types or ()).count(kind) for kind in ("linear_attention", "full_attention"))
    kv_bytes = full * 2 * c.num_key_value_heads * c.head_dim * 2
    state_bytes = linear * c.linear_num_value_heads * c.linear_key_head_dim * c.linear_value_head_dim * 4
    attention = f"{c.num_attention_heads} query heads, {c.num_key_value_heads} key-value heads of {c.head_dim}"
    delta = f"{c.linear_num_value_heads} heads, state {c.linear_key_head_dim} x {c.linear_value_head_dim}"
    return f"""\
## Architecture

`{c.model_type}`, {parameters:,} parameters (the head is tied to the embedding), bfloat16.

| | |
|---|---|
| layers | {c.num_hidden_layers}: three Gated DeltaNet, one gated attention, and again |
| width, MLP width | {c.hidden_size}, {c.intermediate_size} |
| attention | {attention}, QK norm, output gate, rotary on a quarter of each head |
| Gated DeltaNet | {delta}, convolution of {c.linear_conv_kernel_dim} |
| vocabulary | {c.vocab_size:,}: byte-level BPE, Qwen's pre-tokenizer pattern, NFC, no begin-of-text token |
| context | {c.max_position_embeddings:,} tokens |
| KV cache | {kv_bytes:,} bytes a token in bfloat16, in {full} layers |
| recurrent state | {state_bytes:,} bytes in float32, in {linear} layers, whatever the length |
"""


@dataclass(frozen=True)
class Circumstances:
    """What the run's files do not know and whoever exports says: on what it ran, and what was changed on the way."""

    hardware: str
    note: str = ""


def training_section(state: TrainingState, prepared: dict, losses: dict[str, float], where: Circumstances) -> str:
    """Text, amount of training and held-out loss, all taken from the run's own files."""
    texts = "\n".join(f"| {s.name} | {s.text} | {s.licence} |" for s in SOURCES)
    counts = "\n".join(
        f"| {name} | {s['stories']:,} | {s['tokens']:,} | {s['held_out_stories']:,} | {losses[name]:.3f} |"
        for name, s in prepared["sources"].items()
    )
    return f"""\
## Training text

| text | what it is | licence |
|---|---|---|
{texts}

A story is one record. Stories that repeat another are dropped, and two in a hundred are held out, chosen by a hash of
the story. In most copies of the TinyStories text the heroes got other names, drawn from the names in that text, so that
the model learns to look back.

## Training

{state.tokens:,} tokens in {state.step:,} steps, {state.seconds / 3600:.1f} hours on {where.hardware}. Rows of 512
tokens, in the last 15 % of the time 2,048. Muon for the layers' matrices, AdamW for the rest, a rate of learning that
falls to almost nothing; of the weights and their running mean, those with the lower held-out loss. {where.note}
`training/` has the code; `python -m training --help` names the commands.

Loss on held-out stories, in nats a token, each story read from its beginning (overall: {losses["overall"]:.3f}):

| text | stories | tokens | held-out stories | held-out loss |
|---|---|---|---|---|
{counts}
"""


def samples_section(folder: Path) -> str:
    """Twenty stories, not selected."""
    drawn = enumerate(sample_stories(folder), start=1)
    stories = "\n\n".join(f"**{number}.** " + story.replace("\n", "\n\n") for number, story in drawn)
    return f"""\
## Twenty samples

Not selected: "{PROMPT}" at temperature 0.7, no top-k or top-p, seed 0, at most 300 new tokens.

{stories}
"""


def write_model_card(
    folder: Path, state: TrainingState, prepared: dict, losses: dict[str, float], where: Circumstances
) -> None:
    """Write README.md into a checkpoint folder whose weights and tokenizer are already there."""
    training = training_section(state, prepared, losses, where)
    parts = [HEAD, shape_section(state), training, LIMITS, samples_section(folder)]
    (folder / "README.md").write_text("\n".join(part.rstrip() + "\n" for part in parts))
