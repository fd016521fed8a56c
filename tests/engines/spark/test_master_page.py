"""Which machines have a worker, from the page of a standalone master."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from tests.builders import cluster

from penstock.engines.publisher import EngineAway
from penstock.engines.spark.master_page import (
    RegisteredWorker,
    machines_there,
    page_address,
    registered_workers,
)

CLUSTER = cluster(big=2, small=1)


@contextmanager
def page_of(content: bytes):
    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            assert self.path == "/json/"
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_workers_that_are_alive_are_read_with_what_they_announce():
    # As Spark 4.3 writes them.
    entry = {"id": "worker-1", "host": "h1", "port": 1, "resources": {"big": {}, "big-1": {}}}
    workers = [entry | {"state": "ALIVE"}, entry | {"state": "DEAD", "host": "h2"}]
    with page_of(json.dumps({"workers": workers}).encode()) as address:
        found = registered_workers("spark://elsewhere:7077", address)
    assert found == [RegisteredWorker("h1", ("big", "big-1"))]


@pytest.mark.parametrize("content", [b"<html>", b"[]", b'{"workers": [1]}', b'{"workers": null}'])
def test_a_page_that_is_none_of_a_master_says_so(content):
    with page_of(content) as address, pytest.raises(EngineAway, match="which workers there are"):
        registered_workers("spark://elsewhere:7077", address)


def test_only_pages_are_asked():
    with pytest.raises(EngineAway, match="is no address of a page"):
        registered_workers("spark://elsewhere:7077", "file:///etc/passwd")
    assert page_address("spark://master:7077") == "http://master:8080"


@pytest.mark.parametrize(
    ("workers", "there"),
    [
        # By the name it announces, by its host, and a new one of a type that is known.
        ([("h", ("big", "big-2"))], ["big-2"]),
        ([("small-1", ())], ["small-1"]),
        ([("h", ("big", "big-1")), ("h", ("small", "fresh"))], ["big-1", "fresh"]),
        # Of a type that nobody knows, or without a name.
        ([("h", ("huge", "odd")), ("h", ("big",))], []),
    ],
)
def test_which_machines_workers_stand_for(workers, there):
    found = machines_there(CLUSTER, [RegisteredWorker(*worker) for worker in workers])
    assert [machine.name for machine in found] == there
