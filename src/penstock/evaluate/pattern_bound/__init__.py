"""A bound for streams that are divided evenly: one that knows that machines hold whole instances.

:mod:`penstock.evaluate.bound` lets a machine hold any part of an instance and lets instances of one
component be of any size. Under shuffle grouping they are all of one size: with N instances, each
gets 1/N of the component's input. For N within a *box* (a range of instance counts for each
component) an instance is therefore no smaller than at the top of its range, and no larger than at
the bottom of it.

What one machine can do, then, is a *filling*: whole instances of each component, and with them
tuples, as many for each instance as its range allows, that fit its CPU, memory and slots together
(:mod:`.fillings`). At a scale R, a plan with counts in the box gives every machine a filling, and
all fillings together take in all input. With a price for the input of each component
(:mod:`.prices`),

    sum over machines of the worth of their best filling  <  the worth of all input

proves that no such plan carries R: weak duality on the configuration programme of Gilmore and
Gomory (Operations Research 9, 1961), true for any prices whatever, so the solver is not trusted. A
box that is not refuted at the scale in question is split (:mod:`.boxes`). The smaller a box, the
nearer are its fillings to those of a plan; the larger counts are, the more CPU goes to overheads,
so boxes with large counts are refuted by points of CPU alone (:mod:`.fluid`). Single count vectors
that prices do not refute are packed, every way (:mod:`.packing`).

What a filling leaves out, such as tuples that cross, only makes the bound looser: streams that are
not divided evenly give an instance anything between nothing and all they have.
"""

#: What the bound comes from, in words.
KIND = "whole instances on every machine, for all instance counts"
