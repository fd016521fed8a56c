"""The one way from a problem to a plan: solve, bound, assess, contingencies, advice, what-if.

Below ``files`` and the engines, so that a control loop can plan as the command line does.
"""
