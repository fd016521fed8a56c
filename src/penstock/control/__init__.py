"""When to change a plan: observe, decide, act. Pure: no clock, no engine, no files.

:func:`penstock.control.loop.turn` is one turn of it; a policy proposes, guard rails refuse.
"""
