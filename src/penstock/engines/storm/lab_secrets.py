"""Who gets into the Storm of a lab: whoever can read its folder, which is this user alone.

It listens on loopback, where every local user gets in, and what Nimbus is sent, supervisors run. So
Nimbus, supervisors and workers ask for a password, ZooKeeper keeps what they write to those who
know another one, and workers authenticate each other. All are random and lie in files of the lab's
folder, which go with it; none is on a command line.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from pathlib import Path

from penstock.system.private_folder import PrivateFolder

_USER = "penstock"
_BYTES = 32
_MODULE = "org.apache.storm.shade.org.apache.zookeeper.server.auth.DigestLoginModule"
_JAAS = """StormServer {{
    {module} required
    user_{user}="{password}";
}};
StormClient {{
    {module} required
    username="{user}"
    password="{password}";
}};
"""


def authenticated(folder: Path) -> dict[str, object]:
    """Settings of all daemons and clients of the lab in this folder; makes its passwords."""
    text = _JAAS.format(module=_MODULE, user=_USER, password=secrets.token_hex(_BYTES))
    jaas = PrivateFolder(folder).write("jaas.conf", text.encode())
    payload = f"{_USER}:{secrets.token_hex(_BYTES)}"
    return {
        "storm.thrift.transport": "penstock.storm.lab.LabTransport",
        "storm.principal.tolocal": "penstock.storm.lab.LabUser",
        "java.security.auth.login.config": str(jaas),
        "storm.zookeeper.auth.scheme": "digest",
        "storm.zookeeper.auth.payload": payload,
        "storm.zookeeper.superACL": f"digest:{_USER}:{_zookeeper_digest(payload)}",
        # Workers are nobody else here: with a name of their own they may not even look for /storm.
        "storm.zookeeper.topology.auth.scheme": "digest",
        "storm.zookeeper.topology.auth.payload": payload,
        "storm.messaging.netty.authentication": True,
    }


def _zookeeper_digest(payload: str) -> str:
    """How ZooKeeper writes a user and password in its lists of who may do what."""
    return base64.b64encode(hashlib.sha1(payload.encode()).digest()).decode()
