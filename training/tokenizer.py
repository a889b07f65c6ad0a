"""The story model's tokenizer: byte-level BPE behind Qwen's pre-tokenizer pattern, without a begin-of-text token."""

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

END_OF_TEXT = "<|endoftext|>"
VOCABULARY = 4096

# How Qwen3.5's tokenizer.json splits text before the merges: contractions, words with the character before them, single
# digits, punctuation, line ends, other white space.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def untrained_tokenizer() -> Tokenizer:
    """The pipeline around the merges: NFC, the pattern, bytes as characters, and back."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train_tokenizer(stories: Iterable[str]) -> Tokenizer:
    """A tokenizer of 4,096 entries: the end-of-text token as 0, all 256 bytes, and merges learnt from the stories."""
    tokenizer = untrained_tokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[AddedToken(END_OF_TEXT, normalized=False, special=True)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(stories, trainer)
    return tokenizer


def write_tokenizer_config(folder: Path) -> None:
    """The file from which `AutoTokenizer` takes what tokenizer.json does not say."""
    settings = {
        "backend": "tokenizers",
        "clean_up_tokenization_spaces": False,
        "eos_token": END_OF_TEXT,
        "model_max_length": 2048,
        "pad_token": END_OF_TEXT,
        "tokenizer_class": "TokenizersBackend",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
