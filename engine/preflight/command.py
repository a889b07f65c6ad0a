"""`python -m engine preflight`: one screen, one line a thing, and what to do. Ends with 1 if the app cannot run."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.preflight.finding import Finding


def preflight(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the pages.")] = 8501,
    engine_port: Annotated[int, typer.Option(min=1, max=65535, help="Port of an engine started by hand.")] = 8600,
) -> None:
    """Say what works on this machine, and what to do about what does not."""
    from rich.console import Console

    findings = look(port, engine_port)
    console = Console()
    console.print(_table(findings))
    wrong = sum(one.state == "missing" for one in findings)
    if wrong:
        console.print(f"{wrong} thing(s) are missing: Two Speeds does not run like this.")
        raise typer.Exit(1)
    console.print("Two Speeds runs here: make run")


def look(port: int, engine_port: int) -> list[Finding]:
    """Every finding, in the order in which they are shown."""
    from engine.preflight import machine, software

    return [
        software.python(),
        software.torch(),
        *software.operations(),
        software.gpu(),
        software.triton(),
        machine.cores(),
        machine.memory(),
        machine.models(),
        *machine.data_folder(),
        machine.app_port(port),
        machine.engine_port(engine_port),
        software.ray(),
        software.browser(),
    ]


def _table(findings: list[Finding]) -> object:
    """What to do stands below what was found, so that all of it fits into a narrow terminal."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="What works here", title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    colours = {"fine": "green", "works without": "yellow", "missing": "red"}
    for one in findings:
        told = escape("\n".join(filter(None, (one.found, one.advice))))
        table.add_row(one.what, f"[{colours[one.state]}]{one.state}[/]", told)
    return table
