"""Which workers a standalone master has, from the page that it serves as JSON.

The page of a cluster of ours opens only with its key (:mod:`penstock.engines.spark.spark_secret`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from penstock.engines.publisher import EngineAway
from penstock.engines.spark.placement import resource_name
from penstock.engines.spark.spark_secret import PageKey, page_key
from penstock.model.cluster import Cluster, Machine

#: Where a master shows its page, unless it is told otherwise.
_PAGE_PORT = 8080
_ANSWERS_WITHIN_S = 5.0
#: More is no answer of a master.
_MOST_BYTES = 32 * 1024 * 1024
_VALID_S = 60
_ALIVE = "ALIVE"


@dataclass(frozen=True, slots=True)
class RegisteredWorker:
    """A worker that the master counts on."""

    host: str
    #: Names of the custom resources that it announces: its machine's, and its type's.
    resources: tuple[str, ...]


def page_address(master: str) -> str:
    """Where the page of a master is that runs with Spark's defaults."""
    return f"http://{urlsplit(master).hostname}:{_PAGE_PORT}"


def registered_workers(master: str, address: str | None = None) -> list[RegisteredWorker]:
    """Workers that are alive; of ``address``, the page's, or of where it is by default."""
    key = page_key(master)
    url = address or (key.address if key else page_address(master))
    request = urllib.request.Request(f"{url.rstrip('/')}/json/")
    if request.type not in ("http", "https"):
        raise EngineAway(f"{url} is no address of a page")
    if key is not None:
        request.add_header("Authorization", f"Bearer {_token(key)}")
    try:
        with urllib.request.urlopen(request, timeout=_ANSWERS_WITHIN_S) as answer:
            content = json.loads(answer.read(_MOST_BYTES))
        return [_worker(entry) for entry in content["workers"] if entry["state"] == _ALIVE]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = getattr(error, "reason", None) or str(error)
        raise EngineAway(
            f"the page of Spark's master at {url} does not say which workers there are: {reason}"
        ) from None


def machines_there(cluster: Cluster, workers: Sequence[RegisteredWorker]) -> tuple[Machine, ...]:
    """The machines of a cluster that have a worker, and new ones of types that it knows.

    A worker belongs to the machine whose name it announces, else to that of its host.
    """
    named = {_machine_of(cluster, worker) for worker in workers}
    known = tuple(m for m in cluster.machines if m.name in named)
    new = (_new_machine(cluster, worker) for worker in workers)
    return (*known, *sorted((m for m in new if m is not None), key=lambda m: m.name))


def _machine_of(cluster: Cluster, worker: RegisteredWorker) -> str | None:
    for machine in cluster.machines:
        if resource_name(machine.name) in worker.resources:
            return machine.name
    by_host = (m.name for m in cluster.machines if worker.host in (m.name, m.host))
    return next(by_host, None)


def _new_machine(cluster: Cluster, worker: RegisteredWorker) -> Machine | None:
    """A machine that the cluster does not know, where it says its name and a type that it knows."""
    if _machine_of(cluster, worker) is not None:
        return None
    kinds = {resource_name(kind.name): kind.name for kind in cluster.types}
    kind = next((kinds[name] for name in worker.resources if name in kinds), None)
    name = next((name for name in worker.resources if name not in kinds), None)
    return None if kind is None or name is None else Machine(name, kind)


def _worker(entry: Mapping[str, Any]) -> RegisteredWorker:
    return RegisteredWorker(str(entry["host"]), tuple(map(str, entry.get("resources") or {})))


def _token(key: PageKey) -> str:
    """A short-lived ticket for the page, as RFC 7519 has them."""
    head = {"alg": "HS512", "typ": "JWT"}
    claims = {"sub": "penstock", "exp": int(time.time()) + _VALID_S}
    parts = ".".join(_base64url(json.dumps(part).encode()) for part in (head, claims))
    signature = hmac.new(key.secret, parts.encode(), hashlib.sha512).digest()
    return f"{parts}.{_base64url(signature)}"


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
