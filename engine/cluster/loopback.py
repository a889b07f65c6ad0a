"""Keeping a cluster of one machine on that machine.

Ray started with a loopback address listens there alone, and asks for a token. Ray Serve does not follow in one place:
every replica opens a port on all interfaces for calls between deployments, without a token, and reads pickles from it,
though by default nothing calls there (Ray 2.60, `ray.serve._private.replica`). A test looks that none is open.
"""

from __future__ import annotations

from typing import Any


def stay_on_loopback() -> None:
    """In a replica's process, before Ray Serve opens that port: have it open on loopback. Idempotent."""
    from ray.serve._private import replica

    opened = replica.add_port_to_grpc_server
    if getattr(opened, "on_loopback", False):
        return

    def add_port_on_loopback(server: Any, address: str) -> Any:
        return opened(server, address.replace("[::]", "127.0.0.1"))

    add_port_on_loopback.on_loopback = True  # type: ignore[attr-defined]
    replica.add_port_to_grpc_server = add_port_on_loopback
