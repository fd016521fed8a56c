"""What Storm's own names say: which are its own, and which belong to the user's topology."""

from __future__ import annotations

import re

#: Components and streams that Storm adds itself begin so.
SYSTEM = "__"
#: Their tuples are heartbeats and metrics. Other components of Storm's own, the ackers above all,
#: work on the user's tuples, cost CPU and are measured like any other.
UNMEASURED = ("__system", "__metrics")

_RUN = re.compile(r"(?P<name>.+)-[0-9]+-[0-9]+")


def is_measured(component: str) -> bool:
    """Whether a component's tasks are samples at all."""
    return not component.startswith(UNMEASURED)


def keeps_input(source: str) -> bool:
    """Ticks and heartbeats of ``__system`` are no tuples of the topology."""
    return is_measured(source)


def keeps_output(component: str, stream: str) -> bool:
    """A bolt's acks stand beside its output, one for one; counted with it they would double α.

    They are not lost: the acker's own records count them as its input. Metrics are nobody's output.
    """
    own = component.startswith(SYSTEM) or not stream.startswith(SYSTEM)
    return own and not stream.startswith(UNMEASURED)


def topology_of(run: str) -> str:
    """``lin3`` of the topology id ``lin3-3-1794729937``: name, number, time of submission."""
    match = _RUN.fullmatch(run)
    return match["name"] if match else run
