"""Compiled code's way to a record: the address of its table and a number.

numba counts references to every array it is handed, at every call. Passing two dozen tables from
function to function made an event cost microseconds. One record with their addresses costs nothing;
that the tables live as long as the loop runs is :class:`penstock.simulate.world.World`'s business.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.simulate import records
from penstock.simulate.compiled import require_numba

require_numba()

from numba import from_dtype, types  # noqa: E402 - with a word on how to get it
from numba.extending import intrinsic  # noqa: E402


def _accessor(dtype: np.dtype[np.void]) -> Any:
    record = from_dtype(dtype)
    size = dtype.itemsize

    @intrinsic
    def at(_context: Any, _table: Any, _number: Any) -> Any:
        def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            table, number = arguments
            step = context.get_constant(types.int64, size)
            address = builder.add(table, builder.mul(number, step))
            return builder.inttoptr(address, context.get_value_type(record))

        return record(types.int64, types.int64), build

    return at


machine_at = _accessor(records.MACHINE)
server_at = _accessor(records.SERVER)
instance_at = _accessor(records.INSTANCE)
route_at = _accessor(records.ROUTE)
stream_at = _accessor(records.STREAM)
target_at = _accessor(records.TARGET)
node_at = _accessor(records.NODE)
root_at = _accessor(records.ROOT)
topology_at = _accessor(records.TOPOLOGY)
source_at = _accessor(records.SOURCE)
step_at = _accessor(records.STEP)
service_at = _accessor(records.SERVICE)
hop_at = _accessor(records.HOP)
timer_at = _accessor(records.TIMER)
transit_at = _accessor(records.TRANSIT)
generator_at = _accessor(records.GENERATOR)
number_at = _accessor(records.NUMBER)
real_at = _accessor(records.REAL)
