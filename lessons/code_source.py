"""The engine's own source, cut from its file: `engine.loop.engine:Engine.step`. The module is read, never imported.

So a lesson shows what really runs, and the Streamlit process stays free of torch.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from lessons.syntax import module_tree

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("engine", "kernels")
"""What a lesson may show: the machine hall."""


class SourceError(ValueError):
    """There is no such code to show; the message is for the lesson's author."""


@dataclass(frozen=True)
class Excerpt:
    """A definition's source: the file, relative to the project, the first line's number, and the lines."""

    path: str
    first_line: int
    code: str


def excerpt(reference: str, root: Path = ROOT) -> Excerpt:
    """Find `module:Qualified.name` and cut out its source, decorators included; raises `SourceError`."""
    module, _, name = reference.partition(":")
    path = _file_of(module, root)
    source = path.read_text(encoding="utf-8")
    node = _find(module_tree(source), name.split("."), reference)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    assert node.end_lineno is not None
    lines = source.splitlines()[first - 1 : node.end_lineno]
    return Excerpt(path.relative_to(root).as_posix(), first, _dedented(lines))


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _file_of(module: str, root: Path) -> Path:
    parts = module.split(".")
    if parts[0] not in PACKAGES or not all(part.isidentifier() for part in parts):
        raise SourceError(f"{module!r} is not a module of {' or '.join(PACKAGES)}")
    base = root.joinpath(*parts)
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    raise SourceError(f"there is no module {module!r}")


def _find(tree: ast.Module, names: list[str], reference: str) -> Definition:
    here: ast.Module | Definition = tree
    for name in names:
        found = next((node for node in here.body if isinstance(node, Definition) and node.name == name), None)
        if found is None:
            raise SourceError(f"there is no {name!r} in {reference!r}")
        here = found
    assert isinstance(here, Definition)
    return here


def _dedented(lines: list[str]) -> str:
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines)
