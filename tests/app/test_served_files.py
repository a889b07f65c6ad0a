"""The component's code and the recordings, as a browser fetches them."""

from __future__ import annotations

import http.client
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from tests.engine.serve.conftest import PATIENCE_S, serving
from views import served_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with a secret beside what is served."""
    root = tmp_path_factory.mktemp("root")
    for path, text in {
        "assets/flipbook/main.js": "import './grid.js'",
        "assets/flipbook/grid.js": "export const n = 1",
        "assets/style.css": "a{}",
        "recordings/first-run.json": '{"schema": "twospeeds.run/1"}',
        "secret.json": "secret",
        "secret.js": "secret",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    monkeypatch.setattr(served_files, "ASSETS", folder / "assets")
    monkeypatch.setattr(served_files, "RECORDINGS", folder / "recordings")
    with serving(Starlette(routes=served_files.routes(""))) as url, httpx.Client(base_url=url, trust_env=False) as http:
        yield http


def test_a_module_and_what_it_imports_come_from_one_version_that_may_be_cached_for_good(site):
    url = served_files.asset_url("flipbook/main.js")
    for path in (url, url.replace("main.js", "grid.js")):
        answer = site.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/javascript")
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_an_old_or_unversioned_address_still_works_but_is_asked_for_again(site):
    for path in ("/twospeeds/assets/v-0123456789ab/style.css", "/twospeeds/assets/style.css"):
        answer = site.get(path)
        assert answer.text == "a{}" and answer.headers["cache-control"] == "no-cache"
        again = site.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304


def test_the_version_changes_when_a_file_does(site, folder):
    before = served_files.version()
    style = folder / "assets" / "style.css"
    assert served_files.version() == before
    os.utime(style, ns=(0, style.stat().st_mtime_ns + 1))
    changed = served_files.version()
    assert changed != before
    (folder / "assets" / "new.css").write_text("")
    assert served_files.version() != changed


def test_plotlys_code_comes_packed_where_that_is_understood_and_may_be_cached_for_good(site):
    packed = site.get(served_files.plotly_url(), headers={"Accept-Encoding": "gzip"})
    plain = site.get(served_files.plotly_url(), headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers
    assert packed.text == plain.text and "plotly.js" in plain.text[:200]
    assert int(packed.headers["content-length"]) < len(plain.content) / 3
    assert "immutable" in packed.headers["cache-control"] and packed.headers["vary"] == "Accept-Encoding"
    assert packed.headers["x-content-type-options"] == "nosniff"
    assert site.get("/twospeeds/plotly/v-0.1.js").headers["cache-control"] == "no-cache"


def test_a_recording_is_served_by_name(site):
    answer = site.get(served_files.recording_url("first-run"))
    assert answer.json() == {"schema": "twospeeds.run/1"} and answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "path",
    [
        "/twospeeds/assets/../secret.js",
        "/twospeeds/assets/%2e%2e/secret.js",
        "/twospeeds/assets/..%2fsecret.js",
        "/twospeeds/assets/flipbook/../../secret.js",
        "/twospeeds/assets/v-x/..%2f..%2fsecret.js",
        "/twospeeds/assets/v-x/%2e%2e/%2e%2e/secret.js",
        "/twospeeds/assets//etc/passwd",
        "/twospeeds/assets/%2fetc%2fpasswd",
        "/twospeeds/assets/..%5csecret.js",
        "/twospeeds/assets/%00",
        "/twospeeds/assets/",
        "/twospeeds/assets/flipbook",
        "/twospeeds/assets/nothing.js",
        "/twospeeds/recordings/..%2fsecret",
        "/twospeeds/recordings/../secret",
        "/twospeeds/recordings/%2e%2e%2fsecret",
        "/twospeeds/recordings/nothing",
        "/twospeeds/recordings/first-run.json",
        "/twospeeds/recordings/%00",
    ],
)
def test_nothing_beside_what_is_served_can_be_reached(site, path):
    # By hand, since an ordinary client tidies the path before it asks.
    wire = http.client.HTTPConnection(site.base_url.host, site.base_url.port, timeout=PATIENCE_S)
    wire.putrequest("GET", path, skip_host=False)
    wire.endheaders()
    answer = wire.getresponse()
    body = answer.read()
    assert answer.status in (400, 404, 405), body
    assert b"secret" not in body and b"root:" not in body
    wire.close()


def test_addresses_respect_the_base_path(monkeypatch):
    for given, base in (("", ""), ("class", "/class"), ("/class/one/", "/class/one")):
        monkeypatch.setattr(served_files.st, "get_option", lambda _, given=given: given)
        assert served_files.base_path() == base
        assert served_files.recording_url("a") == f"{base}/twospeeds/recordings/a"
        assert served_files.asset_url("x.js").startswith(f"{base}/twospeeds/assets/v-")
