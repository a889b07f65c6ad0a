"""Stories from a checkpoint folder, as they come: a fixed seed, nothing selected."""

from collections.abc import Iterator
from pathlib import Path

import torch
from transformers import AutoTokenizer, Qwen3_5ForCausalLM

PROMPT = "Once upon a time, there was a"


def sample_stories(
    folder: Path, count: int = 20, temperature: float = 0.7, seed: int = 0, new_tokens: int = 300, prompt: str = PROMPT
) -> Iterator[str]:
    """Continue `prompt` `count` times by plain sampling at `temperature`; each story ends at the end of text or is cut.

    All stories are drawn together, so the same arguments give the same stories only for the same count.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = Qwen3_5ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    torch.manual_seed(seed)
    inputs = tokenizer([prompt] * count, return_tensors="pt", return_token_type_ids=False)
    drawn = model.generate(
        **inputs, do_sample=True, temperature=temperature, top_k=0, top_p=1.0, max_new_tokens=new_tokens,
        pad_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    for row in drawn:
        yield str(tokenizer.decode(row, skip_special_tokens=True))
