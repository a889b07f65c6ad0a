"""nginx with the site file of deploy/, on free ports and with a certificate of its own."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.browser.site.conftest import ROOT, free_port

SITE = ROOT / "deploy" / "nginx.conf"

_AROUND = """
daemon off;
pid {folder}/nginx.pid;
worker_processes 1;
events {{ worker_connections 256; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def program() -> str:
    """Path of nginx; skips the test where there is none."""
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if found is None or shutil.which("openssl") is None:
        pytest.skip("nginx (and openssl, for its certificate) are not installed: apt-get install nginx openssl")
    return found


@contextmanager
def nginx(folder: Path, app_port: int, engine_port: int) -> Iterator[tuple[str, str]]:
    """The proxy in front of both; gives its addresses with and without TLS, no slash behind."""
    nginx_path, tls, plain = program(), free_port(), free_port()
    _certificate(folder)
    _configure(folder, {
        "server 127.0.0.1:8501;": f"server 127.0.0.1:{app_port};",
        "http://127.0.0.1:8600/": f"http://127.0.0.1:{engine_port}/",
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl;": f"listen 127.0.0.1:{tls} ssl;",
        "/etc/ssl/two-speeds": str(folder),
        "/var/log/nginx": str(folder),
    })  # fmt: skip
    process = subprocess.Popen([nginx_path, "-p", str(folder), "-c", str(folder / "nginx.conf")],
                               stderr=(folder / "nginx.err").open("w"))  # fmt: skip
    try:
        _wait_for(tls, process, folder / "nginx.err")
        yield f"https://127.0.0.1:{tls}", f"http://127.0.0.1:{plain}"
    finally:
        process.terminate()
        process.wait(10)


def _certificate(folder: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
               "-days", "2", "-subj", "/CN=class.example", "-addext", "subjectAltName=IP:127.0.0.1",
               "-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)


def _configure(folder: Path, changes: dict[str, str]) -> None:
    site = SITE.read_text(encoding="utf-8")
    for before, after in changes.items():
        assert before in site, f"{SITE} no longer has {before!r}"
        site = site.replace(before, after)
    (folder / "site.conf").write_text(site, encoding="utf-8")
    (folder / "nginx.conf").write_text(_AROUND.format(folder=folder), encoding="utf-8")


def _wait_for(port: int, process: subprocess.Popen, errors: Path) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nginx did not start: {errors.read_text()}")
