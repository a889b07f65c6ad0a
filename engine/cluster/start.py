"""Starting the cluster's engines on Ray, here or on a cluster that runs already, and staying with them."""

from __future__ import annotations

import json
import logging
import math
import os
import secrets
import signal
import socket
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.cluster.front import APP, DECODE, ENGINES, PREFILL, Address, front_of
from engine.loop.policy import Policy
from engine.serve.lifeline import end_when_cut

ROOT = Path(__file__).resolve().parents[2]
NOT_SENT = [".git", ".venv", "docs", "tests", "lessons", "**/__pycache__"]
"""Of the working tree, what engines elsewhere do not need."""
HEALTH_S = 2.0
"""How often Ray Serve looks whether an engine lives."""
MANY = 10_000
"""An engine has a queue of its own, with places that people see; Ray Serve should not keep another before it."""


@dataclass(frozen=True)
class Wanted:
    """What to start."""

    model: str
    address: Address
    replicas: int = 2
    prefill: int = 0
    decode: int = 0
    cluster: str | None = None
    """Address of a Ray cluster that runs; None starts one on this machine alone."""
    threads: int = 1
    cpus: float | None = None
    """Of a replica, as Ray counts them; None: as many as threads."""
    gpus: float | None = None
    """The same; None: one if the cluster has one for each."""
    policy: Policy = field(default_factory=Policy)
    draft_model: str | None = None

    @property
    def pools(self) -> dict[str, int]:
        """Name of each pool and how many engines it has."""
        return {PREFILL: self.prefill, DECODE: self.decode} if self.prefill else {ENGINES: self.replicas}


def run_cluster(wanted: Wanted, *, lifeline: bool = False) -> None:
    """Start, print one JSON line with the address, and stay until stopped. Raises ValueError for people."""
    stopped = threading.Event()
    if lifeline:
        end_when_cut(stopped.set)
    ray, serve = _ray(wanted)
    for number in (signal.SIGTERM, signal.SIGINT):  # after Ray, which sets its own
        signal.signal(number, lambda *_: stopped.set())
    try:
        port = wanted.address.port or _free_port(wanted.address.host)
        _deploy(wanted, port, _gpus(wanted, ray.cluster_resources()))
        print(json.dumps({"url": f"http://{wanted.address.host}:{port}"}), flush=True)
        if wanted.cluster:
            _warn_if_silent(wanted.address.host, port)
        stopped.wait()
    finally:
        # Of somebody else's cluster only what is ours.
        if wanted.cluster:
            serve.delete(APP)
        else:
            serve.shutdown()
        ray.shutdown()


def _ray(wanted: Wanted) -> tuple[Any, Any]:
    """Ray, started or joined. Its settings are read from the environment when it is imported."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if wanted.cluster is None:
        # On this machine alone: Ray then listens on loopback only, and asks whoever connects for a token.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    import ray
    from ray import serve

    if wanted.cluster is None:
        # Places, not cores: what starts here should start, however few cores there are.
        places = max(os.cpu_count() or 1, math.ceil(sum(wanted.pools.values()) * _cpus(wanted)))
        settings: dict[str, Any] = {"address": "local", "num_cpus": places, "include_dashboard": False}
    else:
        settings = {"address": wanted.cluster, "runtime_env": {"working_dir": str(ROOT), "excludes": NOT_SENT}}
    where = f"joined at {wanted.cluster}" if wanted.cluster else "started here"
    for last in (False, True):
        try:
            ray.init(log_to_driver=False, logging_level=logging.WARNING, **settings)
            break
        except Exception as failed:
            # Ray gives its own processes 30 s to come up, and raises this bare; on a busy machine they take longer.
            if last or "timed out during startup" not in str(failed):
                raise ValueError(f"Ray could not be {where}: {failed}{_token_hint(failed)}") from failed
            ray.shutdown()
    return ray, serve


def _token_hint(failed: BaseException) -> str:
    """What to do where a cluster lets nobody in without a token, which Ray says only in the cause of its error."""
    causes: BaseException | None = failed
    while causes is not None:
        if "InvalidAuthToken" in str(causes):
            return (
                ". It asks for a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the one that it was started with"
            )
        causes = causes.__cause__ or causes.__context__
    return ""


def _deploy(wanted: Wanted, port: int, gpus: float) -> None:
    """Have Ray Serve start the pools and the front; returns when all of them serve. Raises ValueError."""
    from ray import serve

    from engine.cluster.replica import Replica

    serve.start(
        proxy_location="HeadOnly", http_options={"host": wanted.address.host, "port": port},
        logging_config={"enable_access_log": False, "log_level": "WARNING"},
    )  # fmt: skip
    deployment: Any = serve.deployment  # its types know it as a decorator alone
    # Ray shows a replica the GPU that it has set aside for it and no other.
    device = "cuda" if gpus else "cpu"
    pools = [
        deployment(
            Replica, name=name, num_replicas=count, max_ongoing_requests=MANY, health_check_period_s=HEALTH_S,
            graceful_shutdown_timeout_s=2, ray_actor_options={"num_cpus": _cpus(wanted), "num_gpus": gpus},
        ).bind(
            wanted.model, wanted.threads, wanted.policy, wanted.draft_model, device=device,
            inside=wanted.cluster is None,
        )
        for name, count in wanted.pools.items()
    ]  # fmt: skip
    front = serve.ingress(front_of(wanted.model, tuple(wanted.pools), wanted.address))()
    app = deployment(
        front, name="front", num_replicas=1, max_ongoing_requests=MANY, graceful_shutdown_timeout_s=2,
        ray_actor_options={"num_cpus": 0},
    ).bind(*pools)  # fmt: skip
    try:
        serve.run(app, name=APP, route_prefix="/")
    except RuntimeError as failed:
        raise ValueError(f"The engines could not be started: {failed}") from None


def _warn_if_silent(host: str, port: int) -> None:
    """Ray Serve takes its address from whoever starts it first on a cluster, and listens on the head node."""
    try:
        socket.create_connection((host, port), timeout=3).close()
    except OSError:
        print(
            f"From here nothing answers at {host}:{port}. Ray Serve listens on the cluster's head node, and if it ran "
            "before, at the address that it had then.",
            file=sys.stderr,
        )


def _cpus(wanted: Wanted) -> float:
    return wanted.threads if wanted.cpus is None else wanted.cpus


def _gpus(wanted: Wanted, there: dict[str, float]) -> float:
    if wanted.gpus is not None:
        return wanted.gpus
    return 1 if there.get("GPU", 0) >= sum(wanted.pools.values()) else 0


def _free_port(host: str) -> int:
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as taken:
        port: int = taken.getsockname()[1]
        return port
