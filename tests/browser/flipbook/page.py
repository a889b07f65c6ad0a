"""The flipbook without Streamlit: a page that mounts it on a given record, with a WebSocket that the test drives.

The page gives what Streamlit would: a shadow root with the component's element, the `--st-*` variables of a light or a
dark theme, and `setStateValue`, whose calls are kept in `reports`. `window.sockets` lists the fake sockets in order.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import streamlit

from views.flipbook_words import labels
from views.palette import BACKGROUND, COLOURS, Theme

ROOT = Path(__file__).resolve().parents[3]
ASSETS = ROOT / "views" / "assets"
FONTS = Path(streamlit.__file__).parent / "static" / "static" / "media"
TEXT: dict[str, str] = {"light": "#1f2937", "dark": "#e8ecf8"}

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Flipbook</title>
<meta name="viewport" content="width=device-width">
<style>
@font-face { font-family: "Source Sans"; src: url(/font.woff2); font-weight: 200 900; }
body { margin: 0; padding: 24px; }
@media (max-width: 600px) { body { padding: 14px; } }
</style></head>
<body><main><h1 style="display:none">Flipbook</h1><div id="host"></div></main>
<script>
window.sockets = [];
window.WebSocket = class {
  constructor(url) { this.url = url; this.isClosed = false; window.sockets.push(this); }
  close() { this.isClosed = true; }
  send(message) { this.onmessage({ data: JSON.stringify(message) }); }
  drop() { this.isClosed = true; this.onclose(); }
};
window.reports = [];
window.mount = async (data, theme) => {
  const host = document.getElementById("host");
  for (const [name, value] of Object.entries(theme)) host.style.setProperty(name, value);
  document.body.style.background = theme["--st-background-color"];
  if (!host.shadowRoot) {
    host.attachShadow({ mode: "open" }).innerHTML = '<div class="fb" tabindex="0" role="group"></div>';
  }
  const setStateValue = (name, value) => window.reports.push([name, value]);
  window.flipbook = await import("/twospeeds/assets/flipbook/flipbook.js?v=test");
  window.flipbook.update({ data, parentElement: host.shadowRoot, setStateValue });
};
</script></body></html>
"""


class _Handler(SimpleHTTPRequestHandler):
    """Serves the page, the component's files and Streamlit's own font."""

    def translate_path(self, path: str) -> str:
        name = path.split("?")[0]
        if name == "/font.woff2":
            return str(next(FONTS.glob("SourceSansVF-Upright*.woff2")))
        return str(ASSETS / name.removeprefix("/twospeeds/assets/"))

    def do_GET(self) -> None:
        if self.path.split("?")[0] != "/":
            super().do_GET()
            return
        body = PAGE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@contextmanager
def serve() -> Iterator[str]:
    """A server for the page on a free port; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def given(**changes: Any) -> dict[str, Any]:
    """The component's `data` as views/flipbook.py sends it, with some of it changed."""
    usual = {"run_id": None, "recording": None, "at": None, "reveal": True, "play": False, "base_path": ""}
    return usual | {"labels": labels(), "colours": COLOURS} | changes


def mount(page: Any, theme: Theme = "light", **changes: Any) -> None:
    """Mount the component, or call it again with other data as Streamlit does after a rerun."""
    style = {
        "--st-background-color": BACKGROUND[theme],
        "--st-text-color": TEXT[theme],
        "--st-font": '"Source Sans", sans-serif',
        "--st-primary-color": COLOURS[theme]["prefill"],
    }
    page.evaluate("([data, theme]) => window.mount(data, theme)", [given(**changes), style])
    page.wait_for_function("window.__flipbook && window.__flipbook.stage !== null")
