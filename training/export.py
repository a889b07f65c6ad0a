"""From the training state to the folder that ships: weights, config, tokenizer and model card."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import GenerationConfig, Qwen3_5ForCausalLM

from training.evaluation import evaluate, held_out_loss
from training.fast_layers import speed_up
from training.model_card import Circumstances, write_model_card
from training.state import TrainingState
from training.tokenizer import write_tokenizer_config

# What transformers' config.json leaves to its defaults or does not need for a folder that is read by others too.
NOT_WRITTEN = ("transformers_version", "_name_or_path")


def write_config(model: Qwen3_5ForCausalLM, folder: Path) -> None:
    """config.json with every field of the shape in it, defaults too, so that no reader has to know them."""
    fields = model.config.to_dict()
    for name in NOT_WRITTEN:
        fields.pop(name, None)
    fields["architectures"] = [type(model).__name__]
    fields["dtype"] = "bfloat16"
    (folder / "config.json").write_text(json.dumps(fields, indent=2, sort_keys=True) + "\n")


def write_generation_config(folder: Path) -> None:
    """generation_config.json: where a story ends, and how the model card's samples were drawn."""
    settings = GenerationConfig(eos_token_id=0, pad_token_id=0, do_sample=True, temperature=0.7, top_k=0, top_p=1.0)
    settings.save_pretrained(folder)


@torch.no_grad()
def average_with(model: Qwen3_5ForCausalLM, folders: Sequence[Path]) -> None:
    """Replace the weights by the mean of themselves and those of checkpoints of the same run, each counting the same.

    Checkpoints along one run lie in one valley of the loss, and their mean is often better than the last of them, above
    all when the last stretch has begun to learn the text by heart ("Model soups", arXiv 2203.05482).
    """
    others = [load_file(folder / "model.safetensors") for folder in folders]
    for name, parameter in model.named_parameters():
        parameter.add_(sum(other[name].float() for other in others)).div_(1 + len(others))


def export(work: Path, folder: Path, where: Circumstances, earlier: Sequence[Path] = ()) -> None:
    """Write the state in `work` as a checkpoint in bfloat16, with held-out losses and twenty samples in the model card.

    Of the weights and their running mean, those with the lower held-out loss are taken, and averaged with the
    checkpoints in `earlier`, exported before in the same run, if any are given. Files are made beside `folder` and
    moved into it one by one, so a reader never meets half a file.

    Raises:
        FileNotFoundError: there is no training state or no prepared text in `work`.
    """
    state = TrainingState.load(work / "state.pt")
    speed_up(state.model, compile_layers=False)
    losses = evaluate(state, work / "tokens")
    best = min(losses, key=lambda which: losses[which]["overall"])
    if best == "average":
        state.swap_average()
    if earlier:
        average_with(state.model, earlier)
        losses[best] = held_out_loss(state.model, work / "tokens")
    half = folder.with_name(f".{folder.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    state.model.bfloat16()
    state.model.save_pretrained(half)
    write_config(state.model, half)
    write_generation_config(half)
    shutil.copyfile(work / "tokens" / "tokenizer.json", half / "tokenizer.json")
    write_tokenizer_config(half)
    prepared = json.loads((work / "tokens" / "prepared.json").read_text())
    write_model_card(half, state, prepared, losses[best], where)
    folder.mkdir(parents=True, exist_ok=True)
    for file in half.iterdir():
        file.chmod(0o644)
        file.replace(folder / file.name)
    half.rmdir()
