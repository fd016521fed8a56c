"""A UI that answers anything: the command says that it does, and nothing else happens."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from penstock.engines.storm import from_ui
from penstock.engines.storm.from_ui import UiError, ask_ui, read_ui


@pytest.fixture
def ui() -> Iterator[tuple[str, list[bytes]]]:
    """An address, and what is answered to every question as it goes over the line."""
    answer: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(answer[0])

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", answer
        server.shutdown()
        thread.join()


def ok(body: bytes) -> bytes:
    return b"HTTP/1.0 200 OK\r\n\r\n" + body


def supervisor(**fields: object) -> bytes:
    whole = {"id": "s", "host": "h", "slotsTotal": 4, "totalCpu": 100, "totalMem": 1000}
    return ok(json.dumps({"supervisors": [whole | fields], "topologies": []}).encode())


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no HTTP at all\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n",
        b"HTTP/1.0 200 OK\r\ncontent-length: 500\r\n\r\nshort",
        b"HTTP/1.0 302 Found\r\nlocation: file:///etc/passwd\r\n\r\n",
        ok(b"not JSON"),
        ok(b"[" * 100_000),
        ok(b"[]"),
        ok(b'{"supervisors": 3}'),
        ok(b'{"supervisors": [3]}'),
        supervisor(slotsTotal=float("inf")),
        supervisor(totalCpu="many"),
        supervisor(totalGenericResources=[1]),
    ],
)
def test_any_answer_is_told_as_none_of_a_ui(ui, answer):
    url, answers = ui
    answers.append(answer)
    with pytest.raises(UiError, match=r"does not answer|answers 302"):
        read_ui(ask_ui(url))


def test_an_answer_without_end_is_not_read_to_its_end(ui, monkeypatch):
    monkeypatch.setattr(from_ui, "_MOST_BYTES", 1_000_000)
    url, answers = ui
    answers.append(ok(b" " * 2_000_000))
    with pytest.raises(UiError, match="answers with more than 1 MB"):
        read_ui(ask_ui(url))


@pytest.mark.parametrize("url", ["http://[", "ftp://host", "", "host:8080", "//x"])
def test_what_is_no_address_of_a_ui_is_said_to_be_none(url):
    with pytest.raises(UiError, match="the UI is at an address such as"):
        ask_ui(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:x", "http://127.0.0.1:99999", "http://a b"])
def test_an_address_that_cannot_be_asked_does_not_answer(url):
    with pytest.raises(UiError, match="does not answer"):
        ask_ui(url)("cluster/summary")
