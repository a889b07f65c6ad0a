"""Files that the app serves beside its pages: the components' code, Plotly's, and recordings.

A component's modules import each other by relative paths, so the version stands in the path and not in a query: all
modules of one page load come from one version, and each may be cached for good.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from functools import cache
from pathlib import Path

import plotly
import streamlit as st
from plotly.offline import get_plotlyjs
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

ROOT = Path(__file__).resolve().parents[1]
ASSETS = ROOT / "views" / "assets"
RECORDINGS = ROOT / "lessons" / "recordings"
PREFIX = "twospeeds"

_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
_FOR_GOOD = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"

# Some systems' tables say text/plain, and browsers refuse such modules.
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("text/css", ".css")


def base_path() -> str:
    """`server.baseUrlPath` as a prefix: empty, or with a slash in front and none behind."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


def version() -> str:
    """Changes whenever a file of views/assets does: name, size and time of each."""
    seen = hashlib.sha256()
    for path in sorted(ASSETS.rglob("*")):
        if path.is_file():
            told = path.stat()
            seen.update(f"{path.relative_to(ASSETS).as_posix()} {told.st_size} {told.st_mtime_ns}\n".encode())
    return seen.hexdigest()[:12]


def asset_url(path: str) -> str:
    """Address of a file below views/assets, from the server's root: prefix it with `location.origin` in a component."""
    return f"{base_path()}/{PREFIX}/assets/v-{version()}/{path}"


def recording_url(name: str) -> str:
    """Address of lessons/recordings/<name>.json, from the server's root."""
    return f"{base_path()}/{PREFIX}/recordings/{name}"


def plotly_url() -> str:
    """Address of Plotly's code, from the server's root."""
    return f"{base_path()}/{PREFIX}/plotly/v-{plotly.__version__}.js"


def routes(base: str) -> list[BaseRoute]:
    """The components' code, Plotly's, and the recordings."""
    return [
        Mount(f"{base}/{PREFIX}/assets/v-{{version}}", _Assets(directory=ASSETS, check_dir=False)),
        Mount(f"{base}/{PREFIX}/assets", _Assets(directory=ASSETS, check_dir=False)),
        Route(f"{base}/{PREFIX}/plotly/v-{{version}}.js", _plotly),
        Route(f"{base}/{PREFIX}/recordings/{{name}}", _recording),
    ]


class _Assets(StaticFiles):
    """StaticFiles keeps to its folder and answers conditional requests; the header says how long a copy is good."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        try:
            answer = await super().get_response(path, scope)
        except HTTPException as error:
            return _no_such_file(error.status_code)
        current = scope.get("path_params", {}).get("version") == version()
        answer.headers["Cache-Control"] = _FOR_GOOD if current else _ASK_AGAIN
        answer.headers["X-Content-Type-Options"] = "nosniff"
        return answer


def _plotly(request: Request) -> Response:
    packed = "gzip" in request.headers.get("Accept-Encoding", "")
    answer = Response(_packed_plotly() if packed else get_plotlyjs(), media_type="text/javascript")
    if packed:
        answer.headers["Content-Encoding"] = "gzip"
    current = request.path_params["version"] == plotly.__version__
    answer.headers.update({"Cache-Control": _FOR_GOOD if current else _ASK_AGAIN, "Vary": "Accept-Encoding"})
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer


@cache
def _packed_plotly() -> bytes:
    """Packed once for everybody: the server would pack its 5 MB anew for each visitor."""
    return gzip.compress(get_plotlyjs().encode())


async def _recording(request: Request) -> Response:
    name = request.path_params["name"]
    path = RECORDINGS / f"{name}.json"
    if not _NAME.fullmatch(name) or not path.is_file():
        return _no_such_file(404)
    return FileResponse(path, media_type="application/json", headers={"Cache-Control": _ASK_AGAIN})


def _no_such_file(status: int) -> Response:
    return JSONResponse({"error": {"code": "unknown_file", "message": "There is no such file here."}}, status)
