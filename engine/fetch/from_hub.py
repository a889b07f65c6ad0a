"""A model folder from the Hugging Face hub: config, tokenizer and weights, nothing that is run."""

from __future__ import annotations

from pathlib import Path

from engine.fetch.catalogue import HubSource
from engine.fetch.errors import FetchError
from engine.fetch.reports import Reports, counted

WANTED = [
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
    "*.safetensors", "model.safetensors.index.json", "LICENSE*", "README.md",
]  # fmt: skip


def fetch_hub(source: HubSource, folder: Path, reports: Reports) -> None:
    """Download the repository's model files into `folder`. Raises FetchError."""
    reports.begin(f"download {source.repo_id}")
    # Here, since the library reads its environment when it is imported, and nobody else needs it.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()  # ours tells the same, to whoever wants to know
    try:
        with counted(folder, reports):
            snapshot_download(source.repo_id, allow_patterns=WANTED, local_dir=folder)
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError, TimeoutError) as error:
        raise FetchError(
            f"The Hugging Face hub cannot be reached from here, so {source.repo_id} was not fetched. Fetch it where "
            "there is a network and copy the folder here: any path to a model folder works as a model's name."
        ) from error
    except (HfHubHTTPError, OSError) as error:
        raise FetchError(f"{source.repo_id} could not be fetched: {error}") from error
