"""Story files to token files: split by story, tidy, train the tokenizer, rename heroes, encode.

What is written to the output folder:

    tokenizer.json              byte-level BPE of 4,096 tokens
    {source}.{copy}.npz         `tokens` (uint16, each story ends with the end-of-text token) and `starts` (int64)
    {source}.held_out.npz       the same for the stories kept out of training
    prepared.json               counts, names found, seed
"""

import hashlib
import json
import random
import re
import shutil
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from training.names import find_names, rename
from training.sources import SOURCES, Source
from training.tokenizer import END_OF_TEXT, train_tokenizer

HELD_OUT_SHARE = 0.02


def read_stories(path: Path) -> list[str]:
    """The stories of one file, stripped; empty ones are left out.

    Raises:
        FileNotFoundError: the file is not there.
    """
    return [story for part in path.read_text("utf-8").split(END_OF_TEXT) if (story := part.strip())]


def without_duplicates(stories: list[str], seen: set[str]) -> list[str]:
    """Stories whose letters and digits were not seen before; `seen` grows and is shared by all sources."""
    fresh = []
    for story in stories:
        key = "".join(filter(str.isalnum, story.lower()))
        if key not in seen:
            seen.add(key)
            fresh.append(story)
    return fresh


def is_held_out(story: str, seed: int) -> bool:
    """A choice by the story's own text, so that it survives a change in the order or number of stories."""
    digest = hashlib.blake2b(story.encode(), key=str(seed).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < HELD_OUT_SHARE * 2**64


def tidy(story: str) -> str:
    """Mend two faults of the TinyStories files: closing quotes that became an "a", and sentences without a space."""
    story = re.sub(r"(?<=[.!?,])a(?=\s|$)", '"', story)
    return re.sub(r"(?<=[a-z][.!?])(?=[A-Z][a-z])", " ", story)


def encode(stories: list[str], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """Token ids of all stories in a row, each closed by the end-of-text token, and where each begins."""
    end = tokenizer.token_to_id(END_OF_TEXT)
    rows = [[*encoding.ids, end] for encoding in tokenizer.encode_batch_fast(stories)]
    starts = np.cumsum([0, *map(len, rows[:-1])], dtype=np.int64)
    return np.concatenate([np.array(row, dtype=np.uint16) for row in rows]), starts


def write_tokens(path: Path, stories: list[str], tokenizer: Tokenizer) -> int:
    """Write one token file and return its number of tokens."""
    tokens, starts = encode(stories, tokenizer)
    np.savez(path, tokens=tokens, starts=starts)
    return len(tokens)


def write_source(source: Source, train: list[str], tokenizer: Tokenizer, names: dict, out: Path, seed: int) -> int:
    """Write a source's own stories as copy 0 and its renamed copies after it; returns the tokens of copy 0."""
    tokens = write_tokens(out / f"{source.name}.0.npz", train, tokenizer)
    for copy in range(1, source.renamed + 1):
        rng = random.Random(f"{seed}/{source.name}/{copy}")
        write_tokens(out / f"{source.name}.{copy}.npz", [rename(story, names, rng) for story in train], tokenizer)
    return tokens


def kept_or_new_tokenizer(path: Path, stories: list[str]) -> Tokenizer:
    """The tokenizer at `path`, trained on `stories` and written there if there is none."""
    if not path.exists():
        train_tokenizer(stories).save(str(path))
    return Tokenizer.from_file(str(path))


def prepare(stories_folder: Path, out: Path, seed: int = 0, tokenizer_file: Path | None = None) -> dict:
    """Make the token files of every source under `out` and return the counts that are also written to prepared.json.

    The tokenizer is the one in `tokenizer_file`, else one that is already in `out`, since a model in training depends
    on it, else a new one.

    Raises:
        FileNotFoundError: a story file is missing from `stories_folder`, or there is no `tokenizer_file`.
    """
    out.mkdir(parents=True, exist_ok=True)
    if tokenizer_file is not None:
        shutil.copyfile(tokenizer_file, out / "tokenizer.json")
    seen: set[str] = set()
    texts = {s.name: without_duplicates(read_stories(stories_folder / f"{s.name}.txt"), seen) for s in SOURCES}
    train = {name: [tidy(x) for x in stories if not is_held_out(x, seed)] for name, stories in texts.items()}
    held_out = {name: [tidy(x) for x in stories if is_held_out(x, seed)] for name, stories in texts.items()}
    names = find_names(story for stories in train.values() for story in stories)
    tokenizer = kept_or_new_tokenizer(out / "tokenizer.json", [story for s in SOURCES for story in train[s.name]])
    counts: dict = {"seed": seed, "names": {kind: len(found) for kind, found in names.items()}, "sources": {}}
    for source in SOURCES:
        counts["sources"][source.name] = {
            "stories": len(train[source.name]),
            "tokens": write_source(source, train[source.name], tokenizer, names, out, seed),
            "held_out_stories": len(held_out[source.name]),
            "held_out_tokens": write_tokens(out / f"{source.name}.held_out.npz", held_out[source.name], tokenizer),
        }
    (out / "prepared.json").write_text(json.dumps(counts, indent=2) + "\n")
    return counts
