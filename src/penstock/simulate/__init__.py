"""Discrete-event engine, fluid model, scenarios and results: is what a plan promises true?"""
