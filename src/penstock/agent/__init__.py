"""The network agent: a light process on each machine that tells what the machine is and does.

Nothing here loads numpy, Spark or pydantic: it runs for months beside other people's work.
"""
